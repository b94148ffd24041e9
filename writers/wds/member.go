package wds

import (
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// memberCheck knows what the members of every sample must look like.
type memberCheck struct {
	schema  []shardify.Field
	members []index.Member
	order   []memberPlace  // as they stand in a sample; images with all their names
	byName  map[string]int // into order
	headers []index.NPYHeader
	counts  map[string]int64 // of the current sample's counters
	dims    []int64
	texts   []byte
}

type memberPlace struct {
	name   string
	member int
}

func (c *memberCheck) prepare(schema []shardify.Field, members []index.Member) {
	*c = memberCheck{schema: schema, members: members, byName: map[string]int{}, counts: map[string]int64{}}
	c.headers = make([]index.NPYHeader, len(members))
	for i := range members {
		m := &members[i]
		if m.Kind == index.MemberNPY {
			c.headers[i] = index.NewNPYHeader(&schema[m.Field])
		}
		for _, n := range m.Names() {
			c.order = append(c.order, memberPlace{n, i})
		}
	}
	slices.SortFunc(c.order, func(a, b memberPlace) int { return strings.Compare(a.name, b.name) })
	for i, p := range c.order {
		c.byName[p.name] = i
	}
}

// begin forgets the sample before.
func (c *memberCheck) begin() {
	if len(c.counts) > 0 {
		clear(c.counts)
	}
}

// find is the member of this name; the n-th of a sample is mostly the n-th of
// all names.
func (c *memberCheck) find(n int, name []byte) (member int, text string, ok bool) {
	if n < len(c.order) && c.order[n].name == string(name) {
		return c.order[n].member, c.order[n].name, true
	}
	i, ok := c.byName[string(name)]
	if !ok {
		return 0, "", false
	}
	return c.order[i].member, c.order[i].name, true
}

// maxTexts bounds the lists of texts that are checked; longer ones are left to
// the checksum.
const maxTexts = 16 << 20

// check reads as much of a member as its kind needs. Offsets in errors count
// from the beginning of the data, unless they carry an Op.
func (c *memberCheck) check(w *tarWalk, m int, t *index.TarEntry) error {
	f := &c.schema[c.members[m].Field]
	switch c.members[m].Kind {
	case index.MemberNPY:
		return c.npy(w, m, f, t)
	case index.MemberClass:
		return c.class(w, f, t)
	case index.MemberTexts:
		return c.list(w, f, t)
	}
	return nil
}

// npyHead is more than any header that we write: 32 dimensions of 20 digits.
const npyHead = 1 << 10

func (c *memberCheck) npy(w *tarWalk, m int, f *shardify.Field, t *index.TarEntry) error {
	b, err := w.window.Bytes(t.Data(), int(min(npyHead, t.Size)))
	if err != nil {
		return read(err)
	}
	if fixed := c.headers[m].Fixed(); f.Levels == 0 && len(b) >= len(fixed) && string(b[:len(fixed)]) == string(fixed) &&
		t.Size == int64(len(fixed)+f.ElemBytes()) {
		return nil
	}
	rank := f.Levels + len(f.Shape)
	if i := c.members[m].Shape; i >= 0 {
		rank = c.schema[i].Shape[0] + len(f.Shape)
	}
	dims, _, err := index.ParseNPY(c.dims[:0], b, t.Size, f.DType, rank)
	c.dims = dims[:0]
	if err != nil {
		return err
	}
	tail := dims[len(dims)-len(f.Shape):]
	for i, d := range f.Shape {
		if tail[i] != int64(d) {
			return shardify.Corrupt(0, "array of shape %v, the schema has elements of %v", dims, f.Shape)
		}
	}
	if f.Levels == 0 || c.members[m].Shape >= 0 {
		return nil
	}
	return c.counter(f, dims[0])
}

// counter holds fields that share a counter against each other.
func (c *memberCheck) counter(f *shardify.Field, n int64) error {
	if f.Counter == "" {
		return nil
	}
	if other, ok := c.counts[f.Counter]; ok && other != n {
		return shardify.Corrupt(0, "%d elements, but other fields of counter %s have %d", n, f.Counter, other)
	}
	c.counts[f.Counter] = n
	return nil
}

// class: an integer in decimal, in one way.
func (c *memberCheck) class(w *tarWalk, f *shardify.Field, t *index.TarEntry) error {
	if t.Size < 1 || t.Size > 20 {
		return shardify.Corrupt(0, "class number of %d bytes", t.Size)
	}
	b, err := w.window.Bytes(t.Data(), int(t.Size))
	if err != nil {
		return read(err)
	}
	text, bits := string(b), 8*f.DType.Size()
	var back string
	if f.DType >= shardify.U8 && f.DType <= shardify.U64 {
		var v uint64
		v, err = strconv.ParseUint(text, 10, bits)
		back = strconv.FormatUint(v, 10)
	} else {
		var v int64
		v, err = strconv.ParseInt(text, 10, bits)
		back = strconv.FormatInt(v, 10)
	}
	if err != nil || back != text {
		return shardify.Corrupt(0, "class number is %q, want a whole number of %s", text, f.DType)
	}
	return nil
}

func (c *memberCheck) list(w *tarWalk, f *shardify.Field, t *index.TarEntry) error {
	if t.Size > maxTexts {
		return nil
	}
	if int64(cap(c.texts)) < t.Size {
		c.texts = make([]byte, t.Size+t.Size/4)
	}
	b := c.texts[:t.Size]
	if err := w.window.ReadAt(b, t.Data()); err != nil {
		return read(err)
	}
	if string(b) == index.NoTexts {
		if f.Nullable {
			return nil
		}
		return shardify.Corrupt(0, "no list, but the field is not nullable")
	}
	_, _, err := index.TextsSize(b)
	return err
}

// read marks an error whose offset is already that in the file.
func read(err error) error { return shardify.Annotate(err, "read", "", "") }
