package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/labels"
)

// member is a field whose values are files.
type member struct {
	Field string `json:"field"`
	// Exts are the extensions it takes: one, or the image types of a field of
	// media "image", sorted; their places are the codes of the companion.
	Exts     []string `json:"exts"`
	Nullable bool     `json:"nullable,omitempty"`
}

func (m *member) varies() bool { return len(m.Exts) > 1 }

// membersOf makes fields of extensions; exclude reports whether no sample has files of
// two of some.
func membersOf(exts []string, exclude func(ids []uint16) bool) []member {
	families := families(exts)
	in := map[uint16]string{} // extension -> merged field
	for prefix, ids := range families {
		name := strings.TrimSuffix(prefix, ".")
		if name == "" {
			name = "image"
		}
		if len(ids) > 1 && !slices.Contains(exts, name) && exclude(ids) {
			for _, id := range ids {
				in[id] = name
			}
		}
	}
	byName := map[string]*member{}
	for id, ext := range exts {
		name := ext
		if merged, ok := in[uint16(id)]; ok {
			name = merged
		}
		if byName[name] == nil {
			byName[name] = &member{Field: name}
		}
		byName[name].Exts = append(byName[name].Exts, ext)
	}
	var list []member
	for _, m := range byName {
		slices.Sort(m.Exts)
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.Field, b.Field) })
	return list
}

// families are the extensions that could be one field, by what precedes the image
// type.
func families(exts []string) map[string][]uint16 {
	out := map[string][]uint16{}
	for id, ext := range exts {
		if imageTypes[media(ext)] {
			f := ext[:len(ext)-len(media(ext))]
			out[f] = append(out[f], uint16(id))
		}
	}
	return out
}

// matrix is the file of each member of each sample.
type matrix struct {
	members int
	files   []uint32 // samples x members; nil when file i is simply number i
	first   []uint32 // per sample, one of its files, for its name; nil when that is files[s*members]
	samples int
	base    int64 // number of the first sample, in a part of the inputs
}

// file is the file of member m of sample s, or none.
func (m *matrix) file(s int64, member int) uint32 {
	k := (s-m.base)*int64(m.members) + int64(member)
	if m.files == nil {
		return uint32(k)
	}
	return m.files[k]
}

// end is one past the last sample.
func (m *matrix) end() int64 { return m.base + int64(m.samples) }

// named is a file of sample s, whatever member.
func (m *matrix) named(s int64) int {
	if m.first != nil {
		return int(m.first[s-m.base])
	}
	return int(m.file(s, 0))
}

