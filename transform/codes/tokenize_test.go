package codes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// TestTokensByNumber: a number that is the name of another token, too, is ambiguous; guessing could
// put a wrong id into every sample.
func TestTokensByNumber(t *testing.T) {
	const file = `{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"1":2,"</s>":1,"3":3}}}`
	for option, want := range map[string]string{"eos=1": "token \"1\" has id 2", "eos=</s>": "", "eos=0": "", "eos=2": "", "eos=3": "", "eos=4": "ids below 4", "eos=-1": "no such token"} {
		text := "text=tokenizer.json " + option
		spec, err := ParseTokenize(text)
		if err != nil {
			t.Fatal(err)
		}
		with, err := OpenTokenizer(spec, []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		stage, err := newTokenize(&op.Env{Beside: with}, text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = stage.Schema([]shardify.Field{{Name: "text", DType: shardify.U8, Levels: 1, Media: "txt"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", option, err, want)
		}
	}
}

// TestCountsOfTextsOnce: a batch with a damaged text is tried again in halves, without it.
func TestCountsOfTextsOnce(t *testing.T) {
	const file = `{"model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1}}}`
	spec, err := ParseTokenize("text=tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	with, err := OpenTokenizer(spec, []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	stage, err := newTokenize(&op.Env{Beside: with}, "text=tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	f := shardify.Field{Name: "text", DType: shardify.U8, Levels: 1, Media: "txt"}
	if _, err := stage.Schema([]shardify.Field{f}); err != nil {
		t.Fatal(err)
	}
	apply := func(text string) (*shardify.Batch, error) {
		mem := shardify.NewPool(1 << 20).Overdraft()
		defer mem.Release()
		n := int64(len(text))
		return stage.Apply(&shardify.Batch{Samples: 2, Columns: []shardify.Column{{Field: f, Data: []byte(text), Offsets: [][]int64{{0, 3, n}}}}}, 0, mem)
	}
	if _, err := apply("bcd\xff"); !errors.Is(err, shardify.ErrCorrupt) {
		t.Fatal(err)
	}
	b, err := apply("bcda")
	if err != nil || !slices.Contains(b.Counts, shardify.Count{Name: "tokenize text: unknown characters", N: 3}) {
		t.Errorf("%v, %v", b, err)
	}
}

// TestSpecialTokensOfRanks: files of ranks do not hold them, and users give their numbers, which
// decide the type, too.
func TestSpecialTokensOfRanks(t *testing.T) {
	var file strings.Builder
	for b := range 256 {
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(b)}), b+65_200)
	}
	for option, want := range map[string]shardify.DType{"": shardify.U16, " append-eod=65498": shardify.U16, " append-eod=65499": shardify.I32, " append-eod=66479": shardify.I32, " append-eod=66480": shardify.Invalid} {
		text := "text=x.tiktoken pattern=gpt2" + option
		spec, err := ParseTokenize(text)
		if err != nil {
			t.Fatal(err)
		}
		with, err := OpenTokenizer(spec, []byte(file.String()))
		if err != nil {
			t.Fatal(err)
		}
		stage, err := newTokenize(&op.Env{Beside: with}, text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := stage.Schema([]shardify.Field{{Name: "text", DType: shardify.U8, Levels: 1, Media: "txt"}})
		if want == shardify.Invalid {
			if err == nil {
				t.Errorf("%s: %v", option, out)
			}
		} else if err != nil || out[0].DType != want {
			t.Errorf("%s: %v, %v", option, out, err)
		}
	}
}
