package ttree

import (
	"encoding/binary"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// parser reads the record of one tree.
type parser struct {
	f     *rfile.File
	c     *rfile.Cursor
	refs  rfile.Refs
	tree  *Tree
	names strings.Builder // memory for names, see str
	i64   []int64         // memory for basket tables, see ints
	i32   []int32
	slab  []Branch
	leafs []Leaf
	depth int
	// branches seen so far
	branches int
	plans    map[planKey]plan
}

type planKey struct {
	class   string
	version int
}

type plan struct {
	steps []layoutField
	err   error
}

// values is what a layout puts its members in.
type values struct {
	num   [members]int64
	bytes [members][]byte // arrays, strings; parts of the record
	wide  bool            // fBasketSeek has 8-byte values

	branches []*Branch
	leaves   []*Leaf
	baskets  []*embedded
	slot     [members]any
	aliases  []alias
	friends  []friend
	broken   error // in a list of objects, behind which reading went on
}

// run reads the members that steps name.
func (p *parser) run(steps []layoutField, v *values) {
	c := p.c
	for _, s := range steps {
		switch s.kind {
		case kI8:
			v.num[s.to] = int64(int8(c.U8()))
		case kU8:
			v.num[s.to] = int64(c.U8())
		case kI16:
			v.num[s.to] = int64(c.I16())
		case kU16:
			v.num[s.to] = int64(c.U16())
		case kI32:
			v.num[s.to] = int64(c.I32())
		case kU32:
			v.num[s.to] = int64(c.U32())
		case kI64:
			v.num[s.to] = c.I64()
		case kF32:
			c.Skip(4)
		case kF64:
			v.num[s.to] = wholeNumber(c)
		case kStr:
			v.bytes[s.to] = c.CStr()
		case kNamed:
			v.bytes[mName], v.bytes[mTitle] = c.TNamed()
		case kTObject:
			c.TObject()
		case kFrame:
			c.SkipFrame()
		case kSlot:
			p.slot(s.to, v)
		case kObjects:
			p.objects(s.to, v)
		case kArray:
			c.Skip(c.Count(s.size) * s.size)
		case kCounted, kSeek:
			p.counted(s, v)
		case kIOBits:
			v.num[s.to] = ioBits(c)
		case kRest:
			c.Skip(c.Len())
		}
		if c.Err() != nil {
			return
		}
	}
}

// wholeNumber reads a number that old versions keep as a floating point one.
func wholeNumber(c *rfile.Cursor) int64 {
	f := c.F64()
	if !(f >= 0 && f < 1<<62) {
		c.Fail("count is %v", f)
		return 0
	}
	return int64(f)
}

// ioBits reads a TIOFeatures. Its version is 0, so a checksum follows; in files
// of a certain development version it does not: the byte is the last one.
func ioBits(c *rfile.Cursor) int64 {
	f := c.Frame()
	if f.End < 0 {
		c.Skip(4)
	} else {
		c.Skip(c.Rest(f) - 1)
	}
	bits := c.U8()
	c.Leave(f)
	return int64(bits)
}

// counted reads an array whose length is another member.
func (p *parser) counted(s layoutField, v *values) {
	flag := p.c.U8()
	if flag == 0 {
		return
	}
	size := s.size
	if s.kind == kSeek {
		v.wide = flag == 2
		if v.wide {
			size = 8
		}
	}
	n := v.num[s.n]
	if n < 0 || n > int64(p.c.Len()/size) {
		p.c.Fail("%d values with %d bytes left", n, p.c.Len())
		return
	}
	v.bytes[s.to] = p.c.Bytes(int(n) * size)
}

// slot reads an object slot. What is not of interest is passed.
func (p *parser) slot(to member, v *values) {
	switch to {
	case mBranchCount, mBranchCount2:
		obj, err := p.object()
		v.slot[to] = obj
		if _, isBranch := obj.(*Branch); err == nil && obj != nil && !isBranch {
			err = shardify.Corrupt(int64(p.c.Pos()), "the branch of counts is not a branch")
		}
		if err != nil {
			p.c.FailWith(err)
		}
	case mAliases, mFriends:
		p.list(to, v)
	default:
		p.refs.Skip(p.c)
	}
}

// objects reads a TObjArray. Damage of one object does not end it.
func (p *parser) objects(to member, v *values) {
	f, n := rfile.Array(p.c)
	if to == mNone && f.End >= 0 {
		p.c.Leave(f)
		return
	}
	for i := range n {
		obj, err := p.object()
		if p.c.Err() != nil {
			break
		}
		if err != nil && v.broken == nil {
			v.broken = err
		}
		v.add(to, i, obj)
	}
	if rest := p.c.Rest(f); rest != 0 {
		p.c.Fail("a list of %d objects has %d more bytes", n, rest)
	}
	if err := p.c.Err(); err != nil && f.End >= 0 {
		v.broken = p.c.ClearErr()
	}
	p.c.Leave(f)
}

// add adds item i of a list. Every item of the lists of branches and leaves is one; there
// need not be a basket in every place.
func (v *values) add(to member, i int, obj any) {
	ok := true
	switch to {
	case mBranches:
		var b *Branch
		if b, ok = obj.(*Branch); ok {
			v.branches = append(v.branches, b)
		}
	case mLeaves:
		var l *Leaf
		if l, ok = obj.(*Leaf); ok {
			v.leaves = append(v.leaves, l)
		}
	case mBaskets:
		if e, ok := obj.(*embedded); ok {
			e.index = i
			v.baskets = append(v.baskets, e)
		}
	}
	if !ok && v.broken == nil {
		v.broken = shardify.Corrupt(-1, "item %d of the list of %s is not one", i, map[member]string{mBranches: "branches", mLeaves: "leaves"}[to])
	}
}

// tableInts takes an array of i32 or i64 of the record as int64.
func (p *parser) tableInts(b []byte, size, n int) []int64 {
	out := p.ints(n)
	if size == 4 {
		for i := range out {
			out[i] = int64(int32(binary.BigEndian.Uint32(b[4*i:])))
		}
		return out
	}
	for i := range out {
		out[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return out
}

// ints cuts n numbers from a large piece of memory, so that a tree of thousands
// of branches needs few allocations.
func (p *parser) ints(n int) []int64 {
	if n > len(p.i64) {
		if n > arenaInts/4 {
			return make([]int64, n)
		}
		p.i64 = make([]int64, arenaInts)
	}
	out := p.i64[:n:n]
	p.i64 = p.i64[n:]
	return out
}

func (p *parser) ints32(n int) []int32 {
	if n > len(p.i32) {
		if n > arenaInts/4 {
			return make([]int32, n)
		}
		p.i32 = make([]int32, arenaInts)
	}
	out := p.i32[:n:n]
	p.i32 = p.i32[n:]
	return out
}

const (
	arenaInts  = 1 << 13
	arenaBytes = 1 << 15
)

// str copies a name. Names share memory, which keeps together what lives together.
func (p *parser) str(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if p.names.Cap()-p.names.Len() < len(b) {
		p.names = strings.Builder{}
		p.names.Grow(max(arenaBytes, len(b)))
	}
	start := p.names.Len()
	p.names.Write(b)
	return p.names.String()[start:]
}
