package tokenize

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// unigram takes the tokens whose scores have the highest sum. Sums are of type F, as in the
// reference: where two are nearly the same, that decides.
type unigram[F float32 | float64] struct {
	tokens *trie
	scores []F
	unk    int32
	unkIs  F
	floor  F           // sums below it are raised
	bytes  *[256]int32 // what unknown characters become; nil: the unknown token
	// named finds the text of neighbours that are unknown: it may be a token as a whole.
	named func(s []byte) (int32, bool)
	best  func(*Encoder) *[]node[F]
}

// node is the best way to a place in the text.
type node[F float32 | float64] struct {
	score F
	from  int32 // -1 without one
	id    int32
}

// unknownPenalty is how much less than the least score an unknown character has.
const unknownPenalty = 10

// maxPiece bounds a token: at each place in a text as much may be read.
const maxPiece = 1024

func (m *unigram[F]) encode(e *Encoder, w []byte) { m.run(e, w, 0) }

// run appends the ids of a text whose sums begin with sum, and returns the sum at its end.
func (m *unigram[F]) run(e *Encoder, w []byte, sum F) F {
	room := m.best(e)
	nodes := slices.Grow((*room)[:0], len(w)+1)[:len(w)+1]
	*room = nodes
	for i := range nodes {
		nodes[i].from = -1
	}
	nodes[0] = node[F]{score: sum}
	far := 0 // no node after it has been reached
	for i := 0; i < len(w); {
		if nodes[i].score < m.floor {
			m.raise(nodes[i : far+1])
		}
		n, here, single := 1, nodes[i].score, false
		if w[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(w[i:])
		}
		at := uint32(0)
		for j := i; j < len(w); {
			var v int32
			if at, v = m.tokens.next(at, w[j]); at == 0 {
				break
			}
			if j++; v < 0 {
				continue
			}
			sum := m.scores[v] + here
			if t := &nodes[j]; t.from < 0 || sum > t.score {
				*t = node[F]{sum, int32(i), v}
				far = max(far, j)
			}
			single = single || j == i+n
		}
		if !single {
			sum := m.unkIs + here
			if t := &nodes[i+n]; t.from < 0 || sum > t.score {
				*t = node[F]{sum, int32(i), m.unk}
				far = max(far, i+n)
			}
		}
		i += n
	}
	m.back(e, w, nodes)
	sum = nodes[len(w)].score
	if cap(nodes) > 1<<20 {
		*room = nil
	}
	return sum
}

// raise makes sums begin again at the first node, before they are too large to be exact.
func (m *unigram[F]) raise(nodes []node[F]) {
	by := nodes[0].score
	for i := range nodes {
		if nodes[i].from >= 0 {
			nodes[i].score -= by
		}
	}
}

// back appends the ids on the best way, which is found from its end.
func (m *unigram[F]) back(e *Encoder, w []byte, nodes []node[F]) {
	from := len(e.out)
	for i := len(w); i > 0; {
		t := nodes[i]
		if t.id != m.unk {
			e.out = append(e.out, t.id)
			i = int(t.from)
			continue
		}
		j := i
		for i > 0 && nodes[i].id == m.unk {
			i = int(nodes[i].from)
		}
		m.unknown(e, w[i:j])
	}
	slices.Reverse(e.out[from:])
}

// unknown appends the tokens for unknown characters, from the last to the first.
func (m *unigram[F]) unknown(e *Encoder, s []byte) {
	if m.named != nil {
		if id, ok := m.named(s); ok {
			e.out = append(e.out, id)
			return
		}
	}
	if m.bytes == nil {
		e.counts.Unknown += int64(utf8.RuneCount(s))
		e.out = append(e.out, m.unk)
		return
	}
	e.fallen++
	for _, c := range slices.Backward(s) {
		e.out = append(e.out, m.bytes[c])
	}
}

// scored is an entry of a vocabulary of the form [token, score].
type scored struct {
	token string
	score float64
}

// UnmarshalJSON reads the two.
func (s *scored) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 2 {
		return fmt.Errorf("%.60s is not [token, score]", b)
	}
	if err := json.Unmarshal(parts[0], &s.token); err != nil {
		return fmt.Errorf("%.60s: the token is not text", b)
	}
	if err := json.Unmarshal(parts[1], &s.score); err != nil {
		return fmt.Errorf("%.60s: the score is not a number", b)
	}
	if c := parts[1][0]; c == '-' || '0' <= c && c <= '9' { // else it is null
		s.score = scoreOf(parts[1])
	}
	return nil
}

func (t *Tokenizer) parseUnigram(raw json.RawMessage) error {
	f := struct {
		Type         string            `json:"type"`
		UnkID        *int64            `json:"unk_id"`
		Vocab        []json.RawMessage `json:"vocab"`
		ByteFallback bool              `json:"byte_fallback"`
	}{}
	if err := unmarshal("model", raw, &f, true); err != nil {
		return err
	}
	if f.UnkID == nil || *f.UnkID < 0 || *f.UnkID >= int64(len(f.Vocab)) {
		id := "null"
		if f.UnkID != nil {
			id = fmt.Sprint(*f.UnkID)
		}
		return shardify.Corrupt(-1, "model.unk_id %s: the vocabulary has %d tokens", id, len(f.Vocab))
	}
	m := &unigram[float64]{tokens: newTrie(), scores: make([]float64, len(f.Vocab)), unk: int32(*f.UnkID), floor: math.Inf(-1), best: func(e *Encoder) *[]node[float64] { return &e.best64 }}
	vocab, least := make(map[string]int32, len(f.Vocab)), math.Inf(1)
	for i, raw := range slices.Backward(f.Vocab) {
		var s scored
		if err := s.UnmarshalJSON(raw); err != nil {
			return shardify.Corrupt(-1, "model.vocab[%d]: %v", i, err)
		}
		if len(s.token) > maxPiece {
			return shardify.Unsupported("model.vocab[%d]: a token of %d bytes (at most %d)", i, len(s.token), maxPiece)
		}
		least = min(least, s.score)
		m.scores[i] = s.score
		if _, ok := vocab[s.token]; ok { // of a token that is there twice, the last one counts
			continue
		}
		vocab[s.token] = int32(i)
		if s.token != "" {
			m.tokens.add([]byte(s.token), int32(i))
		}
	}
	m.tokens.pack()
	m.unkIs = least - unknownPenalty
	m.named = func(s []byte) (int32, bool) { id, ok := vocab[string(s)]; return id, ok }
	if f.ByteFallback {
		var err error
		if m.bytes, err = fallback(vocab); err != nil {
			return err
		}
	}
	t.vocab, t.Size, t.model = vocab, len(f.Vocab), m
	t.split.bounded = false
	t.fill(vocab, false)
	return nil
}
