package arrays

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/openfiles"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/shelf"
	"github.com/shardify/shardify/storage"
)

// value is a text: where it is among the bytes of a target.
type value struct{ lo, hi int64 }

// target is where the values of a leaf go: as many rows as are asked for.
type target struct {
	*leaf
	size  int64  // bytes of an element of the array
	data  []byte // of numbers
	vals  []value
	text  []byte // of texts
	width int    // the characters of one, of single characters
}

// work is the memory of one reader, reused from span to span.
type work struct {
	stored  []byte
	out     []byte // decoded
	codes   []byte // what a leaf has of it
	piece   []byte // its values
	values  [][]byte
	node    node.Scratch
	jobs    []job
	coord   []int64
	kept    []kept
	shelf   *shelf.Shelf // nil: rows of parts that are too large to be kept are decoded for each span
	scratch shardify.Scratch
	ahead   int64 // bytes of chunks that are on the way
	ctx     context.Context
	mem     *shardify.Arena
	decoded int64 // chunks, for tests
}

// job is a part to be read.
type job struct {
	n      int64 // its number
	key    string
	inside int64
	storage.Range
}

// jobBytes is about what a job takes, with its key.
const jobBytes = 96

// kept is a decoded row of parts, of which spans use a part each.
type kept struct {
	g       *grid
	row     int64 // the first
	targets []target
}

// keepRow is the largest row of parts that is kept, keepAll bounds all of them.
var keepRow int64 = 8 << 20

const keepAll = 32 << 20

// together bounds what is read at once of a shard; gap is how many bytes may be between its parts.
const (
	together = 1 << 20
	gap      = 64 << 10
)

// grow makes a buffer one of n bytes of any content.
func (w *work) grow(b *[]byte, n int64) ([]byte, error) {
	if have := int64(cap(*b)); have < n+slack {
		if err := w.hold(n + slack - have); err != nil {
			return nil, err
		}
		*b = nil
		*b = make([]byte, n+slack)
	}
	return (*b)[: n : n+slack], nil
}

// slack is what decoders like to have behind what they write.
const slack = 64

func (w *work) hold(more int64) error {
	if w.mem == nil {
		return nil
	}
	return w.scratch.Hold(w.ctx, w.mem, w.memory()+more)
}

func (w *work) memory() int64 {
	n := w.ahead + int64(cap(w.stored)+cap(w.out)+cap(w.codes)+cap(w.piece)+24*cap(w.values)+jobBytes*cap(w.jobs)) + w.node.Memory()
	for i := range w.kept {
		n += w.kept[i].bytes()
	}
	return n
}

func (k *kept) bytes() (n int64) {
	for i := range k.targets {
		n += int64(cap(k.targets[i].data) + cap(k.targets[i].text) + 16*cap(k.targets[i].vals))
	}
	return n
}

// begin prepares for a span, end drops what is more than the reader's share of memory.
func (w *work) begin(ctx context.Context, mem *shardify.Arena) error {
	w.ctx, w.mem = ctx, mem
	return w.hold(0)
}

func (w *work) end() error {
	if share := w.scratch.Share(); w.memory() > share {
		w.stored, w.out, w.codes, w.piece, w.values, w.jobs, w.node = nil, nil, nil, nil, nil, nil, node.Scratch{}
		for len(w.kept) > 0 && w.memory() > share {
			w.kept = slices.Delete(w.kept, 0, 1)
		}
	}
	err := w.hold(0)
	w.mem, w.ctx = nil, nil
	return err
}

// rowBytes is about what a row takes.
func rowBytes(g *grid, targets []target) (n int64) {
	for i := range targets {
		n += g.elems * max(targets[i].size, 16)
	}
	return max(n, 1)
}

