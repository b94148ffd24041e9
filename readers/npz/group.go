package npz

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/storage/storages"
	"golang.org/x/sync/errgroup"
)

// group is a list of files with the same arrays, joined along the sample axis:
// all inputs, or with zip=true the inputs below one root.
type group struct {
	columns []column
	types   []npy.Type // as files store them; parts refer to them
	files   []file
	parts   []part // len(columns) per file
	// dims are the shapes of ragged columns, in the order of files and columns.
	dims    []int64
	samples int64
}

// file is one input of a group.
type file struct {
	input   uint32 // in the table
	run     uint32
	samples int64
	first   int64 // samples in the files before it
	size    int64
}

// part is one column's array in one file.
type part struct {
	off, packed int64
	crc         uint32
	headSum     uint32
	head        uint32 // bytes of the NPY header
	typ         uint32
	method      uint8
	flags       uint8
}

const (
	inFortran = 1 << iota // columns first
	hasSum                // crc is known
)

// groupBuilder surveys the files of one group.
type groupBuilder struct {
	table   *format.Table
	inputs  []uint32
	npyName string
	choose  *chooser
	firm    bool
	axis    int // of the samples
	used    *format.Used
	jobs    int
	rounds  func(field string) bool // as in format.OpenArgs

	ref     *members.Listing // the file that stands for the group
	refName string
	known   map[string]bool  // keys of ref: is it a column?
	unread  map[string]error // keys of ref that are wanted and have no form that is read
	skip    bool             // damaged files are left out
	skipped []format.Skip
	cols    []column
	left    []format.Leftover
	notes   []string

	mu    sync.Mutex
	types map[string]uint32
	list  []npy.Type
	bad   failures
}

// surveyed is what the survey keeps of a file.
type surveyed struct {
	file
	parts   []part
	dims    []int64
	foreign bool
	skipped error // it is damaged and left out
}

