package h5

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/btree"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// groupLister collects the links of one group.
type groupLister struct {
	f     *File
	links []Link
	text  int64 // bytes of names and targets taken so far
	err   error // the first damage that hides links
}

func (g *groupLister) bad(err error) error {
	g.err = cmp.Or(g.err, err)
	return nil
}

// add takes a link. Links that share one long name could add up to any size, so
// their bytes are counted.
func (g *groupLister) add(l Link) error {
	g.text += int64(len(l.Name) + len(l.File) + len(l.Target))
	if g.text > g.f.Size()+(16<<20) {
		return shardify.Corrupt(-1, "the names of a group hold more bytes than the file")
	}
	if len(g.links) == cap(g.links) { // append alone grows large slices by a quarter
		g.links = slices.Grow(g.links, max(8, len(g.links)))
	}
	g.links = append(g.links, l)
	return nil
}

// Children returns the links of a group, sorted by the bytes of their names.
// Damage in one part of the group's index gives the links of the other parts and
// an error as well; the caller decides whether the listing will do. The slice may
// be shared with other calls: do not change it.
func (o *Object) Children() ([]Link, error) {
	if o.Kind != KindGroup {
		return nil, o.f.Fail(shardify.Corrupt(o.Addr, "a %s, not a group", o.Kind), o.Path)
	}
	if links, ok := o.f.groups.get(o.Addr); ok {
		return links, nil
	}
	links, err := o.listGroup()
	return links, o.f.Fail(err, o.Path)
}

func (o *Object) listGroup() ([]Link, error) {
	g := &groupLister{f: o.f}
	for _, m := range o.msgs {
		var err error
		switch m.typ {
		case msgSymbolTable:
			err = g.symbolTable(m)
		case msgLinkInfo:
			err = g.dense(m)
		case msgLink:
			var l Link
			if l, err = o.f.parseLink(m.data, m.at); err == nil {
				err = g.add(l)
			}
		}
		if err != nil {
			g.bad(err)
		}
	}
	byName := func(a, b Link) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(g.links, byName) {
		slices.SortStableFunc(g.links, byName)
	}
	if g.err == nil {
		o.f.groups.put(o.Addr, g.links)
	}
	return g.links, g.err
}

// Child finds one link of a group; ok is false if the group has no such link. It lists the
// group; up to 131,072 links of the last four groups are kept, so a loop over names is
// cheap up to there, and better served by Children beyond.
func (o *Object) Child(name string) (Link, bool, error) {
	if o.Kind != KindGroup {
		return Link{}, false, o.f.Fail(shardify.Corrupt(o.Addr, "a %s, not a group", o.Kind), o.Path)
	}
	links, ok := o.f.groups.get(o.Addr)
	var err error
	if !ok {
		links, err = o.listGroup()
	}
	i, ok := slices.BinarySearchFunc(links, name, func(l Link, n string) int { return strings.Compare(l.Name, n) })
	if !ok {
		return Link{}, false, o.f.Fail(err, o.Path)
	}
	l := links[i]
	l.Name = strings.Clone(l.Name) // names of old groups are views into their heap
	return l, true, nil
}

