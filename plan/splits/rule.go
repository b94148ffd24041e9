// Package splits is how samples are shared among data sets of their own: as text, as shares and
// numbers of samples, and by what the inputs are named.
package splits

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan/splits/conditions"
)

// Rule says how samples are shared among data sets of their own. A sample's place
// follows from a seeded hash of who it is, so that it stays where it is when inputs
// are added; only numbers (Count) and Stratify look at all samples together. Where its values
// decide (Where, Column), nothing is drawn.
type Rule struct {
	Parts []Part `json:"parts"`
	// Identity names the columns that say who a sample is; empty: its input and its
	// number there.
	Identity []string `json:"identity,omitempty"`
	// Stratify names a field: each of its values is shared in the same proportions.
	Stratify string `json:"stratify,omitempty"`
	// GroupBy names a field: samples with one value stay together.
	GroupBy string `json:"group_by,omitempty"`
	// Dirs: folders name the splits: the INPUT arguments if they are several, else those
	// in it.
	Dirs bool `json:"dirs,omitempty"`
	// Objects: the inputs hold the splits themselves, as /train and /test of one file.
	Objects bool `json:"objects,omitempty"`
	// Column names a field whose values are the names of the splits. Parts has all of them.
	Column string `json:"column,omitempty"`
	// Gap is the least distance of samples of two parts, by the values of the one field, Over, that all
	// conditions compare.
	Gap  string `json:"gap,omitempty"`
	Over string `json:"over,omitempty"`
	// Near are the samples that Gap leaves out; those for which Placed does not hold have no value.
	Near   []Near `json:"near,omitempty"`
	Placed string `json:"placed,omitempty"`
	// Inputs says which part each input has, where names decide: runs of inputs, found
	// when the plan is made.
	Inputs []InputPart `json:"inputs,omitempty"`
}

// Near are the samples of other parts that are within the gap of a part: of all others, or of the
// rest alone.
type Near struct {
	Where string `json:"where"`
	Part  int    `json:"part"`
	Rest  bool   `json:"rest,omitempty"`
}

// InputPart is the inputs up to End, of that one the first Samples too, and from the end
// of the one before.
type InputPart struct {
	End     uint32 `json:"end"`
	Samples int64  `json:"samples,omitempty"`
	Part    int    `json:"part"`
}

// Holds reports whether r ends behind a sample.
func (r *InputPart) Holds(id shardify.ID) bool {
	return id.Input < r.End || id.Input == r.End && id.Sample < r.Samples
}

// NoList is the part of inputs that no list of a split has: they are left out.
const NoList = -1

// follows reports whether r ends behind q.
func (r *InputPart) follows(q *InputPart) bool {
	return r.End > q.End || r.End == q.End && r.Samples > q.Samples
}

// Part is one split: a share of the samples, a number of them, what is left, the
// inputs that match a glob or that a file with names has, or the samples for which a condition holds, and none of those before.
type Part struct {
	Name  string  `json:"name"`
	Share float64 `json:"share,omitempty"`
	Count int64   `json:"count,omitempty"`
	Rest  bool    `json:"rest,omitempty"`
	Glob  string  `json:"glob,omitempty"` // or @FILE
	Where string  `json:"where,omitempty"`
}

// most is more than anybody wants.
const most = 100

// MostNames is how many splits a column may name.
const MostNames = 64

// Parse reads train=0.8,val=0.1,test=0.1 (shares, which add up to one),
// train=rest,val=10000 (numbers of samples; one may be what is left), or
// val=event % 5 == 0; train=rest (conditions, of which the first that holds counts).
func Parse(text string) (*Rule, error) {
	s := &Rule{}
	text, s.Gap = conditions.CutGap(text)
	items, err := conditions.Parse(text)
	for _, x := range items {
		s.Parts = append(s.Parts, Part{Name: x.Name, Where: x.Where, Rest: x.Where == ""})
	}
	if items != nil || err != nil {
		return s, cmp.Or(err, s.Check())
	}
	if s.Gap != "" {
		return nil, shardify.Mismatch(`split %q: gap=%s is for conditions that compare a field, as in 'val=time >= "2019-01-01"; train=rest; gap=24h', not for shares and numbers of samples`, text, s.Gap)
	}
	var ones []bool
	for _, item := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok {
			return nil, shardify.Mismatch("split %q: want NAME=SHARE, as in train=0.8,val=0.2, or NAME=SAMPLES", item)
		}
		p := Part{Name: name}
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && (n > 1 || n == 0 && !strings.Contains(value, ".")) {
			p.Count = n
			if n == 0 {
				return nil, shardify.Mismatch("split %q has no samples", item)
			}
		} else if value == "rest" {
			p.Rest = true
		} else if f, err := strconv.ParseFloat(value, 64); err == nil && f > 0 && f <= 1 {
			p.Share = f
		} else {
			return nil, shardify.Mismatch("split %q: want a share between 0 and 1, a number of samples, rest, or conditions as in 'val=event %% 5 == 0; train=rest'", item)
		}
		s.Parts = append(s.Parts, p)
		ones = append(ones, value == "1")
	}
	if slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Count > 0 }) {
		for i := range s.Parts {
			if ones[i] { // a number as those beside it
				s.Parts[i].Share, s.Parts[i].Count = 0, 1
			}
		}
	}
	return s, s.Check()
}