// arrange builds the matrix of the wanted members and applies --missing.
func (b *builder) arrange(ctx context.Context) error {
	if b.rows != nil {
		return b.arrangeRows()
	}
	g, k := b.g, len(b.members)
	of := b.memberOf()
	counts := make([]int64, k)
	for _, ext := range g.ext {
		if m := of[ext]; m >= 0 {
			counts[m]++
		}
	}
	// A matrix with mostly holes would take memory without bound; this many
	// members missing is a misread name anyway.
	if int64(len(g.first))*int64(k) > 8*int64(len(g.of))+1<<16 {
		return b.missingError("")
	}
	m := &matrix{members: k, samples: len(g.first), first: g.first, files: make([]uint32, len(g.first)*k)}
	for i := range m.files {
		m.files[i] = none
	}
	var twice places
	for i, ext := range g.ext {
		if of[ext] < 0 {
			continue
		}
		slot := &m.files[int(g.of[i])*k+of[ext]]
		if *slot != none {
			twice.add(func() string { return fmt.Sprintf("%s and %s", b.path(int(*slot)), b.path(i)) })
			continue
		}
		*slot = uint32(i)
	}
	if twice.count > 0 {
		return &problem{kind: "twice", found: []finding{{places: twice}}, text: func(p *problem) error {
			return shardify.Mismatch("%s are the same field of the same sample", p.found[0].list("pair", "pairs"))
		}}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	b.m = m
	b.dropStrays()
	if slices.Contains(m.files, none) {
		if err := b.holes(); err != nil {
			return err
		}
	}
	m.simplify(len(g.of))
	return nil
}

// dropStrays removes what is no sample.
func (b *builder) dropStrays() {
	m := b.m
	if !slices.Contains(b.stray, true) {
		return
	}
	first := make([]uint32, 0, m.samples)
	files := m.files[:0]
	for s, f := range m.first {
		if k := int(b.g.kind[s]); k >= len(b.stray) || !b.stray[k] {
			files, first = append(files, m.files[s*m.members:(s+1)*m.members]...), append(first, f)
		}
	}
	m.files, m.first, m.samples = files, first, len(first)
	for i, s := range b.g.of {
		if k := int(b.g.kind[s]); k < len(b.stray) && b.stray[k] {
			b.strays = append(b.strays, uint32(i))
		}
	}
}

// memberOf maps an extension to the wanted member that takes it, or -1.
func (b *builder) memberOf() []int {
	of := make([]int, len(b.g.exts))
	for id, ext := range b.g.exts {
		of[id] = slices.IndexFunc(b.members, func(m member) bool { return slices.Contains(m.Exts, ext) })
	}
	return of
}

// holes applies --missing to samples that lack a file.
func (b *builder) holes() error {
	m := b.m
	if b.pairs != nil {
		if err := b.nearly(); err != nil {
			return err
		}
	}
	switch b.options[optMissing] {
	case "drop":
		return b.drop()
	case "fill":
		for j := range b.members {
			for s := range m.samples {
				b.members[j].Nullable = b.members[j].Nullable || m.files[s*m.members+j] == none
			}
		}
		return nil
	}
	return b.missingError("--missing fill writes empty values")
}

// drop removes samples that lack a file, and counts each under the first field
// that it lacks.
func (b *builder) drop() error {
	m := b.m
	lacks := make([]int64, m.members)
	first := make([]uint32, 0, m.samples)
	files := m.files[:0]
	for s := range m.samples {
		row := m.files[s*m.members : (s+1)*m.members]
		if j := slices.Index(row, none); j >= 0 {
			lacks[j]++
			continue
		}
		files = append(files, row...)
		first = append(first, m.first[s])
	}
	for j, n := range lacks {
		if n > 0 {
			b.left = append(b.left, format.Leftover{Name: b.members[j].Field, Reason: "samples without it (--missing drop)", Count: n, Unit: "sample"})
		}
	}
	m.files, m.first, m.samples = files, first, len(first)
	if m.samples == 0 && !b.part {
		return shardify.Mismatch("no sample has all of %s: nothing is left by --missing drop", strings.Join(b.fieldNames(), ", "))
	}
	return nil
}

func (b *builder) fieldNames() []string {
	var s []string
	for i := range b.members {
		s = append(s, b.members[i].Field)
	}
	return s
}

// missingError names the fields that some samples lack, with count and examples, and what
// can be done: nothing that ends in the next refusal.
func (b *builder) missingError(fill string) error {
	const fields = 6
	e := &problem{kind: "missing", total: b.total}
	f := newFacts(false)
	if err := f.learn(b.names, b.g); err != nil {
		return err
	}
	var whole int64 // samples that lack nothing
	var kinds []*kind
	for i, k := range f.kinds {
		if i < len(b.stray) && b.stray[i] {
			continue
		}
		kinds = append(kinds, k)
		if !b.part {
			e.total += k.count
		}
		if !slices.ContainsFunc(b.members, func(m member) bool { return !m.in(k) }) {
			whole += k.count
		}
	}
	var most member
	var had int64
	for j := range b.members {
		x := finding{name: b.members[j].Field}
		var has int64
		for _, k := range kinds {
			if b.members[j].in(k) {
				has += k.count
			} else {
				x.merge(&k.places)
			}
		}
		if has > had {
			most, had = b.members[j], has
		}
		if x.count == 0 {
			continue
		}
		if len(e.found) == fields {
			e.more = len(b.members) - j
			break
		}
		e.found = append(e.found, x)
	}
	var cures []string
	if b.pairs == nil && !labels.Tables(b.options[optLabels]) && slices.ContainsFunc(kinds, func(k *kind) bool { return k.labelled() != "" }) {
		cures = append(cures, "--labels "+labels.Beside+" joins the table to the files that it names")
	}
	if whole > 0 {
		cures = append(cures, "--missing drop leaves them out")
	} else {
		cures = append(cures, fmt.Sprintf("--columns %s --missing drop takes the samples with that file alone", printable.Quote(most.Field)))
	}
	if fill != "" {
		cures = append(cures, fill)
	}
	if b.pairs == nil && b.names.By != labels.Last && b.evenByLast() {
		cures = append(cures, "--stem last ends names at the last dot, and no file is missing")
	}
	e.text = func(p *problem) error {
		var lacks []string
		for i := range p.found {
			lacks = append(lacks, p.found[i].name+" in "+p.found[i].list("sample", "samples"))
		}
		text := strings.Join(lacks, "; ")
		if p.more > 0 {
			text += fmt.Sprintf("; and up to %d more", p.more)
		}
		return shardify.Mismatch("of %d samples some lack a file: %s; %s", p.total, text, strings.Join(cures, ", "))
	}
	return e
}

// in reports whether samples of a kind have a file of the member.
func (m *member) in(k *kind) bool {
	return slices.ContainsFunc(k.exts, func(ext string) bool { return slices.Contains(m.Exts, ext) })
}

// evenByLast reports whether all samples have the same fields if their names end at the last
// dot.
func (b *builder) evenByLast() bool {
	n := labels.NewPaths(b.table, labels.Last)
	g, err := group(context.Background(), n)
	if err != nil {
		return false
	}
	f := newFacts(false)
	if f.learn(n, g) != nil {
		return false
	}
	return f.uniform(f.strays("fail"))
}

// simplify drops lists that follow from the order of the files.
func (m *matrix) simplify(files int) {
	same := m.members > 0
	for s := 0; same && s < m.samples; s++ {
		same = m.first[s] == m.files[s*m.members]
	}
	if same {
		m.first = nil
	} else {
		m.first = slices.Clip(m.first)
	}
	if len(m.files) != files {
		return
	}
	for i, f := range m.files {
		if int(f) != i {
			return
		}
	}
	m.files = nil
}
