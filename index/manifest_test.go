package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

func testManifest() *Manifest {
	d := DigestOf(nil)
	return &Manifest{
		Format: FormatWDS, Samples: 30, Bytes: 3 << 40, Keyed: true,
		Schema: []shardify.Field{
			{Name: "jpg", DType: shardify.U8, Levels: 1, Media: "jpg"},
			{Name: "cls", DType: shardify.I64, Attrs: map[string]string{"labels": "cat & dog\n<owl>", "a": "é"}},
			{Name: "p4", DType: shardify.F32, Shape: []int{2, 4}, Levels: 1, Counter: "Jet"},
		},
		Members: map[string]string{"jpg": "jpg", "cls": "cls", "p4": "p4.npy"},
		Shards: []shardify.Shard{
			{Name: "0000/shard-000000.tar", Samples: 10, Bytes: 1 << 40, Digest: d,
				Files: []shardify.File{{Name: "0000/shard-000000.tar.idx", Bytes: 88, Digest: d}}},
			{Name: "0000/shard-000002.tar", Samples: 20, Bytes: 2 << 40, Digest: d},
		},
		Files:   []shardify.File{{Name: "index.json", Bytes: 7, Digest: d}, {Name: ".nv-meta/split.yaml", Digest: d}},
		Inputs:  Inputs{Format: "files", Count: 1, Bytes: 1, Digest: d, Names: []string{"a/b.jpg"}},
		Recipe:  map[string]string{"shard-size": "256MiB", "format": "wds"},
		Skipped: []Skip{{Input: "a/b.jpg", Lo: 3, Hi: 4, Reason: "crc32"}},
		LeftOut: []format.Leftover{{Name: "._x", Reason: "hidden", Count: 2}},
	}
}

func TestManifestIsCanonicalAndRoundTrips(t *testing.T) {
	m := testManifest()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("decoded %+v\nencoded %+v", got, m)
	}
	again, err := got.Encode()
	if err != nil || string(again) != string(text) {
		t.Errorf("encoding what was decoded gives other bytes (error %v)", err)
	}
	if strings.Contains(string(text), "null") || strings.Contains(string(text), `\u003c`) || !strings.HasSuffix(string(text), "\"\n}\n") {
		t.Errorf("text is not canonical:\n%s", text)
	}
	empty, err := (&Manifest{Format: FormatMmap, Schema: m.Schema}).Encode()
	if err != nil || strings.Contains(string(empty), "null") {
		t.Errorf("no shards: %v\n%s", err, empty)
	}
}

func TestManifestDigestIsOfTheTextWithItsDigitsAsZeros(t *testing.T) {
	text, err := testManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	i := strings.LastIndex(string(text), `"xxh3": "`) + len(`"xxh3": "`)
	zeros := string(text[:i]) + strings.Repeat("0", 32) + string(text[i+32:])
	if want := DigestOf([]byte(zeros)); want != DigestPrefix+string(text[i:i+32]) {
		t.Errorf("stored %s, want %s", text[i:i+32], want)
	}
}

func TestEveryChangedByteOfAManifestIsFound(t *testing.T) {
	text, err := testManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		for _, x := range []byte{1, 0x20, 0x80} {
			text[i] ^= x
			if _, err := DecodeManifest(text); err == nil {
				t.Errorf("byte %d (%q) changed: no error", i, text[i]^x)
			}
			text[i] ^= x
		}
	}
	for n := range text {
		if _, err := DecodeManifest(text[:n]); !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("first %d bytes: %v", n, err)
		}
	}
	if _, err := DecodeManifest(append(text, '\n')); err == nil {
		t.Error("a byte more: no error")
	}
}

