package ttree

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// branch reads a TBranch or one of its subclasses.
func (p *parser) branch(b *Branch) {
	c := p.c
	outer := c.Frame()
	f := outer
	if b.Class == "TBranchClones" {
		name, _ := c.TNamed()
		b.Name = p.str(name)
		b.Err = shardify.Unsupported("branches of class %s", b.Class)
		c.Leave(outer)
		return
	}
	if b.Class != "TBranch" {
		f = c.Frame()
	}
	b.Version = int(f.Version)
	var v values
	steps, err := p.layout("TBranch", b.Version)
	if err != nil {
		name, _ := c.TNamed()
		b.Name = p.str(name)
		c.FailWith(err)
		return
	}
	p.run(steps, &v)
	p.common(b, &v)
	if n := c.Rest(f); n != 0 {
		c.Fail("TBranch version %d has %d more bytes than known", b.Version, n)
	}
	c.Leave(f)
	switch b.Class {
	case "TBranchElement":
		p.element(b, int(outer.Version))
	case "TBranchObject":
		b.ClassName = p.str(c.CStr())
	}
	if b.Class != "TBranch" {
		c.Leave(outer)
	}
	if c.Err() != nil {
		return
	}
	switch err := p.baskets(b, &v); {
	case err != nil:
		b.Err = err
	case v.broken != nil:
		b.Err = v.broken
	case b.FileName != "":
		b.Err = shardify.Unsupported("baskets in another file, %s", b.FileName)
	case v.num[mEntries] != 0 && v.num[mEntries] != b.Entries() && b.Baskets.Len() > 0:
		b.Err = shardify.Corrupt(-1, "%d entries, and the first to the last are [%d, %d)", v.num[mEntries], b.First, b.End)
	default:
		b.Err = b.checkCounters()
	}
}

// checkCounters refuses counters that count themselves.
func (b *Branch) checkCounters() error {
	for _, l := range b.Leaves {
		if l.Count != nil && l.Count.Count == l { // or l itself
			return shardify.Corrupt(-1, "leaf %s counts itself", l.Name)
		}
	}
	if b.Counter == b || b.Counter2 == b {
		return shardify.Corrupt(-1, "the branch counts itself")
	}
	return nil
}

// common sets what all branches have.
func (p *parser) common(b *Branch, v *values) {
	b.Name, b.Title = p.str(v.bytes[mName]), p.str(v.bytes[mTitle])
	b.Children, b.Leaves = v.branches, v.leaves
	for _, l := range b.Leaves {
		if l.Branch == nil {
			l.Branch = b
		}
	}
	b.Compress, b.EntryOffsetLen = int(v.num[mCompress]), int(v.num[mEntryOffsetLen])
	b.SplitLevel, b.IOBits = int(v.num[mSplitLevel]), uint8(v.num[mIOBits])
	b.First, b.End = v.num[mFirstEntry], v.num[mEntryNumber]
	b.TotBytes, b.ZipBytes = v.num[mTotBytes], v.num[mZipBytes]
	b.FileName = p.str(v.bytes[mFileName])
}

// element reads the members of TBranchElement behind its base.
func (p *parser) element(b *Branch, version int) {
	steps, err := p.layout("TBranchElement", version)
	if err != nil {
		p.c.FailWith(err)
		return
	}
	var v values
	p.run(steps, &v)
	b.ClassName = p.refs.Intern(v.bytes[mClassName])
	b.ParentName = p.refs.Intern(v.bytes[mParentName])
	b.ClonesName = p.refs.Intern(v.bytes[mClonesName])
	b.CheckSum, b.ClassVersion = uint32(v.num[mCheckSum]), int(v.num[mClassVersion])
	b.ID, b.Type, b.StreamerType = int(v.num[mID]), int(v.num[mType]), int(v.num[mStreamerType])
	b.Counter, _ = v.slot[mBranchCount].(*Branch)
	b.Counter2, _ = v.slot[mBranchCount2].(*Branch)
}

// name gives the n branches, about, their place in the tree, paths and unique names.
func (t *Tree) name(n int) {
	t.byDotted = make(map[string]*Branch, n)
	t.All = make([]*Branch, 0, n)
	names := namer{t: t, suffix: map[string]int{}}
	for _, b := range t.Branches {
		names.place(b, nil)
	}
}

// otherNames finds branches by path and, where only one has it, name. Most callers
// never ask for these.
func (t *Tree) otherNames() {
	t.byOther = make(map[string]*Branch, 2*len(t.All))
	for _, b := range t.All {
		if _, again := t.byOther[b.Name]; again {
			t.byOther[b.Name] = nil
		} else {
			t.byOther[b.Name] = b
		}
	}
	paths := make(map[string]bool, len(t.All))
	for _, b := range t.All {
		if !paths[b.Path] {
			paths[b.Path] = true
			t.byOther[b.Path] = b
		}
	}
}

// namer walks the branches of a tree.
type namer struct {
	t *Tree
	// suffix is the last number given to a name that came again. It is kept since
	// a file may have a hundred thousand branches of one name.
	suffix map[string]int
}

// place adds b and its sub-branches to All. A hostile file may list a branch
// twice, or below itself.
func (n *namer) place(b, parent *Branch) {
	if b.placed {
		return
	}
	b.placed = true
	b.Parent, b.Index = parent, len(n.t.All)
	n.t.All = append(n.t.All, b)
	b.Path, b.Dotted = b.Name, strings.TrimSuffix(b.Name, ".")
	if parent != nil {
		b.Path = parent.Path + "/" + b.Name
		rest := b.Dotted
		if own := strings.TrimSuffix(parent.Name, ".") + "."; strings.HasPrefix(rest, own) {
			rest = rest[len(own):]
		}
		b.Dotted = parent.Dotted + "." + rest
	}
	b.Dotted = n.unique(b.Dotted)
	n.t.byDotted[b.Dotted] = b
	children := b.Children[:0:len(b.Children)]
	for _, child := range b.Children {
		if !child.placed {
			children = append(children, child)
			n.place(child, b)
		}
	}
	b.Children = children
}

func (n *namer) unique(name string) string {
	if n.t.byDotted[name] == nil {
		return name
	}
	i := max(n.suffix[name], 1)
	for {
		i++
		if u := name + "#" + strconv.Itoa(i); n.t.byDotted[u] == nil {
			n.suffix[name] = i
			return u
		}
	}
}
