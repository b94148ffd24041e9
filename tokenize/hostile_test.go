package tokenize

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
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

// charsmapOf is a table with one entry: the bytes from, of which all but the last have no other continuation.
func charsmapOf(from string, to string) []byte {
	units := make([]uint32, 1024)
	units[0] = 256 << 10
	at := uint32(256)
	for i, c := range []byte(from) {
		next := at + 256
		if i == len(from)-1 {
			next = 768
		}
		pos := at ^ uint32(c)
		units[pos] = uint32(c) | (pos^next)<<10
		if i == len(from)-1 {
			units[pos] |= 1 << 8
			units[next] = 1 << 31
		}
		at = next
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return append(append(b, to...), 0)
}

// TestClustersGrowByALimit: one cluster of many marks, each of which becomes a long text.
func TestClustersGrowByALimit(t *testing.T) {
	m, err := newCharsmap(charsmapOf("\u0301", strings.Repeat("a", 10_000)))
	if err != nil {
		t.Fatal(err)
	}
	if to, n := m.find([]byte("\u0301"), true); n != 2 || len(to) != 10_000 {
		t.Fatal(n, len(to))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = normalizer{clusters{m, clusterTable()}}.apply([]byte("a"+strings.Repeat("\u0301", 10_000)), &Encoder{t: &Tokenizer{}}, mayGrow(20_001))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, shardify.ErrUnsupported) || n > 20<<20 {
		t.Errorf("%d bytes of memory, %v", n, err)
	}
}

// TestCharsmapWithoutEnd: a table whose entries lead to themselves makes each place of a text
// be read to its end.
func TestCharsmapWithoutEnd(t *testing.T) {
	b := charsmapOf("b", "c")
	binary.LittleEndian.PutUint32(b[4+4*(256^'a'):], 'a'|'a'<<10)
	m, err := newCharsmap(b)
	if err != nil {
		t.Fatal(err)
	}
	n := &spNormalizer{table: m, mark: []byte(" ")}
	begun := time.Now()
	if _, err := n.apply(nil, []byte(strings.Repeat("a", 200_000)), 1<<20); !errors.Is(err, shardify.ErrCorrupt) || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	if to, err := n.apply(nil, []byte("aab"), 1<<10); string(to) != "c" || err != nil {
		t.Errorf("%q, %v", to, err)
	}
}

// TestTrieWithoutClusters has words whose places in a table are side by side if its hash is known.
func TestTrieWithoutClusters(t *testing.T) {
	near := func(node int, c byte) bool {
		h := (uint64(node)<<8 | uint64(c)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
		return h&(1<<17-1) < 1<<11
	}
	x, paths := newTrie(), []string{""}
	for node := 0; node < len(paths) && len(paths) < 20_000; node++ {
		for c := byte(0); c < 128; c++ {
			if node == 0 || near(node, c) {
				paths = append(paths, paths[node]+string(rune(c)))
				x.add([]byte(paths[len(paths)-1]), 1)
			}
		}
	}
	most, run := 0, 0
	for _, e := range x.edges {
		if run++; e.child == 0 {
			run = 0
		}
		most = max(most, run)
	}
	if len(paths) < 20_000 || most > 1000 {
		t.Errorf("of %d words, %d lie side by side", len(paths), most)
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
		if m, ok := tok.model.(*spBPE); ok && m.bytes != nil {
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

// TestBytesAreNotRemembered: the scores of bytes are not those of the unknown character that they
// replace, so that sums would be wrong from there on.
func TestBytesAreNotRemembered(t *testing.T) {
	f := spModel{kind: 1, fallback: true, prefix: true, remove: true, escape: true, pieces: []piece{{"<unk>", 0, unknownPiece}, {spaceMark, -1, normalPiece}, {spaceMark + "a", -1, normalPiece}}}
	for b := range 256 {
		f.pieces = append(f.pieces, piece{fmt.Sprintf("<0x%02X>", b), 0, bytePiece})
	}
	tok, err := f.tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	e := tok.NewEncoder()
	for word, want := range map[string]bool{spaceMark + "a": true, spaceMark + "\u00e9": false} {
		_, err := e.Append(nil, []byte("a \u00e9"))
		if got := e.slot([]byte(word)).is([]byte(word)); err != nil || got != want {
			t.Errorf("%s: remembered %v, %v", word, got, err)
		}
	}
}