func TestManifestsThatAreRefused(t *testing.T) {
	for what, change := range map[string]func(m *Manifest){
		"sum of samples":      func(m *Manifest) { m.Samples++ },
		"sum of bytes":        func(m *Manifest) { m.Bytes-- },
		"sum overflows":       func(m *Manifest) { m.Shards[0].Samples = 1<<63 - 1 },
		"negative samples":    func(m *Manifest) { m.Shards[0].Samples, m.Shards[1].Samples = -10, 40 },
		"negative bytes":      func(m *Manifest) { m.Files[0].Bytes = -1 },
		"format":              func(m *Manifest) { m.Format = "../zip" },
		"no schema":           func(m *Manifest) { m.Schema = nil },
		"schema":              func(m *Manifest) { m.Schema[0].Name = "a#b" },
		"same shard twice":    func(m *Manifest) { m.Shards[1].Name = m.Shards[0].Name },
		"file named as shard": func(m *Manifest) { m.Files[0].Name = m.Shards[1].Name },
		"names itself":        func(m *Manifest) { m.Files[0].Name = ManifestName },
		"parent folder":       func(m *Manifest) { m.Shards[0].Name = "../x.tar" },
		"hidden parent":       func(m *Manifest) { m.Shards[0].Name = "a/../../x.tar" },
		"absolute":            func(m *Manifest) { m.Shards[0].Name = "/etc/passwd" },
		"empty name":          func(m *Manifest) { m.Files[0].Name = "" },
		"dot":                 func(m *Manifest) { m.Files[0].Name = "." },
		"backslash":           func(m *Manifest) { m.Files[0].Name = `..\x` },
		"NUL":                 func(m *Manifest) { m.Files[0].Name = "a\x00b" },
		"digest":              func(m *Manifest) { m.Shards[0].Digest = strings.ToUpper(m.Shards[0].Digest) },
		"digest of a file":    func(m *Manifest) { m.Shards[0].Files[0].Digest = "xxh3:12" },
		"member of no field":  func(m *Manifest) { m.Members["x"] = "x.npy" },
		"member with a slash": func(m *Manifest) { m.Members["jpg"] = "../jpg" },
		"skipped backwards":   func(m *Manifest) { m.Skipped[0].Hi = 1 },
		"input names":         func(m *Manifest) { m.Inputs.Count = 2 },
		"splits and shards":   func(m *Manifest) { m.Splits = map[string]Split{"train": {Digest: m.Shards[0].Digest[5:]}} },
		"split outside": func(m *Manifest) {
			m.Shards, m.Samples, m.Splits = nil, 0, map[string]Split{"../a": {Digest: m.Shards[0].Digest[5:]}}
		},
	} {
		m := testManifest()
		change(m)
		if _, err := m.Encode(); err == nil {
			t.Errorf("%s: encoded", what)
		}
		if _, err := DecodeManifest(unchecked(t, m)); err == nil {
			t.Errorf("%s: decoded", what)
		}
	}
	for what, text := range map[string]string{
		"another version": `{"shardify": 2}`, "no version": `{"format": "mmap"}`, "not JSON": `shardify`, "a list": `[]`, "nothing": "",
	} {
		_, err := DecodeManifest([]byte(text))
		want := shardify.ErrCorrupt
		if what == "another version" {
			want = shardify.ErrUnsupported
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// unchecked writes a manifest with a right digest and no other care.
func unchecked(t *testing.T, m *Manifest) []byte {
	t.Helper()
	c := *m
	c.Version, c.Digest = version, noDigest
	b, err := marshal(&c, "  ")
	if err != nil {
		t.Fatal(err)
	}
	return sealed(b)
}

func sealed(b []byte) []byte {
	copy(b[len(b)-len(digestEnd)-digestDigits:], DigestOf(b)[len(DigestPrefix):])
	return b
}

func TestUnknownManifestKeysAreIgnored(t *testing.T) {
	text, err := testManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(string(text), "{\n", "{\n  \"later\": {\"a\": [1, null]},\n", 1)
	i := len(later) - len(digestEnd) - digestDigits
	later = later[:i] + noDigest + later[i+digestDigits:]
	m, err := DecodeManifest(sealed([]byte(later)))
	if err != nil || m.Samples != 30 {
		t.Errorf("a key of a later release: %v", err)
	}
}

func FuzzDecodeManifest(f *testing.F) {
	text, err := testManifest().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"shardify": 1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > len(digestEnd)+digestDigits && json.Valid(b) { // let the fuzzer past the digest
			i := len(b) - len(digestEnd) - digestDigits
			copy(b[i:], noDigest)
			b = sealed(b)
		}
		m, err := DecodeManifest(b)
		if err != nil {
			return
		}
		if id, err := ID(b, nil); err == nil && !ValidID(id) {
			t.Fatalf("id %q", id)
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		if n, err := DecodeManifest(again); err != nil || n.Samples != m.Samples {
			t.Fatalf("encoded again, but cannot be decoded: %v", err)
		}
	})
}

// TestManifestsOfManyShardsAreWrittenInPieces: the text is the one that JSON gives for
// the whole, the digest is that of the text, and no piece is large.
func TestManifestsOfManyShardsAreWrittenInPieces(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3000} {
		m := &Manifest{Format: FormatWDS, Schema: []shardify.Field{{Name: "shards", Levels: 1, DType: shardify.U8, Media: "bin"}}, Recipe: map[string]string{"x": "\n  \"shards\": []"}}
		for i := range n {
			s := shardify.Shard{Name: fmt.Sprintf("<%d>&.tar", i), Samples: 1, Bytes: 2, Digest: DigestPrefix + noDigest}
			for k := range i % 3 {
				s.Files = append(s.Files, shardify.File{Name: fmt.Sprintf("%d-%d.idx", i, k), Bytes: 3, Digest: DigestPrefix + noDigest})
			}
			m.Shards = append(m.Shards, s)
			m.Samples, m.Bytes = m.Samples+1, m.Bytes+2
		}
		var w pieces
		if err := m.EncodeTo(&w); err != nil {
			t.Fatal(err)
		}
		digest := m.Digest
		c := *m
		c.Shards, c.Files, c.Digest = orEmpty(c.Shards), []shardify.File{}, noDigest
		want, err := marshal(&c, "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = bytes.Replace(want, []byte(digestKey+noDigest+digestEnd), []byte(digestKey+digest+digestEnd), 1)
		if !bytes.Equal(w.Bytes(), want) {
			t.Errorf("%d shards: the text differs from that of the whole", n)
		}
		if _, err := DecodeManifest(w.Bytes()); err != nil {
			t.Errorf("%d shards: %v", n, err)
		}
		if w.largest > 1<<17 {
			t.Errorf("%d shards: a piece of %d bytes", n, w.largest)
		}
	}
}

// pieces is a buffer that knows the largest piece written to it.
type pieces struct {
	bytes.Buffer
	largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return p.Buffer.Write(b)
}

func TestViewsAreReadAsTheyAreWritten(t *testing.T) {
	m := &Manifest{Format: FormatMmap, Samples: 50, Schema: []shardify.Field{{Name: "x", DType: shardify.F32}}, Bytes: 4096,
		Shards:  []shardify.Shard{{Name: "a", Samples: 50, Bytes: 4096, Digest: "xxh3:" + strings.Repeat("0", 32)}},
		Windows: map[string]View{"pairs": {Window: "time=1+1", In: []int64{0}, Out: []int64{4}, Anchors: []Anchors{{1, 36, 1}, {40, 46, 4}}}}}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeManifest(b)
	if err != nil || !reflect.DeepEqual(again.Windows, m.Windows) {
		t.Fatal(again, err)
	}
	for name, v := range map[string]View{
		"no rows":       {Anchors: []Anchors{{0, 1, 1}}},
		"before row 0":  {In: []int64{-1, 0}, Anchors: []Anchors{{0, 1, 1}}},
		"behind all":    {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{48, 50, 1}}},
		"backwards":     {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{9, 12, 1}, {3, 4, 1}}},
		"overlapping":   {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{3, 12, 1}, {11, 14, 1}}},
		"empty":         {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{3, 3, 1}}},
		"step 0":        {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{3, 5, 0}}},
		"negative step": {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{3, 5, -1}}},
		"far":           {In: []int64{math.MinInt64}, Out: []int64{1}, Anchors: []Anchors{{3, 5, 1}}},
		"wraps":         {In: []int64{0}, Out: []int64{math.MaxInt64}, Anchors: []Anchors{{3, 5, 1}}},
		"large step":    {In: []int64{0}, Out: []int64{1}, Anchors: []Anchors{{3, 5, math.MaxInt64}}},
	} {
		m.Windows = map[string]View{"w": v}
		if _, err := m.Encode(); (err == nil) != (name == "large step") || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestViewsOfMoreRowsThanNumbersCount: a row behind all of them is no small number.
func TestViewsOfMoreRowsThanNumbersCount(t *testing.T) {
	v := View{In: []int64{0}, Out: []int64{maxReach}, Anchors: []Anchors{{math.MaxInt64 - 2, math.MaxInt64 - 1, 1}}}
	if err := v.Check(math.MaxInt64); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
}

func TestViewsOfSetsWithoutAnchorsJoin(t *testing.T) {
	set := func(n, out int64, anchors ...Anchors) *Manifest {
		return &Manifest{Samples: n, Windows: map[string]View{"w": {In: []int64{0}, Out: []int64{out}, Anchors: anchors}}}
	}
	all, lost := JoinWindows(set(1, 1), set(9, 4, Anchors{0, 5, 1}), set(1, 1), set(9, 4, Anchors{2, 5, 1}))
	if v := all["w"]; lost != nil || !reflect.DeepEqual(v.Anchors, []Anchors{{1, 6, 1}, {13, 16, 1}}) || v.Out[0] != 4 {
		t.Error(all, lost)
	}
	if all, lost = JoinWindows(set(9, 4, Anchors{0, 5, 1}), set(9, 2, Anchors{0, 5, 1})); all != nil || len(lost) != 1 {
		t.Error(all, lost)
	}
}
