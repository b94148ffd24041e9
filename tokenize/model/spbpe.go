package model

import "unicode/utf8"

// Ids of tokens that are not pieces: characters, and pieces that nothing is merged with.
const (
	SPChar   = 1 << 30
	SPFrozen = 1 << 29
)

// SPBPE is BPE over characters that need not be pieces.
type SPBPE struct {
	Merge BPE
	Chars map[rune]int32
	Unk   int32
	Bytes *[256]int32
}

// Encode appends the ids of a word.
func (m *SPBPE) Encode(c *Coder, w []byte) {
	from := len(c.Out)
	ids := c.merge.ids[:0]
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRune(w[i:])
		id, ok := m.Chars[r]
		if !ok {
			id = SPChar | r
		}
		ids = append(ids, id)
		i += n
	}
	c.merge.ids = ids
	m.Merge.all(c)
	// Each unknown character is replaced; without bytes, neighbours are one.
	known := true
	for _, id := range c.Out[from:] {
		known = known && id < SPFrozen
	}
	if known {
		return
	}
	c.merge.ids = append(c.merge.ids[:0], c.Out[from:]...)
	c.Out = c.Out[:from]
	pending := false
	for _, id := range c.merge.ids {
		if id < SPFrozen {
			c.Out, pending = append(c.Out, id), false
			continue
		}
		if m.Bytes == nil {
			c.Unknown++
			if !pending {
				c.Out = append(c.Out, m.Unk)
			}
			pending = true
			continue
		}
		var one [utf8.UTFMax]byte
		for _, b := range utf8.AppendRune(one[:0], id&^SPChar) {
			c.Out = append(c.Out, m.Bytes[b])
		}
	}
}
