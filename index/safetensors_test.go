package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// file is a safetensors file of a header text and n bytes of data.
func file(text string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(b, text...), make([]byte, n)...)
}

func TestForeignSafetensorsAreReadAsTheirRulesSay(t *testing.T) {
	good := map[string][]byte{
		"empty":              file(`{}`, 0),
		"one":                file(`{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, 24),
		"scalar":             file(`{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, 8),
		"metadata":           file(`{"__metadata__":{"a":"b"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   `, 1),
		"metadata last":      file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"__metadata__":{}}`, 1),
		"white space":        file("{ \"a\" :\n{\"dtype\" : \"U8\",\t\"shape\":[ 1 ] ,\"data_offsets\":[0 , 1]}}", 1),
		"any order":          file(`{"b":{"shape":[1],"dtype":"U8","data_offsets":[2,3]},"a":{"data_offsets":[0,2],"dtype":"F16","shape":[1]}}`, 3),
		"no bytes":           file(`{"a":{"dtype":"F32","shape":[0,9],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"huge times nothing": file(`{"a":{"dtype":"F32","shape":[9223372036854775807,0],"data_offsets":[0,0]}}`, 0),
		"half bytes":         file(`{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2),
		"escapes":            file(`{"\u00e9\ud83d\ude00\n\"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"later keys":         file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[{"y":null},-1.5e3,true]}}`, 1),
	}
	for what, b := range good {
		s, err := ParseSafetensors(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if n := len(s.Tensors); n > 0 && s.Tensors[n-1].Hi != int64(len(b)) {
			t.Errorf("%s: last tensor ends at %d of %d", what, s.Tensors[n-1].Hi, len(b))
		}
		if _, err := ParseShard(bytes.NewReader(b), int64(len(b))); !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: taken for a shard: %v", what, err)
		}
	}
	if s, err := ParseSafetensors(bytes.NewReader(good["escapes"]), int64(len(good["escapes"]))); err == nil && s.Tensor("é😀\n\"") == nil {
		t.Errorf("name read as %q", s.Tensors[0].Name)
	}
}

func TestHostileSafetensorsAreRefused(t *testing.T) {
	entry := `"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`
	length := func(n uint64, rest string) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), rest...) }
	for what, b := range map[string][]byte{
		"nothing":               nil,
		"seven bytes":           make([]byte, 7),
		"length 0":              length(0, "{}"),
		"length beyond file":    length(3, "{}"),
		"length 2^63":           length(1<<63, "{}"),
		"length 2^64-1":         length(1<<64-1, "{}"),
		"length over the bound": length(maxHeader+1, "{}"),
		"not an object":         file(`[]`, 0),
		"leading space":         file(` {}`, 0),
		"text after":            file(`{}{}`, 0),
		"comma at the end":      file(`{`+entry+`,}`, 1),
		"cut":                   file(`{"a":{"dtype":"U8"`, 0),
		"cut string":            file(`{"a`, 0),
		"cut escape":            file(`{"\`, 0),
		"cut unicode":           file(`{"\u00`, 0),
		"same name twice":       file(`{`+entry+`,"a":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 1),
		"same name escaped":     file(`{`+entry+`,"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 1),
		"metadata twice":        file(`{"__metadata__":{},"__metadata__":{}}`, 0),
		"metadata key twice":    file(`{"__metadata__":{"a":"","a":""}}`, 0),
		"metadata number":       file(`{"__metadata__":{"a":1}}`, 0),
		"dtype twice":           file(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"no dtype":              file(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1),
		"no shape":              file(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1),
		"no offsets":            file(`{"a":{"dtype":"U8","shape":[1]}}`, 1),
		"three offsets":         file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}}`, 1),
		"unknown type":          file(`{"a":{"dtype":"C128","shape":[1],"data_offsets":[0,16]}}`, 16),
		"lower case type":       file(`{"a":{"dtype":"u8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"negative":              file(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1),
		"fraction":              file(`{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1),
		"exponent":              file(`{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}`, 1),
		"leading zero":          file(`{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}`, 1),
		"64 bits":               file(`{"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}}`, 1),
		"shape overflows":       file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0),
		"size and shape differ": file(`{"a":{"dtype":"U16","shape":[1],"data_offsets":[0,1]}}`, 1),
		"hole at the start":     file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2),
		"hole":                  file(`{`+entry+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3),
		"overlap":               file(`{`+entry+`,"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"backwards":             file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1),
		"bytes missing":         file(`{`+entry+`}`, 0),
		"bytes left":            file(`{`+entry+`}`, 2),
		"half a byte":           file(`{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,0]}}`, 0),
		"deep":                  file(`{"a":{"x":`+strings.Repeat("[", 100000)+strings.Repeat("]", 100000)+`}}`, 0),
		"bytes in a name":       file("{\"\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1),
		"half a surrogate pair": file(`{"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
		"line feed in a name":   file("{\"\n\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1),
		"unknown escape":        file(`{"\x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1),
	} {
		_, err := ParseSafetensors(bytes.NewReader(b), int64(len(b)))
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A header that claims 32 MiB is not allocated unless the file is that long.
func TestHeaderLengthIsCheckedBeforeItIsAllocated(t *testing.T) {
	b := append(binary.LittleEndian.AppendUint64(nil, maxHeader), "{}"...)
	if n := testing.AllocsPerRun(3, func() { ParseSafetensors(bytes.NewReader(b), int64(len(b))) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
	if _, err := ParseSafetensors(errReader{}, 1<<30); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a read error became %v", err)
	}
}

type errReader struct{}

func (errReader) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// Our own rules, each broken alone in a shard that stays valid safetensors.
func TestShardsThatBreakOurRules(t *testing.T) {
	_, b := shardBytes(t)
	n := binary.LittleEndian.Uint64(b)
	text, data := strings.TrimRight(string(b[8:8+n]), " "), b[8+n:]
	build := func(text string, pad int, data []byte) []byte {
		text += strings.Repeat(" ", max(0, pad-8-len(text)))
		return append(file(text, 0), data...)
	}
	if _, err := parse(build(text, int(8+n), data)); err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) string {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%d times %s in %s", strings.Count(text, old), old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	for what, b := range map[string][]byte{
		"not padded to a page": build(text, int(8+n)+8, data),
		"padded by tabs":       build(text+"\t", int(8+n), data),
		"another version":      build(swap(`"shardify":"1"`, `"shardify":"2"`), int(8+n), data),
		"no samples":           build(swap(`"shardify.samples":"2",`, ``), int(8+n), data),
		"other samples":        build(swap(`"shardify.samples":"2"`, `"shardify.samples":"3"`), int(8+n), data),
		"samples 02":           build(swap(`"shardify.samples":"2"`, `"shardify.samples":"02"`), int(8+n), data),
		"samples -1":           build(swap(`"shardify.samples":"2"`, `"shardify.samples":"-1"`), int(8+n), data),
		"schema not JSON":      build(swap(`"shardify.schema":"[{`, `"shardify.schema":"[[`), int(8+n), data),
		"schema of other type": build(swap(`\"name\":\"a\",\"dtype\":\"f64\"`, `\"name\":\"a\",\"dtype\":\"i64\"`), int(8+n), data),
		"schema of other name": build(swap(`\"name\":\"a\"`, `\"name\":\"c\"`), int(8+n), data),
		"sum missing":          build(swap(`{\"Jet#offsets\":\"`, `{\"Jet#offsetz\":\"`), int(8+n), data),
		"sums cut":             build(text[:strings.Index(text, `"shardify.crc32c":"`)]+`"shardify.crc32c":"{}"`+text[strings.Index(text, `},"Jet#off`):], int(8+n), data),
		"keys unpaired":        build(swap(`"__key__#values"`, `"__kez__#values"`), int(8+n), data),
		"sizes exchanged":      build(swap(`"b":{"dtype":"U8","shape":[2,3]`, `"b":{"dtype":"U8","shape":[3,2]`), int(8+n), data),
	} {
		s, err := parse(b)
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) || s != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	later := swap(`"shardify.samples"`, `"shardify.later":"x","shardify.samples"`)
	if _, err := parse(build(later, int(8+n), data)); err != nil {
		t.Errorf("a key of a later release: %v", err)
	}
	// Text order other than data order.
	i, j := strings.Index(text, `,"Jet#offsets":{`), strings.Index(text, `,"__key__#offsets":{`)
	k := strings.Index(text, `,"a":{`)
	if s, err := parse(build(text[:i]+text[j:k]+text[i:j]+text[k:], int(8+n), data)); !errors.Is(err, shardify.ErrCorrupt) || s != nil {
		t.Errorf("tensors in another order: %v", err)
	}
}

// ParseShard reads anything or refuses it, and whatever it reads can be checked.
func FuzzParseShard(f *testing.F) {
	_, b := shardBytes(f)
	f.Add(b)
	f.Add(file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":[{"y":null},-1.5e3,true]},"__metadata__":{"shardify":"1"}}`, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		if st, err := ParseSafetensors(r, int64(len(b))); err == nil {
			for _, p := range st.Tensors {
				if p.Lo < st.HeaderBytes || p.Hi < p.Lo || p.Hi > int64(len(b)) {
					t.Fatalf("tensor %+v in a file of %d bytes", p, len(b))
				}
			}
		} else if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatalf("error of no kind: %v", err)
		}
		s, err := ParseShard(r, int64(len(b)))
		if err != nil {
			return
		}
		buf := make([]byte, 64)
		for i := range s.Places {
			s.CheckTensor(r, i, buf)
		}
		// What was read can be written, and the tensors then are where they were.
		head, err := s.Header(s.Samples, s.Counts, s.CRC32C)
		if err != nil {
			t.Fatal(err)
		}
		whole := append(head, b[s.HeaderBytes:]...)
		if again, err := parse(whole); err != nil || again.Samples != s.Samples {
			t.Fatalf("written again, but cannot be read: %v", err)
		}
	})
}

// The scanner takes exactly what encoding/json takes, except for what it refuses on
// purpose: depth, equal names, bytes that are not UTF-8, lone surrogates.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{}`, `[1,-2.5e+3,true,null,"a\u00e9\n"]`, `{"a":{"b":[]}}`, `01`, `-`, `1.`, `"\ud800"`, `tru`, `[1,]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := scanner{b: []byte(text)}
		err := s.skip(0)
		if s.peek(); err == nil && s.pos != len(s.b) {
			err = s.fail("rest")
		}
		valid := json.Valid([]byte(text))
		if err == nil && !valid {
			t.Fatalf("%q is not JSON, but was taken", text)
		}
		strict := strings.ToValidUTF8(text, "") != text || strings.Contains(text, `\u`) || strings.Count(text, "[")+strings.Count(text, "{") >= maxDepth
		if err != nil && valid && !strict {
			t.Fatalf("%q is JSON, but was refused: %v", text, err)
		}
		str := scanner{b: []byte(text)}
		if got, err := str.string(); err == nil {
			var want string
			if err := json.Unmarshal(str.b[:str.pos], &want); err != nil || got != want {
				t.Fatalf("%q read as %q, want %q (%v)", text, got, want, err)
			}
		}
	})
}
