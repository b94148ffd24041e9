package gpuload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// TestOffsetsThatOnlyTheChecksumBetrays: still rising, one list's element given to
// its neighbour.
func TestOffsetsThatOnlyTheChecksumBetrays(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "h:i16*", samples: 30})
	name := shardsOf(t, dir, "*.safetensors")[0]
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := index.ParseShard(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	p := s.Tensor("h#offsets")
	forged := false
	for at := p.Lo + 8; at < p.Hi-8 && !forged; at += 8 {
		if v := binary.LittleEndian.Uint64(b[at:]); v < binary.LittleEndian.Uint64(b[at+8:]) {
			binary.LittleEndian.PutUint64(b[at:], v+1)
			forged = true
		}
	}
	if err := os.WriteFile(name, b, 0o644); err != nil || !forged {
		t.Fatal(err, forged)
	}
	for _, c := range []Config{{Tier: TierPinned}, {Tier: TierStream, Verify: load.VerifyOpen}} {
		c.Batch = 5
		if err := readAll(mustLoader(t, mustOpen(t, dir), c), nil); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "h#offsets") {
			t.Errorf("%s: %v", c.Tier, err)
		}
	}
}

// forgeTar changes the header of the first member with this ending, and nothing
// that the offset index says.
func forgeTar(t *testing.T, name, ending string, change func(h []byte, e tar.Entry)) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var w tar.Window
	w.Reset(bytes.NewReader(b), int64(len(b)), make([]byte, 64<<10))
	walk := tar.Walker{Window: &w}
	walk.Part(0, int64(len(b))-tar.End)
	for {
		e, err := walk.Next()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(string(e.Name), ending) {
			e.Name = bytes.Clone(e.Name)
			change(b[e.Offset:], e)
			break
		}
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestForgedTarMembers(t *testing.T) {
	swallow := func(h []byte, e tar.Entry) { // the next member becomes data of this one
		next, err := tar.ParseHeader(h[tar.Block+e.Size+tar.Pad(e.Size):])
		if err != nil {
			t.Fatal(err)
		}
		tar.PutHeader(h, e.Name, e.Size+tar.Pad(e.Size)+tar.Block+next.Size)
	}
	for _, c := range []struct {
		what, schema, ending, want string
		change                     func([]byte, tar.Entry)
	}{
		{"missing", "a:jpg*90,b:jpg*90", ".a.jpg", "members, want", swallow},
		{"of another name", "a:jpg*90,b:jpg*90", ".a.jpg", "expected here: one of", func(h []byte, e tar.Entry) {
			tar.PutHeader(h, bytes.Replace(e.Name, []byte(".a."), []byte(".x."), 1), e.Size)
		}},
		{"of another counter", "a:u8*90@J,b:u8*90@J", ".a.npy", "counter J", func(h []byte, e tar.Entry) {
			f := shardify.Field{Name: "a", DType: shardify.U8, Levels: 1}
			head := npy.NewHeader(&f)
			n := e.Size - int64(head.Len()) - 1 // one element less, with the padding to match
			copy(h[tar.Block:], head.Append(nil, n))
			h[tar.Block+e.Size-1] = 0
			tar.PutHeader(h, e.Name, e.Size-1)
		}},
	} {
		dir := makeSet(t, setOptions{format: index.FormatWDS, schema: c.schema, samples: 12})
		forgeTar(t, shardsOf(t, dir, "*.tar")[0], c.ending, c.change)
		l := mustLoader(t, mustOpen(t, dir), Config{Batch: 4, Tier: TierStream, Verify: load.VerifyNone})
		if err := readAll(l, nil); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("member %s: %v", c.what, err)
		}
	}
}

// TestForgedPairs: a manifest that says something else than the pairs is found, without a panic and
// before memory is taken for what it says.
func TestForgedPairs(t *testing.T) {
	for what, change := range map[string]func(m *index.Manifest){
		"no index":       func(m *index.Manifest) { m.Shards[0].Files = nil },
		"more documents": func(m *index.Manifest) { m.Shards[0].Samples++; m.Samples++ },
		"many documents": func(m *index.Manifest) { m.Shards[0].Samples += 1 << 40; m.Samples += 1 << 40 },
		"another type":   func(m *index.Manifest) { m.Schema[0].DType = shardify.I32 },
		"one length":     func(m *index.Manifest) { m.Schema[0].Levels, m.Schema[0].Shape = 0, []int{3} },
	} {
		for _, schema := range []string{"tok:u16*", "tok:u16[5]"} {
			dir := makeSet(t, setOptions{format: index.FormatMegatron, schema: schema, samples: 40, shard: 20})
			name := filepath.Join(dir, index.ManifestName)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := index.DecodeManifest(b)
			if err != nil {
				t.Fatal(err)
			}
			change(m)
			if b, err = m.Encode(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, b, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, c := range []Config{{Batch: 4}, {Batch: 4, Tier: TierStream, Verify: VerifyNone}, {Batch: 1, Tier: TierPinned, Tokens: "2"}} {
				l, err := mustOpen(t, dir).Loader(c)
				if err == nil {
					err = readAll(l, nil)
					l.Close()
				}
				if !errors.Is(err, shardify.ErrCorrupt) {
					t.Errorf("%s, %s, %+v: %v", what, schema, c.Tokens, err)
				}
			}
		}
	}
}
