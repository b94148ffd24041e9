// Package lists is what the option --lists says of flat arrays whose rows are lists, and what the
// readers of HDF5, Zarr and netCDF-3 have in common about it:
//
//	hits counts=n_hits                          list i is the next n_hits[i] rows of hits
//	hits starts=first counts=n                  rows first[i] to first[i]+n[i]
//	hits starts=first ends=last                 rows first[i] to last[i], which is not in it
//	hits ends=last; points offsets=ptr          rows from where the list before ended; [N+1] offsets
//
// Lists lie one behind the other and take all rows: numbers that say another thing are errors, so
// that no row is lost and none comes twice. An empty list may start anywhere.
package lists

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Option is --lists.
var Option = format.Option{Name: "lists", Idle: format.Permission, Kind: format.KindString, Default: "auto", Off: []string{"off"},
	Help: "flat arrays whose rows are lists. auto: those beside an array of offsets or ends; 'hits starts=first counts=n; jets/* counts=n_jets': those of these arrays; off: none"}

// Rule says which arrays are lists, and which arrays say where each lies. Paths have no slash in front.
type Rule struct {
	Of      []string `json:"-"` // globs of arrays, or of groups above them
	Starts  string   `json:"starts,omitempty"`
	Counts  string   `json:"counts,omitempty"`
	Ends    string   `json:"ends,omitempty"`
	Offsets string   `json:"offsets,omitempty"`
}

// words are the parts of a rule, in the order in which Text writes them.
var words = []string{"starts", "counts", "ends", "offsets"}

func (r *Rule) part(word string) *string {
	return map[string]*string{"starts": &r.Starts, "counts": &r.Counts, "ends": &r.Ends, "offsets": &r.Offsets}[word]
}

// Parse reads the value of --lists; auto and off have no rules.
func Parse(text string) ([]Rule, error) {
	if text == "" || text == "auto" || text == "off" {
		return nil, nil
	}
	var out []Rule
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		r, err := parse(one)
		if err != nil {
			return nil, fmt.Errorf("--lists %q: %w", one, err)
		}
		out = append(out, r)
	}
	if out == nil {
		return nil, fmt.Errorf("--lists %q: no arrays; it is auto, off or 'ARRAY counts=ARRAY'", text)
	}
	return out, nil
}

func parse(text string) (r Rule, err error) {
	of := ""
	at := &of
	for word := range strings.FieldsSeq(text) {
		if k, v, ok := strings.Cut(word, "="); ok && r.part(k) != nil {
			if at = r.part(k); *at != "" {
				return r, fmt.Errorf("%s= comes twice", k)
			}
			if word = v; word == "" {
				return r, fmt.Errorf("%s= names no array", k)
			}
		}
		*at = strings.TrimPrefix(*at+" "+word, " ") // names may have spaces
	}
	for name := range strings.SplitSeq(of, ",") {
		if name = clean(name); name == "" {
			continue
		}
		if _, err := path.Match(name, ""); err != nil {
			return r, fmt.Errorf("%q: %w", name, err)
		}
		r.Of = append(r.Of, name)
	}
	for _, w := range words {
		if p := r.part(w); *p != "" {
			*p = clean(*p)
		}
	}
	switch said := strings.Join(r.said(), " and "); said {
	case "":
		return r, fmt.Errorf("it says not where the lists are: counts=ARRAY, starts=ARRAY with counts= or ends=, ends=ARRAY or offsets=ARRAY does")
	case "starts":
		return r, fmt.Errorf("starts= needs counts= or ends=")
	case "counts", "ends", "offsets", "starts and counts", "starts and ends":
	default:
		return r, fmt.Errorf("%s contradict each other: lists are by counts, by starts with counts or ends, by ends, or by offsets", said)
	}
	if len(r.Of) == 0 {
		return r, fmt.Errorf("it does not name the arrays that are lists: 'hits %s'", text)
	}
	return r, nil
}

func clean(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.TrimSpace(name)), "/")
}

func (r *Rule) said() (out []string) {
	for _, w := range words {
		if *r.part(w) != "" {
			out = append(out, w)
		}
	}
	return out
}

