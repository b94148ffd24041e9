package verify

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// wdsShard checks one tar: every header and filler, names, sizes and headers of
// the members against the schema, the offset index, and the digest.
func (s *set) wdsShard(r io.ReaderAt, size int64, e *expected, out *result, buf *buffers) {
	begun := s.total(e.Name)
	record := size
	if e.vouched {
		record = e.Bytes
	}
	w := &tarWalk{set: s, e: e, samples: e.Samples}
	whole := &digesting{r: r, size: size, buf: buf.piece, digest: new(index.PieceDigest)}
	if out.read {
		w.window.Reset(whole, record, buf.window)
	} else {
		w.window.Reset(r, record, buf.window)
	}
	w.tar = index.TarWalker{TarWindow: &w.window}
	w.members.prepare(s.schema, s.members)
	idx := s.openIndex(e)
	defer idx.close()
	w.idx = idx
	w.run()
	out.samples, out.parts = w.sample, w.parts
	out.sound = s.total(e.Name) == begun
	if !out.read {
		return
	}
	digest, err := whole.rest()
	if err != nil {
		s.addError(LevelChecksum, e.Name, err)
		return
	}
	out.digest = digest
	if e.vouched && digest != e.Digest && size == e.Bytes {
		s.fileFlip(r, size, e, out)
	}
}

// fileFlip looks for the flipped bit of a small shard whose digest is that of the file.
func (s *set) fileFlip(r io.ReaderAt, size int64, e *expected, out *result) {
	if size > maxFlip {
		return
	}
	b := make([]byte, size)
	if n, _ := r.ReadAt(b, 0); int64(n) < size {
		return
	}
	if at, mask, ok := flipDigest(b, &s.c.flips, e.Digest); ok {
		out.offset, out.what = int64(at), flipText(b[at], mask)
	}
}

// tarWalk walks a tar sample by sample.
type tarWalk struct {
	set     *set
	e       *expected
	window  index.TarWindow
	tar     index.TarWalker
	idx     *tarIndex
	members memberCheck
	samples int64 // that should be there, or -1
	sample  int64 // the current one
	parts   int64
	key     []byte
	found   int // members of the current sample so far
	last    string
	bad     bool
}

// run walks to the end. Where the headers are damaged it goes on with the next
// sample that the offset index names.
func (w *tarWalk) run() {
	s, name := w.set, w.e.Name
	end := w.window.Size() - index.TarEnd
	if end < 0 || end%index.TarBlock != 0 {
		_, err := index.CheckTarEnd(&w.window)
		s.addError(LevelStructure, name, err)
		return
	}
	w.sample = -1
	w.tar.Part(0, end)
	for at := int64(0); ; {
		t, err := w.tar.Next()
		if err == nil {
			at = t.End()
			w.member(&t)
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		w.problem(LevelStructure, err)
		if at = w.resync(at); at < 0 {
			return
		}
		w.tar.Part(at, end)
	}
	w.endSample(end)
	w.sample++
	w.idx.entry(w, w.sample, end)
	if _, err := index.CheckTarEnd(&w.window); err != nil {
		w.problem(LevelStructure, err)
	}
	if w.samples >= 0 && w.sample != w.samples {
		p := simple(LevelStructure, KindMismatch, name, "samples")
		p.Want, p.Got = &Side{w.e.from, fmt.Sprint(w.samples)}, &Side{"the tar", fmt.Sprint(w.sample)}
		s.add(p)
	}
}

// problem reports an error at its place, and the sample where it was found.
func (w *tarWalk) problem(level Level, err error) {
	if _, ok := err.(*shardify.Error); !ok || !damage(err) {
		err = shardify.Annotate(err, "read", "", "")
	}
	p := problemOf(level, w.e.Name, err)
	p.Sample = w.e.sample(w.sample)
	if p.Object == "" && len(w.key) > 0 {
		p.Object = "after " + string(w.key)
		if w.last != "" {
			p.Object += "." + w.last
		}
	}
	w.bad = true
	w.set.add(p)
}

// resync is the begin of the next sample behind at that the index knows; -1 if
// there is none to trust.
func (w *tarWalk) resync(at int64) int64 {
	for i := max(w.sample, 0) + 1; ; i++ {
		next, ok := w.idx.get(i)
		if !ok || next >= w.window.Size()-index.TarEnd || next%index.TarBlock != 0 {
			return -1
		}
		if next > at {
			w.sample, w.found, w.last, w.key = i-1, 0, "", w.key[:0]
			w.bad = true
			return next
		}
	}
}

// member checks one member: whose sample it is, whether it comes in its place,
// and what stands in its data.
func (w *tarWalk) member(t *index.TarEntry) {
	w.parts++
	key, tail, ok := index.SplitKey(t.Name)
	if !ok {
		w.problem(LevelStructure, shardify.Corrupt(t.Offset, "member name %q has no key and field", t.Name))
		return
	}
	if w.sample < 0 || w.found == 0 || !bytes.Equal(key, w.key) {
		w.begin(t, key)
	}
	m, name, ok := w.members.find(w.found, tail)
	inOrder := w.found == 0 || name > w.last
	w.found++
	if ok && inOrder {
		w.last = name
		w.content(m, t)
		return
	}
	p := simple(LevelStructure, KindFormat, w.e.Name, "the schema has no such member")
	if ok {
		p.What = "members of a sample are not in order: it comes after " + w.last
	}
	p.Sample, p.Offset, p.Object = w.e.sample(w.sample), t.Offset, string(t.Name)
	w.bad = true
	w.set.add(p)
}

// begin starts the next sample.
func (w *tarWalk) begin(t *index.TarEntry, key []byte) {
	w.endSample(t.Offset)
	w.sample++
	w.idx.entry(w, w.sample, t.Offset)
	w.key = append(w.key[:0], key...)
	w.found, w.last, w.bad = 0, "", false
	w.members.begin()
	err := index.CheckKey(key)
	if err == nil && !w.set.keyed {
		if _, ok := index.ParseRowKey(key); !ok {
			err = shardify.Corrupt(t.Offset, "key %q is not that of a row", key)
		}
	}
	if err != nil {
		p := problemOf(LevelStructure, w.e.Name, err)
		p.Sample, p.Offset, p.Object = w.e.sample(w.sample), t.Offset, string(t.Name)
		w.set.add(p)
	}
}

// endSample checks that the current sample had all its members.
func (w *tarWalk) endSample(at int64) {
	if w.sample < 0 || w.bad || w.found == len(w.set.members) {
		return
	}
	p := simple(LevelStructure, KindFormat, w.e.Name, fmt.Sprintf("sample has %d members, the schema %d", w.found, len(w.set.members)))
	p.Sample, p.Offset, p.Object = w.e.sample(w.sample), at, string(w.key)
	w.set.add(p)
}

// content checks a member's data as far as its kind says something about them.
func (w *tarWalk) content(m int, t *index.TarEntry) {
	err := w.members.check(w, m, t)
	if err == nil {
		return
	}
	if e, ok := err.(*shardify.Error); ok && e.Offset >= 0 && e.Op == "" {
		c := *e
		c.Offset += t.Data()
		err = &c
	}
	p := problemOf(LevelStructure, w.e.Name, err)
	p.Sample, p.Object = w.e.sample(w.sample), string(w.key)+"."+w.last
	p.Field = w.set.schema[w.set.members[m].Field].Name
	w.bad = true
	w.set.add(p)
}
