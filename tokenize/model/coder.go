package model

// Model makes ids of words. It is asked for words that are neither known nor remembered.
type Model interface {
	Encode(c *Coder, w []byte)
}

// Lexicon finds the ids of words: those that are one token in a table, others by a model.
type Lexicon struct {
	Model Model // asked for words that are not in the table
	words words
}

// NewLexicon makes a lexicon of a model. The words of the vocabulary that the model makes one token of
// are in the table: all of them, if such words are not merged.
func NewLexicon(m Model, vocab map[string]int32, all bool) *Lexicon {
	l := &Lexicon{Model: m, words: newWords(len(vocab))}
	c := &Coder{of: l}
	for w, id := range vocab {
		if w == "" {
			continue
		}
		if !all {
			c.Out = c.Out[:0]
			m.Encode(c, []byte(w))
			if len(c.Out) != 1 || c.Out[0] != id {
				continue
			}
		}
		l.words.add([]byte(w), id)
	}
	return l
}

// Coder makes ids of words, one after another. It has memory of its own: one goroutine uses it at a time.
type Coder struct {
	Out     []int32 // the ids so far
	Unknown int64   // characters that became the unknown token
	Dropped int64   // characters that became nothing, since there is no unknown token

	of     *Lexicon
	cache  []cacheSlot
	fallen int64 // unknown stretches that became bytes
	merge  merging
	best32 []node[float32]
	best64 []node[float64]
}

// NewCoder makes a coder that remembers words.
func NewCoder(l *Lexicon) *Coder { return &Coder{of: l, cache: make([]cacheSlot, 1<<cacheBits)} }

// Word appends the ids of a word: those of the table, or remembered ones, or merged ones.
func (c *Coder) Word(w []byte) {
	var h uint64
	if n := len(w); n <= shortWord {
		a, b := twoWords(w)
		h = hashOf(a, b, n)
		if id := c.of.words.find(a, b, h, n); id >= 0 {
			c.Out = append(c.Out, id)
			return
		}
	} else {
		if id, ok := c.of.words.long[string(w)]; ok {
			c.Out = append(c.Out, id)
			return
		}
		if n > cacheWord {
			c.of.Model.Encode(c, w)
			return
		}
		h = hashLong(w)
	}
	slot := c.slotOf(h)
	if slot.is(w) {
		c.Out = append(c.Out, slot.ids[:slot.k]...)
		return
	}
	from, unknown := len(c.Out), c.Unknown+c.Dropped
	c.of.Model.Encode(c, w)
	if k := len(c.Out) - from; k <= cacheIDs && unknown == c.Unknown+c.Dropped {
		slot.keep(w, c.Out[from:])
	}
}

// Text appends the ids of a text that the model cuts itself.
func (c *Coder) Text(s []byte) { c.of.Model.Encode(c, s) }
