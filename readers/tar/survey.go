package tar

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// maxExts bounds the different extensions; more of them are parts of names.
const maxExts = 1 << 12

// content is what one tar holds.
type content struct {
	packing uint8
	keys    []byte
	samples []sample // in the order of their first members
	members []member // by sample, each in the order of the file
}

// sample ends where its members and its key do; they begin where the sample
// before ends.
type sample struct{ members, key uint32 }

// member is the place of one value.
type member struct {
	at, size int64
	ext      uint16
	head     uint16 // of a NumPy file: bytes before the data
}

// of is the members of sample i.
func (c *content) of(i int64) []member {
	lo := uint32(0)
	if i > 0 {
		lo = c.samples[i-1].members
	}
	return c.members[lo:c.samples[i].members]
}

func (c *content) key(i int64) []byte {
	lo := uint32(0)
	if i > 0 {
		lo = c.samples[i-1].key
	}
	return c.keys[lo:c.samples[i].key]
}

// common is what all members of one extension have in common.
type common struct {
	Members int64          `json:"members"`
	Array   bool           `json:"array,omitempty"` // all are NumPy files of one type and rank
	DType   shardify.DType `json:"dtype,omitempty"`
	Dims    []int64        `json:"dims,omitempty"`  // of the first
	Fixed   bool           `json:"fixed,omitempty"` // all have its shape
	Inner   bool           `json:"inner,omitempty"` // all but the first dimension are the same
	Class   bool           `json:"class,omitempty"` // all are decimal integers
	Why     string         `json:"why,omitempty"`   // NumPy files are kept as they are
}

// merge adds the facts of further members.
func (f *common) merge(g *common) {
	if g.Members == 0 {
		return
	}
	if f.Members == 0 {
		*f = *g
		f.Dims = slices.Clone(g.Dims)
		return
	}
	f.Members += g.Members
	f.Class = f.Class && g.Class
	switch {
	case !f.Array || !g.Array:
		if f.Why == "" {
			f.Why = g.Why
		}
		f.Array = false
	case f.DType != g.DType:
		f.Array, f.Why = false, fmt.Sprintf("some are %s, others %s", f.DType, g.DType)
	case len(f.Dims) != len(g.Dims):
		f.Array, f.Why = false, fmt.Sprintf("some have %d dimensions, others %d", len(f.Dims), len(g.Dims))
	default:
		f.Fixed = f.Fixed && g.Fixed && slices.Equal(f.Dims, g.Dims)
		f.Inner = f.Inner && g.Inner && len(f.Dims) > 0 && slices.Equal(f.Dims[1:], g.Dims[1:])
	}
}

// scan is the survey of one tar.
type scan struct {
	content
	exts   []string
	ids    map[string]uint16
	common []common
	forms  map[tar.Rule]int64
	left   map[string]int64 // by reason
	again  int64            // samples that were put together
	lists  [][]member       // by sample
	byKey  map[string]int
	now    int // the sample of the member before, or -1
	arr    npy.Array
	names  []byte // with their ends in samples
}

// Reasons to leave a member out.

// scanTar reads all headers of tar i.
func scanTar(ctx context.Context, t *format.Table, i int) (*scan, error) {
	in, packing, err := openInput(ctx, t, i)
	if err != nil {
		return nil, shardify.Annotate(err, "open", t.Path(i), "")
	}
	defer in.Close()
	s := &scan{ids: map[string]uint16{}, forms: map[tar.Rule]int64{}, left: map[string]int64{}, byKey: map[string]int{}, now: -1}
	s.packing = packing
	if err := s.walk(ctx, in); err != nil {
		return nil, shardify.Annotate(err, "read", t.Path(i), "")
	}
	return s, s.pack()
}

func (s *scan) walk(ctx context.Context, in input) error {
	w := tar.NewForeign(in)
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := w.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.member(in, &m); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				e.Object = string(m.Name)
				if e.Offset < 0 {
					e.Offset = m.Offset
				}
			})
		}
	}
}

