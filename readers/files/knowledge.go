package files

import (
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
	"github.com/shardify/shardify/storage/walk"
)

// knowledge is what is known of the samples that names make by one rule for their stems: which
// files samples have, and in which folders they are. It is learned from tables, one after
// the other, and is small.
type knowledge struct {
	exts    []string
	ids     map[string]uint16 // places in exts
	kinds   []*kind
	byKey   map[string]*kind
	many    bool // more kinds than are distinguished
	files   int64
	samples int64
	sides   pairs.Sides
	ends    *format.Ambiguous // of names such as 1_mask.png beside 1.png
	dirs    bool              // the first folders are splits
	// A file that another rule names otherwise, or "".
	numbered string
}

// kind is the samples that have files of the same extensions.
type kind struct {
	exts  []string // sorted
	about bool     // all files are about the folder, as README.md is
	places
	files   []string // examples: names with extensions
	bytes   int64    // of files of known size
	classes labels.Classes
}

// maxKinds bounds the kinds that are distinguished: data sets have a few.
const maxKinds = 1 << 12

func newFacts(dirs bool) *knowledge {
	return &knowledge{ids: map[string]uint16{}, byKey: map[string]*kind{}, dirs: dirs}
}

func kindKey(exts []string, about bool) string {
	key := strings.Join(exts, "\x00")
	if about {
		key += "\x00\x00"
	}
	return key
}

// learn takes in what a table shows.
func (f *knowledge) learn(n *names, g *groups) error {
	if f.ends == nil {
		f.ends = pairs.Ends(n.Table, func(ext string) bool { return imageTypes[media(ext)] })
	}
	f.files, f.samples = f.files+int64(len(g.of)), f.samples+int64(len(g.first))
	if f.numbered == "" {
		f.numbered = g.numbered
	}
	if f.many = f.many || g.many; g.many {
		return nil
	}
	for _, ext := range g.exts {
		if _, ok := f.ids[ext]; ok {
			continue
		}
		if len(f.exts) == exts.Max {
			return exts.TooMany(f.exts)
		}
		f.ids[ext], f.exts = uint16(len(f.exts)), append(f.exts, ext)
	}
	local := make([]*kind, len(g.kinds))
	for i, k := range g.kinds {
		local[i] = f.kind(k)
	}
	sizes := make([]int64, len(local))
	for i, s := range g.of {
		if k := g.kind[s]; int(k) < len(sizes) && n.Table.Size(i) != format.SizeUnknown {
			sizes[k] += n.Table.Size(i)
		}
	}
	for i, k := range local {
		if k != nil {
			k.bytes += sizes[i]
		}
	}
	for s, first := range g.first {
		i := int(first)
		if int(g.kind[s]) >= len(local) {
			f.many = true
			continue
		}
		k := local[g.kind[s]]
		if k == nil {
			f.many = true
			continue
		}
		if len(k.files) < 3 {
			k.files = append(k.files, quote(n.Rel(i)))
		}
		k.add(func() string { return quote(n.Stem(i)) })
		k.classes.Add(n, i)
		if !k.about {
			f.sides.Add(n, i, &k.exts)
		}
	}
	return nil
}

// kind is the kind of these files among all; nil if there are too many.
func (f *knowledge) kind(k kindOf) *kind {
	key := kindKey(k.exts, k.about)
	x := f.byKey[key]
	if x == nil && len(f.kinds) < maxKinds {
		x = &kind{exts: k.exts, about: k.about, classes: labels.Classes{Splits: f.dirs}}
		f.byKey[key], f.kinds = x, append(f.kinds, x)
	}
	return x
}

// have counts the samples with a file of one of some extensions.
func (f *knowledge) have(exts []string, among func(*kind) bool) (n int64) {
	for _, k := range f.kinds {
		if among(k) && slices.ContainsFunc(k.exts, func(e string) bool { return slices.Contains(exts, e) }) {
			n += k.count
		}
	}
	return n
}

