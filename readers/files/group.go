package files

import (
	"bytes"
	"context"
	"hash/maphash"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/walk"
)

// maxFile is the most that a sample may take: it is held in memory as a whole.
const maxFile = 8 << 30

// maxExts bounds the different extensions of a data set; more of them are parts
// of names.
const maxExts = 1 << 12

// none stands for a file that a sample lacks.
const none = math.MaxUint32

// groups is which files belong together: 4 bytes per sample and 6 per file, since
// a million files must not cost a string each.
type groups struct {
	first []uint32 // per sample: the file that came first
	of    []uint32 // per file: its sample
	ext   []uint16 // per file: index into exts
	exts  []string
}

// group collects the files of each stem, whatever their order; samples stand in
// the order of their first files.
func group(ctx context.Context, n *names) (*groups, error) {
	t := n.table
	if t.Len() >= none {
		return nil, shardify.Unsupported("more than %d files", uint32(none-1))
	}
	g := &groups{of: make([]uint32, t.Len()), ext: make([]uint16, t.Len())}
	exts := extensions{ids: map[string]uint16{}}
	index := newStems(n, g)
	for i := range t.Len() {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		_, _, ext := n.split(n.rel(i))
		id, err := exts.id(ext)
		if err != nil {
			return nil, fileError("open", t, i, err)
		}
		g.ext[i] = id
		g.of[i] = index.sample(i)
	}
	g.exts = exts.list
	return g, nil
}

func fileError(op string, t *shardify.Table, i int, err error) error {
	return shardify.Annotate(err, op, walk.Quote(t.Path(i)), "")
}

// stems finds the sample of a file: an open hash table of samples, by the stem
// of their first file.
type stems struct {
	names *names
	g     *groups
	seed  maphash.Seed
	slots []uint32 // sample+1, or 0; a power of two long, at most half full
}

func newStems(n *names, g *groups) *stems {
	return &stems{names: n, g: g, seed: maphash.MakeSeed(), slots: make([]uint32, 1024)}
}

// sample returns the sample of file i, a new one if need be. Files come in
// ascending order, and mostly the stem is that of the file before.
func (s *stems) sample(i int) uint32 {
	space, stem := s.names.roots[s.names.table.Root(i)].space, s.names.stem(i)
	if i > 0 {
		if last := s.g.of[i-1]; s.same(last, space, stem) {
			return last
		}
	}
	if 2*len(s.g.first) >= len(s.slots) {
		s.grow()
	}
	at := s.home(space, stem)
	for ; s.slots[at] != 0; at = (at + 1) & (len(s.slots) - 1) {
		if k := s.slots[at] - 1; s.same(k, space, stem) {
			return k
		}
	}
	k := uint32(len(s.g.first))
	s.g.first = append(s.g.first, uint32(i))
	s.slots[at] = k + 1
	return k
}

func (s *stems) same(sample uint32, space int, stem []byte) bool {
	j := int(s.g.first[sample])
	return s.names.roots[s.names.table.Root(j)].space == space && bytes.Equal(s.names.stem(j), stem)
}

func (s *stems) home(space int, stem []byte) int {
	return int(maphash.Bytes(s.seed, stem)+uint64(space)*0x9e3779b97f4a7c15) & (len(s.slots) - 1)
}

func (s *stems) grow() {
	s.slots = make([]uint32, 2*len(s.slots))
	for k, f := range s.g.first {
		i := int(f)
		at := s.home(s.names.roots[s.names.table.Root(i)].space, s.names.stem(i))
		for s.slots[at] != 0 {
			at = (at + 1) & (len(s.slots) - 1)
		}
		s.slots[at] = uint32(k) + 1
	}
}

// extensions numbers the normalised extensions in order of appearance.
type extensions struct {
	ids  map[string]uint16
	list []string
	buf  []byte
}

func (e *extensions) id(ext []byte) (uint16, error) {
	e.buf = normalise(e.buf[:0], ext)
	if id, ok := e.ids[string(e.buf)]; ok {
		return id, nil
	}
	if len(e.list) == maxExts {
		return 0, shardify.Unsupported("more than %d different extensions (%s, ...): if names have dots, use --stem last",
			maxExts, strings.Join(e.list[:3], ", "))
	}
	name := string(e.buf)
	if err := shardify.ValidName(name); err != nil {
		return 0, err
	}
	id := uint16(len(e.list))
	e.ids[name] = id
	e.list = append(e.list, name)
	return id, nil
}
