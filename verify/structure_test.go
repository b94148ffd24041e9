package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/verify/problem"
)

// member is one member of a tar made by hand.
type member struct {
	name string
	data []byte
}

func array(d shardify.DType, data int, dims ...int64) []byte {
	return append(npy.AppendHeader(nil, d, dims), make([]byte, data)...)
}

// handTar writes members as our writer would, whatever they are, and the offset
// index that fits them.
func handTar(members []member) (data, idx []byte) {
	var last []byte
	for _, m := range members {
		key, _, _ := tar.SplitKey([]byte(m.name))
		if len(data) == 0 || !bytes.Equal(key, last) {
			idx = tar.AppendIndex(idx, int64(len(data)))
			last = bytes.Clone(key)
		}
		var h [tar.Block]byte
		tar.PutHeader(h[:], []byte(m.name), int64(len(m.data)))
		data = append(append(data, h[:]...), m.data...)
		data = append(data, make([]byte, tar.Pad(int64(len(m.data))))...)
	}
	idx = tar.AppendIndex(idx, int64(len(data)))
	return append(data, make([]byte, tar.End)...), idx
}

// handSet publishes one shard under a manifest whose sizes and digests are
// right: whatever is wrong with it was written so.
func handSet(t *testing.T, m index.Manifest, shard shardify.Shard, files map[string][]byte) *memory.Store {
	t.Helper()
	s := memory.New()
	for n, b := range files {
		s.Set(n, b)
		if n != shard.Name {
			shard.Files = append(shard.Files, shardify.File{Name: n, Bytes: int64(len(b)), Digest: index.DigestOf(b)})
		}
	}
	shard.Bytes = int64(len(files[shard.Name]))
	m.Shards, m.Samples, m.Bytes = []shardify.Shard{shard}, shard.Samples, shard.Bytes
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s.Set(index.ManifestName, b)
	return s
}

// TestTarsThatWereWrittenWrong have right digests: only their structure shows the error.
func TestTarsThatWereWrittenWrong(t *testing.T) {
	fields := []shardify.Field{
		{Name: "cls", DType: shardify.U8},
		{Name: "p", DType: shardify.F32, Levels: 1, Counter: "n"},
		{Name: "q", DType: shardify.I16, Shape: []int{2}, Levels: 1, Counter: "n"},
		{Name: "w", DType: shardify.U8, Levels: 2, Media: "txt"},
		{Name: "x", DType: shardify.F64, Shape: []int{3}},
	}
	names, err := tar.MemberNames(fields)
	if err != nil {
		t.Fatal(err)
	}
	sample := func(i int) []member {
		key := fmt.Sprintf("000000-%09d.", i)
		return []member{
			{key + names["cls"], []byte("7")},
			{key + names["p"], array(shardify.F32, 8, 2)},
			{key + names["q"], array(shardify.I16, 8, 2, 2)},
			{key + names["w"], []byte(`["a","b"]`)},
			{key + names["x"], array(shardify.F64, 24, 3)},
		}
	}
	for _, c := range []struct {
		what   string // part of a problem; "" for none
		change func(m []member) []member
	}{
		{"", func(m []member) []member { return m }},
		{"sample has 4 members, the schema 5", func(m []member) []member { return m[:9] }},
		{"sample has 4 members, the schema 5", func(m []member) []member { return append(m[:4:4], m[5:]...) }},
		{"samples: shardify.json says 2, the tar has 1", func(m []member) []member { return m[:5] }},
		{"the schema has no such member", func(m []member) []member { m[3].name = "000000-000000000.v.json"; return m }},
		{"not in order", func(m []member) []member { m[1], m[2] = m[2], m[1]; return m }},
		{"not in order", func(m []member) []member { m[2] = m[1]; return m }},
		{"not that of a row", func(m []member) []member {
			for i := range 5 {
				m[i].name = "a" + m[i].name
			}
			return m
		}},
		{"__ at its beginning", func(m []member) []member {
			for i := range 5 {
				m[i].name = "__" + m[i].name
			}
			return m
		}},
		{"no key and field", func(m []member) []member { m[0].name = "cls"; return m }},
		{"class number is", func(m []member) []member { m[0].data = []byte("07"); return m }},
		{"class number is", func(m []member) []member { m[0].data = []byte("256"); return m }},
		{"class number is", func(m []member) []member { m[0].data = []byte("-1"); return m }},
		{`class number is ""`, func(m []member) []member { m[0].data = nil; return m }},
		{"other fields of counter n have", func(m []member) []member { m[1].data = array(shardify.F32, 12, 3); return m }},
		{"the schema has elements of", func(m []member) []member { m[2].data = array(shardify.I16, 12, 2, 3); return m }},
		{"NumPy header", func(m []member) []member { m[1].data = array(shardify.I32, 8, 2); return m }},
		{"dimensions", func(m []member) []member { m[1].data = array(shardify.F32, 8, 2, 1); return m }},
		{"has 23 bytes", func(m []member) []member { m[4].data = array(shardify.F64, 23, 3); return m }},
		{"the schema has elements of", func(m []member) []member { m[4].data = array(shardify.F64, 32, 4); return m }},
		{"not a JSON string", func(m []member) []member { m[3].data = []byte(`["a" , "b"]`); return m }},
		{"not nullable", func(m []member) []member { m[3].data = []byte(`null`); return m }},
	} {
		t.Run(c.what, func(t *testing.T) {
			tar, idx := handTar(c.change(append(sample(0), sample(1)...)))
			name := "shard-000000.tar"
			m := handSet(t, index.Manifest{Format: "wds", Schema: fields, Members: names},
				shardify.Shard{Name: name, Samples: 2, Digest: index.PieceDigestOf(tar)}, map[string][]byte{name: tar, name + ".idx": idx})
			for _, part := range []Part{{}, PartNone} { // structure is cheap
				r := check(t, m, func(o *Options) { o.Read = part })
				if c.what == "" {
					if !r.OK() {
						t.Error(list(r))
					}
				} else if !strings.Contains(list(r), c.what) || r.OK() {
					t.Errorf("want %q:%s", c.what, list(r))
				}
			}
		})
	}
}

