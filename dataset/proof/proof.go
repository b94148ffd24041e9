// Package proof joins the checksums of parts of inputs that readers attach to what they read, and
// compares those of whole objects with what the inputs say.
package proof

import (
	"fmt"
	"hash/crc32"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// Sums collects checksums of parts of input objects and joins neighbours. The zero value is ready.
type Sums struct {
	list []shardify.Proof
	full int // when to join them
}

// Parts are those of objects that are not whole; what Check has compared is not among them.
func (p *Sums) Parts() (list []shardify.Proof) {
	for _, x := range p.list {
		if !complete(x) {
			list = append(list, x)
		}
	}
	return list
}

// Reset forgets all parts.
func (p *Sums) Reset() { p.list = p.list[:0] }

// tooMany is when the list is worth joining before its end, at least.
const tooMany = 1 << 12

// Add takes parts, in any order.
func (p *Sums) Add(list ...shardify.Proof) {
	p.list = append(p.list, list...)
	if len(p.list) > max(p.full, tooMany) {
		p.merge()
		p.full = 2 * len(p.list)
	}
}

// merge sorts the parts and joins those that adjoin.
func (p *Sums) merge() {
	sort.Slice(p.list, func(i, k int) bool {
		a, b := p.list[i], p.list[k]
		if a.Input != b.Input {
			return a.Input < b.Input
		}
		if a.Object != b.Object {
			return a.Object < b.Object
		}
		return a.Lo < b.Lo
	})
	out := p.list[:0]
	for _, x := range p.list {
		if n := len(out); n > 0 && adjoins(out[n-1], x) {
			last := &out[n-1]
			if x.Digest != "" {
				last.Pieces = append(last.Pieces, x.Pieces...)
			} else {
				last.Sum = index.CombineCRC32(polynomial(x), last.Sum, x.Sum, x.Hi-x.Lo)
			}
			last.Hi = x.Hi
			continue
		}
		out = append(out, x)
	}
	p.list = out
}

func adjoins(a, b shardify.Proof) bool {
	return a.Input == b.Input && a.Object == b.Object && a.Hi == b.Lo && a.Total == b.Total && a.Want == b.Want && a.Castagnoli == b.Castagnoli && a.Digest == b.Digest
}

func polynomial(p shardify.Proof) uint32 {
	if p.Castagnoli {
		return crc32.Castagnoli
	}
	return crc32.IEEE
}

// complete reports whether a proof covers the whole object.
func complete(p shardify.Proof) bool { return p.Lo == 0 && p.Hi == p.Total }

// compare reports how the sum of a whole object differs from the one on record.
func compare(x shardify.Proof) error {
	switch {
	case x.Digest != "":
		if got := index.DigestOfSums(x.Pieces); got != x.Digest {
			return fmt.Errorf("digest: the manifest says %s, its %d bytes have %s", x.Digest, x.Total, got)
		}
	case x.Sum != x.Want:
		kind := "crc32"
		if x.Castagnoli {
			kind = "crc32c"
		}
		return fmt.Errorf("%s of its %d bytes is %08x, stored %08x", kind, x.Total, x.Sum, x.Want)
	}
	return nil
}

// Check joins the parts and compares what is complete with what the input says. t names the inputs.
func (p *Sums) Check(src shardify.Source, t *format.Table) error {
	p.merge()
	for _, x := range p.list {
		if !complete(x) {
			continue
		}
		if err := compare(x); err != nil {
			e := shardify.Corrupt(-1, "%s", err)
			e.Op = "read"
			if t != nil && int(x.Input) < t.Len() {
				e.File = t.Path(int(x.Input))
			}
			if n, ok := src.(format.ObjectNamer); ok {
				file, object := n.ObjectName(x.Input, x.Object)
				if e.Object = object; file != "" {
					e.File = file
				}
			}
			return e
		}
	}
	return nil
}