// read reads rows [lo, hi). Rows of parts that are needed in part are kept, as the next span
// needs the other part.
func (w *work) read(in *input, g *grid, lo, hi int64, targets []target) error {
	per := rowBytes(g, targets)
	for at := lo; at < hi; {
		start, end := g.block(at)
		if part := at > start || hi < end; part && end-start <= keepRow/per {
			k, err := w.keep(in, g, start, end, targets)
			if err != nil {
				return err
			}
			n := min(hi, end)
			for i := range targets {
				targets[i].copy(&k.targets[i], at-lo, at-start, n-at, g.elems)
			}
			at = n
			continue
		} else if n := min(hi, end); part && w.shelf != nil && len(targets) == 1 && n-at <= (end-start)/little {
			if ok, err := w.shelved(in, g, &targets[0], lo, at, n, start, end); err != nil {
				return err
			} else if ok {
				at = n
				continue
			}
		}
		stop := hi
		if last, end := g.block(hi - 1); last > at && hi < end {
			stop = last // the rest is part of a row of parts
		}
		if err := w.some(in, g, lo, at, stop, targets); err != nil {
			return err
		}
		at = stop
	}
	return nil
}

// copy takes n rows of a kept target.
func (t *target) copy(k *target, to, from, n, elems int64) {
	if !t.leaf.text() {
		per := elems * t.size
		copy(t.data[to*per:(to+n)*per], k.data[from*per:])
		return
	}
	per := elems * t.leaf.values()
	for i := range n * per {
		v := k.vals[from*per+i]
		t.put(to*per+i, k.text[v.lo:v.hi])
	}
}

// fuse makes texts of the characters along the last dimension, without the zeros behind them.
func (t *target) fuse() {
	text, vals := make([]byte, 0, len(t.text)), make([]value, 0, len(t.vals)/max(t.width, 1))
	for ; t.width > 0 && len(t.vals) >= t.width; t.vals = t.vals[t.width:] {
		lo := len(text)
		for _, v := range t.vals[:t.width] {
			text = append(text, t.text[v.lo:v.hi]...)
		}
		text = text[:lo+len(bytes.TrimRight(text[lo:], "\x00"))]
		vals = append(vals, value{int64(lo), int64(len(text))})
	}
	t.text, t.vals = text, vals
}

func (t *target) put(i int64, p []byte) {
	lo := int64(len(t.text))
	t.text = append(t.text, p...)
	t.vals[i] = value{lo, int64(len(t.text))}
}

// room makes room for n rows.
func (t *target) room(g *grid, n int64, alloc func(n int64) ([]byte, error)) (err error) {
	if t.leaf.text() {
		t.vals, t.text = make([]value, n*g.elems*t.leaf.values()), t.text[:0]
		return nil
	}
	t.data, err = alloc(n * g.elems * t.size)
	return err
}

// keep returns a decoded row of parts, which a reader has once.
func (w *work) keep(in *input, g *grid, start, end int64, targets []target) (*kept, error) {
	for i := range w.kept {
		if k := &w.kept[i]; k.g == g && k.row == start && len(k.targets) == len(targets) {
			return k, nil
		}
	}
	bytes := (end - start) * rowBytes(g, targets)
	w.kept = slices.DeleteFunc(w.kept, func(k kept) bool { return k.g == g })
	for most := min(keepAll, w.scratch.Share()); len(w.kept) > 0 && w.memory()+bytes > most; {
		w.kept = slices.Delete(w.kept, 0, 1)
	}
	if err := w.hold(bytes); err != nil {
		return nil, err
	}
	k := kept{g: g, row: start}
	for i := range targets {
		t := target{leaf: targets[i].leaf, size: targets[i].size}
		if err := t.room(g, end-start, func(n int64) ([]byte, error) { return make([]byte, n), nil }); err != nil {
			return nil, err
		}
		k.targets = append(k.targets, t)
	}
	if err := w.some(in, g, start, start, end, k.targets); err != nil {
		return nil, err
	}
	w.kept = append(w.kept, k)
	return &w.kept[len(w.kept)-1], nil
}