// members makes fields of the extensions of some kinds of samples.
func (f *knowledge) members(among func(*kind) bool) []member {
	var exts []string
	for _, ext := range f.exts {
		if f.many || slices.ContainsFunc(f.kinds, func(k *kind) bool { return among(k) && slices.Contains(k.exts, ext) }) {
			exts = append(exts, ext)
		}
	}
	return membersOf(exts, func(ids []uint16) bool { return !f.many && f.exclude(exts, ids, among) })
}

// exclude reports whether no sample has files of two of some extensions.
func (f *knowledge) exclude(exts []string, ids []uint16, among func(*kind) bool) bool {
	for _, k := range f.kinds {
		n := 0
		for _, id := range ids {
			if slices.Contains(k.exts, exts[id]) {
				n++
			}
		}
		if n > 1 && among(k) {
			return false
		}
	}
	return true
}

// Files that are no samples are few: one in strayShare, or fewStrays of a type that mostly
// says something about others.
const (
	fewStrays  = 3
	strayShare = 10
)

var describing = func() map[string]bool {
	m := map[string]bool{}
	for _, ext := range strings.Fields("txt csv tsv json jsonl md html xml yaml yml ini toml log pdf parquet names data") {
		m[ext] = true
	}
	return m
}()

// isList reports whether a file may be the names of the samples of a split: train.txt.
func isList(base string) bool {
	stem, ok := strings.CutSuffix(base, ".txt")
	return ok && (stem == "trainval" || walk.IsSplit(stem))
}

// strays finds the kinds that are no samples: files about the folder, and few files that
// have nothing to do with what most samples are, unless --missing says what to do with them.
func (f *knowledge) strays(missing string) map[*kind]bool {
	samples := func(k *kind) bool { return !k.about }
	var n, bytes int64
	for _, k := range f.kinds {
		if samples(k) {
			n, bytes = n+k.count, bytes+k.bytes
		}
	}
	if n == 0 || f.many {
		return nil
	}
	fields := map[string]string{} // by extension
	most := map[string]bool{}     // fields that most samples have
	for _, m := range f.members(samples) {
		for _, ext := range m.Exts {
			fields[ext] = m.Field
		}
		most[m.Field] = 2*f.have(m.Exts, samples) > n
	}
	main := func(k *kind) bool {
		return slices.ContainsFunc(k.exts, func(ext string) bool { return most[fields[ext]] })
	}
	known := map[string]bool{} // fields of samples with one of those
	for _, k := range f.kinds {
		for _, ext := range k.exts {
			known[fields[ext]] = known[fields[ext]] || samples(k) && main(k)
		}
	}
	out := map[*kind]bool{}
	var few, size int64
	describe := true
	for _, k := range f.kinds {
		alien := !slices.ContainsFunc(k.exts, func(ext string) bool { return known[fields[ext]] })
		if samples(k) && alien && missing == "fail" {
			few, size = few+k.count, size+k.bytes
			describe = describe && !slices.ContainsFunc(k.exts, func(ext string) bool { return !describing[ext] })
			out[k] = true
		}
	}
	if few == n || strayShare*few > n && (few > fewStrays || !describe) || 2*size > bytes {
		clear(out)
	}
	for _, k := range f.kinds {
		out[k] = out[k] || k.about && !f.complete(k, most, fields)
	}
	return out
}

// complete reports whether files about the folder are as other samples are: they have all that
// most have, and nothing else.
func (f *knowledge) complete(k *kind, most map[string]bool, fields map[string]string) bool {
	any := false
	for field, ok := range most {
		has := slices.ContainsFunc(k.exts, func(ext string) bool { return fields[ext] == field })
		if ok && !has {
			return false
		}
		any = any || ok
	}
	return any && !slices.ContainsFunc(k.exts, func(ext string) bool { return fields[ext] == "" })
}

