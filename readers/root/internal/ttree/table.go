package ttree

import (
	"encoding/binary"
	"math"
	"sort"

	"github.com/shardify/shardify"
)

// baskets makes the table of baskets of a branch.
func (p *parser) baskets(b *Branch, v *values) error {
	n := int(v.num[mWriteBasket])
	if n < 0 || b.First < 0 || b.End < b.First || b.End >= 1<<62 {
		return shardify.Corrupt(-1, "%d baskets, entries %d to %d", n, b.First, b.End)
	}
	t := tableReader{p: p, b: b, n: n, max: int(v.num[mMaxBaskets]), bytes: v.bytes[mBasketBytes], embedded: v.baskets}
	t.entry, t.entrySize = v.bytes[mBasketEntry], 8
	t.seek, t.seekSize = v.bytes[mBasketSeek], 8
	if b.Version < 10 {
		t.entrySize = 4
		if !v.wide {
			t.seekSize = 4
		}
	}
	return t.read()
}

// tableReader joins the arrays of a branch and its embedded baskets.
type tableReader struct {
	p        *parser
	b        *Branch
	n, max   int // fWriteBasket, fMaxBaskets
	bytes    []byte
	entry    []byte
	seek     []byte
	embedded []*embedded

	entrySize, seekSize int
}

// at returns the embedded basket i; nil if it is absent or only a stub beside a record.
func (t *tableReader) at(i int) *embedded {
	k := sort.Search(len(t.embedded), func(k int) bool { return t.embedded[k].index >= i })
	if k == len(t.embedded) || t.embedded[k].index != i || t.embedded[k].stub() {
		return nil
	}
	return t.embedded[k]
}

func (t *tableReader) read() error {
	b := t.b
	total := t.n // baskets that may hold entries
	if t.at(t.n) != nil {
		total++
	}
	if total == 0 {
		if b.End > b.First && len(b.Children) == 0 {
			return shardify.Corrupt(-1, "%d entries without a basket", b.End-b.First)
		}
		return nil
	}
	if total > len(t.entry)/t.entrySize {
		return shardify.Corrupt(-1, "entries of %d baskets for %d", len(t.entry)/t.entrySize, total)
	}
	first := t.p.tableInts(t.entry, t.entrySize, total)
	out := &b.Baskets
	out.Seek, out.Bytes, out.First = t.p.ints(total)[:0], t.p.ints32(total)[:0], t.p.ints(total + 1)[:0]
	for i, lo := range first {
		hi := b.End
		if i+1 < total {
			hi = first[i+1]
		}
		if lo > hi || hi-lo > math.MaxInt32 || i == 0 && lo != b.First {
			return shardify.Corrupt(-1, "basket %d of %d has the entries %d to %d, the branch %d to %d", i, total, lo, hi, b.First, b.End)
		}
		if lo == hi {
			continue
		}
		if err := t.add(i, lo, hi); err != nil {
			return err
		}
	}
	out.First = append(out.First, b.End)
	return nil
}

// add appends basket i with the entries [lo, hi).
func (t *tableReader) add(i int, lo, hi int64) error {
	out := &t.b.Baskets
	out.First = append(out.First, lo)
	if e := t.at(i); e != nil {
		if int64(e.head.entries) != hi-lo {
			return shardify.Corrupt(-1, "entries: embedded basket %d says %d, the branch's table %d", i, e.head.entries, hi-lo)
		}
		for len(out.Embedded) < len(out.Seek) {
			out.Embedded = append(out.Embedded, nil)
		}
		out.Embedded = append(out.Embedded, e)
		out.Seek, out.Bytes = append(out.Seek, 0), append(out.Bytes, 0)
		return nil
	}
	if i >= len(t.bytes)/4 || i >= len(t.seek)/t.seekSize {
		return shardify.Corrupt(-1, "basket %d has no place in the tables", i)
	}
	n, seek := be32(t.bytes, i), t.seekAt(i)
	if n <= 0 || seek <= 0 {
		return shardify.Corrupt(-1, "basket %d with the entries %d to %d is not in the file", i, lo, hi)
	}
	if size := t.p.f.Size(); t.b.FileName == "" && seek > size-int64(n) {
		return shardify.Corrupt(seek, "basket %d of %d bytes, the file has %d", i, n, size)
	}
	if out.Embedded != nil {
		out.Embedded = append(out.Embedded, nil)
	}
	out.Seek, out.Bytes = append(out.Seek, seek), append(out.Bytes, n)
	return nil
}

func (t *tableReader) seekAt(i int) int64 {
	if t.seekSize == 4 {
		return int64(uint32(be32(t.seek, i)))
	}
	return int64(binary.BigEndian.Uint64(t.seek[8*i:]))
}
