package mmap

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/view"
)

// viewed is a source whose samples are the windows of a view: rows are copied into each of them.
type viewed struct {
	*source
	samples *view.Samples
	views   []view.Numbered
	checked sync.Map // shards whose rows were compared with their checksums
}

// choose finds the views of the inputs by the option's text.
func (s *source) choose(text string, sets []*dataset.Set) error {
	spec, err := view.Parse(text)
	if err != nil {
		return err
	}
	if spec.View == "" {
		return shardify.Misuse("view %q: want the name of a view of the set, perhaps with out=N", text)
	}
	for _, m := range sets {
		v, err := spec.Of(m.Windows)
		if err == nil && len(s.survey.Views) > 0 && !view.SameOffsets(&s.survey.Views[0], v) {
			err = shardify.Mismatch("view %s is of other rows than in %s", spec.View, sets[0].Path)
		}
		if err != nil {
			return shardify.Annotate(err, "open", dataset.ManifestPath(m.Path), "")
		}
		s.survey.Views = append(s.survey.Views, *v)
	}
	return nil
}

// newViewed lays the windows out.
func newViewed(s *source) (*viewed, error) {
	v := &viewed{source: s}
	if len(s.survey.Views) != len(s.Inputs) {
		return nil, shardify.Corrupt(-1, "%d views of %d inputs", len(s.survey.Views), len(s.Inputs))
	}
	for i := range s.survey.Views {
		if !view.SameOffsets(&s.survey.Views[i], &s.survey.Views[0]) {
			return nil, shardify.Corrupt(-1, "views of other rows")
		}
		rows := int64(0)
		for _, sh := range s.Inputs[i] {
			rows += sh.Samples
		}
		if err := s.survey.Views[i].Check(rows); err != nil {
			return nil, shardify.Annotate(err, "open", s.manifest(i), "")
		}
		v.views = append(v.views, view.NewNumbered(&s.survey.Views[i]))
	}
	var err error
	v.samples, err = view.NewSamples(s.schema, &s.survey.Views[0])
	return v, err
}

func (v *viewed) Schema() []shardify.Field { return slices.Clone(v.samples.Schema) }

// Keyed: a window has rows of several names.
func (v *viewed) Keyed() bool { return false }

// Notes says what windows cost.
func (v *viewed) Notes() []string {
	windows, rows := int64(0), int64(0)
	for i := range v.survey.Views {
		windows += v.survey.Views[i].Len()
		for _, sh := range v.Inputs[i] {
			rows += sh.Samples
		}
	}
	return []string{v.samples.Note(windows, rows)}
}

// Spans are stretches of windows.
func (v *viewed) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	each := v.samples.Bytes()
	step := max(target/max(each, 1), 1)
	return func(yield func(shardify.Span, error) bool) {
		for i := range v.survey.Views {
			n := v.survey.Views[i].Len()
			for lo := int64(0); lo < n; lo += step {
				hi := min(lo+step, n)
				if err := ctx.Err(); err != nil {
					yield(shardify.Span{}, err)
					return
				}
				if !yield(shardify.Span{Input: uint32(i), Lo: lo, Hi: hi, Bytes: (hi - lo) * each}, nil) {
					return
				}
			}
		}
	}
}

func (v *viewed) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("run %d: mmap shards have none", run)
	}
	return &viewReader{reader: reader{src: v.source, input: -1}, of: v}, nil
}

// viewReader reads the rows of a span once, and copies them into its windows.
type viewReader struct {
	reader
	of      *viewed
	rows    [][]byte // by wanted field
	anchors []int64
	need    []view.Stretch

	scratch shardify.Scratch
}

// Close gives the memory back.
func (r *viewReader) Close() error {
	r.scratch.Close()
	r.rows, r.anchors, r.need = nil, nil, nil
	return r.reader.Close()
}