// some reads rows [lo, hi) of targets that begin with row first, each part once: those of a
// shard by their place, neighbours by one read.
func (w *work) some(in *input, g *grid, first, lo, hi int64, targets []target) error {
	if g.elems == 0 {
		return nil
	}
	jobs := w.jobs[:0]
	g.parts(lo, hi, func(n int64) {
		w.coord = g.coord(n, w.coord)
		j := job{n: n}
		j.key, j.inside = g.place(w.coord)
		jobs = append(jobs, j)
	})
	w.jobs = jobs
	p := pass{work: w, in: in, g: g, first: first, lo: lo, hi: hi, targets: targets}
	if g.Sharded() {
		return p.shards(jobs)
	}
	get, stop := in.fetch(w, g, jobs)
	defer stop()
	for i := range jobs {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
		}
		stored, err := get(i)
		if err == nil {
			err = p.decodeJob(&jobs[i], stored)
		}
		if err != nil {
			return p.at(err, &jobs[i])
		}
	}
	return nil
}

// pass is the reading of some rows.
type pass struct {
	*work
	in            *input
	g             *grid
	first, lo, hi int64
	targets       []target
}

// shards reads parts of shards. Those of another machine are opened before they are wanted.
func (p *pass) shards(jobs []job) error {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.key, b.key) })
	var groups [][]job
	for i := 0; i < len(jobs); {
		n := i
		for n < len(jobs) && jobs[n].key == jobs[i].key {
			n++
		}
		groups = append(groups, jobs[i:n])
		i = n
	}
	ahead := 1
	if p.in.files.Far() {
		ahead = 8
	}
	opened := make([]chan opening, len(groups))
	next := 0
	defer func() {
		for _, c := range opened[:next] {
			select {
			case o := <-c: // not taken
				if o.h != nil {
					o.h.Release()
				}
			default:
			}
		}
	}()
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, group := range groups {
		for ; next < min(i+ahead, len(groups)); next++ {
			c, g := make(chan opening, 1), groups[next]
			opened[next] = c
			if ahead == 1 {
				c <- p.opens(g)
			} else {
				wg.Go(func() { c <- p.opens(g) })
			}
		}
		if err := p.shard(group, <-opened[i]); err != nil {
			return err
		}
	}
	return nil
}

// opening is an open shard; h is nil of one that was never written.
type opening struct {
	h   *openfiles.Handle[string, *shard]
	err error
}

// opens opens a shard, finds where the parts are in it, and has them read.
func (p *pass) opens(jobs []job) opening {
	h, err := p.in.shard(p.ctx, p.g, jobs[0].key)
	if errors.Is(err, fs.ErrNotExist) {
		return opening{}
	}
	if err != nil {
		return opening{err: err}
	}
	for i := range jobs {
		e := h.Value.index[jobs[i].inside]
		jobs[i].Range = storage.Range{Off: e.Off, Len: e.Len}
	}
	slices.SortFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.n, b.n)) })
	storage.Announce(h.Value.blob, func(yield func(storage.Range) bool) {
		for i := range jobs {
			if jobs[i].Len > 0 && !yield(jobs[i].Range) {
				return
			}
		}
	})
	return opening{h: h}
}