// symbolTable lists an old-style group: a B-tree of symbol nodes, the names in a
// local heap.
func (g *groupLister) symbolTable(m message) error {
	d := g.f.Decode(m.data, m.at, "symbol table message")
	root, heapAddr := d.Addr(), d.Addr()
	if err := d.Err(); err != nil {
		return err
	}
	names, err := heap.OpenLocal(g.f.File, heapAddr)
	if err != nil {
		return err
	}
	t := btree.NewV1(g.f.File, btree.Groups, g.f.LengthSize, g.f.GroupInternalK)
	leaves, err := t.Leaves(root, g.bad)
	if err != nil {
		return err
	}
	entry := func(to *groupLister, n *btree.Node, i int) error {
		child := g.f.Offset(n.Entry(i)[t.KeySize : t.KeySize+g.f.OffsetSize])
		last, err := to.symbolNode(child, names)
		if err != nil {
			return err
		} // the key behind a node is its last name
		if key, err := names.Text(meta.Uint(n.Entry(i + 1)[:t.KeySize])); err != nil || key != last {
			return cmp.Or[error](err, shardify.Corrupt(child, "symbol node: it ends with %q, its tree says %q", last, key))
		}
		return nil
	}
	return t.Each(leaves, 0, func(n *btree.Node) error {
		for i := range n.Count {
			g.bad(entry(g, n, i))
		}
		// Old libraries left anything in nodes without entries, but not links with names of this group.
		if lost := (&groupLister{f: g.f}); n.Count == 0 && !n.Cleared() && entry(lost, n, 0) == nil && lost.err == nil && len(lost.links) > 0 {
			g.bad(shardify.Corrupt(n.Addr, "B-tree node: no entries, and links with names of the group where the first would be"))
		}
		return nil
	}, g.bad)
}

// symbolNode reads "SNOD", u8 1, reserved, u16 count, and count entries: L name
// offset, O object header, u32 cache kind, reserved, 16 bytes of scratch.
func (g *groupLister) symbolNode(addr int64, names *heap.Local) (last string, err error) {
	f := g.f
	entry := f.LengthSize + f.OffsetSize + 24
	b, err := f.ViewUpTo(addr, int64(8+2*f.GroupLeafK*entry), "symbol node")
	if err != nil {
		return "", err
	}
	d := f.Decode(b, addr, "symbol node")
	if err := d.Magic("SNOD"); err != nil {
		return "", err
	}
	if err := d.Version(1); err != nil {
		return "", err
	}
	d.Skip(1)
	n := int(d.U16())
	if n > 2*f.GroupLeafK || n*entry > d.Rest() {
		return "", d.Corrupt("%d entries, at most %d", n, 2*f.GroupLeafK)
	}
	// Names ascend, and none is empty.
	for range n {
		if len(g.links) > int(f.Size())/entry+1 {
			return "", d.Corrupt("the group has more links than the file can hold")
		}
		name, l := d.Length(), Link{Addr: d.Addr()}
		kind := d.U32()
		d.Skip(4)
		scratch := d.Bytes(16)
		if err := d.Err(); err != nil {
			return "", err
		}
		if kind > 2 || (kind == 2) != (l.Addr == meta.Undefined) {
			return "", d.Corrupt("entry at %d with a cache of kind %d", l.Addr, kind)
		}
		if l.Name, err = names.Text(name); err != nil {
			g.bad(err)
			continue
		}
		if strings.ContainsFunc(l.Name, notInNames) || l.Name <= last {
			return "", d.Corrupt("link %q follows %q", l.Name, last)
		}
		last = l.Name
		if kind == 2 {
			l.Kind, l.Addr = SoftLink, meta.Undefined
			l.Target, l.Err = names.Text(meta.Uint(scratch[:4]))
		}
		if err := g.add(l); err != nil {
			return "", err
		}
	}
	return last, nil
}

// notInNames reports whether no name of a link has r: nothing checks the names of old groups.
func notInNames(r rune) bool { return r < ' ' || r == 0x7f || r == '/' }

// groupCache keeps the sorted links of groups looked into. It forgets all of them when
// they are too many: reads come back to the same few groups, or to none.
type groupCache struct {
	mu    sync.Mutex
	links map[int64][]Link // by header address
	held  int
}

// maxCachedLinks bounds the links that are kept.
const maxCachedLinks = 1 << 17

func (c *groupCache) get(addr int64) ([]Link, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	links, ok := c.links[addr]
	return links, ok
}

func (c *groupCache) put(addr int64, links []Link) {
	if len(links) == 0 || len(links) > maxCachedLinks {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.links[addr]; ok {
		return
	}
	if c.held += len(links); c.links == nil || c.held > maxCachedLinks {
		c.links, c.held = map[int64][]Link{}, len(links)
	}
	c.links[addr] = links
}
