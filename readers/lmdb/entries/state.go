package entries

import (
	"encoding/binary"
	"encoding/json"

	"github.com/shardify/shardify"
)

// Encode is a plan as bytes: its JSON behind its length; the number of pieces, and their samples and places; whether
// numbers follow, and their differences.
func (p *Plan) Encode() ([]byte, error) {
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	b = binary.AppendUvarint(b, uint64(len(p.rows)-1))
	depth := 0
	if len(p.places) > 0 {
		depth = len(p.places[0])
	}
	b = binary.AppendUvarint(b, uint64(depth))
	for k := range len(p.rows) - 1 {
		b = binary.AppendUvarint(b, uint64(p.rows[k+1]-p.rows[k]))
		for d := range depth {
			b = binary.AppendUvarint(b, uint64(p.places[k][d]))
		}
	}
	last := int64(0)
	for _, n := range p.numbers {
		b = binary.AppendUvarint(b, uint64(n-last))
		last = n
	}
	return b, nil
}

var errState = shardify.Corrupt(-1, "survey of the plan: places of the entries")

// Decode is the inverse of Encode. The bytes may come from a damaged plan.
func Decode(b []byte) (*Plan, error) {
	bad := false
	next := func(most uint64) int64 {
		v, k := binary.Uvarint(b)
		if k <= 0 || v > most {
			bad = true
			return 0
		}
		b = b[k:]
		return int64(v)
	}
	p := &Plan{}
	n := next(uint64(len(b)))
	if bad || n > int64(len(b)) || json.Unmarshal(b[:n], p) != nil || p.Order != tree && p.Order != numeric || len(p.Parts) == 0 || len(p.Parts) > maxPrefixes || p.First < 0 || p.Order == tree && len(p.Parts) > 1 {
		return nil, errState
	}
	for _, x := range p.Parts {
		if x.Width < 0 || x.Width > 18 {
			return nil, errState
		}
	}
	b = b[n:]
	pieces := next(uint64(len(b)))
	depth := next(64)
	p.rows = append(p.rows, 0)
	for k := int64(0); k < pieces && !bad; k++ {
		p.rows = append(p.rows, p.rows[k]+next(1<<40))
		var place []int
		for range depth {
			place = append(place, int(next(1<<16)))
		}
		if p.Order == tree {
			p.places = append(p.places, place)
		}
	}
	last := int64(0)
	for len(b) > 0 && !bad {
		last += next(1 << 60)
		p.numbers = append(p.numbers, last)
		bad = bad || last > 1<<60
	}
	if bad || p.numbers != nil && int64(len(p.numbers)) != p.Samples() {
		return nil, errState
	}
	return p, nil
}
