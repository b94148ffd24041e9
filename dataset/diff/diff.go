package diff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/pass"
	"github.com/shardify/shardify/dataset/proof"
	"github.com/shardify/shardify/format"
	"golang.org/x/sync/errgroup"
)

// Set is one side of a comparison.
type Set struct {
	Name, ID string
	Parts    []Part
}

// Part is a split of a set, or all of it.
type Part struct {
	Split  string // "" without splits
	Source shardify.Source
	Table  *format.Table // names the inputs in errors; may be nil
}

// Options say how sets are compared.
type Options struct {
	// By is the field whose value finds a sample in the other set; "" takes their names, or all values
	// where the samples have none.
	By     string
	Jobs   int
	Memory int64
	// Show is how many samples of each kind are named, the first ones of the sets.
	Show int
	// Scratch makes a file for what Memory does not hold. It is closed, and has no name.
	Scratch func() (*os.File, error)
	// Progress, if set, counts what is read.
	Progress *Progress
}

// Progress may be looked at while Run works.
type Progress struct{ Samples, Bytes atomic.Int64 }

// Run compares two sets. Damage ends it with an error.
func Run(ctx context.Context, a, b Set, o Options) (*Report, error) {
	sides := [2]Set{a, b}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	r := &comparison{o: o, pool: shardify.NewPool(o.Memory / 4), sides: sides}
	r.report = &Report{A: Side{Name: a.Name, ID: a.ID}, B: Side{Name: b.Name, ID: b.ID}, Fields: []Field{}, Classes: []Class{}, Samples: []Sample{}}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	for side := range r.sorters {
		defer r.sorters[side].close()
		if err := r.read(ctx, side); err != nil {
			return nil, err
		}
	}
	if err := r.merge(ctx); err != nil {
		return nil, err
	}
	r.finish()
	return r.report, nil
}

// comparison is a comparison.
type comparison struct {
	o       Options
	pool    *shardify.Pool
	sides   [2]Set
	cols    *columns
	by      int
	all     bool
	splits  bool
	sorters [2]*sorter
	counts  [2][]map[int64]int64
	report  *Report

	mu sync.Mutex // of sorters, counts and checksums while a side is read

	changed  []int64 // by compared field
	examples [3][]Sample
}

// schemaOf is the schema of the first part; those of a set's splits are alike.
func schemaOf(s *Set) []shardify.Field {
	if len(s.Parts) == 0 {
		return nil
	}
	return s.Parts[0].Source.Schema()
}

func keyed(s *Set) bool {
	for _, p := range s.Parts {
		k, ok := p.Source.(format.Keyer)
		if !ok || !k.Keyed() {
			return false
		}
	}
	return len(s.Parts) > 0
}

// prepare chooses what is compared, and by what samples are found.
func (r *comparison) prepare() error {
	a, b := &r.sides[0], &r.sides[1]
	r.cols, r.by = match([2][]shardify.Field{schemaOf(a), schemaOf(b)}), -1
	named := keyed(a) && keyed(b)
	switch {
	case r.o.By != "":
		r.by = slices.IndexFunc(r.cols.fields, func(f compared) bool { return f.name == r.o.By })
		if r.by < 0 {
			return shardify.Misuse("no field %s of one type in both sets: they have %s", r.o.By, strings.Join(r.names(), ", "))
		}
		r.report.By = r.o.By
	case named:
		r.report.By = ByName
	default:
		if len(r.cols.fields) == 0 && len(a.Parts)+len(b.Parts) > 0 {
			return shardify.Mismatch("no field of one name and type is in both sets")
		}
		r.all, r.report.By = true, ByContents
	}
	r.splits = split(a) && split(b)
	for side := range r.sorters {
		size := newDigester(side, r.cols, r.by, r.all)
		size.splits = r.splits
		n := size.size()
		r.sorters[side] = &sorter{size: n, most: max(int(r.o.Memory/4)/n, 1) * n, scratch: r.o.Scratch}
		r.counts[side] = make([]map[int64]int64, len(r.cols.classes))
		for k := range r.counts[side] {
			r.counts[side][k] = map[int64]int64{}
		}
	}
	r.changed = make([]int64, len(r.cols.fields)+1)
	return nil
}

func split(s *Set) bool { return len(s.Parts) > 0 && s.Parts[0].Split != "" }

func (r *comparison) names() (list []string) {
	for i := range r.cols.fields {
		list = append(list, r.cols.fields[i].name)
	}
	return list
}

