package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// loose is how files that are not tars of ours store samples: MDS shards, and tars of other programs.
// A Walk goes through them as through tars of ours: each value is an entry.
type loose struct {
	mds     *mds.Index     // nil: tars
	members map[string]int // of tars: the field of an extension
	places  [][]int64      // of tars: by shard, where samples begin, and where the last one ends
	scans   []*tarScan     // of tars: by shard
	key     int            // of MDS: the column with the names of samples, or -1
	fields  []int          // of MDS: the member that a column is, or -1
	left    []string       // what is not read, and why
}

// BySample reports whether the shards store one sample after the other, not one field after the other.
func (s *Set) BySample() bool {
	return s.Format == index.FormatWDS || s.Format == index.FormatMDS
}

// Tar is how the shards of the set store its fields, where they do so sample by sample.
func (s *Set) Tar() (*Tar, error) {
	if s.loose == nil {
		return NewTar(s.Schema, s.Members, s.Keyed)
	}
	t := &Tar{keyed: s.Keyed, loose: s.loose}
	if s.loose.mds == nil {
		t.keyed = true
	}
	for i := range s.Schema {
		if shardify.Companion(s.Schema, i) {
			continue
		}
		f := &s.Schema[i]
		m := Member{Member: tar.Member{Field: i, Kind: tar.MemberNPY, Shape: shardify.FieldIndex(s.Schema, f.Name+shardify.ShapeSuffix), Ext: -1}, Of: f, Elem: int64(f.ElemBytes()), rank: f.Levels + len(f.Shape)}
		if !f.Ragged {
			m.Shape = -1
		} else {
			m.rank = len(f.Shape) + s.Schema[m.Shape].Shape[0]
		}
		switch {
		case f.Levels == 2:
			m.Kind = tar.MemberTexts
		case f.Media != "":
			m.Kind = tar.MemberBytes
		case f.Name == "cls" && s.loose.mds == nil:
			m.Kind = tar.MemberClass
		}
		t.Members = append(t.Members, m)
	}
	if x := s.loose.mds; x != nil {
		for k, i := range s.loose.fields {
			if i >= 0 {
				t.Members[i].column = &x.Columns[k]
			}
		}
	}
	return t, nil
}

// Notes are what a user should know of a set that others wrote; checked: checksums are asked for.
func (s *Set) Notes(checked bool) (list []string) {
	if s.Foreign && checked {
		what := "its index was checked, but there are no checksums of its tokens"
		if s.BySample() {
			what = "its structure is checked, but there are no checksums of its values"
		}
		list = append(list, fmt.Sprintf("%s has no %s: %s", s.Path, index.ManifestName, what))
	}
	if s.loose != nil {
		for _, text := range s.loose.left {
			list = append(list, s.Path+": "+text)
		}
	}
	return list
}

// Outline is what a reader in another language needs of a set that others wrote.
type Outline struct {
	Format  string           `json:"format"`
	Folder  string           `json:"folder"`
	Samples int64            `json:"samples"`
	Bytes   int64            `json:"bytes"`
	Keyed   bool             `json:"keyed"`
	Digest  string           `json:"xxh3"`
	Schema  []shardify.Field `json:"schema"`
	Shards  []shardify.Shard `json:"shards"`
	Left    []string         `json:"left"`
	// Of MDS: the columns, and the bytes of each shard once it is unpacked.
	Columns []outlineColumn `json:"columns,omitempty"`
	Raw     []int64         `json:"raw,omitempty"`
	// Of tars: the extension of each field, and by shard where samples begin.
	Members map[string]string `json:"members,omitempty"`
	Places  [][]int64         `json:"places,omitempty"`
}

type outlineColumn struct {
	Field    string `json:"field"` // "" if it is not read
	Key      bool   `json:"key"`
	Encoding string `json:"encoding"`
	Fixed    int64  `json:"fixed"`
}

// Outline describes the set.
func (s *Set) Outline() *Outline {
	o := &Outline{Format: s.Format, Folder: Folder(s.Path), Samples: s.Samples, Bytes: s.Bytes, Keyed: s.Keyed, Digest: s.Digest, Schema: s.Schema, Shards: s.Shards, Left: []string{}}
	if s.loose == nil {
		return o
	}
	o.Left, o.Places = append(o.Left, s.loose.left...), s.loose.places
	x := s.loose.mds
	if x == nil {
		var names []string
		for i := range s.Schema {
			if !shardify.Companion(s.Schema, i) {
				names = append(names, s.Schema[i].Name)
			}
		}
		o.Members = map[string]string{}
		for ext, k := range s.loose.members {
			o.Members[names[k]] = ext
		}
		return o
	}
	for k := range x.Columns {
		c := outlineColumn{Encoding: x.Shards[0].Encodings[k], Fixed: x.Columns[k].Fixed, Key: k == s.loose.key}
		if s.loose.fields[k] >= 0 {
			c.Field = x.Columns[k].Field.Name
		}
		o.Columns = append(o.Columns, c)
	}
	for i := range x.Shards {
		o.Raw = append(o.Raw, x.Shards[i].Raw.Bytes)
	}
	return o
}

