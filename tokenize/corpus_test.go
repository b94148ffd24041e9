package tokenize

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/model"
)

// corpus are the files of testdata/corpus.zip whose names begin so.
func corpus(t testing.TB, prefix string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader("testdata/corpus.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return files
}

// expected is what the reference made of strings.json.
type expected struct {
	Pattern     string    `json:"pattern"`
	IDs         [][]int32 `json:"ids"`
	WithSpecial [][]int32 `json:"with_special"`
}

// TestIDsOfTheReference compares with the libraries that the tokenizers are from.
func TestIDsOfTheReference(t *testing.T) {
	files := corpus(t, "good/")
	var texts []string
	if err := json.Unmarshal(files["strings.json"], &texts); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, data := range files {
		ids, ok := files[strings.TrimSuffix(name, ".json")+".ids.json"]
		if !ok || strings.HasSuffix(name, ".ids.json") {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			var want expected
			if err := json.Unmarshal(ids, &want); err != nil {
				t.Fatal(err)
			}
			tok, err := Load(data, Options{Pattern: want.Pattern})
			if err != nil {
				t.Fatal(err)
			}
			e := tok.NewEncoder()
			before, after := tok.Template()
			bad := 0
			for i, text := range texts {
				got, err := e.Append(nil, []byte(text))
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				if !slices.Equal(got, want.IDs[i]) {
					if bad++; bad <= 5 {
						t.Errorf("%+q:\n got %d\nwant %d", text, got, want.IDs[i])
					}
				}
				around := slices.Concat(before, got, after)
				if want.WithSpecial != nil && !slices.Equal(around, want.WithSpecial[i]) {
					t.Fatalf("%+q: with the template %d, want %d", text, around, want.WithSpecial[i])
				}
			}
			if bad > 0 {
				t.Errorf("%d of %d differ", bad, len(texts))
			}
		})
	}
	if n < 23 {
		t.Errorf("%d tokenizers", n)
	}
}

// TestDigitsOfANewerUnicode: Digits takes numbers alone that the patterns do not know. The ids are
// those of tokenizers 0.23.3.
func TestDigitsOfANewerUnicode(t *testing.T) {
	tok, err := Load(corpus(t, "good/bl-digits.json")[""], Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.NewEncoder().Append(nil, []byte("\U00011de5't"))
	if want := []int32{173, 240, 116, 99, 519}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%d, want %d, %v", ids, want, err)
	}
}

// TestBrokenTokenizersAreRefused names what is wrong, and where.
func TestBrokenTokenizersAreRefused(t *testing.T) {
	files := corpus(t, "broken/")
	says := map[string]string{
		"truncated.json": "the JSON ends early", "empty.json": "is empty", "array.json": "not an object",
		"merge_unknown_token.json": `"zzzz" is not in the vocabulary`, "merge_unknown_result.json": `"Ġ!" is not in the vocabulary`,
		"merge_three_parts.json": "model.merges[0] [\"a\" \"b\" \"c\"] has 3 parts", "id_twice.json": "have id 5", "id_negative.json": `token "!" has id -1`,
		"id_huge.json": `token "!" has id 2147483648`, "model_type.json": "model: type Quantum", "pretokenizer_type.json": "pre_tokenizer: type Jieba",
		"normalizer_type.json": "normalizer: type Magic", "regex_bad.json": `pre_tokenizer[0]: Split by the pattern "(a"`,
		"regex_other.json": `Split by the pattern "(?<=x)y+|\\p{Script=Greek}+(?=z)"`, "dropout.json": "model.dropout 0.1", "byte_missing.json": "byte 0xad has no token",
		"version.json": `version "9.9"`, "template_missing.json": `single[0] is "<|begin|>", which special_tokens does not define`,
		"bytes_partial.json": "the vocabulary has no <0xE2>", "unk_missing.json": `model.unk_token "<nope>"`, "added_other_id.json": `added_tokens[0] "<|end|>": its id is 77`,
		"charsmap_bad.json": "normalizer[0]: precompiled_charsmap", "unk_out_of_range.json": "model.unk_id 1000000", "score_text.json": "model.vocab[9]",
		"truncated.model": "ends inside", "empty.model": "is empty", "text.model": "no model of SentencePiece", "no_pieces.model": "has no pieces", "lfs_pointer.model": "Git LFS pointer",
		"base64.tiktoken": "line 10: \"!!!\" is not base64", "rank_twice.tiktoken": "line 10: tokens", "token_twice.tiktoken": "line 10: token", "byte_missing.tiktoken": "byte 0x",
		"rank_text.tiktoken": `line 10: rank "x"`,
	}
	for name, data := range files {
		if name == "expected.json" {
			continue
		}
		pattern := ""
		if strings.HasSuffix(name, ".tiktoken") {
			pattern = "llama3"
		}
		_, err := Load(data, Options{Pattern: pattern})
		want, ok := says[name]
		delete(says, name)
		if !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: of another kind: %v", name, err)
		}
	}
	if len(says) > 0 {
		t.Errorf("not there: %v", says)
	}
}

// TestSumsOfLongTexts compares texts whose sums of scores go far below what float32 has room
// for: SentencePiece lets them begin again at -100,000.
func TestSumsOfLongTexts(t *testing.T) {
	files := corpus(t, "good/")
	var texts []string
	if err := json.Unmarshal(files["strings.json"], &texts); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat(strings.Join(texts, " ")+" ", 12)
	for name, want := range map[string]string{
		"sp-unigram-nfkc.model": "76175be8ae30d8d9cb247d7d1060a32b96345917a356484338c7c77b1098a840",
		"sp-uni-suffix.model":   "2c3bd1d51ac82c1f6c36fe310388d68e7ba21280c04cebbf3d42fcf564632abd",
	} {
		tok, err := Load(files[name], Options{})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.NewEncoder().Append(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 0, 4*len(ids))
		for _, id := range ids {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: %d ids are others than the reference's", name, len(ids))
		}
	}
}

// TestRememberedWordsChangeNothing compares sums that go on from word to word with those of
// words that are remembered: rounding must not decide where they are not computed.
func TestRememberedWordsChangeNothing(t *testing.T) {
	files := corpus(t, "good/")
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 300) // of digits: some have ways that are as good as the best
	for i := range words {
		words[i] = strconv.Itoa(1_000_000 + rng.IntN(9_000_000))
	}
	var text []byte
	for len(text) < 400_000 {
		text = append(append(text, words[rng.IntN(len(words))]...), ' ')
	}
	tok, err := Load(files["sp-unigram-nfkc.model"], Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := tok.words.Model.(*model.SPUnigram)
	if m.Mark == nil {
		t.Fatal("no words are remembered")
	}
	got, err := tok.NewEncoder().Append(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	m.Mark = nil
	want, err := tok.NewEncoder().Append(nil, text)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d ids, want %d (%v)", len(got), len(want), err)
	}
}
