package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
)

// seedFile is the file of a tokenizer, to be damaged.
type seedFile struct {
	name    string
	data    []byte
	pattern string
}

// seedFiles are the tokenizers of the corpus. Large files come last.
func seedFiles(t testing.TB) (all []seedFile, texts []string) {
	t.Helper()
	files := corpus(t, "good/")
	if err := json.Unmarshal(files["strings.json"], &texts); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if strings.HasSuffix(name, "ids.json") || name == "strings.json" {
			continue
		}
		s := seedFile{name: name, data: data}
		if strings.HasSuffix(name, ".tiktoken") {
			s.pattern = "o200k"
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b seedFile) int { return strings.Compare(a.name, b.name) })
	slices.SortStableFunc(all, func(a, b seedFile) int { return len(a.data)/100_000 - len(b.data)/100_000 })
	return all, texts
}

// TestMutatedTokenizers damages files and texts: no panic, no hang, little memory, errors of a
// kind, and ids that the tokenizer has. SHARDIFY_MUTATIONS is the number of each.
func TestMutatedTokenizers(t *testing.T) {
	all, texts := seedFiles(t)
	small := slices.IndexFunc(all, func(s seedFile) bool { return len(s.data) >= 100_000 })
	sound := make([]*Encoder, len(all))
	for i, s := range all {
		tok, err := Load(s.data, Options{Pattern: s.pattern})
		if err != nil {
			t.Fatal(s.name, err)
		}
		sound[i] = tok.NewEncoder()
	}
	runtime.GC()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	w := readertest.Watch{Limit: 20 * time.Second, Memory: 512 << 20}
	defer w.Start()()
	count := readertest.Mutations(t, 400)
	one := func(i uint64) (loaded bool) {
		rng := rand.New(rand.NewPCG(31, i))
		n := small
		if rng.IntN(50) == 0 {
			n = len(all)
		}
		k := rng.IntN(n)
		s := all[k]
		w.Begin(i)
		data := mutateFile(rng, all[:small], bytes.Clone(s.data))
		defer w.Judge(t, i, s.name, data, fmt.Sprintf("tokenizer-mutation-%d-%s", i, s.name))
		for range 2 {
			checkIDs(t, sound[rng.IntN(len(sound))], mutateText(rng, texts))
		}
		o := Options{}
		if isRanks(data) {
			o.Pattern = Patterns[rng.IntN(len(Patterns))]
		}
		tok, err := Load(data, o)
		if err != nil {
			if !isKind(err) {
				t.Errorf("mutation %d of %s: error of no kind: %v", i, s.name, err)
			}
			return false
		}
		checkIDs(t, tok.NewEncoder(), mutateText(rng, texts))
		return true
	}
	good := 0
	for i := range count {
		if one(uint64(i)) {
			good++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated files from %d seeds, %d of them were loaded; heap at most %s", count, len(all), good, shardify.FormatSize(w.Heap()))
	if good*8 < count {
		t.Errorf("only %d of %d files were loaded", good, count)
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrUsage)
}

// parts are parts that may replace another part of tokenizer.json.
var parts = strings.Fields(`"BPE" "Unigram" "WordPiece" "WordLevel" "Sequence" "NFC" "NFD" "NFKC" "NFKD" "Lowercase" "StripAccents" "Prepend" "Replace" "BertNormalizer"
	"ByteLevel" "Split" "Digits" "Metaspace" "WhitespaceSplit" "BertPreTokenizer" "Isolated" "Removed" "TemplateProcessing" "BertProcessing" "RobertaProcessing"
	"always" "first" "never" "prepend_scheme" "add_prefix_space" "use_regex" "single_word" "lstrip" "rstrip" "normalized" "byte_fallback" "fuse_unk" "ignore_merges"
	"\u0120" "\ud800" "\u0000" "" "a" "<0x41>" "##" {"type":"NFKC"} {"type":"Lowercase"} {"type":"StripAccents"} {"type":"Prepend","prepend":"\u2581"}
	{"type":"Replace","pattern":{"String":"a"},"content":"aaaa"} {"type":"Digits","individual_digits":true} {"type":"Metaspace"} {} [] 1e309 -0 0.5`)

// mutateFile damages a file in one to three places. Half of them are near its beginning, where
// settings are.
func mutateFile(rng *rand.Rand, all []seedFile, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(b), 2000))
		}
		switch rng.IntN(12) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32() >> rng.Uint32N(32))
		case 2: // what means something
			const signs = "\n\"\\{}[]:, 09.-eEu<x>\xff"
			b[at] = signs[rng.IntN(len(signs))]
		case 3, 4: // another number
			if k := bytes.IndexAny(b[at:], "0123456789"); k >= 0 {
				end := at + k
				for end < len(b) && '0' <= b[end] && b[end] <= '9' {
					end++
				}
				n := strconv.FormatUint(readertest.Interesting[rng.IntN(len(readertest.Interesting))], 10)
				if rng.IntN(2) == 0 {
					n = strconv.Itoa(rng.IntN(1000))
				}
				b = slices.Concat(b[:at+k], []byte(n), b[end:])
			}
		case 5: // another word
			words := [...]string{"true", "false", "null"}
			for _, w := range words {
				if k := bytes.Index(b[at:], []byte(w)); k >= 0 {
					b = slices.Concat(b[:at+k], []byte(words[rng.IntN(3)]), b[at+k+len(w):])
					break
				}
			}
		case 6, 7: // another part in the place of a text
			if k := bytes.IndexByte(b[at:], '"'); k >= 0 {
				if n := bytes.IndexByte(b[at+k+1:], '"'); n >= 0 && n < 300 {
					b = slices.Concat(b[:at+k], []byte(parts[rng.IntN(len(parts))]), b[at+k+n+2:])
				}
			}
		case 8: // double a piece
			n := min(1+rng.IntN(64), len(b)-at)
			b = slices.Concat(b[:at+n], b[at:])
		case 9: // a piece of another file
			o := all[rng.IntN(len(all))].data
			k := rng.IntN(len(o))
			copy(b[at:], o[k:min(k+1+rng.IntN(200), len(o))])
		case 10: // cut a piece out
			b = slices.Concat(b[:at], b[min(at+1+rng.IntN(16), len(b)):])
		case 11: // cut the end off, seldom
			if rng.IntN(8) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

// mutateText makes a text of pieces of texts, characters, runs, and now and then bytes that are no
// UTF-8.
func mutateText(rng *rand.Rand, texts []string) string {
	var b []byte
	for range 1 + rng.IntN(4) {
		s := texts[rng.IntN(len(texts))]
		lo := rng.IntN(len(s) + 1)
		s = strings.ToValidUTF8(s[lo:lo+rng.IntN(len(s)-lo+1)], "")
		switch rng.IntN(12) {
		case 0:
			s = strings.Repeat(s, rng.IntN(20))
		case 1:
			s += strings.Repeat(string(rune(rng.IntN(0x3100))), rng.IntN(100))
		case 2:
			s += string(rune(rng.IntN(0x110000)))
		}
		b = append(b, s...)
	}
	if len(b) > 0 && rng.IntN(20) == 0 {
		b[rng.IntN(len(b))] = byte(rng.Uint32())
	}
	return string(b)
}
