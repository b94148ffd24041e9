package ttree

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// maxDepth bounds objects in objects.
const maxDepth = 64

func read(f *rfile.File, o rfile.Object) (*Tree, error) {
	if !rfile.IsTree(o.Key.Class) {
		return nil, shardify.Annotate(shardify.Unsupported("%s is a %s, no TTree", o.Path, o.Key.Class), "open", f.Name(), o.Path)
	}
	rec, h, err := f.Object(o.Key)
	if err != nil {
		return nil, shardify.Annotate(err, "open", f.Name(), o.Path)
	}
	p := newParser(f, o, rec, h.KeyLen)
	if err := p.readTree(); err != nil {
		return nil, shardify.Annotate(err, "open", f.Name(), o.Path)
	}
	return p.tree, nil
}

// newParser reads rec, a key of keyLen bytes and the tree, decompressed.
func newParser(f *rfile.File, o rfile.Object, rec []byte, keyLen int) *parser {
	t := &Tree{Path: o.Path, Class: o.Key.Class}
	p := &parser{f: f, c: rfile.NewCursor(rec, 0), tree: t, plans: map[planKey]plan{}}
	p.c.SeekTo(keyLen)
	return p
}

// readTree reads the body of the tree's record.
func (p *parser) readTree() error {
	c, t := p.c, p.tree
	if t.Class != "TTree" {
		c.Frame() // of TNtuple, around TTree's
	}
	f := c.Frame()
	t.Version = int(f.Version)
	steps, err := p.layout("TTree", t.Version)
	if err != nil {
		return err
	}
	var v values
	p.run(steps, &v)
	if err := c.Err(); err != nil && v.branches == nil {
		return err
	}
	t.Problem = shardify.Annotate(c.Err(), "read", p.f.Name(), t.Path)
	if t.Problem == nil {
		t.Problem = shardify.Annotate(v.broken, "read", p.f.Name(), t.Path)
	}
	t.Name, t.Title = string(v.bytes[mName]), string(v.bytes[mTitle])
	t.Entries, t.TotBytes, t.ZipBytes = v.num[mEntries], v.num[mTotBytes], v.num[mZipBytes]
	if t.Entries < 0 {
		return shardify.Corrupt(-1, "%d entries", t.Entries)
	}
	t.Branches, t.Aliases, t.Friends = v.branches, v.aliases, v.friends
	t.Clusters = p.clusters(&v)
	t.name(p.branches)
	return nil
}

// clusters takes the table of cluster ranges. It is a hint, so one that
// contradicts itself is left out.
func (p *parser) clusters(v *values) clusterRanges {
	c := clusterRanges{AutoFlush: v.num[mAutoFlush]}
	n := len(v.bytes[mClusterRangeEnd]) / 8
	if n == 0 || len(v.bytes[mClusterSize]) != 8*n {
		return c
	}
	ends, sizes := p.tableInts(v.bytes[mClusterRangeEnd], 8, n), p.tableInts(v.bytes[mClusterSize], 8, n)
	last := int64(-1)
	for i := range ends {
		if ends[i] <= last || ends[i] >= 1<<62 || sizes[i] < 0 {
			return c
		}
		last = ends[i]
	}
	c.RangeEnd, c.Size = ends, sizes
	return c
}

// layout returns the order of members of a class, from the tables here or else
// from the file's streamer infos.
func (p *parser) layout(class string, version int) ([]layoutField, error) {
	key := planKey{class, version}
	if pl, ok := p.plans[key]; ok {
		return pl.steps, pl.err
	}
	var pl plan
	base := "TBranch"
	switch class {
	case "TTree":
		pl.steps = treeLayout(version)
	case "TBranch":
		pl.steps = branchLayout(version)
	case "TBranchElement":
		pl.steps = elementLayout(version)
	}
	if pl.steps == nil {
		if info := p.f.Streamers().Version(class, version); info != nil {
			pl.steps, pl.err = infoLayout(info, base)
		} else if p.f.Streamers().Has(class) {
			pl.err = shardify.Corrupt(-1, "%s version %d, which the file does not describe", class, version)
		} else {
			pl.err = shardify.Unsupported("%s version %d", class, version)
		}
	}
	p.plans[key] = pl
	return pl.steps, pl.err
}

// object reads an object slot: a branch, a leaf, a basket, or nil for anything
// else. err is damage behind which the cursor went on; where it could not, the
// cursor has the error.
func (p *parser) object() (obj any, err error) {
	s := p.refs.Enter(p.c)
	if s.Class == "" || p.c.Err() != nil {
		if s.Ref && s.Object == nil {
			err = shardify.Corrupt(int64(p.c.Pos()), "reference to an object that is not there")
		}
		p.refs.Leave(p.c, &s)
		return s.Object, err
	}
	p.depth++
	if p.depth > maxDepth {
		p.c.Fail("objects more than %d deep", maxDepth)
	} else {
		obj = p.body(&s)
	}
	p.depth--
	if p.c.Err() == nil {
		p.refs.Leave(p.c, &s)
		return obj, nil
	}
	err, _ = p.refs.LeaveBroken(p.c, &s)
	b, isBranch := obj.(*Branch)
	switch {
	case isBranch && b.Name != "":
		b.Err = err
		return obj, nil
	case isBranch:
		obj = nil
	}
	return obj, err
}