// shard reads the parts of one shard, neighbours by one read.
func (p *pass) shard(jobs []job, o opening) error {
	if o.err != nil {
		return p.at(o.err, &jobs[0])
	}
	if o.h == nil {
		for i := range jobs {
			if err := p.decodeJob(&jobs[i], nil); err != nil {
				return p.at(err, &jobs[i])
			}
		}
		return nil
	}
	defer o.h.Release()
	x := o.h.Value
	for i := 0; i < len(jobs); {
		if err := p.ctx.Err(); err != nil {
			return context.Cause(p.ctx)
		}
		start, end, n := jobs[i].Off, jobs[i].Off, i
		for ; n < len(jobs); n++ {
			j := &jobs[n]
			if j.Len < 0 {
				continue
			}
			if n > i && (j.Off-end > gap || j.Off+j.Len-start > together) {
				break
			}
			end = max(end, j.Off+j.Len)
		}
		buf, err := p.grow(&p.stored, end-start)
		if err == nil && len(buf) > 0 {
			err = readAt(x.blob, buf, start)
		}
		if err != nil {
			return p.at(err, &jobs[i])
		}
		for ; i < n; i++ {
			j := &jobs[i]
			var stored []byte
			if j.Len >= 0 {
				stored = buf[j.Off-start:][:j.Len]
				if stored == nil {
					stored = []byte{}
				}
			}
			if err := p.decodeJob(j, stored); err != nil {
				return p.at(err, j)
			}
		}
	}
	return nil
}

// decodeJob decodes a part; stored is nil if the part is missing.
func (p *pass) decodeJob(j *job, stored []byte) error {
	g := p.g
	p.coord = g.coord(j.n, p.coord)
	r0 := p.coord[0] * g.part[0]
	a, b := max(p.lo, r0), min(p.hi, r0+g.part[0], g.rows)
	if g.taken != nil { // rows are counted among those taken
		a, b = p.lo, p.hi
	}
	p.decoded++
	if stored != nil {
		if err := g.Claims(int64(len(stored))); err != nil {
			return err
		}
	}
	if g.Type.Varies() {
		return p.takeValues(stored, a, b)
	}
	size := int64(g.Type.Size)
	straight := g.whole && b-a == g.part[0]
	t := &p.targets[0]
	if straight && len(p.targets) == 1 && t.same() {
		_, err := p.into(t, a, stored)
		return err
	}
	if straight && len(p.targets) == 1 && t.leaf.cf != nil && t.leaf.cf.From == t.leaf.cf.To && t.leaf.name == "" {
		dst, err := p.into(t, a, stored)
		if err != nil {
			return err
		}
		return t.leaf.cf.Decode(dst, dst)
	}
	out, err := p.grow(&p.out, g.PartElements()*size)
	if err != nil {
		return err
	}
	if err := p.decode(out, stored); err != nil {
		return err
	}
	for i := range p.targets {
		t := &p.targets[i]
		if t.leaf.text() {
			if err := p.texts(t, out, a, b); err != nil {
				return err
			}
			continue
		}
		src := out
		if !t.same() {
			var dst []byte
			if straight {
				dst = t.data[(a-p.first)*g.elems*t.size:][:g.part[0]*g.elems*t.size]
			}
			if src, err = p.convert(t, dst, out); err != nil {
				return err
			}
			if straight {
				continue
			}
		}
		g.tiles(p.coord, p.first, a, b, func(x *tile) { x.copy(t.data, src, t.size) })
	}
	return nil
}

// into decodes a part to where the elements of its rows go, from row a on. Decoders may write behind
// what they decode, and are faster for it: these bytes are of rows that come later, or that a part
// further behind in the file had, so that they are put back.
func (p *pass) into(t *target, a int64, stored []byte) ([]byte, error) {
	n := p.g.part[0] * p.g.elems * t.size
	dst := t.data[(a-p.first)*p.g.elems*t.size:][:n]
	behind := dst[n:min(n+slack, int64(cap(dst)))]
	var kept [slack]byte
	copy(kept[:], behind)
	err := p.decode(dst[:n:n+int64(len(behind))], stored)
	copy(behind, kept[:])
	return dst, err
}

// decode decodes a part, or fills it.
func (p *pass) decode(dst, stored []byte) error {
	if stored == nil {
		fill(dst, p.g.Fill)
		return p.g.missing()
	}
	return p.g.Part(dst, stored, &p.node)
}

// fill repeats an element.
func fill(dst, with []byte) {
	n := copy(dst, with)
	for n > 0 && n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
}