// Loose reports whether Places says where the samples of a shard are, and whether the shard has to be
// unpacked for that.
func (s *Set) Loose(shard int) (is, packed bool) {
	return s.loose != nil, s.loose != nil && s.loose.mds != nil && s.loose.mds.Shards[shard].Stored().Name == s.Shards[shard].Name && s.loose.mds.Shards[shard].Zip != nil
}

// Places are where the samples of a shard begin, and where the last one ends. The file may become another
// one, which has them unpacked.
func (s *Set) Places(ctx context.Context, f storage.File, shard int) (storage.File, []int64, error) {
	x := s.loose.mds
	if x == nil {
		return f, s.loose.places[shard], nil
	}
	sh := &x.Shards[shard]
	g := f
	if _, packed := s.Loose(shard); packed {
		var err error
		if g, err = unpack(ctx, f, sh.Raw.Bytes); err != nil {
			return f, nil, err
		}
	}
	at, err := mds.Places([]int64(nil), g, sh.Raw.Bytes, sh.Samples, 0, sh.Samples)
	if err == nil && sh.Samples > 0 && at[sh.Samples] != sh.Raw.Bytes {
		err = shardify.Corrupt(-1, "the last sample ends at %d of %d bytes", at[sh.Samples], sh.Raw.Bytes)
	}
	return g, at, err
}

// looseWalk is where a Walk is in a sample.
type looseWalk struct {
	lo, hi int64
	next   int // of MDS: the column that is next
	first  int64
	ends   []int64
	tar    *tar.Foreign
	row    []int64
}

// begin finds the values of an MDS sample.
func (l *looseWalk) begin(w *Walk, lo, hi int64) error {
	l.lo, l.hi, l.next, l.ends = lo, hi, 0, l.ends[:0]
	x := w.tar.loose.mds
	if x == nil {
		l.tar = tar.NewForeign(heldInput{&w.Window, hi})
		l.tar.From(lo)
		return nil
	}
	b, err := w.Window.Bytes(lo, int(hi-lo))
	if err != nil {
		return err
	}
	if l.first, l.ends, err = mds.Values(l.ends, x.Columns, b); err != nil {
		return shift(err, lo)
	}
	if k := w.tar.loose.key; k >= 0 && w.tar.keyed {
		from := l.first
		if k > 0 {
			from = l.ends[k-1]
		}
		w.Key = append(w.Key, b[from:l.ends[k]]...)
	}
	return nil
}

// heldInput is bytes in memory up to the end of a sample.
type heldInput struct {
	*tar.Window
	hi int64
}

func (h heldInput) Bytes(at int64, n int) ([]byte, int64, error) {
	n = int(max(min(int64(n), h.hi-at), 0))
	b, err := h.Window.Bytes(at, n)
	return b, h.hi, err
}

// nextLoose is Next for shards of others.
func (w *Walk) nextLoose() (member int, e *tar.Entry, code int, err error) {
	l, e := &w.loose, &w.entry
	*e = tar.Entry{}
	if w.begun == nil && w.tar.loose.mds != nil {
		for ; l.next < len(l.ends); l.next++ {
			lo, hi := l.lo+l.first, l.lo+l.ends[l.next]
			l.first = l.ends[l.next]
			if k := w.tar.loose.fields[l.next]; k >= 0 {
				l.next++
				e.Offset, e.Size = lo-tar.Block, hi-lo
				return k, e, 0, nil
			}
		}
		return 0, e, 0, io.EOF
	}
	for w.begun == nil && l.tar.At() < l.hi {
		m, err := l.tar.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, e, 0, err
		}
		key, ext, _, err := tar.SplitMember(&m)
		if err == nil && ext == "" {
			continue // as when the tar was indexed
		}
		k, ok := w.tar.loose.members[ext]
		if err != nil || !ok || w.seen[k] == w.sample || m.Data+m.Size > l.hi || len(w.Key) > 0 && !bytes.Equal(key, w.Key) {
			return 0, e, 0, shardify.Annotate(shardify.Corrupt(m.Offset, "another member than there was: the file changed since it was opened"), "", "", string(m.Name))
		}
		w.Key, w.seen[k] = append(w.Key[:0], key...), w.sample
		e.Name, e.Offset, e.Size = m.Name, m.Data-tar.Block, m.Size
		return k, e, 0, nil
	}
	if w.begun != nil {
		return 0, e, 0, w.begun
	}
	return 0, e, 0, io.EOF
}