// uniform reports whether all samples have the same fields.
func (f *knowledge) uniform(strays map[*kind]bool) bool {
	sample := func(k *kind) bool { return !strays[k] }
	for _, m := range f.members(sample) {
		for _, k := range f.kinds {
			if sample(k) && !m.in(k) {
				return false
			}
		}
	}
	return true
}

// alien is why files that are not about the folder are no samples.
const alien = "it has nothing in common with the samples"

// leftStrays reports the kinds that are no samples.
func (f *knowledge) leftStrays(strays map[*kind]bool) (left []format.Leftover) {
	for _, k := range f.kinds {
		if !strays[k] {
			continue
		}
		l := format.Leftover{Name: k.files[0], Count: k.count * int64(len(k.exts)), Reason: alien}
		switch {
		case k.about:
			l.Reason = "it is about the folder, and no sample"
		case labels.IsTable("x." + k.exts[0]):
			l.Reason += "; if it is a table of labels: " + k.labelled() + "--labels FILE --key COLUMN"
		}
		if k.count > 1 {
			l.Reason += ", as " + k.list("name", "names")
		}
		left = append(left, l)
	}
	return left
}

// labelled names the option that takes tables with names of the conventions; "" for others.
func (k *kind) labelled() string {
	if slices.ContainsFunc(k.files, func(f string) bool { yes, _ := labels.IsBeside(f); return yes }) {
		return "--labels " + labels.Beside + ", or "
	}
	return ""
}

// equal reports whether all samples have files of the same extensions, of which none begins
// with a number, so that the first dot is where their names end.
func (f *knowledge) equal(strays map[*kind]bool) bool {
	var one *kind
	for _, k := range f.kinds {
		switch {
		case strays[k]:
		case one != nil:
			return false
		default:
			one = k
		}
	}
	return one != nil && !f.many && one.count > 1 && !slices.ContainsFunc(one.exts, func(ext string) bool {
		first, _, _ := strings.Cut(ext, ".")
		return labels.Digits(first)
	})
}

// kindOf is the extensions of samples of one table.
type kindOf struct {
	exts  []string
	about bool
}

// findKinds finds out which samples have files of the same extensions.
func (g *groups) findKinds(n *names) {
	sums := make([]uint64, len(g.first))
	var mayAbout []bool
	for _, ext := range g.exts {
		mayAbout = append(mayAbout, walk.AboutKind(ext))
	}
	about := map[uint32]int{} // files about the folder, by sample
	for i, ext := range g.ext {
		s := g.of[i]
		sums[s] += mix(uint64(ext) + 1)
		if mayAbout[ext] {
			rel := n.Rel(i)
			if base := string(rel[strings.LastIndexByte(string(rel), '/')+1:]); walk.About(base) || isList(base) {
				about[s]++
				sums[s] += mix(1 << 32)
			}
		}
	}
	g.kind = make([]uint16, len(g.first))
	bySum := map[uint64]uint16{}
	of := map[uint32]uint16{} // the first samples of kinds
	last, lastKind := uint64(0), uint16(0)
	for s, sum := range sums {
		if s == 0 || sum != last {
			k, ok := bySum[sum]
			if !ok {
				k = uint16(min(len(bySum), maxKinds))
				bySum[sum] = k
				if k < maxKinds {
					of[uint32(s)] = k
				}
			}
			last, lastKind = sum, k
		}
		g.kind[s] = lastKind
	}
	g.kinds = make([]kindOf, len(of))
	marked := make([]bool, len(g.first))
	for s := range of {
		marked[s] = true
	}
	for i, s := range g.of {
		if marked[s] {
			k := &g.kinds[of[s]]
			k.exts = append(k.exts, g.exts[g.ext[i]])
		}
	}
	for s, k := range of {
		x := &g.kinds[k]
		slices.Sort(x.exts)
		x.about = about[s] == len(x.exts)
	}
}

// mix spreads the bits of x.
func mix(x uint64) uint64 {
	x *= 0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}
