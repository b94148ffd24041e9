package tokenize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/model"
)

// noted is a model that keeps the words which it is asked for.
type noted []string

func (n *noted) Encode(_ *model.Coder, w []byte) { *n = append(*n, string(w)) }

// TestChainsCutAsTheReference: testdata/make_pieces.py asked it.
func TestChainsCutAsTheReference(t *testing.T) {
	f, err := os.Open("testdata/pieces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		var c struct {
			jsonFile
			Text   string
			Pieces []string
		}
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var got noted
		tok := &Tokenizer{words: model.NewLexicon(&got, nil, true)}
		chars.Load()
		tok.normalizer, err = parseNormalizer("normalizer", c.Normalizer)
		if err == nil {
			err = parseChain("pre_tokenizer", c.PreTokenizer, &tok.split)
		}
		if err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		e := tok.NewEncoder()
		if _, err := e.Append(nil, []byte(c.Text)); err != nil || !slices.Equal(unique(got), unique(c.Pieces)) {
			t.Errorf("%s %s %q: %q, %v; want %q", c.Normalizer, c.PreTokenizer, c.Text, got, err, c.Pieces)
		}
	}
	if n < 100 {
		t.Errorf("%d cases", n)
	}
}

// unique leaves out words that come again: an encoder remembers those.
func unique(words []string) (out []string) {
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// TestAddedTokensThatTakeWhiteSpace: one that has no character left is not there.
func TestAddedTokensThatTakeWhiteSpace(t *testing.T) {
	file := func(left, right string) []byte {
		return []byte(`{"version":"1.0","added_tokens":[{"id":1,"content":"\n","lstrip":` + left + `,"rstrip":` + right + `},{"id":2,"content":" ","lstrip":` + right + `,"rstrip":` + left + `}],
"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0}}}`)
	}
	for _, c := range []struct {
		left, right, text string
		ids               []int32 // of tokenizers 0.23.3; nil where it fails
	}{
		{"true", "true", "\n\n", []int32{1}}, {"true", "true", " \n \n", []int32{2}}, {"true", "true", "a\n \nb", []int32{0, 1, 0}}, {"true", "true", " \n\n \nka", []int32{2, 0}},
		{"true", "false", "\n\n", []int32{1, 1}}, {"true", "false", "a\n \nb", []int32{0, 1, 2, 0}}, {"true", "false", " \n \n", nil}, {"false", "true", "\n \n", nil},
		{"false", "false", " \n\n", []int32{2, 1, 1}},
	} {
		tok, err := Load(file(c.left, c.right), Options{})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.NewEncoder().Append(nil, []byte(c.text))
		if c.ids == nil && !errors.Is(err, shardify.ErrUnsupported) || c.ids != nil && (err != nil || !slices.Equal(ids, c.ids)) {
			t.Errorf("lstrip %s, rstrip %s, %q: %d, %v; want %d", c.left, c.right, c.text, ids, err, c.ids)
		}
	}
}

// TestChainsAreLinear: pieces of a long text are not looked through again for each piece.
func TestChainsAreLinear(t *testing.T) {
	for _, pre := range []string{`{"type":"Whitespace"}`, `{"type":"UnicodeScripts"}`, `{"type":"Punctuation","behavior":"MergedWithNext"}`, `{"type":"Split","pattern":{"String":"ab"},"behavior":"Removed","invert":true}`,
		`{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits","individual_digits":false},{"type":"Metaspace","prepend_scheme":"first"}]}`} {
		var got noted
		tok := &Tokenizer{words: model.NewLexicon(&got, nil, true)}
		chars.Load()
		if err := parseChain("pre_tokenizer", []byte(pre), &tok.split); err != nil {
			t.Fatal(err)
		}
		for _, unit := range []string{"a", "ab", "a1 ", "..", " \u0301"} {
			if _, err := tok.NewEncoder().Append(nil, bytes.Repeat([]byte(unit), 1<<20)); err != nil { // of quadratic time this takes hours
				t.Error(err)
			}
			got = got[:0]
		}
	}
}
