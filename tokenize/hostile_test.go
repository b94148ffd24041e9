package tokenize

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/model"
)

// jsonOf is a tokenizer.json of parts; those that are empty are null.
func jsonOf(model, normalizer, added, post string) []byte {
	or := func(s string) string {
		if s == "" {
			return "null"
		}
		return s
	}
	return fmt.Appendf(nil, `{"version":"1.0","added_tokens":[%s],"normalizer":%s,"pre_tokenizer":null,"post_processor":%s,"model":%s}`, added, or(normalizer), or(post), model)
}

const letters = `{"type":"BPE","vocab":{"a":0,"x":1,"\u2581":2},"merges":[]}`

// TestFilesThatAskForTooMuch are small and would take hours, all memory, or ids that do not exist.
func TestFilesThatAskForTooMuch(t *testing.T) {
	list := func(n int, part string) string { return strings.Repeat(part+",", n-1) + part }
	steps := `{"type":"Sequence","normalizers":[` + list(64, `{"type":"Sequence","normalizers":[`+list(4, `{"type":"NFC"}`)+`]}`) + `]}`
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"steps":     {jsonOf(letters, steps, "", ""), shardify.ErrUnsupported},
		"template":  {jsonOf(letters, "", "", `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},`+list(300, `{"SpecialToken":{"id":"b"}}`)+`],"special_tokens":{"b":{"ids":[`+list(300, "0")+`]}}}`), shardify.ErrUnsupported},
		"added ids": {jsonOf(`{"type":"BPE","vocab":{"a":0,"x":2147483646},"merges":[]}`, "", `{"id":2147483646,"content":"x"},{"id":2147483647,"content":"y"},{"id":-2147483648,"content":"z"}`, ""), shardify.ErrCorrupt},
		// Both would be the token U+FFFD.
		"halves": {jsonOf(`{"type":"BPE","vocab":{"a":0,"\ud800":1,"\ud801":2},"merges":[]}`, "", "", ""), shardify.ErrCorrupt},
		"half":   {jsonOf(`{"type":"BPE","vocab":{"a":0,"\ud83d\ude00":1,"\ude00":2},"merges":[]}`, "", "", ""), shardify.ErrCorrupt},
		"pair":   {jsonOf(`{"type":"BPE","vocab":{"a":0,"\ud83d\ude00":1,"\\ud800":2,"\ufffd":3},"merges":[]}`, "", "", ""), nil},
		"word":   {jsonOf(`{"type":"WordPiece","max_input_chars_per_word":1000000,"vocab":{"[UNK]":0,"##a":1,"a":2,"##`+strings.Repeat("a", 100_000)+`b":3}}`, "", "", ""), shardify.ErrUnsupported},
	} {
		if _, err := Load(c.file, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestTextsGrowByALimit: of all texts between added tokens together.
func TestTextsGrowByALimit(t *testing.T) {
	times := `{"type":"Replace","pattern":{"String":"x"},"content":"` + strings.Repeat("x", 240) + `"}`
	tok, err := Load(jsonOf(letters, `{"type":"Sequence","normalizers":[`+times+`,`+times+`]}`, `{"id":3,"content":"<>","special":true}`, ""), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := tok.NewEncoder().Append(nil, []byte(strings.Repeat("x<>", 100))); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("300 bytes become %d ids, %v", len(ids), err)
	}
	if ids, err := tok.NewEncoder().Append(nil, []byte(strings.Repeat("a<>", 100_000))); len(ids) != 200_000 || err != nil {
		t.Errorf("%d ids, %v", len(ids), err)
	}
}

// TestCountsAreOfUnknownCharacters: those that become bytes are not lost.
func TestCountsAreOfUnknownCharacters(t *testing.T) {
	pieces := make([]string, 0, 258)
	for b := range 256 {
		pieces = append(pieces, fmt.Sprintf(`["<0x%02X>",-5]`, b))
	}
	vocab := strings.Join(append(pieces, `["<unk>",0]`, `["a",-1]`), ",")
	for model, want := range map[string]int64{
		`{"type":"Unigram","unk_id":256,"byte_fallback":true,"vocab":[` + vocab + `]}`:             0,
		`{"type":"Unigram","unk_id":256,"byte_fallback":false,"vocab":[` + vocab + `]}`:            3,
		`{"type":"WordPiece","vocab":{"[UNK]":0,"a":1}}`:                                           4,
		`{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"vocab":{"<unk>":0,"a":1},"merges":[]}`: 3,
	} {
		tok, err := Load(jsonOf(model, "", "", ""), Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := tok.NewEncoder()
		for turn := range 2 {
			if _, err := e.Append(nil, []byte("a\u00e9\u00e9\u00e9")); err != nil || e.Counts().Unknown != want*int64(turn+1) {
				t.Errorf("%.40s: %d unknown characters, want %d (%v)", model, e.Counts().Unknown, want*int64(turn+1), err)
			}
		}
	}
	n := 0
	for name, data := range corpus(t, "good/") {
		if !strings.HasSuffix(name, ".model") {
			continue
		}
		tok, err := Load(data, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := tok.words.Model.(*model.SPBPE); ok && m.Bytes != nil {
			e := tok.NewEncoder()
			if ids, err := e.Append(nil, []byte("\U00010450")); err != nil || len(ids) < 4 || e.Counts().Unknown != 0 {
				t.Errorf("%s: %d, %v, %v", name, ids, e.Counts(), err)
			}
			n++
		}
	}
	if n == 0 {
		t.Error("no model with bytes")
	}
}

// TestNotesHaveAnOrder, since plans are compared.
func TestNotesHaveAnOrder(t *testing.T) {
	file := []byte(`{"truncation":{},"padding":{},"model":` + letters + `}`)
	for range 20 {
		tok, err := Load(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(tok.Notes) != 2 || !strings.HasPrefix(tok.Notes[0], "truncation") {
			t.Fatal(tok.Notes)
		}
	}
}