func (b *groupBuilder) build(ctx context.Context) (*group, error) {
	if err := b.findReference(ctx); err != nil {
		return nil, err
	}
	cols, left, err := b.choose.choose(b.ref)
	if err != nil {
		err = shardify.Annotate(err, "open", b.refName, "")
		if errors.Is(err, shardify.ErrCorrupt) && len(b.inputs) > 1 && !b.skip {
			err = &format.Skippable{Err: err}
		}
		return nil, err
	}
	if len(cols) == 0 && !b.choose.All() {
		// Nothing asked for is here, but the samples must be counted.
		all, _ := newChooser(nil, b.choose.byFile)
		all.counts = true
		if cols, _, err = all.choose(b.ref); err != nil {
			return nil, shardify.Annotate(err, "open", b.refName, "")
		}
		left = nil
		cols = slices.DeleteFunc(cols, func(c column) bool { return c.single })
		cols = cols[:min(len(cols), 1)]
		for i := range cols {
			cols[i].wanted = nil
		}
	}
	if len(cols) == 0 {
		return nil, shardify.Annotate(b.nothing(), "open", b.refName, "")
	}
	b.cols, b.left = cols, append(b.left, left...)
	b.setKnown()
	all, err := b.surveyAll(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.noneLeft(all); err != nil {
		return nil, err
	}
	g := b.assemble(all)
	if err := b.splitFiles(g); err != nil {
		return nil, err
	}
	if err := b.ask(g); err != nil {
		return nil, err
	}
	notes, err := g.unify(b.table, b.ref.NpyFile, b.rounds)
	if b.notes = append(b.notes, notes...); err == nil && b.ref.NpyFile {
		err = g.oneSeries(b.table)
	}
	return g, err
}

// noneLeft is the error about damaged files if there are no others, and lists them else.
func (b *groupBuilder) noneLeft(all []surveyed) error {
	good := 0
	for i := range all {
		s := &all[i]
		if s.skipped == nil {
			if !s.foreign {
				good++
			}
			continue
		}
		b.bad.add(s.input, shardify.Annotate(s.skipped, "open", b.table.Shown(int(s.input)), ""))
		x := format.Skip{Input: b.table.Unique(int(s.input)), Reason: s.skipped.Error()}
		var e *shardify.Error
		if errors.As(s.skipped, &e) {
			if x.Object, x.Reason = e.Object, e.Err.Error(); e.Offset >= 0 {
				x.Reason += fmt.Sprintf(" (at byte %d)", e.Offset)
			}
		}
		b.skipped = append(b.skipped, x)
	}
	if good == 0 {
		return b.bad.err(b.table, len(b.inputs))
	}
	return nil
}

// ask leaves it to the user what a sample is, where rows are not the only way to read
// several files.
func (b *groupBuilder) ask(g *group) error {
	if b.choose.byFile || len(g.files) < 2 {
		return nil
	}
	r := sampleaxis.Readings{Files: int64(len(g.files)), Rows: g.samples, Equal: g.sameSamples()}
	n, ok := leading(b.ref)
	for i := range b.ref.Arrays {
		if a := &b.ref.Arrays[i]; a.Err == nil && (len(a.Shape) == 0 || ok && a.Shape[0] == n) {
			r.Arrays = append(r.Arrays, sampleaxis.Array{Name: a.Key, Type: a.Item.Text, Shape: a.Shape})
		}
	}
	notes, err := r.Settle(b.firm)
	b.notes = append(b.notes, notes...)
	return err
}

// sameSamples reports whether all files have as many samples.
func (g *group) sameSamples() bool {
	return !slices.ContainsFunc(g.files, func(f file) bool { return f.samples != g.files[0].samples })
}

// nothing says why the reference has no column.
func (b *groupBuilder) nothing() error {
	for i := range b.ref.Arrays {
		if a := &b.ref.Arrays[i]; a.Err == nil && len(a.Shape) == 0 && !b.choose.byFile {
			return shardify.Unsupported("no array has a sample axis: %s; --sample file makes each file one sample", b.ref.Shapes())
		}
	}
	if len(b.ref.Arrays) == 1 {
		if err := b.ref.Arrays[0].Err; err != nil {
			return err
		}
	}
	return shardify.Unsupported("no arrays to read: %s", b.ref.Shapes())
}

// findReference takes the first file with data, else the first that can be read.
func (b *groupBuilder) findReference(ctx context.Context) error {
	b.types = map[string]uint32{}
	foreign := 0
	for _, i := range b.inputs {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := b.look(ctx, i, nil)
		if err != nil {
			b.bad.add(i, shardify.Annotate(err, "open", b.table.Shown(int(i)), ""))
			continue
		}
		if l.Foreign {
			foreign++
			continue
		}
		whole := !b.skip || !b.choose.damaged(l)
		if b.ref == nil || l.HasData() && whole {
			b.ref, b.refName = l, b.table.Shown(int(i))
		}
		if l.HasData() && whole {
			break
		}
	}
	if b.ref != nil {
		b.bad = failures{} // met again by surveyAll
		return nil
	}
	if err := b.bad.err(b.table, len(b.inputs)); err != nil {
		return err
	}
	if foreign > 0 {
		more := ""
		if foreign > 1 {
			more = fmt.Sprintf(", and %d more are not", foreign-1)
		}
		return shardify.Annotate(shardify.Unsupported("%v%s", members.ErrForeign, more), "open", b.table.Shown(int(b.inputs[0])), "")
	}
	return shardify.Unsupported("no NPY or NPZ files")
}

// surveyAll looks into every file, several at once.
func (b *groupBuilder) surveyAll(ctx context.Context) ([]surveyed, error) {
	jobs := b.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	all := make([]surveyed, len(b.inputs))
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(jobs, len(b.inputs)) {
		g.Go(func() error {
			for {
				k := next.Add(1) - 1
				if k >= int64(len(all)) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				err := b.surveyOne(ctx, b.inputs[k], &all[k])
				if b.skip && errors.Is(err, shardify.ErrCorrupt) {
					all[k] = surveyed{file: file{input: b.inputs[k]}, skipped: err}
					continue
				}
				if err != nil {
					b.mu.Lock()
					b.bad.add(b.inputs[k], shardify.Annotate(err, "open", b.table.Shown(int(b.inputs[k])), ""))
					b.mu.Unlock()
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	err := b.bad.err(b.table, len(b.inputs))
	if err != nil && b.bad.corrupt && b.bad.count < len(b.inputs) && !b.skip {
		err = &format.Skippable{Err: err}
	}
	return all, err
}

// look lists the arrays of an input, the samples' axis first.
func (b *groupBuilder) look(ctx context.Context, i uint32, want func(key string) bool) (*members.Listing, error) {
	l, err := members.Survey(ctx, storages.Of(b.table), b.table.Path(int(i)), b.npyName, want)
	if err != nil {
		return nil, err
	}
	for k := range l.Arrays {
		a := &l.Arrays[k]
		if a.Err != nil || len(a.Shape) < 2 {
			continue
		}
		b.used.Mark(sampleaxis.AxisOption)
		if axis, ok := sampleaxis.PlaceOfAxis(b.axis, len(a.Shape)); ok {
			a.Along(axis)
		} else {
			a.Err = shardify.Misuse("%s has the axes 0 to %d: --columns selects arrays that have others", a.Key, len(a.Shape)-1)
		}
	}
	return l, nil
}

func (b *groupBuilder) surveyOne(ctx context.Context, i uint32, s *surveyed) error {
	var extra []string
	l, err := b.look(ctx, i, func(key string) bool {
		if _, unread := b.unread[key]; unread {
			return true
		}
		col, ok := b.known[key]
		more := !ok && b.choose.more(key)
		if more {
			extra = append(extra, key)
		}
		return col || more
	})
	if err != nil {
		return err
	}
	s.input, s.size = i, l.Size
	if s.foreign = l.Foreign; s.foreign {
		return nil
	}
	return b.fit(l, s, extra)
}

// setKnown fills known.
func (b *groupBuilder) setKnown() {
	b.known = make(map[string]bool, len(b.ref.Arrays))
	b.unread = map[string]error{}
	for i := range b.ref.Arrays {
		a := &b.ref.Arrays[i]
		b.known[a.Key] = false
		if hit, _ := b.choose.match(a.Key); hit && errors.Is(a.Err, shardify.ErrUnsupported) && !errors.Is(a.Err, members.ErrNoArray) {
			b.unread[a.Key] = a.Err
		}
	}
	for i := range b.cols {
		b.known[b.cols[i].key] = true
	}
}

// assemble joins what the survey found, in the order of the inputs.
func (b *groupBuilder) assemble(all []surveyed) *group {
	g := &group{columns: b.cols}
	b.findRagged(all)
	typ := make([]int, len(b.list)) // index in g.types plus one: numbered in file order, not as found
	var foreign format.Leftover
	for i := range all {
		s := &all[i]
		name := func() string { return b.table.Name(int(s.input)) }
		if s.skipped != nil {
			continue
		}
		if s.foreign {
			note(&foreign, name, members.ErrForeign.Error())
			continue
		}
		s.first = g.samples
		g.samples += s.samples
		g.files = append(g.files, s.file)
		for j := range s.parts {
			if t := s.parts[j].typ; typ[t] == 0 {
				g.types = append(g.types, b.list[t])
				typ[t] = len(g.types)
			}
			s.parts[j].typ = uint32(typ[s.parts[j].typ] - 1)
		}
		g.parts = append(g.parts, s.parts...)
		g.dims = append(g.dims, s.dims...)
		s.parts, s.dims = nil, nil
	}
	if foreign.Count > 0 {
		b.left = append(b.left, foreign)
	}
	return g
}

func note(l *format.Leftover, name func() string, reason string) {
	if l.Count++; l.Count == 1 {
		l.Name, l.Reason = name(), reason
	}
}

// failures keeps the first errors of many files.
type failures struct {
	count   int
	corrupt bool      // all of them are damaged
	first   []failure // by input, at most three
}

type failure struct {
	input uint32
	err   error
}

func (f *failures) add(input uint32, err error) {
	f.count++
	f.corrupt = (f.corrupt || f.count == 1) && errors.Is(err, shardify.ErrCorrupt)
	f.first = append(f.first, failure{input, err})
	slices.SortFunc(f.first, func(a, b failure) int { return int(a.input) - int(b.input) })
	f.first = f.first[:min(len(f.first), 3)]
}

// err is the first failure, with the number and names of the others.
func (f *failures) err(t *format.Table, of int) error {
	if f.count < 2 {
		if f.count == 1 {
			return f.first[0].err
		}
		return nil
	}
	var names []string
	for _, x := range f.first {
		names = append(names, t.Shown(int(x.input)))
	}
	more := ""
	if f.count > len(names) {
		more = ", ..."
	}
	var e *shardify.Error
	if !errors.As(f.first[0].err, &e) {
		e = &shardify.Error{Op: "open", Sample: -1, Offset: -1, Err: f.first[0].err}
	}
	c := *e
	c.Err = fmt.Errorf("%w (%d of %d files: %s%s)", e.Err, f.count, of, strings.Join(names, ", "), more)
	return &c
}

// npyName names the array of .npy files: by their stem, or what their stems
// have in common.
func npyName(t *format.Table, inputs []uint32) string {
	var common string
	n, same := 0, true
	for _, i := range inputs {
		base := path.Base(t.Name(int(i)))
		ext := path.Ext(base)
		if !strings.EqualFold(ext, ".npy") && len(inputs) > 1 {
			continue
		}
		stem := strings.TrimSuffix(base, ext)
		if n++; n == 1 {
			common = stem
		}
		same = same && stem == common
		for !strings.HasPrefix(stem, common) {
			common = common[:len(common)-1]
		}
	}
	if !same {
		common = strings.TrimRight(strings.ToValidUTF8(common, ""), "0123456789_-. ")
	}
	if common == "" {
		return "data"
	}
	return common
}
