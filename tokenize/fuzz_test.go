package tokenize

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shardify/shardify"

	"github.com/shardify/shardify/tests/busy"
)

// FuzzLoad damages files of tokenizers; one that loads makes ids of its size of any text.
func FuzzLoad(f *testing.F) {
	for name, data := range corpus(f, "") {
		if !strings.HasSuffix(name, "ids.json") && len(data) < 30000 {
			f.Add(data, "ka re 12 <s>\n\u00e9e\u0301 x", uint8(0))
		}
	}
	for _, parts := range []string{ // those that no file of the corpus has
		`"normalizer":{"type":"Strip","strip_left":true,"strip_right":true},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},{"type":"ByteLevel"},{"type":"Metaspace","prepend_scheme":"first"}]}`,
		`"normalizer":{"type":"Nmt"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"UnicodeScripts"},{"type":"Punctuation","behavior":"MergedWithNext"}]}`,
		`"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"CharDelimiterSplit","delimiter":","},{"type":"Split","pattern":{"String":"a"},"behavior":"Contiguous","invert":true},{"type":"Digits","individual_digits":false}]}`,
	} {
		f.Add([]byte(`{"version":"1.0","added_tokens":[],`+parts+`,"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"a":1,"##a":2}}}`), " a,1 2\n", uint8(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, text string, pattern uint8) {
		var o Options
		if isRanks(data) {
			o.Pattern = Patterns[int(pattern)%len(Patterns)]
		}
		tok, err := Load(data, o)
		if err != nil {
			if !isKind(err) {
				t.Errorf("of another kind: %v", err)
			}
			return
		}
		checkIDs(t, tok.NewEncoder(), text)
	})
}

// FuzzText makes ids of any text with each of the tokenizers.
func FuzzText(f *testing.F) {
	var toks []*Encoder
	files := corpus(f, "good/")
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !strings.HasSuffix(name, "ids.json") && name != "strings.json" && !yield(name) {
				return
			}
		}
	}) {
		o := Options{}
		if strings.HasSuffix(name, ".tiktoken") {
			o.Pattern = "o200k"
		}
		tok, err := Load(files[name], o)
		if err != nil {
			f.Fatal(name, err)
		}
		toks = append(toks, tok.NewEncoder())
	}
	f.Add("x<sep>   y [MASK] <usr>\u0301 \u4f60'LL 123", uint8(3))
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		checkIDs(t, toks[int(which)%len(toks)], text)
	})
}

// checkIDs makes ids of a text, twice, so that the second time words are remembered.
func checkIDs(t *testing.T, e *Encoder, text string) {
	t.Helper()
	begun := time.Now()
	ids, err := e.Append(nil, []byte(text))
	if d := time.Since(begun); d > 30*time.Second && len(text) < 1<<16 {
		t.Errorf("%d bytes took %v", len(text), d)
	}
	if !utf8.ValidString(text) {
		if !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("bytes that are not UTF-8: %v", err)
		}
		return
	}
	if err != nil {
		if !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
		return
	}
	for _, id := range ids {
		if id < 0 || int(id) >= e.t.Size {
			t.Fatalf("id %d: the tokenizer has %d", id, e.t.Size)
		}
	}
	again, err := e.Append(ids[:len(ids):len(ids)], []byte(text))
	if err != nil || !slices.Equal(again[len(ids):], ids) {
		t.Fatalf("%q: %d, and again %d (%v)", text, ids, again[len(ids):], err)
	}
}

// TestLongRunsTakeLinearTime has texts that take a quadratic tokenizer minutes. With SHARDIFY_LONG
// they are 10 MB long.
func TestLongRunsTakeLinearTime(t *testing.T) {
	n, limit := 100_000, 5*time.Second
	if os.Getenv("SHARDIFY_LONG") != "" {
		n, limit = 10_000_000, time.Minute
	}
	rng := rand.New(rand.NewPCG(5, 5))
	word := func(from, to rune) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteRune(from + rng.Int32N(to-from))
		}
		return b.String()
	}
	texts := map[string]string{
		"one letter": strings.Repeat("a", n), "spaces": strings.Repeat(" ", n), "lines": strings.Repeat(" \n", n/2),
		"spaces and a letter": strings.Repeat(strings.Repeat(" ", 2000)+"x", n/2000), "marks": "a" + strings.Repeat("\u0301\u0316", n/4), "tokens": strings.Repeat("<sep>  ", n/7),
		"unknown": strings.Repeat("\U00010450", n/4), "capitals": strings.Repeat("\u3042A", n/4), "a word": word('a', 'z'), "a word of any letters": word(0x4e00, 0x9000),
	}
	all, _ := seedFiles(t)
	for _, s := range all {
		tok, err := Load(s.data, Options{Pattern: s.pattern})
		if err != nil {
			t.Fatal(s.name, err)
		}
		e := tok.NewEncoder()
		for what, text := range texts {
			begun := busy.Processor()
			ids, err := e.Append(nil, []byte(text))
			if d := busy.Processor() - begun; d > limit {
				t.Errorf("%s: %s: %v", s.name, what, d)
			}
			if err != nil || len(ids) > len(text)+1 {
				t.Errorf("%s: %s: %d ids, %v", s.name, what, len(ids), err)
			}
		}
	}
}