// TestColumnsThatWereWrittenWrong have right checksums.
func TestColumnsThatWereWrittenWrong(t *testing.T) {
	fields := []shardify.Field{{Name: "v", DType: shardify.U8, Levels: 1}, {Name: "b", DType: shardify.Bool}}
	layout, err := index.NewLayout(fields, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		offsets [3]int64
		flags   [2]byte
	}{
		{"", [3]int64{0, 1, 3}, [2]byte{0, 1}},
		{"offset 1 after 2", [3]int64{0, 2, 1}, [2]byte{0, 1}},
		{"offset 1 after 0", [3]int64{1, 1, 3}, [2]byte{0, 1}},
		{"offsets end at 2, there are 3", [3]int64{0, 1, 2}, [2]byte{0, 1}},
		{"bool with value 2", [3]int64{0, 1, 3}, [2]byte{0, 2}},
	} {
		t.Run(c.what, func(t *testing.T) {
			parts := map[string][]byte{"v#values": {1, 2, 3}, "b": c.flags[:]}
			for _, o := range c.offsets {
				parts["v#offsets"] = binary.LittleEndian.AppendUint64(parts["v#offsets"], uint64(o))
			}
			var data []byte
			var counts []int64
			var crcs []uint32
			for _, spec := range layout.Tensors {
				p := parts[spec.Name]
				counts = append(counts, int64(len(p))/spec.Row)
				crcs = append(crcs, index.CRC32C(0, p))
				data = append(data, p...)
			}
			head, err := layout.Header(2, counts, crcs)
			if err != nil {
				t.Fatal(err)
			}
			name := "shard-000000.safetensors"
			m := handSet(t, index.Manifest{Format: "mmap", Schema: fields}, shardify.Shard{Name: name, Samples: 2, Digest: index.DigestOf(head)},
				map[string][]byte{name: append(head, data...)})
			for _, part := range []Part{{}, PartNone} {
				r := check(t, m, func(o *Options) { o.Read = part })
				if (c.what == "") != r.OK() || !strings.Contains(list(r), c.what) {
					t.Errorf("want %q:%s", c.what, list(r))
				}
			}
		})
	}
}

// TestRepairBelievesNoOtherShard: an index that fits the tar there, but is not
// the one that was published, is not written.
func TestRepairBelievesNoOtherShard(t *testing.T) {
	quick(t)
	src := small(t, "wds")
	m := build(t, "wds", src, 4)
	other := build(t, "wds", makeSource(src.Schema, 7, 99), 4)
	name := "shard-000000.tar"
	m.Set(name, other.Files()[name])
	m.Remove(name + ".idx")
	r := check(t, m, func(o *Options) { o.Repair = true })
	if m.Files()[name+".idx"] != nil || r.OK() {
		t.Errorf("%v:%s", r.Done, list(r))
	}
}

// TestSamplesThatTheSetLeavesOutSilently: the plan knows of them.
func TestSamplesThatTheSetLeavesOutSilently(t *testing.T) {
	quick(t)
	src := makeSource(schema(t, "jagged"), 20, 1)
	src.bad = 7
	mem := build(t, "mmap", src, 5)
	man, err := index.DecodeManifest(mem.Files()[index.ManifestName])
	if err != nil {
		t.Fatal(err)
	}
	man.Skipped = nil
	b, err := man.Encode()
	if err != nil {
		t.Fatal(err)
	}
	mem.Set(index.ManifestName, b)
	dir := onDisk(t, mem)
	os.RemoveAll(filepath.Join(dir, ".shardify", "receipts"))
	src.bad = 0
	if r := compareWith(t, dir, src, nil); !finds(r, problem.KindMismatch, "shard-000001.safetensors") {
		t.Error(list(r))
	}
}
