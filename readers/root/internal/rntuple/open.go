package rntuple

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/shardify/shardify"
)

// Open reads all metadata. size is the file's, anchor the (uncompressed) payload of
// the key of class ROOT::RNTuple. Errors wrap shardify.ErrCorrupt, or ErrUnsupported
// for what other readers may be able to read; r's own errors come through.
func Open(r io.ReaderAt, size int64, anchor []byte) (*Ntuple, error) {
	a, err := parseAnchor(anchor)
	if err != nil {
		return nil, err
	}
	n := &Ntuple{Version: a.version, r: r, size: size, maxKey: a.maxKey}
	header, sum, err := n.envelope(headerEnvelope, a.header)
	if err != nil {
		return nil, err
	}
	if err := n.parseHeader(header); err != nil {
		return nil, inside("header", a.header, err)
	}
	footer, _, err := n.envelope(footerEnvelope, a.footer)
	if err != nil {
		return nil, n.annotate(err)
	}
	groups, err := n.parseFooter(footer, sum)
	if err != nil {
		return nil, n.annotate(inside("footer", a.footer, err))
	}
	if err := n.readGroups(groups, sum); err != nil {
		return nil, n.annotate(err)
	}
	n.findSlots()
	n.flatten()
	return n, nil
}

// annotate names the ntuple in an error.
func (n *Ntuple) annotate(err error) error { return shardify.Annotate(err, "", "", n.Name) }

// inside moves the place of a fault from the envelope's payload to the text: the
// payload is compressed, so the file has no such byte.
func inside(what string, b blob, err error) error {
	var e *shardify.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	if e.Offset >= 0 {
		c.Err = fmt.Errorf("%s envelope, byte %d of the payload: %w", what, e.Offset, e.Err)
	} else {
		c.Err = fmt.Errorf("%s envelope: %w", what, e.Err)
	}
	c.Offset = int64(b.offset)
	return &c
}

func isEnd(err error) bool { return err == nil || err == io.EOF || err == io.ErrUnexpectedEOF }

// group is a cluster group as the footer lists it.
type group struct {
	first, entries int64
	clusters       int
	list           blob
}

func (n *Ntuple) parseFooter(b []byte, headerSum uint64) ([]group, error) {
	c := newCursor(b)
	if err := featureFlags(&c); err != nil {
		return nil, err
	}
	if sum := c.u64(); c.err == nil && sum != headerSum {
		return nil, shardify.Corrupt(-1, "header checksum %016x, the header has %016x", sum, headerSum)
	}
	if ext := c.record(); ext.left() > 0 {
		n.parseSchema(&ext)
		c.join(&ext)
	}
	in, items := c.list(8 + 8 + 8 + 4 + 8 + 4)
	groups := make([]group, 0, items)
	for range items {
		r := in.record()
		g := group{first: r.place(r.u64()), entries: r.place(r.u64()), clusters: int(r.u32())}
		g.list.size = r.u64()
		offset, disk := r.locator()
		if r.err == nil && offset < 0 {
			return nil, shardify.Unsupported("page list stored outside of the file")
		}
		g.list.offset, g.list.disk = uint64(offset), uint64(disk)
		in.join(&r)
		groups = append(groups, g)
	}
	c.join(&in)
	// Attribute sets may follow; nothing in them is a field.
	if c.err != nil {
		return nil, c.err
	}
	return groups, nil
}

// readGroups reads the page lists and puts the clusters in order.
func (n *Ntuple) readGroups(groups []group, sum uint64) error {
	// Page lists do not overlap in a file, so their sum is bounded by its size.
	budget := n.size
	for i, g := range groups {
		if budget -= int64(min(g.list.disk, uint64(n.size))); budget < 0 {
			return shardify.Corrupt(-1, "the page lists are longer than the file of %d bytes", n.size)
		}
		b, _, err := n.envelope(pageListEnvelope, g.list)
		if err != nil {
			return err
		}
		have := len(n.Clusters)
		if err := n.parsePageList(b, sum); err != nil {
			return inside("page list", g.list, err)
		}
		if got := len(n.Clusters) - have; got != g.clusters {
			return shardify.Corrupt(int64(g.list.offset), "cluster group %d of %d clusters, its page list has %d", i, g.clusters, got)
		}
		var entries int64
		for _, c := range n.Clusters[have:] {
			entries += c.Entries
		}
		if entries > g.entries {
			return shardify.Corrupt(int64(g.list.offset), "cluster group %d of %d entries, its clusters have %d", i, g.entries, entries)
		}
	}
	slices.SortStableFunc(n.Clusters, func(a, b clusterRange) int {
		switch {
		case a.FirstEntry < b.FirstEntry || a.FirstEntry == b.FirstEntry && a.Entries < b.Entries:
			return -1
		case a.FirstEntry == b.FirstEntry && a.Entries == b.Entries:
			return 0
		}
		return 1
	})
	for i, c := range n.Clusters {
		if c.FirstEntry != n.Entries {
			return shardify.Corrupt(-1, "cluster %d begins at entry %d, the one before ends at %d", i, c.FirstEntry, n.Entries)
		}
		if n.Entries += c.Entries; n.Entries > maxElements {
			return shardify.Corrupt(-1, "more than %d entries", int64(maxElements))
		}
	}
	return nil
}

// maxElements bounds entries and elements so that sums and products with small
// numbers stay inside of an int64.
const maxElements = 1 << 48