// By are the arrays that say where the lists are.
func (r *Rule) By() (out []string) {
	for _, w := range r.said() {
		if p := *r.part(w); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Name is the counter of the lists: others have another one.
func (r *Rule) Name() string {
	if r.Starts != "" && r.Counts == "" { // an empty list ends anywhere
		return r.Text()
	}
	return cmp.Or(r.Counts, r.Ends, r.Offsets)
}

// summed reports whether a list starts where the lists before it end, whatever its numbers are. An empty list may
// start and end anywhere.
func (r *Rule) summed() bool { return r.Counts != "" || r.Starts != "" }

// Text is how the lists are found, in words of the option.
func (r *Rule) Text() string {
	var out []string
	for _, w := range r.said() {
		out = append(out, w+"="+*r.part(w))
	}
	return strings.Join(out, " ")
}

// Matches are the globs that an array is of, or that are of a group above it. Arrays that say where
// lists are, are not lists.
func (r *Rule) Matches(p string) (globs []string) {
	if slices.Contains(r.By(), p) {
		return nil
	}
	for _, g := range r.Of {
		if below(g, p) {
			globs = append(globs, g)
		}
	}
	return globs
}

func below(glob, p string) bool {
	globs, parts := strings.Split(glob, "/"), strings.Split(p, "/")
	if len(globs) > len(parts) {
		return false
	}
	for i, g := range globs {
		if ok, _ := path.Match(g, parts[i]); !ok && g != parts[i] {
			return false
		}
	}
	return true
}

// blockRows is how many numbers are read together, about.
const blockRows = 1 << 16

// Index finds the lists of a rule in an input.
type Index struct {
	Rule
	Rows   int64 // lists
	Stored int64 // rows of the flat arrays
	block  int64
	sums   []int64 // of counts: rows before each block of lists
}

// Read reads numbers of an array from a row on.
type Read func(ctx context.Context, array string, dst []int64, row int64) error

// New is an index of n numbers that are stored in chunks of some rows, 0 if in one piece.
func New(r Rule, n, stored, chunk int64) (*Index, error) {
	x := &Index{Rule: r, Rows: n, Stored: stored, block: blockRows}
	if chunk > 0 && chunk < 1<<22 {
		x.block = max(blockRows/chunk, 1) * chunk
	}
	if r.Offsets != "" {
		if x.Rows--; x.Rows < 0 {
			return nil, shardify.Corrupt(-1, "%s has no offsets: those of no lists are a single 0", r.Offsets)
		}
	}
	return x, nil
}

// Check reads all numbers, and what it finds it keeps for Offsets.
func (x *Index) Check(ctx context.Context, read Read) error {
	x.sums = nil
	dst, sum := make([]int64, min(x.block, x.Rows)+1), int64(0)
	for lo := int64(0); lo < x.Rows; lo += x.block {
		x.sums = append(x.sums, sum)
		out := dst[:min(x.block, x.Rows-lo)+1]
		if err := x.fill(ctx, read, out, lo, sum); err != nil {
			return err
		}
		sum = out[len(out)-1]
	}
	if x.Offsets != "" && x.Rows == 0 {
		if err := read(ctx, x.Rule.Offsets, dst[:1], 0); err != nil {
			return err
		}
		if dst[0] != 0 {
			return shardify.Corrupt(-1, "%s has the one offset %d: it says that there are no lists, and is 0 then", x.Rule.Offsets, dst[0])
		}
	}
	return x.whole(sum)
}

// whole is the error about lists that do not end where the values do.
func (x *Index) whole(sum int64) error {
	switch {
	case sum == x.Stored:
		return nil
	case x.Counts != "":
		return shardify.Corrupt(-1, "counts of %d lists add up to %d, of %d values; by %s", x.Rows, sum, x.Stored, x.Text())
	}
	return shardify.Corrupt(-1, "%d lists that end at %d, of %d values; by %s", x.Rows, sum, x.Stored, x.Text())
}

// At reads where lists [lo, lo+len(dst)-1) start, and where the last one ends. Check comes first.
func (x *Index) At(ctx context.Context, read Read, dst []int64, lo int64) error {
	n := int64(len(dst)) - 1
	if lo < 0 || n < 0 || lo+n > x.Rows {
		return shardify.Corrupt(-1, "lists up to %d, of %d", lo+n, x.Rows)
	}
	if n == 0 {
		dst[0] = 0
		return nil
	}
	first := lo
	var before int64
	switch {
	case x.summed():
		k := lo / x.block
		first, before = k*x.block, x.sums[k]
	case lo > 0 && x.Offsets == "":
		if err := read(ctx, x.Ends, dst[:1], lo-1); err != nil {
			return err
		}
		before = dst[0]
	case lo > 0:
		if err := read(ctx, x.Offsets, dst[:1], lo); err != nil {
			return err
		}
		before = dst[0]
	}
	if before < 0 || before > x.Stored {
		return x.bad(lo, "it starts at %d, of %d values", before, x.Stored)
	}
	out := dst
	if first < lo {
		out = make([]int64, lo+n-first+1)
	}
	if err := x.fill(ctx, read, out, first, before); err != nil {
		return err
	}
	copy(dst, out[lo-first:])
	if lo+n == x.Rows {
		return x.whole(dst[n])
	}
	return nil
}

// fill is At where the lists before [lo, ...) take the first `at` rows.
func (x *Index) fill(ctx context.Context, read Read, dst []int64, lo, at int64) error {
	ends := dst[1:]
	var starts []int64
	dst[0] = at
	var err error
	switch {
	case x.Offsets != "":
		if err = read(ctx, x.Offsets, dst, lo); err == nil && dst[0] != at {
			return x.bad(lo, "it starts at %d, and the lists before it end at %d", dst[0], at)
		}
	default:
		err = read(ctx, cmp.Or(x.Counts, x.Ends), ends, lo)
	}
	if x.Starts != "" && err == nil {
		starts = make([]int64, len(ends))
		err = read(ctx, x.Starts, starts, lo)
	}
	if err != nil {
		return err
	}
	for i, v := range ends {
		row := lo + int64(i)
		start := at
		if starts != nil {
			start = starts[i]
		}
		n := v
		if x.Counts == "" {
			if v < 0 || v > x.Stored {
				return x.bad(row, "it ends at %d, of %d values", v, x.Stored)
			}
			n = v - start
		}
		switch {
		case start < 0 || start > x.Stored:
			return x.bad(row, "it starts at %d, of %d values", start, x.Stored)
		case n < 0:
			return x.bad(row, "it has %d values", n)
		case n > x.Stored-start:
			return x.bad(row, "it starts at %d with %d values, of %d in all", start, n, x.Stored)
		case n > 0 && start != at:
			err := shardify.Unsupported("lists that are not stored one behind the other: list %d starts at %d, and the lists before it end at %d (%s); store the values in the order of the samples, without gaps", row, start, at, x.Text())
			err.Sample = row
			return err
		}
		at += n
		ends[i] = at
	}
	return nil
}

func (x *Index) bad(row int64, text string, args ...any) error {
	err := shardify.Corrupt(-1, "list %d by %s: %s", row, x.Text(), fmt.Sprintf(text, args...))
	err.Sample = row
	return err
}
