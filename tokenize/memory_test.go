package tokenize

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tokenize/chars"
)

// TestMemoryOfLoading has files of 512 KiB that are made to take much: the memory to load a file is
// at most 80 times its size.
func TestMemoryOfLoading(t *testing.T) {
	const size = 512 << 10
	list := func(n int, part func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(part(i))
		}
		return b.String()
	}
	same := func(part string) string { return list(size/(len(part)+1), func(int) string { return part }) }
	rng := rand.New(rand.NewPCG(1, 1))
	long := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rng.IntN(64)]
		}
		return string(b)
	}
	bytes := make([]string, 256)
	for i, r := range chars.ByteLetters {
		bytes[i] = fmt.Sprintf("%q:%d", string(r), i)
	}
	field := func(tag byte, b []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag<<3 | 2}, uint64(len(b))), b...)
	}
	model := func(n, of int, kind byte) []byte {
		b := field(1, append(field(1, []byte("<unk>")), 3<<3, 2))
		for i := range n {
			text := fmt.Sprintf("%x", i)
			if of > 0 {
				text = long(of)
			}
			b = append(b, field(1, field(1, []byte(text)))...)
		}
		return append(b, field(2, []byte{3 << 3, kind})...)
	}
	ranks := func(n, of int) []byte {
		var b []byte
		for i := range 256 {
			b = fmt.Appendf(b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
		}
		for i := range n {
			b = fmt.Appendf(b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(long(of))), 256+i)
		}
		return b
	}
	for name, data := range map[string][]byte{
		"added tokens":   jsonOf(letters, "", same("{}"), ""),
		"more tokens":    jsonOf(letters, "", list(size/70, func(i int) string { return fmt.Sprintf(`{"id":%d,"content":"%x"}`, i+3, i+100) }), ""),
		"merges":         jsonOf(`{"type":"BPE","vocab":{"a":0},"merges":[`+same("[]")+`]}`, "", "", ""),
		"good merges":    jsonOf(`{"type":"BPE","vocab":{"a":0,"aa":1},"merges":[`+same(`["a","a"]`)+`]}`, "", "", ""),
		"lines":          jsonOf(`{"type":"BPE","vocab":{"a":0},"merges":[`+same(`""`)+`]}`, "", "", ""),
		"spaces":         jsonOf(`{"type":"BPE","vocab":{"a":0},"merges":["`+strings.Repeat(" ", size)+`"]}`, "", "", ""),
		"vocabulary":     jsonOf(`{"type":"BPE","vocab":{`+list(size/14, func(i int) string { return fmt.Sprintf(`"%x":%d`, i, i) })+`},"merges":[]}`, "", "", ""),
		"byte level":     []byte(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","merges":[],"vocab":{` + strings.Join(bytes, ",") + "," + list(size/14, func(i int) string { return fmt.Sprintf(`"#%x":%d`, i, i+256) }) + `}}}`),
		"WordPiece":      jsonOf(`{"type":"WordPiece","vocab":{"[UNK]":0,`+list(size/14, func(i int) string { return fmt.Sprintf(`"##%x":%d`, i, i+1) })+`}}`, "", "", ""),
		"unigram":        jsonOf(`{"type":"Unigram","unk_id":0,"vocab":[`+list(size/14, func(i int) string { return fmt.Sprintf(`["%x",0]`, i) })+`]}`, "", "", ""),
		"long tokens":    jsonOf(`{"type":"Unigram","unk_id":0,"vocab":[`+list(size/1010, func(int) string { return fmt.Sprintf(`["%s",0]`, long(1000)) })+`]}`, "", "", ""),
		"template":       jsonOf(letters, "", "", `{"type":"TemplateProcessing","single":[`+same("{}")+`],"special_tokens":{}}`),
		"deep":           jsonOf(letters, strings.Repeat(`{"type":"Sequence","normalizers":[`, 5000)+strings.Repeat("]}", 5000), "", ""),
		"small pieces":   model(size/9, 0, 1),
		"pieces":         model(size/1010, 1000, 1),
		"pieces to join": model(size/9, 0, 2),
		"charsmap":       field(3, field(2, append(binary.LittleEndian.AppendUint32(nil, size), make([]byte, size+1)...))),
		"ranks":          ranks(size/14, 5),
		"long ranks":     ranks(size/660, 480),
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GC()
			defer debug.SetGCPercent(debug.SetGCPercent(10))
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			w := readertest.Watch{Limit: 20 * time.Second}
			stop := w.Start()
			o := Options{}
			if isRanks(data) {
				o.Pattern = "gpt2"
			}
			tok, err := Load(data, o)
			time.Sleep(6 * time.Millisecond)
			stop()
			if tok == nil && !isKind(err) {
				t.Errorf("an error of no kind: %v", err)
			}
			if took := w.Heap() - int64(before.HeapAlloc); took > 80*int64(len(data))+8<<20 {
				t.Errorf("%s of memory for a file of %s", shardify.FormatSize(took), shardify.FormatSize(int64(len(data))))
			}
			runtime.KeepAlive(tok)
		})
	}
}