// None is what ParseExisting is not given: folders named like splits do not become splits.
const None = "none"

// ParseExisting reads dirs, objects, column=FIELD, train=GLOB,val=GLOB or train=@FILE,val=@FILE: splits that exist already.
func ParseExisting(text string) (*Rule, error) {
	switch text {
	case "dirs":
		return &Rule{Dirs: true}, nil
	case "objects":
		return &Rule{Objects: true}, nil
	}
	if field, ok := strings.CutPrefix(text, "column="); ok && strings.TrimSpace(field) != "" && !strings.ContainsAny(field, ",*?[/") {
		return &Rule{Column: strings.TrimSpace(field)}, nil
	}
	s := &Rule{}
	for _, item := range strings.Split(text, ",") {
		name, glob, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || glob == "" {
			return nil, shardify.Mismatch("split %q: want dirs, objects, none, column=FIELD, NAME=GLOB of input names, as in train=train/*,test=test/*, or NAME=@FILE with names of samples", item)
		}
		if _, err := path.Match(glob, ""); err != nil && glob[0] != '@' {
			return nil, shardify.Mismatch("split %s: glob %q: %v", name, glob, err)
		}
		s.Parts = append(s.Parts, Part{Name: name, Glob: glob})
	}
	return s, s.Check()
}

// Check refuses parts that do not fit together.
func (s *Rule) Check() error {
	if len(s.Parts) == 0 || len(s.Parts) > most {
		return shardify.Mismatch("%d splits: want 1 to %d", len(s.Parts), most)
	}
	if err := s.checkPlaces(); err != nil {
		return err
	}
	seen := map[string]bool{}
	shares, counts, rest, wheres := 0, 0, 0, 0
	sum := 0.0
	for _, p := range s.Parts {
		if err := CheckName(p.Name); err != nil {
			return err
		}
		if seen[strings.ToLower(p.Name)] {
			return shardify.Mismatch("split %s is named twice", p.Name)
		}
		seen[strings.ToLower(p.Name)] = true
		switch {
		case p.Share > 0:
			shares++
			sum += p.Share
		case p.Count > 0:
			counts++
		case p.Rest:
			rest++
		case p.Where != "":
			wheres++
		}
	}
	switch {
	case wheres > 0 && wheres+rest < len(s.Parts):
		return shardify.Mismatch("splits are shares or numbers of samples, or conditions, not both")
	case shares > 0 && counts > 0:
		return shardify.Mismatch("splits are shares of the samples or numbers of samples, not both")
	case rest > 1:
		return shardify.Mismatch("only one split can have the rest")
	case shares > 0 && rest == 0 && math.Abs(sum-1) > 1e-9:
		return shardify.Mismatch("the shares of the splits add up to %v, not to 1: say NAME=rest for one of them", sum)
	case shares > 0 && rest == 1 && sum >= 1:
		return shardify.Mismatch("the shares of the splits add up to %v and leave no rest", sum)
	}
	return nil
}

// checkPlaces checks which splits inputs and gaps are of.
func (s *Rule) checkPlaces() error {
	for i, r := range s.Inputs {
		if r.Part < NoList || r.Part < 0 && !strings.HasPrefix(s.Parts[0].Glob, "@") || r.Part >= len(s.Parts) || r.Samples < 0 || i > 0 && !r.follows(&s.Inputs[i-1]) {
			return shardify.Mismatch("inputs up to %d in split %d of %d", r.End, r.Part, len(s.Parts))
		}
	}
	for _, n := range s.Near {
		if n.Part < 0 || n.Part >= len(s.Parts) {
			return shardify.Mismatch("a gap beside split %d of %d", n.Part, len(s.Parts))
		}
	}
	return nil
}

