package index

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// sampleSet is a manifest of a set of one shard.
func sampleSet() *Manifest {
	return &Manifest{
		Format: FormatMmap, Samples: 3, Bytes: 4108,
		Schema: []shardify.Field{{Name: "x", DType: shardify.F32}, {Name: "cls", DType: shardify.I64, Attrs: map[string]string{"labels": "cat\ndog"}}},
		Shards: []shardify.Shard{{Name: "shard-000000.safetensors", Samples: 3, Bytes: 4108, Digest: "xxh3:00112233445566778899aabbccddeeff"}},
		Inputs: Inputs{Format: "npz", Count: 1, Bytes: 99, Digest: "xxh3:ffeeddccbbaa99887766554433221100", Names: []string{"a.npz"}},
		Recipe: map[string]string{"shard-samples": "3"},
	}
}

func idOf(t *testing.T, m *Manifest, splits map[string]string) string {
	t.Helper()
	text, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	id, err := ID(text, splits)
	if err != nil || !ValidID(id) {
		t.Fatalf("%q, %v", id, err)
	}
	return id
}

// TestIDIsThatOfTheDocs: the function stated of python/tests/test_id.py, with the package xxhash, gives the ids of
// these two manifests.
func TestIDIsThatOfTheDocs(t *testing.T) {
	if id := idOf(t, sampleSet(), nil); id != "id1:ee94cbedd5e78cfaab2ff1005eaf2173" {
		t.Error(id)
	}
	m := &Manifest{Format: FormatMmap, Samples: 5, Splits: map[string]Split{"train": {Samples: 5, Shards: 1, Digest: strings.Repeat("1", 32)}, "b": {Digest: strings.Repeat("2", 32)}}}
	if id := idOf(t, m, map[string]string{"train": "id1:" + strings.Repeat("3", 32), "b": "id1:" + strings.Repeat("4", 32)}); id != "id1:c80b85b6defa14e30a35945873547789" {
		t.Error(id)
	}
}

func TestIDDependsOnWhatTrainingReads(t *testing.T) {
	first := idOf(t, sampleSet(), nil)
	for what, change := range map[string]func(m *Manifest){
		"inputs":   func(m *Manifest) { m.Inputs.Names = []string{"elsewhere/b.npz"}; m.Inputs.Bytes++ },
		"recipe":   func(m *Manifest) { m.Recipe["seed"] = "3" },
		"counts":   func(m *Manifest) { m.Dropped = 3; m.Counts = []shardify.Count{{Name: "where: dropped", N: 3}} },
		"previous": func(m *Manifest) { m.Previous = strings.Repeat("a", 32) },
		"files":    func(m *Manifest) { m.Files = []shardify.File{{Name: "index.json", Bytes: 3, Digest: DigestOf(nil)}} },
	} {
		m := sampleSet()
		change(m)
		if id := idOf(t, m, nil); id != first {
			t.Errorf("%s change the id", what)
		}
	}
	for what, change := range map[string]func(m *Manifest){
		"values":    func(m *Manifest) { m.Shards[0].Digest = DigestOf(nil) },
		"samples":   func(m *Manifest) { m.Samples, m.Shards[0].Samples = 2, 2 },
		"fields":    func(m *Manifest) { m.Schema[0].Name = "y" },
		"types":     func(m *Manifest) { m.Schema[0].DType = shardify.F64 },
		"classes":   func(m *Manifest) { m.Schema[1].Attrs["labels"] = "dog\ncat" },
		"names":     func(m *Manifest) { m.Keyed = true },
		"of a file": func(m *Manifest) { m.Shards[0].Files = []shardify.File{{Name: "shard.idx", Digest: DigestOf(nil)}} },
	} {
		m := sampleSet()
		change(m)
		if id := idOf(t, m, nil); id == first {
			t.Errorf("%s do not change the id", what)
		}
	}
}

func TestIDRefusesWhatReadersWouldTakeDifferently(t *testing.T) {
	for text, kind := range map[string]error{
		`{"a": 1, "a": 2}`: shardify.ErrCorrupt,
		`{"a:1\nb": 2}`:    shardify.ErrUnsupported,
		`{"a": 1`:          shardify.ErrCorrupt,
		`{"a": }`:          shardify.ErrCorrupt,
		``:                 shardify.ErrCorrupt,
	} {
		if id, err := ID([]byte(text), nil); !errors.Is(err, kind) {
			t.Errorf("%s: %q, %v", text, id, err)
		}
	}
}
