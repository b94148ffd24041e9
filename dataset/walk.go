package dataset

import (
	"bytes"
	"encoding/binary"
	"io"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// Walk goes through samples of a tar member by member, and checks names, headers, fillers
// and values. It is used by one goroutine.
type Walk struct {
	tar.Window
	Key []byte // of the current sample, once it had a member

	tar    *Tar
	walker tar.Walker
	entry  tar.Entry
	names  []memberName // that may follow in the sample
	seen   []int64      // by member: the last sample that had it
	sample int64        // counted from 1
	found  int
	before []byte // key of the sample before
	end    int64  // of it
	held   bool   // all bytes are in memory
	dims   []int64
	big    []byte // a list of texts that exceeds the window
	loose  looseWalk
	begun  error // of the sample, of shards of others
}

// NewWalk makes a walk over tars of one set.
func NewWalk(t *Tar) *Walk {
	w := &Walk{tar: t, seen: make([]int64, len(t.Members))}
	w.walker.Window = &w.Window
	return w
}

// Reset goes to another file, read through buf.
func (w *Walk) Reset(r io.ReaderAt, size int64, buf []byte) {
	w.Window.Reset(r, size, buf)
	w.held, w.end = false, -1
}

// Hold makes the walk read bytes in memory, which are at an offset of a tar.
func (w *Walk) Hold(b []byte, at int64) {
	w.Window.Hold(b, at)
	w.held, w.end = true, -1
}

const (
	// directBytes is the length from which data are read to where they belong, past the
	// window.
	directBytes = 64 << 10
	// headBytes is more than the header of any array that we write: 32 dimensions of 20
	// digits.
	headBytes = 1 << 10
	// maxDigits is the longest integer as text.
	maxDigits = 20
)

// Sample begins the sample that fills bytes [lo, hi).
func (w *Walk) Sample(lo, hi int64) {
	w.walker.Part(lo, hi)
	w.before, w.Key = w.Key, w.before[:0]
	if lo != w.end {
		w.before = w.before[:0]
	}
	w.end = hi
	w.names, w.found = w.tar.names, 0
	w.sample++
	if w.tar.loose != nil {
		w.begun = w.loose.begin(w, lo, hi)
	}
}

// Next is the sample's next member, by its number in Tar.Members, with the code of its
// extension: all of the set's members, in order, under one key. At the end of the sample it
// returns io.EOF. The entry is valid until the next call.
func (w *Walk) Next() (member int, e *tar.Entry, code int, err error) {
	if w.tar.loose != nil {
		return w.nextLoose()
	}
	e = &w.entry
	if *e, err = w.walker.Next(); err != nil {
		if err == io.EOF && w.found < len(w.seen) {
			err = shardify.Corrupt(-1, "sample %s has %d members, want %d", w.Key, w.found, len(w.seen))
		}
		return 0, e, 0, err
	}
	if len(w.Key) == 0 {
		if err := w.takeKey(e); err != nil {
			return 0, e, 0, InMember(err, e)
		}
	}
	n, err := w.find(e)
	if err != nil {
		return 0, e, 0, InMember(err, e)
	}
	w.seen[n.member] = w.sample
	w.found++
	return n.member, e, n.code, nil
}

// find is the name of a member among those that may follow.
func (w *Walk) find(e *tar.Entry) (*memberName, error) {
	tail, ok := bytes.CutPrefix(e.Name, w.Key)
	k := 0
	for k < len(w.names) && w.names[k].tail != string(tail) {
		k++
	}
	if !ok || k == len(w.names) {
		return nil, shardify.Corrupt(e.Offset, "a member of sample %s expected here: one of %s", w.Key, tails(w.names))
	}
	n := &w.names[k]
	w.names = w.names[k+1:]
	if w.seen[n.member] == w.sample {
		return nil, shardify.Corrupt(e.Offset, "field %s twice in one sample", w.tar.Members[n.member].Of.Name)
	}
	return n, nil
}

// takeKey takes the sample's name from that of its first member.
func (w *Walk) takeKey(e *tar.Entry) error {
	key, _, ok := tar.SplitKey(e.Name)
	switch {
	case !ok:
		return shardify.Corrupt(e.Offset, "no dot in the name")
	case tar.CheckKey(key) != nil:
		return shardify.Corrupt(e.Offset, "%q is not a key of this format", key)
	case bytes.Equal(key, w.before):
		return shardify.Corrupt(e.Offset, "two samples in a row are named %s", key)
	}
	if !w.tar.keyed {
		if _, ok := tar.ParseRowKey(key); !ok {
			return shardify.Corrupt(e.Offset, "%s is not the name of a row", key)
		}
	}
	w.Key = append(w.Key, key...)
	return nil
}

// InMember says in which member an error was found.
func InMember(err error, e *tar.Entry) error {
	return shardify.Amend(err, func(x *shardify.Error) { x.Object = string(e.Name) })
}

// shift makes the offsets of an error count from the beginning of the tar.
func shift(err error, base int64) error {
	return shardify.Amend(err, func(x *shardify.Error) {
		if x.Offset >= 0 {
			x.Offset += base
		}
	})
}

// Content is what a member holds.
type Content struct {
	N     int64 // elements; texts of a list
	Head  int64 // bytes before the data: the header of an array
	Bytes int64 // of the data; of all texts
	Valid bool  // there is a value
}

// Measure checks what comes before a member's data, and counts the data. dims receives the
// shape of a ragged value, if it is not nil: 8 bytes for each of Member.Dims.
func (w *Walk) Measure(m *Member, e *tar.Entry, dims []byte) (Content, error) {
	if w.tar.loose != nil {
		return w.measureLoose(m, e, dims)
	}
	c := Content{N: 1, Bytes: m.Elem, Valid: e.Size > 0}
	switch m.Kind {
	case tar.MemberTexts:
		_, n, size, err := w.texts(m, e, &c.Valid)
		c.N, c.Bytes = int64(n), int64(size)
		return c, err
	case tar.MemberClass:
		if e.Size > maxDigits {
			return c, shardify.Corrupt(e.Data(), "an integer of %d bytes", e.Size)
		}
		return c, nil
	case tar.MemberNPY:
		return w.array(c, m, e, dims)
	}
	c.N, c.Bytes = e.Size, e.Size
	return c, nil
}

// array checks the header of a NumPy file.
func (w *Walk) array(c Content, m *Member, e *tar.Entry, shape []byte) (Content, error) {
	b, err := w.Window.Bytes(e.Data(), int(min(e.Size, headBytes)))
	if err != nil {
		return c, err
	}
	if c.Head = int64(len(m.fixed)); m.Of.Levels == 0 && bytes.HasPrefix(b, m.fixed) && e.Size == c.Head+m.Elem {
		return c, nil
	}
	dims, head, err := npy.Parse(w.dims[:0], b, e.Size, m.Of.DType, m.rank)
	w.dims = dims
	if err != nil {
		return c, shift(err, e.Data())
	}
	lead := m.Dims()
	for k, d := range m.Of.Shape {
		if dims[lead+k] != int64(d) {
			return c, shardify.Corrupt(e.Data(), "array of shape %v, the schema has elements of %v", dims, m.Of.Shape)
		}
	}
	for k, d := range dims[:lead] {
		if shape != nil {
			binary.LittleEndian.PutUint64(shape[k*8:], uint64(d))
		}
		if d > 0 && c.N > (1<<62)/d {
			return c, shardify.Corrupt(e.Data(), "array of shape %v", dims)
		}
		c.N *= d
	}
	c.Head, c.Bytes = int64(head), e.Size-int64(head)
	return c, nil
}

// errChanged: a file that was measured has another content now.
func errChanged(e *tar.Entry) error {
	return shardify.Corrupt(e.Offset, "the file changed while it was read")
}

// Fill puts the data of a member that is no list of texts where they belong.
func (w *Walk) Fill(to []byte, m *Member, e *tar.Entry) error {
	if w.tar.loose != nil {
		return w.fillLoose(to, m, e)
	}
	if m.Kind == tar.MemberClass {
		return w.class(to, m, e)
	}
	head := e.Size - int64(len(to))
	if head < 0 || m.Kind != tar.MemberNPY && head > 0 {
		return errChanged(e)
	}
	at := e.Data() + head
	if err := w.copy(to, at); err != nil {
		return err
	}
	if m.Of.DType == shardify.Bool {
		return checkBools(to, at)
	}
	return nil
}

func (w *Walk) copy(to []byte, at int64) error {
	if len(to) >= directBytes && !w.held {
		return w.ReadAt(to, at)
	}
	b, err := w.Window.Bytes(at, len(to))
	copy(to, b)
	return err
}

// class reads an integer, written as the sink writes it.
func (w *Walk) class(to []byte, m *Member, e *tar.Entry) error {
	b, err := w.Window.Bytes(e.Data(), int(min(e.Size, maxDigits+1)))
	if err != nil {
		return err
	}
	bits := m.Of.DType.Size() * 8
	var v uint64
	var text [maxDigits]byte
	var again []byte
	if m.Of.DType >= shardify.U8 {
		v, err = strconv.ParseUint(string(b), 10, bits)
		again = strconv.AppendUint(text[:0], v, 10)
	} else {
		var n int64
		n, err = strconv.ParseInt(string(b), 10, bits)
		v, again = uint64(n), strconv.AppendInt(text[:0], n, 10)
	}
	if err != nil || !bytes.Equal(again, b) {
		return shardify.Corrupt(e.Data(), "class number is %q, want a whole number of %s in decimal", b, m.Of.DType)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	copy(to, le[:m.Elem])
	return nil
}

// Texts appends the texts of a list, of which Measure has counted n, and where each ends,
// counting on from the last of ends. It needs no more room than what was measured.
func (w *Walk) Texts(texts []byte, ends []int64, m *Member, e *tar.Entry, n int64) ([]byte, []int64, error) {
	if w.tar.loose != nil {
		return w.textsLoose(texts, ends, m, e)
	}
	valid := true
	b, k, size, err := w.texts(m, e, &valid)
	if err == nil && (int64(k) != n || size > cap(texts)-len(texts)) {
		err = errChanged(e)
	}
	if err == nil && valid {
		texts, ends = tar.DecodeTexts(texts, ends, b)
	}
	return texts, ends, err
}

// texts is a list as the tar has it, how many texts it has, and their bytes.
func (w *Walk) texts(m *Member, e *tar.Entry, valid *bool) (b []byte, n, size int, err error) {
	if b, err = w.content(e); err != nil {
		return nil, 0, 0, err
	}
	if *valid = string(b) != tar.NoTexts; !*valid {
		if !m.Of.Nullable {
			err = shardify.Corrupt(e.Data(), "no list, but the field is not nullable")
		}
		return nil, 0, 0, err
	}
	if n, size, err = tar.TextsSize(b); err != nil {
		err = shift(err, e.Data())
	}
	return b, n, size, err
}

// content is all of a member.
func (w *Walk) content(e *tar.Entry) ([]byte, error) {
	if e.Size <= directBytes || w.held {
		return w.Window.Bytes(e.Data(), int(e.Size))
	}
	if int64(cap(w.big)) < e.Size {
		w.big = make([]byte, e.Size)
	}
	return w.big[:e.Size], w.ReadAt(w.big[:e.Size], e.Data())
}