// CheckName refuses names that no split can have: it is a folder beside shards and the manifest.
func CheckName(name string) error {
	ok := name != "" && len(name) <= 64 && name[0] != '.' && !strings.HasPrefix(name, "shard-") && name != index.ManifestName && name != index.InputsName
	for _, c := range []byte(name) {
		ok = ok && (c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z')
	}
	if ok && len(name) == 4 && strings.Trim(name, "0123456789") == "" {
		ok = false // as folders of many shards are named
	}
	if !ok {
		return shardify.Mismatch("split name %q: want letters, digits, - and _, as in train", name)
	}
	return nil
}

// Needs returns the names of the fields that decide the split, without those of conditions.
func (s *Rule) Needs() []string {
	var out []string
	out = append(out, s.Identity...)
	for _, f := range []string{s.Stratify, s.GroupBy, s.Column} {
		if f != "" {
			out = append(out, f)
		}
	}
	return out
}

// Counted: the cuts depend on all samples, so that a survey must find them.
func (s *Rule) Counted() bool {
	if s.Stratify != "" {
		return true
	}
	for _, p := range s.Parts {
		if p.Count > 0 {
			return true
		}
	}
	return false
}

// Named reports whether the inputs have splits already, recognized by names.
func (s *Rule) Named() bool { return s.Dirs || s.Objects || len(s.Parts) > 0 && s.Parts[0].Glob != "" }

// ByValue reports whether the values of a sample decide its split: conditions, or a column of names.
func (s *Rule) ByValue() bool { return s.Column != "" || s.Conditions() != nil }

// Conditions are those of the parts, in their order; "" for one that has the rest. nil without any.
func (s *Rule) Conditions() []string {
	if s == nil || !slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Where != "" }) {
		return nil
	}
	var out []string
	for _, p := range s.Parts {
		out = append(out, p.Where)
	}
	return out
}

// Tests are Conditions, those of Near, and Placed.
func (s *Rule) Tests() []string {
	out := s.Conditions()
	if out == nil || s.Gap == "" {
		return out
	}
	for _, n := range s.Near {
		out = append(out, n.Where)
	}
	return append(out, s.Placed)
}

// WholeGroups reports whether values decide, and must not divide a group: all samples are looked at then.
func (s *Rule) WholeGroups() bool { return s.GroupBy != "" && s.ByValue() }

// Settled checks the settings against each other, at plan time.
func (s *Rule) Settled() error {
	named := s.Named()
	switch {
	case named && len(s.Needs()) > 0:
		return shardify.Mismatch("existing splits follow the inputs: --identity, --stratify and --group-by are for --split")
	case s.ByValue() && (len(s.Identity) > 0 || s.Stratify != ""):
		return shardify.Mismatch("the values of a sample decide its split: --identity and --stratify are for shares and numbers")
	case s.GroupBy != "" && s.Stratify != "":
		return shardify.Mismatch("--stratify and --group-by exclude each other: a group may have several values")
	case s.GroupBy != "" && len(s.Identity) > 0:
		return shardify.Mismatch("--group-by and --identity exclude each other: the group is what decides")
	case s.GroupBy != "" && s.Counted():
		return shardify.Mismatch("--group-by keeps groups whole and cannot give exact numbers of samples: use shares")
	case s.Stratify != "" && slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Count > 0 }):
		return shardify.Mismatch("--stratify shares each value in proportion: use shares instead of numbers")
	}
	return s.Check()
}

// Shares is the cumulative shares of the parts, the last one 1. A part with the rest comes
// last in the order in which hashes are given out; order says where each part is.
func (s *Rule) Shares() (cum []float64, order []int) {
	sum := 0.0
	rest := -1
	for i, p := range s.Parts {
		if p.Rest {
			rest = i
			continue
		}
		sum += p.Share
		cum, order = append(cum, sum), append(order, i)
	}
	if rest >= 0 {
		cum, order = append(cum, 1), append(order, rest)
	}
	cum[len(cum)-1] = 1
	return cum, order
}

// CutAt is the hash below which a share of all hashes is; a share of 1 has none.
func CutAt(share float64) uint64 {
	if share >= 1 {
		return math.MaxUint64
	}
	f := new(big.Float).SetMantExp(big.NewFloat(share), 64)
	n, _ := f.Uint64()
	return n
}

// Ranks is the numbers of samples, of n, before the end of each part in order.
func (s *Rule) Ranks(n int64) (ends []int64, order []int, err error) {
	if s.Parts[0].Share > 0 || s.Parts[0].Rest && len(s.Parts) > 1 && s.Parts[1].Share > 0 {
		cum, order := s.Shares()
		for _, c := range cum {
			ends = append(ends, int64(math.Round(c*float64(n))))
		}
		return ends, order, nil
	}
	var at int64
	rest := -1
	for i, p := range s.Parts {
		if p.Rest {
			rest = i
			continue
		}
		if p.Count > n-at {
			return nil, nil, shardify.Misuse("the splits want more than the %d samples there are", n)
		}
		at += p.Count
		ends, order = append(ends, at), append(order, i)
	}
	if rest >= 0 {
		ends, order = append(ends, n), append(order, rest)
	}
	return ends, order, nil
}

