package tar

import (
	"encoding/binary"
	"encoding/json"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
)

// The state is the survey as a plan keeps it:
//
//	u8      version
//	uvarint n, n bytes of JSON: head
//	tars:   u8 compression; uvarint samples, then per sample uvarint length of the key,
//	        uvarint members; the keys; per member varint place (less the end of the one
//	        before), uvarint size, extension, head
//	37      digest of all before it
const stateVersion = 1

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	text, err := json.Marshal(&s.head)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint([]byte{stateVersion}, uint64(len(text)))
	b = append(b, text...)
	for _, c := range s.tars {
		b = append(b, c.packing)
		b = binary.AppendUvarint(b, uint64(len(c.samples)))
		var last sample
		for _, x := range c.samples {
			b = binary.AppendUvarint(b, uint64(x.key-last.key))
			b = binary.AppendUvarint(b, uint64(x.members-last.members))
			last = x
		}
		b = append(b, c.keys...)
		var at int64
		for _, m := range c.members {
			b = binary.AppendVarint(b, m.at-at)
			b = binary.AppendUvarint(b, uint64(m.size))
			b = binary.AppendUvarint(b, uint64(m.ext))
			b = binary.AppendUvarint(b, uint64(m.head))
			at = m.at + m.size
		}
	}
	return append(b, index.DigestOf(b)...), nil
}

// stateDigest is the length of the digest.
const stateDigest = len(index.DigestPrefix) + 32

var errState = shardify.Corrupt(-1, "state of the survey of tars")

func decodeState(b []byte, tars int) (*survey, error) {
	end := len(b) - stateDigest
	if end < 1 || b[0] != stateVersion || index.DigestOf(b[:end]) != string(b[end:]) {
		return nil, errState
	}
	p := &varint.Reader{B: b[1:end]}
	s := &survey{}
	if err := json.Unmarshal(p.Bytes(p.U()), &s.head); err != nil || len(s.Exts) != len(s.Facts) {
		return nil, errState
	}
	for range tars {
		s.tars = append(s.tars, readContent(p, len(s.Exts)))
	}
	if p.Bad || len(p.B) > 0 {
		return nil, errState
	}
	return s, nil
}

func readContent(p *varint.Reader, exts int) *content {
	c := &content{}
	if k := p.Bytes(1); len(k) == 1 {
		c.packing = k[0]
	}
	var last sample
	for range p.Count(2) {
		key, members := p.U(), p.U()
		if key > 1<<31 || members > 1<<16 {
			p.Bad = true
			return c
		}
		last.key += uint32(key)
		last.members += uint32(members)
		c.samples = append(c.samples, last)
	}
	c.keys = append(c.keys, p.Bytes(uint64(last.key))...)
	if uint64(last.members) > uint64(len(p.B)) {
		p.Bad = true
		return c
	}
	c.members = make([]member, 0, last.members)
	var at int64
	for range last.members {
		m := member{at: at + p.I(), size: int64(p.U())}
		ext, head := p.U(), p.U()
		if m.at < 0 || m.size < 0 || ext >= uint64(exts) || head > npy.MostHead || int64(head) > m.size {
			p.Bad = true
			return c
		}
		m.ext, m.head = uint16(ext), uint16(head)
		c.members = append(c.members, m)
		at = m.at + m.size
	}
	return c
}