// convert makes values of all elements of a part, in dst or in a place of their own.
func (p *pass) convert(t *target, dst, elements []byte) ([]byte, error) {
	l, size := t.leaf, p.g.Type.Size
	n := len(elements) / size
	if l.name != "" { // what the leaf has of each element
		width := int(l.values()) * l.typ.Size
		codes, err := p.grow(&p.codes, int64(n*width))
		if err != nil {
			return nil, err
		}
		for i := range n {
			copy(codes[i*width:(i+1)*width], elements[i*size+l.off:])
		}
		if elements = codes; l.typ.DType != shardify.Bool && dst == nil {
			return codes, nil
		}
	}
	if dst == nil {
		var err error
		if dst, err = p.grow(&p.piece, int64(n)*t.size); err != nil {
			return nil, err
		}
	}
	switch {
	case l.cf != nil:
		return dst, l.cf.Decode(dst, elements)
	case l.typ.DType == shardify.Bool:
		for i, b := range elements {
			dst[i] = 0
			if b != 0 {
				dst[i] = 1
			}
		}
	default:
		copy(dst, elements)
	}
	return dst, nil
}

// texts takes the texts that elements of a fixed size have.
func (p *pass) texts(t *target, elements []byte, a, b int64) (err error) {
	l, size, per := t.leaf, int64(p.g.Type.Size), t.leaf.values()
	width := int64(l.typ.Size)
	p.g.tiles(p.coord, p.first, a, b, func(x *tile) {
		for k := range x.count {
			for i := range x.n * per {
				at := (x.from+k*x.fromStep)*size + i/per*size + int64(l.off) + i%per*width
				lo := int64(len(t.text))
				var e error
				if t.text, e = l.appendText(t.text, elements[at:at+width]); e != nil && err == nil {
					err = e
				}
				t.vals[(x.to+k*x.toStep)*per+i] = value{lo, int64(len(t.text))}
			}
		}
	})
	return err
}

// takeValues takes elements without a fixed size.
func (p *pass) takeValues(stored []byte, a, b int64) error {
	g, t := p.g, &p.targets[0]
	n := int(g.PartElements())
	if cap(p.values) < n {
		if err := p.hold(24 * int64(n-cap(p.values))); err != nil {
			return err
		}
		p.values = make([][]byte, n)
	}
	values := p.values[:n]
	if stored == nil {
		for i := range values {
			values[i] = g.Fill
		}
		if err := g.missing(); err != nil {
			return err
		}
	} else if err := g.PartValues(values, stored, &p.node); err != nil {
		return err
	}
	g.tiles(p.coord, p.first, a, b, func(x *tile) {
		for k := range x.count {
			for i := range x.n {
				t.put(x.to+k*x.toStep+i, values[x.from+k*x.fromStep+i])
			}
		}
	})
	return nil
}

// at says in which row and chunk an error is.
func (p *pass) at(err error, j *job) error {
	row := p.g.coord(j.n, nil)[0] * p.g.part[0]
	if p.g.taken != nil {
		row = p.g.taken[0].Before(row)
	}
	return shardify.Amend(err, func(e *shardify.Error) {
		e.Object, e.Sample = cmp.Or(p.g.Path, "/"), max(row, p.lo)
		e.Err = fmt.Errorf("chunk %s: %w", strings.TrimPrefix(strings.TrimPrefix(j.key, p.g.Path), "/"), e.Err)
	})
}

// same: the elements are the values as they are.
func (t *target) same() bool {
	return t.leaf.name == "" && t.leaf.cf == nil && t.leaf.typ.DType != shardify.Bool && !t.leaf.text()
}

// readAt fills p.
func readAt(b storage.Blob, p []byte, off int64) error {
	n, err := b.ReadAt(p, off)
	if n == len(p) && (err == nil || err == io.EOF) {
		return nil
	}
	if errors.Is(err, shardify.ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%d of %d bytes at %d: %w", n, len(p), off, cmp.Or(err, io.ErrUnexpectedEOF))
}