func (s *scan) member(in input, m *tar.ForeignMember) error {
	key, ext, why, err := tar.SplitMember(m)
	switch {
	case err != nil:
		return err
	case why == "" || m.Type == '0':
		for _, f := range m.Forms {
			s.forms[f]++
		}
		if bytes.HasPrefix(m.Name, []byte("./")) {
			s.forms[tar.RuleDotSlash]++
		}
	}
	if why != "" {
		s.left[why]++
		return nil
	}
	base := m.Name[bytes.LastIndexByte(m.Name, '/')+1:]
	if field := base[bytes.IndexByte(base, '.'):]; !bytes.Equal(bytes.ToLower(field), field) {
		s.forms[tar.RuleUpperCase]++
	}
	return s.add(in, m, key, ext)
}

// add puts a member into its sample.
func (s *scan) add(in input, m *tar.ForeignMember, key []byte, ext string) error {
	id, err := s.ext(ext)
	if err != nil {
		return err
	}
	if s.now < 0 || string(s.keyOf(s.now)) != string(key) {
		if err := s.enter(key); err != nil {
			return err
		}
	}
	list := &s.lists[s.now]
	for _, x := range *list {
		if x.ext == id {
			return shardify.Mismatch("a member of this name is at byte %d too: a sample has each once", x.at-tar.Block)
		}
	}
	x := member{at: m.Data, size: m.Size, ext: id}
	f, err := s.look(in, &x, ext)
	if err != nil {
		return err
	}
	s.common[id].merge(&f)
	*list = append(*list, x)
	return nil
}

func (s *scan) ext(ext string) (uint16, error) {
	id, ok := s.ids[ext]
	if ok {
		return id, nil
	}
	if len(s.exts) == maxExts {
		return 0, shardify.Unsupported("more than %d different extensions (%s, ...): names with dots?", maxExts, s.exts[0])
	}
	id = uint16(len(s.exts))
	s.ids[ext], s.exts, s.common = id, append(s.exts, ext), append(s.common, common{})
	return id, nil
}

func (s *scan) keyOf(i int) []byte {
	lo := uint32(0)
	if i > 0 {
		lo = s.samples[i-1].key
	}
	return s.names[lo:s.samples[i].key]
}

// enter goes to the sample of a key, which may have members further up.
func (s *scan) enter(key []byte) error {
	if i, ok := s.byKey[string(key)]; ok {
		if s.packing != plain {
			return shardify.Unsupported("sample %q has members in several places of a compressed tar: decompress it first", key)
		}
		s.again++
		s.now = i
		return nil
	}
	const most = 1<<32 - 1
	if len(s.names)+len(key) > most {
		return shardify.Unsupported("more than %d bytes of names in one tar", most)
	}
	s.now = len(s.samples)
	s.byKey[string(key)] = s.now
	s.names = append(s.names, key...)
	s.samples = append(s.samples, sample{key: uint32(len(s.names))})
	s.lists = append(s.lists, nil)
	return nil
}

// look finds out about the value of a member whose kind follows from its content.
func (s *scan) look(in input, m *member, ext string) (f common, err error) {
	f.Members = 1
	switch {
	case ext == "cls":
		if m.size > 0 && m.size <= 32 {
			b, _, err := in.Bytes(m.at, int(m.size))
			if err != nil || int64(len(b)) < m.size {
				return f, err // the walk finds the end
			}
			_, f.Class = class(b)
		}
	case lastPart(ext) == "npy":
		b, _, err := in.Bytes(m.at, int(min(m.size, npy.MostHead)))
		if err != nil {
			return f, err
		}
		if f.Array = s.arr.Parse(b, m.size); !f.Array {
			f.Why = "not plain numbers in C order, little-endian"
			return f, nil
		}
		m.head = uint16(s.arr.Head)
		f.DType, f.Dims, f.Fixed, f.Inner = s.arr.DType, slices.Clone(s.arr.Dims), true, len(s.arr.Dims) > 0
	}
	return f, nil
}

// class reads an integer in decimal, white space around it allowed.
func class(b []byte) (int64, bool) {
	v, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	return v, err == nil
}

// pack lays the lists of members end to end.
func (s *scan) pack() error {
	n := 0
	for _, l := range s.lists {
		n += len(l)
	}
	if int64(n) > 1<<32-1 {
		return shardify.Unsupported("%d members in one tar", n)
	}
	s.members = make([]member, 0, n)
	for i, l := range s.lists {
		s.members = append(s.members, l...)
		s.samples[i].members = uint32(len(s.members))
	}
	s.keys = slices.Clip(s.names)
	s.names, s.lists, s.byKey = nil, nil, nil
	return nil
}