// Unused is how many of n samples are in no part. Numbers that add up to 100, of more samples,
// are a doubt: they may be shares in percent.
func (s *Rule) Unused(n int64) (int64, error) {
	sum := int64(0)
	for _, p := range s.Parts {
		if p.Count == 0 {
			return 0, nil // the rest, or a share
		}
		sum += p.Count
	}
	if sum != 100 || n <= sum || len(s.Parts) == 1 {
		return max(n-sum, 0), nil
	}
	shares, all, rest := *s, *s, *s
	shares.Parts, all.Parts, rest.Parts = slices.Clone(s.Parts), slices.Clone(s.Parts), slices.Clone(s.Parts)
	var at, before int64
	for i := range s.Parts {
		at += s.Parts[i].Count
		end := (at*n + sum/2) / sum
		shares.Parts[i] = Part{Name: s.Parts[i].Name, Share: float64(s.Parts[i].Count) / float64(sum)}
		all.Parts[i].Count, before = end-before, end
	}
	name := "unused"
	for slices.ContainsFunc(s.Parts, func(p Part) bool { return strings.EqualFold(p.Name, name) }) {
		name += "-rest"
	}
	rest.Parts = append(rest.Parts, Part{Name: name, Rest: true})
	way := func(x *Rule, makes string) format.Way {
		return format.Way{Options: format.Options{"split": x.String()}, Makes: makes}
	}
	return 0, format.NewAmbiguous(fmt.Sprintf("--split %s may be percent, or numbers that use %d of %d samples", s, sum, n), []format.Way{
		way(&shares, "shares of all samples"), way(&all, fmt.Sprintf("numbers that use all %d samples", n)), way(&rest, fmt.Sprintf("these numbers, and a split of the other %d samples", n-sum)),
	})
}

// String is the split as it was asked for.
func (s *Rule) String() string {
	if s.Dirs {
		return "dirs"
	}
	if s.Objects {
		return "objects"
	}
	if s.Column != "" {
		return "column=" + s.Column
	}
	sep := ","
	if s.Conditions() != nil {
		sep = "; "
	}
	var out []string
	for _, p := range s.Parts {
		switch {
		case p.Glob != "":
			out = append(out, p.Name+"="+p.Glob)
		case p.Where != "":
			out = append(out, p.Name+"="+p.Where)
		case p.Rest:
			out = append(out, p.Name+"=rest")
		case p.Count > 0:
			out = append(out, fmt.Sprintf("%s=%d", p.Name, p.Count))
		default:
			out = append(out, fmt.Sprintf("%s=%v", p.Name, p.Share))
		}
	}
	if s.Gap != "" {
		out = append(out, "gap="+s.Gap)
	}
	text := strings.Join(out, sep)
	if sep != "," && !conditions.Are(text) {
		text += ";" // as in val=good;
	}
	return text
}

// Record adds the flags that the split was asked for by to a recipe.
func (s *Rule) Record(r map[string]string) {
	flag := "split"
	if s.Named() || s.Column != "" {
		flag = "split-from"
	}
	r[flag] = s.String()
	for name, value := range map[string]string{"identity": value.Record((*value.List)(&s.Identity)), "stratify": s.Stratify, "group-by": s.GroupBy} {
		if value != "" {
			r[name] = value
		}
	}
}

// Cuts is where the hashes of one class of samples are divided: part order[i] has
// those from Below[i-1] up to Below[i].
type Cuts struct {
	Class string   `json:"class,omitempty"` // digits of the hash of the value of Rule.Stratify
	Below []uint64 `json:"below"`
	Order []int    `json:"order"`
}

// all marks a cut without an end.
const Unbounded = ^uint64(0)

// Part is the part that a hash belongs to.
func (c *Cuts) Part(h uint64) uint16 {
	for i, b := range c.Below {
		if h < b || b == Unbounded {
			return uint16(c.Order[i])
		}
	}
	return Nowhere
}

// Why is the reason why no part has a sample: of Nowhere, InGap, or Unplaced.
func (s *Rule) Why(nowhere uint16) string {
	switch nowhere {
	case InGap:
		return "within the gap of " + s.String()
	case Unplaced:
		return "without a value of " + s.Over + " in " + s.String()
	}
	return "in no split of " + s.String()
}

// Nowhere is the split of a sample that no split takes. It counts as dropped; so do samples that are
// left out because of a gap.
const (
	Nowhere  = 0xffff
	InGap    = 0xfffe
	Unplaced = 0xfffd
)