// body reads a new object.
func (p *parser) body(s *rfile.Slot) any {
	switch s.Class {
	case "TBasket":
		p.refs.Register(s, nil)
		return readEmbedded(p.c)
	case "TBranch", "TBranchElement", "TBranchObject", "TBranchRef", "TBranchSTL", "TBranchClones":
		b := p.newBranch(s.Class)
		p.refs.Register(s, b)
		p.branch(b)
		return b
	}
	if len(s.Class) >= 5 && s.Class[:5] == "TLeaf" {
		l := p.newLeaf(s.Class)
		p.refs.Register(s, l)
		p.leaf(l)
		return l
	}
	p.refs.Register(s, nil)
	if s.End < 0 {
		p.c.Fail("%s without a byte count", s.Class)
	}
	return nil
}

func (p *parser) newBranch(class string) *Branch {
	if len(p.slab) == 0 {
		p.slab = make([]Branch, 32)
	}
	b := &p.slab[0]
	p.slab = p.slab[1:]
	p.branches++
	b.Tree, b.Class, b.StreamerType, b.ID = p.tree, class, -1, -1
	return b
}

func (p *parser) newLeaf(class string) *Leaf {
	if len(p.leafs) == 0 {
		p.leafs = make([]Leaf, 32)
	}
	l := &p.leafs[0]
	p.leafs = p.leafs[1:]
	l.Class = class
	return l
}

// leaf reads a TLeaf or one of its subclasses.
func (p *parser) leaf(l *Leaf) {
	c := p.c
	outer := c.Frame()
	f := outer
	if l.Class != "TLeaf" {
		f = c.Frame()
	}
	name, title := c.TNamed()
	l.Name, l.Title = p.str(name), p.str(title)
	l.Len, l.LenType = int(c.I32()), int(c.I32())
	c.Skip(4) // fOffset
	l.IsRange, l.IsUnsigned = c.U8() != 0, c.U8() != 0
	if l.Len == 0 {
		l.Len = 1
	}
	obj, err := p.object()
	isLeaf := false
	if l.Count, isLeaf = obj.(*Leaf); err == nil && obj != nil && !isLeaf {
		err = shardify.Corrupt(int64(c.Pos()), "the count of leaf %s is not a leaf", l.Name)
	}
	if err != nil {
		// Without its count the leaf would read as one of fixed length.
		c.FailWith(err)
	}
	c.Leave(f)
	if l.Class == "TLeaf" {
		return
	}
	switch l.Class {
	case "TLeafB":
		l.Min, l.Max = int64(int8(c.U8())), int64(int8(c.U8()))
	case "TLeafS":
		l.Min, l.Max = int64(c.I16()), int64(c.I16())
	case "TLeafI", "TLeafC":
		l.Min, l.Max = int64(c.I32()), int64(c.I32())
	case "TLeafL", "TLeafG":
		l.Min, l.Max = c.I64(), c.I64()
	case "TLeafObject":
		l.Virtual = outer.Version == 3 || outer.Version > 3 && c.U8() != 0
	case "TLeafElement":
		l.ID, l.Type = int(c.I32()), int(c.I32())
	}
	c.Leave(outer)
}

// list reads the slot of a TList of aliases or friends.
func (p *parser) list(to member, v *values) {
	c := p.c
	s := p.refs.Enter(c)
	if s.Class == "TList" || s.Class == "THashList" {
		p.refs.Register(&s, nil)
		f, n := rfile.List(c)
		for range n {
			p.listItem(to, v)
			rfile.ListOption(c, f)
			if c.Err() != nil {
				break
			}
		}
		c.Leave(f)
	} else if s.Class != "" && s.End < 0 {
		c.Fail("%s without a byte count", s.Class)
	}
	if c.Err() == nil {
		p.refs.Leave(c, &s)
	} else if err, ok := p.refs.LeaveBroken(c, &s); ok && v.broken == nil {
		v.broken = err
	}
}

func (p *parser) listItem(to member, v *values) {
	c := p.c
	s := p.refs.Enter(c)
	switch {
	case s.Class == "":
	case to == mAliases && s.Class == "TNamed":
		p.refs.Register(&s, nil)
		name, expr := c.TNamed()
		v.aliases = append(v.aliases, alias{string(name), string(expr)})
	case to == mFriends && s.Class == "TFriendElement":
		p.refs.Register(&s, nil)
		f := c.Frame()
		name, title := c.TNamed()
		v.friends = append(v.friends, friend{Alias: string(name), File: string(title), Tree: c.Str()})
		c.Leave(f)
	case s.End < 0:
		c.Fail("%s without a byte count", s.Class)
	}
	p.refs.Leave(c, &s)
}

// be32 reads item i of an array of the record.
func be32(b []byte, i int) int32 { return int32(binary.BigEndian.Uint32(b[4*i:])) }