// read makes records of all samples of a side.
func (r *comparison) read(ctx context.Context, side int) error {
	lo := int64(0)
	to := &r.report.A
	if side == 1 {
		to = &r.report.B
	}
	for _, p := range r.sides[side].Parts {
		parts, total, err := pass.Split(ctx, p.Source)
		if err != nil {
			return err
		}
		if need := total * int64(r.sorters[side].size); len(r.sides[side].Parts) == 1 && r.sorters[side].buf == nil {
			r.sorters[side].buf = make([]byte, 0, min(need, int64(r.sorters[side].most)))
		}
		var sums proof.Sums
		g, each := errgroup.WithContext(ctx)
		g.SetLimit(max(r.o.Jobs, 1))
		for i := range parts {
			if each.Err() != nil {
				break
			}
			g.Go(func() error { return r.part(each, side, &p, &parts[i], lo, &sums) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := sums.Check(p.Source, p.Table); err != nil {
			return err
		}
		to.Samples += total
		to.starts = append(to.starts, lo)
		to.splits = append(to.splits, p.Split)
		lo += total
	}
	return nil
}

func (r *comparison) part(ctx context.Context, side int, p *Part, of *pass.Part, lo int64, sums *proof.Sums) error {
	d := newDigester(side, r.cols, r.by, r.all)
	d.split, d.splits = p.Split, r.splits
	at := lo + of.First
	schema := schemaOf(&r.sides[side])
	err := pass.Read(ctx, p.Source, r.pool, of.Spans, func(span shardify.Span, b *shardify.Batch) error {
		if err := b.Match(schema); err != nil {
			return err
		}
		d.bytes = d.bytes[:0]
		d.add(b, at)
		at += span.Samples()
		r.o.Progress.Samples.Add(span.Samples())
		r.o.Progress.Bytes.Add(span.Bytes)
		r.mu.Lock()
		defer r.mu.Unlock()
		sums.Add(b.Proofs...)
		return r.sorters[side].add(d.bytes)
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, more := range d.counts {
		all := r.counts[side][k]
		if all == nil || more == nil {
			r.counts[side][k] = nil
			continue
		}
		for code, n := range more {
			all[code] += n
		}
		if len(all) > maxClasses {
			r.counts[side][k] = nil
		}
	}
	return nil
}

// merge compares the records of both sides in the order of their keys.
func (r *comparison) merge(ctx context.Context) error {
	a, err := r.sorters[0].sorted()
	if err != nil {
		return err
	}
	b, err := r.sorters[1].sorted()
	if err != nil {
		return err
	}
	g := &group{r: r, size: r.sorters[0].size}
	for n := 0; ; n++ {
		x, y := a.first(), b.first()
		if x == nil && y == nil {
			return nil
		}
		if n&0xffff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		least := x
		if x == nil || y != nil && bytes.Compare(y[:keyBytes], x[:keyBytes]) < 0 {
			least = y
		}
		if err := g.run(least[:keyBytes], a, b); err != nil {
			return err
		}
	}
}

// group is the samples of both sides with one key.
type group struct {
	r    *comparison
	size int
	key  [keyBytes]byte
	n    [2]int64   // samples
	left [2]int64   // without an equal one on the other side
	rows [2][]int64 // of those, the first few
	one  [2][]byte  // a record of those
}

// run takes all records of a key, equal ones in pairs.
func (g *group) run(key []byte, a, b *merge) error {
	g.n, g.left = [2]int64{}, [2]int64{}
	g.rows[0], g.rows[1] = g.rows[0][:0], g.rows[1][:0]
	copy(g.key[:], key)
	sides := [2]*merge{a, b}
	for {
		x, y := g.next(a), g.next(b)
		if x == nil && y == nil {
			break
		}
		c := 0
		switch {
		case x == nil:
			c = 1
		case y == nil:
			c = -1
		default:
			c = bytes.Compare(x[:g.size-rowBytes], y[:g.size-rowBytes])
		}
		if c == 0 {
			g.r.report.Equal++
			if rowOf(x) != rowOf(y) {
				g.r.report.moved++
			}
			g.n[0]++
			g.n[1]++
			if err := cmp.Or(a.next(), b.next()); err != nil {
				return err
			}
			continue
		}
		side, rec := 0, x
		if c > 0 {
			side, rec = 1, y
		}
		g.n[side]++
		if g.left[side]++; g.left[side] == 1 {
			g.one[side] = append(g.one[side][:0], rec...)
		}
		if len(g.rows[side]) <= g.r.o.Show {
			g.rows[side] = append(g.rows[side], rowOf(rec))
		}
		if err := sides[side].next(); err != nil {
			return err
		}
	}
	g.end()
	return nil
}

// next is the next record of the group.
func (g *group) next(m *merge) []byte {
	if rec := m.first(); rec != nil && bytes.Equal(rec[:keyBytes], g.key[:]) {
		return rec
	}
	return nil
}

func rowOf(rec []byte) int64 { return int64(binary.BigEndian.Uint64(rec[len(rec)-rowBytes:])) }

// end counts what is left: as many as both sides have were changed.
func (g *group) end() {
	rep := g.r.report
	if g.n[0] > 1 {
		rep.A.Repeated++
	}
	if g.n[1] > 1 {
		rep.B.Repeated++
	}
	changed := min(g.left[0], g.left[1])
	rep.Changed += changed
	rep.Removed += g.left[0] - changed
	rep.Added += g.left[1] - changed
	var fields []int
	if g.n == [2]int64{1, 1} && changed == 1 {
		if rowOf(g.one[0]) != rowOf(g.one[1]) {
			rep.moved++
		}
		for k := range (g.size - keyBytes - rowBytes) / fieldBytes {
			at := keyBytes + k*fieldBytes
			if !bytes.Equal(g.one[0][at:at+fieldBytes], g.one[1][at:at+fieldBytes]) {
				g.r.changed[k]++
				fields = append(fields, k)
			}
		}
	} else if changed > 0 {
		rep.Ambiguous += changed
	}
	for i, row := range g.rows[0] {
		if int64(i) < changed && i < len(g.rows[1]) {
			g.r.keep(0, Sample{Change: Changed, A: row, B: g.rows[1][i], fields: fields})
		} else if int64(i) >= changed {
			g.r.keep(1, Sample{Change: Removed, A: row, B: -1})
		}
	}
	for i, row := range g.rows[1] {
		if int64(i) >= changed {
			g.r.keep(2, Sample{Change: Added, A: -1, B: row})
		}
	}
}

// keep keeps an example if it is one of the first.
func (r *comparison) keep(kind int, s Sample) {
	list := append(r.examples[kind], s)
	if len(list) >= 2*r.o.Show+64 {
		list = r.firsts(list)
	}
	r.examples[kind] = list
}

func (r *comparison) firsts(list []Sample) []Sample {
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return list[:min(len(list), r.o.Show)]
}

// finish completes the report.
func (r *comparison) finish() {
	rep := r.report
	for _, d := range r.cols.diffs {
		if k := slices.IndexFunc(r.cols.fields, func(f compared) bool { return f.name == d.Name }); k >= 0 {
			d.Samples = r.changed[k]
		}
		rep.Fields = append(rep.Fields, d)
	}
	if r.splits {
		rep.MovedSplit = r.changed[len(r.cols.fields)]
	}
	for k := range r.cols.classes {
		rep.Classes = append(rep.Classes, r.classes(k)...)
	}
	for kind := range r.examples {
		for _, s := range r.firsts(r.examples[kind]) {
			for _, k := range s.fields {
				if k == len(r.cols.fields) {
					s.Fields = append(s.Fields, SplitField)
				} else {
					s.Fields = append(s.Fields, r.cols.fields[k].name)
				}
			}
			s.SplitA, s.A = rep.A.place(s.A)
			s.SplitB, s.B = rep.B.place(s.B)
			rep.Samples = append(rep.Samples, s)
		}
	}
	rep.Same = rep.Added+rep.Removed+rep.Changed == 0 && !slices.ContainsFunc(rep.Fields, func(f Field) bool { return f.Change != "" })
	if rep.Added+rep.Removed == 0 {
		rep.Moved = rep.moved
		rep.Same = rep.Same && rep.moved == 0
	}
}

// classes is the counts of a field whose values are classes: by name, where codes have names.
func (r *comparison) classes(k int) (list []Class) {
	c := &r.cols.classes[k]
	if r.counts[0][k] == nil || r.counts[1][k] == nil {
		return nil
	}
	type class struct {
		name string
		code int64
	}
	all := map[class]*Class{}
	for side := range r.counts {
		for code, n := range r.counts[side][k] {
			at := class{code: code}
			if name, ok := c.names[side][code]; ok {
				at = class{name: name}
			}
			if all[at] == nil {
				all[at] = &Class{Field: c.name, Name: at.name, Value: code}
			}
			if side == 0 {
				all[at].A += n
			} else {
				all[at].B += n
			}
		}
	}
	for at := range maps.Keys(all) {
		list = append(list, *all[at])
	}
	slices.SortFunc(list, func(a, b Class) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name)) })
	return list
}