// measureLoose is Measure for shards of others; there: the sample has the member.
func (w *Walk) measureLoose(m *Member, e *tar.Entry, dims []byte) (c Content, err error) {
	c = Content{N: 1, Bytes: m.Elem, Valid: true}
	if m.column == nil && m.Kind == tar.MemberBytes {
		c.N, c.Bytes = e.Size, e.Size
		return c, nil
	}
	b, err := w.Window.Bytes(e.Data(), int(e.Size))
	if err != nil {
		return c, err
	}
	l := &w.loose
	if cap(l.row) < m.rank {
		l.row = make([]int64, m.rank)
	}
	row := l.row[:m.Dims()]
	switch {
	case m.column != nil:
		c.N, c.Bytes, err = m.column.Measure(b, row)
	case m.Kind == tar.MemberClass:
		_, err = number(b)
	default:
		c.N, err = m.measureArray(b, row)
		c.Bytes = c.N * m.Elem
	}
	if err == nil && dims != nil && m.Shape >= 0 {
		for k, d := range row {
			binary.LittleEndian.PutUint64(dims[8*k:], uint64(d))
		}
	}
	return c, inValue(err, e)
}

// inValue makes the offset of an error, from the beginning of a value on, one of the file.
func inValue(err error, e *tar.Entry) error {
	if err == nil {
		return nil
	}
	return shardify.Amend(err, func(x *shardify.Error) { x.Offset = e.Data() + max(x.Offset, 0) })
}

// number is a whole number in decimal, white space around it allowed.
func number(b []byte) (int64, error) {
	v, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil {
		return 0, shardify.Unsupported("%.40q is no whole number in decimal", b)
	}
	return v, nil
}

// measureArray checks the header of a NumPy file of any writer, and returns the elements of its list.
func (m *Member) measureArray(b []byte, row []int64) (n int64, err error) {
	var a npy.Array
	lead := m.Dims()
	switch {
	case !a.Parse(b[:min(len(b), npy.MostHead)], int64(len(b))):
		return 0, shardify.Corrupt(0, "no NumPy file of plain numbers in C order")
	case a.DType != m.Of.DType || len(a.Dims) != m.rank:
		return 0, shardify.Mismatch("array of %v %s, the others are of %s with %d dimensions", a.Dims, a.DType, m.Of.DType, m.rank)
	}
	for k, d := range m.Of.Shape {
		if a.Dims[lead+k] != int64(d) {
			return 0, shardify.Mismatch("array of shape %v, the others have elements of %v", a.Dims, m.Of.Shape)
		}
	}
	n = 1
	for _, d := range a.Dims[:lead] {
		n *= d // Parse has held the product against the bytes that are there
	}
	if m.Of.Levels == 0 {
		n = 1
	}
	copy(row, a.Dims)
	return n, nil
}

// fillLoose is Fill for shards of others.
func (w *Walk) fillLoose(to []byte, m *Member, e *tar.Entry) error {
	b, err := w.Window.Bytes(e.Data(), int(e.Size))
	switch {
	case err != nil:
	case m.column != nil:
		err = m.column.Fill(to, b)
	case m.Kind == tar.MemberClass:
		v, bad := number(b)
		err = bad
		binary.LittleEndian.PutUint64(to, uint64(v))
	case len(b) < len(to):
		return errChanged(e)
	default: // an array, or bytes
		copy(to, b[len(b)-len(to):])
		if m.Of.DType == shardify.Bool {
			return checkBools(to, e.Data()+e.Size-int64(len(to)))
		}
	}
	return inValue(err, e)
}

// textsLoose is Texts for shards of others.
func (w *Walk) textsLoose(texts []byte, ends []int64, m *Member, e *tar.Entry) ([]byte, []int64, error) {
	b, err := w.Window.Bytes(e.Data(), int(e.Size))
	if err == nil {
		err = m.column.Items(b, func(p []byte) {
			texts = append(texts, p...)
			ends = append(ends, int64(len(texts)))
		})
	}
	return texts, ends, inValue(err, e)
}
