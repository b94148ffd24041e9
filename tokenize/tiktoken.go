package tokenize

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/pattern"
	"github.com/shardify/shardify/tokenize/split"
)

// Ranks is the Kind of files of tiktoken. They do not hold the special tokens of their model.
const Ranks = "tiktoken ranks"

// maxRanked bounds the tokens of a file of ranks: each is looked at in all ways to cut it in two.
const maxRanked = 512

// isRanks reports whether the file begins with a line "base64 rank".
func isRanks(data []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	token, rank, ok := bytes.Cut(bytes.TrimRight(line, "\r"), []byte(" "))
	if !ok || len(token) == 0 {
		return false
	}
	if _, err := strconv.ParseUint(string(rank), 10, 31); err != nil {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(string(token))
	return err == nil
}

// loadRanks reads tokens with their ranks, which are their ids. Any two tokens merge whose
// joined bytes are a token, and its rank is the order of merging.
func loadRanks(data []byte, name string) (*Tokenizer, error) {
	p, ok := pattern.Named(name)
	if name == "" {
		return nil, shardify.Misuse("a file of ranks does not say how text is cut into words: name its pattern, one of %s", strings.Join(Patterns, ", "))
	}
	if !ok {
		return nil, shardify.Misuse("no pattern %s (there are %s)", name, strings.Join(Patterns, ", "))
	}
	all := ids{vocab: map[string]int32{}, names: map[int32]string{}}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			continue
		}
		left, right, _ := bytes.Cut(line, []byte(" "))
		token := make([]byte, base64.StdEncoding.DecodedLen(len(left)))
		k, err := base64.StdEncoding.Decode(token, left)
		if err != nil {
			return nil, shardify.Corrupt(-1, "line %d: %.40q is not base64", n, left)
		}
		token = token[:k]
		rank, err := strconv.ParseInt(string(right), 10, 64)
		if err != nil {
			return nil, shardify.Corrupt(-1, "line %d: rank %.40q is not a number", n, right)
		}
		switch _, twice := all.vocab[string(token)]; {
		case twice:
			return nil, shardify.Corrupt(-1, "line %d: token %q is there twice", n, token)
		case k == 0:
			return nil, shardify.Corrupt(-1, "line %d: an empty token", n)
		case k > maxRanked:
			return nil, shardify.Unsupported("line %d: a token of %d bytes (at most %d)", n, k, maxRanked)
		}
		if err := all.add("line "+strconv.Itoa(n), string(token), rank); err != nil {
			return nil, err
		}
	}
	m := &model.BPE{Pairs: model.NewPairs(4 * len(all.vocab)), Bytes: new([256]int32), Unk: -1}
	for i := range m.Bytes {
		id, ok := all.vocab[string([]byte{byte(i)})]
		if !ok {
			return nil, shardify.Corrupt(-1, "byte 0x%02x has no rank", i)
		}
		m.Bytes[i] = id
	}
	for w, id := range all.vocab {
		for i := 1; i < len(w); i++ {
			left, ok := all.vocab[w[:i]]
			if !ok {
				continue
			}
			if right, ok := all.vocab[w[i:]]; ok {
				m.Pairs.Set(left, right, uint32(id), id)
			}
		}
	}
	t := &Tokenizer{Kind: Ranks, Model: "BPE", Size: all.size, vocab: all.vocab, split: split.Splitter{Kind: split.ByteLevel, Inner: p}, words: model.NewLexicon(m, all.vocab, true)}
	return t, nil
}