// Read makes windows.
func (r *viewReader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if int(s.Input) >= len(r.of.views) || s.Run != 0 || s.Lo < 0 || s.Hi <= s.Lo || s.Hi > r.of.views[s.Input].Len() {
		return nil, fmt.Errorf("span [%d, %d) of input %d does not exist", s.Lo, s.Hi, s.Input)
	}
	r.anchors = r.of.views[s.Input].Rows(r.anchors[:0], s.Lo, s.Hi)
	r.need = r.of.samples.Need(r.need[:0], r.anchors)
	total := int64(0)
	for _, x := range r.need {
		total += x.Hi - x.Lo
	}
	if err := r.room(ctx, total, mem); err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range r.need {
		x := &r.need[i]
		for k, f := range r.src.wanted {
			size := int64(r.src.survey.Schema[f].ElemBytes())
			x.Data = append(x.Data, r.rows[k][at*size:(at+x.Hi-x.Lo)*size])
		}
		if err := r.load(ctx, int(s.Input), x); err != nil {
			return nil, err
		}
		at += x.Hi - x.Lo
	}
	b, err := r.of.samples.Copy(r.anchors, r.need, mem)
	if err == nil {
		b.First = shardify.ID{Input: s.Input, Sample: s.Lo}
	}
	return b, err
}

// room makes room for so many rows. What is larger than the reader's share of memory is dropped
// before others are read.
func (r *viewReader) room(ctx context.Context, total int64, mem *shardify.Arena) error {
	all := func() (n int64) {
		for k := range r.rows {
			n += int64(cap(r.rows[k]))
		}
		return n + 8*int64(cap(r.anchors)) + 64*int64(cap(r.need))
	}
	wanted := r.src.wanted
	if len(r.rows) == 0 {
		r.rows = make([][]byte, len(wanted))
	}
	more := int64(0)
	for k, i := range wanted {
		n := total * int64(r.src.survey.Schema[i].ElemBytes())
		if have := int64(cap(r.rows[k])); have < n || have > max(r.scratch.Share(), n) {
			r.rows[k] = nil
			more += n
		}
	}
	if err := r.scratch.Hold(ctx, mem, all()+more); err != nil {
		return err
	}
	for k, i := range wanted {
		n := int(total) * r.src.survey.Schema[i].ElemBytes()
		if r.rows[k] == nil {
			r.rows[k] = make([]byte, n)
		}
		r.rows[k] = r.rows[k][:n]
	}
	return nil
}

// load reads rows, shard by shard.
func (r *viewReader) load(ctx context.Context, input int, x *view.Stretch) error {
	shards := r.src.Inputs[input]
	for j := range shards {
		lo, hi := max(x.Lo, shards[j].lo), min(x.Hi, shards[j].lo+shards[j].Samples)
		if lo >= hi {
			continue
		}
		name := r.src.shardPath(input, shards[j].Name)
		if err := r.open(ctx, input, j, name); err != nil {
			return shardify.Annotate(err, "open", name, "")
		}
		if err := r.check(input, j); err != nil {
			return shardify.Annotate(err, "read", name, "")
		}
		for k, i := range r.src.wanted {
			size := int64(r.src.survey.Schema[i].ElemBytes())
			if err := r.head.Read(x.Data[k][(lo-x.Lo)*size:(hi-x.Lo)*size], r.head.Columns[i].Values, lo-shards[j].lo); err != nil {
				return shardify.Annotate(locate(err, r.src.survey.Schema[i].Name), "read", name, "")
			}
		}
	}
	return nil
}

// check compares the wanted fields of the present shard with their checksums, once for all
// readers: its rows are read in parts that do not join.
func (r *viewReader) check(input, shard int) error {
	key := [2]int{input, shard}
	one, _ := r.of.checked.LoadOrStore(key, sync.OnceValue(func() error {
		buf := make([]byte, 1<<20)
		for _, i := range r.src.wanted {
			if err := r.head.CheckTensor(r.file, r.head.Columns[i].Values, buf); err != nil {
				return err
			}
		}
		return nil
	}))
	err := one.(func() error)()
	if err != nil {
		r.of.checked.Delete(key) // who reads again, perhaps fetched again, checks again
	}
	return err
}
