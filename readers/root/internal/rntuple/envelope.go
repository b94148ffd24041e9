package rntuple

import (
	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/block"
)

// An envelope: u64 with the type in bits 0-15 and the whole length in bits 16-63,
// the payload, u64 XXH3-64 of all before it.
const (
	headerEnvelope = 1 + iota
	footerEnvelope
	pageListEnvelope
)

var envelopes = [...]string{"", "header", "footer", "page list"}

// Envelopes are metadata: the largest ones met have a few MiB and shrink to a
// quarter. Beyond these bounds a small file would fill the memory.
const (
	maxEnvelope = 1 << 30
	maxRatio    = 2048
	freeSize    = 1 << 20
)

// envelope reads and verifies one envelope and returns its payload and checksum.
func (n *Ntuple) envelope(kind int, b blob) (payload []byte, sum uint64, err error) {
	name := envelopes[kind]
	if err := n.boundBlob(name, b); err != nil {
		return nil, 0, err
	}
	disk := make([]byte, b.disk)
	if err := n.readAt(disk, int64(b.offset)); err != nil {
		return nil, 0, err
	}
	all := disk
	if b.disk < b.size {
		if err := block.Check(int64(b.size), disk); err != nil {
			return nil, 0, shardify.Corrupt(int64(b.offset), "%s envelope: %v", name, err)
		}
		all = make([]byte, b.size)
		if err := block.Decode(all, disk); err != nil {
			return nil, 0, shardify.Corrupt(int64(b.offset), "%s envelope: %v", name, err)
		}
	}
	payload, sum, err = open(all, kind)
	if err != nil {
		return nil, 0, shardify.Corrupt(int64(b.offset), "%s envelope: %v", name, err)
	}
	return payload, sum, nil
}

func (n *Ntuple) boundBlob(name string, b blob) error {
	switch size := uint64(n.size); {
	case b.disk > size || b.offset > size-b.disk:
		return shardify.Corrupt(-1, "%s envelope at %d of %d bytes lies outside of the file's %d", name, b.offset, b.disk, size)
	case n.maxKey > 0 && b.disk > n.maxKey:
		return shardify.Unsupported("%s envelope of %d bytes is stored in several pieces (each at most %d)", name, b.disk, n.maxKey)
	case b.size < 8+sumSize || b.disk > b.size:
		return shardify.Corrupt(int64(b.offset), "%s envelope of %d bytes in %d", name, b.size, b.disk)
	case b.size > maxEnvelope || b.size > freeSize && b.size/maxRatio > b.disk:
		return shardify.Corrupt(int64(b.offset), "%s envelope claims %d bytes in %d", name, b.size, b.disk)
	}
	return nil
}

// open checks the frame of an envelope.
func open(all []byte, kind int) (payload []byte, sum uint64, err error) {
	body := all[:len(all)-sumSize]
	want := le.Uint64(all[len(body):])
	if sum = xxh3.Hash(body); sum != want {
		return nil, 0, shardify.Corrupt(-1, "xxh3 is %016x, stored %016x", sum, want)
	}
	word := le.Uint64(all)
	if int(word&0xffff) != kind || word>>16 != uint64(len(all)) {
		return nil, 0, shardify.Corrupt(-1, "type %d of %d bytes, %d of %d are wanted", word&0xffff, word>>16, kind, len(all))
	}
	return body[8:], sum, nil
}

// readAt fills b from the file, whose size was passed to Open.
func (n *Ntuple) readAt(b []byte, offset int64) error {
	if offset < 0 || int64(len(b)) > n.size-offset {
		return shardify.Corrupt(offset, "%d bytes wanted in a file of %d", len(b), n.size)
	}
	if len(b) == 0 {
		return nil
	}
	if k, err := n.r.ReadAt(b, offset); k < len(b) {
		e := shardify.Corrupt(offset, "read %d of %d bytes: %v", k, len(b), err)
		if !isEnd(err) {
			e.Err = err
		}
		return e
	}
	return nil
}
