package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

const wordPieces = `{"version":"1.0","added_tokens":[{"id":6,"content":"<end>","special":true}],"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null,"normalizer":null,
"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"tok":1,"##en":2,"##s":3,"a":4,"text":%d}}}`

// TestTokensOfTexts converts lines to Megatron's pairs: in one process and in tasks, with the
// counts of what people must hear of. Another tokenizer under the same name is refused.
func TestTokensOfTexts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	tokenizer := write("tokenizer.json", fmt.Sprintf(wordPieces, 5))
	lines := ""
	for i := range 40 {
		lines += fmt.Sprintf(`{"n":%d,"text":"%s"}`+"\n", i, []string{"tokens a text", "", "a<end>", "zebra tok"}[i%4])
	}
	in := write("in.jsonl", lines)
	settings := func(options string) Settings {
		return Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out"), Format: "megatron", Columns: []string{"text"}, ShardSamples: 16, Jobs: 2, Sync: "none",
			Tokenize: []string{"text=" + tokenizer + options}}
	}
	one := settings(" append-eod=<end> bos=0 max-tokens=5")
	r, err := Convert(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(one.Output, "shard-000000.bin"))
	if err != nil {
		t.Fatal(err)
	}
	var got []uint16
	for ; len(b) > 0; b = b[2:] {
		got = append(got, binary.LittleEndian.Uint16(b))
	}
	if want := []uint16{0, 1, 2, 3, 6, 0, 4, 6, 6, 0, 0, 1, 6}; !slices.Equal(got[:13], want) {
		t.Errorf("tokens %d, want %d", got[:13], want)
	}
	counts := fmt.Sprint(r.Manifest.Counts)
	for _, c := range []shardify.Count{{Name: "tokenize text: tokens", N: 130}, {Name: "tokenize text: documents", N: 30}, {Name: "tokenize text: words", N: 60}, {Name: "tokenize text: texts cut", N: 10}, {Name: "tokenize text: texts without tokens", N: 10}, {Name: "tokenize text: unknown characters", N: 50}, {Name: "tokenize text: added tokens in texts", N: 10}} {
		if !slices.Contains(r.Manifest.Counts, c) {
			t.Errorf("no %v in %s", c, counts)
		}
	}

	tasks := settings(" append-eod=<end> bos=0 max-tokens=5")
	p, err := Plan(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	if notes := fmt.Sprint(p.Facts().Notes); !strings.Contains(notes, "tokenizer.json, WordPiece with 7 ids") || !strings.Contains(notes, "text: 0.3214 tokens a byte, 3.111 bytes a token, 1.5 tokens a word in 40 texts looked at, about 90 tokens in all") {
		t.Errorf("the plan says %s", notes)
	}
	p.Close()
	for i := range 2 {
		if _, err := Work(t.Context(), tasks.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	write("tokenizer.json", fmt.Sprintf(wordPieces, 7))
	if _, err := Work(t.Context(), tasks.Output, Task{Task: 2, Tasks: 3}, Settings{Jobs: 1}); !errors.Is(err, shardify.ErrChanged) {
		t.Errorf("a task takes another tokenizer: %v", err)
	}
	write("tokenizer.json", fmt.Sprintf(wordPieces, 5))
	if _, err := Work(t.Context(), tasks.Output, Task{Task: 2, Tasks: 3}, Settings{Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	if bytesOf(t, tasks.Output) != bytesOf(t, one.Output) {
		t.Error("tasks make other bytes")
	}

	dropped := settings(" empty=drop")
	if r, err = Convert(t.Context(), dropped); err != nil || r.Manifest.Samples != 30 {
		t.Errorf("without empty texts there are %d samples, %v", r.Manifest.Samples, err)
	}
	for options, want := range map[string]string{" append-eod=<eos>": "has no such token", " bos=7": "ids below 7", " max-tokens=0": "want FIELD=FILE", " pattern=gpt2": "for ranks of tiktoken"} {
		if _, err := Convert(t.Context(), settings(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
}
