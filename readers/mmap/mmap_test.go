package mmap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
	writer "github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/writertest"
)

// everything is a schema with each kind of tensor.
func everything() writertest.Schema {
	all := writertest.Schema{Name: "everything", Keyed: true}
	seen := map[string]bool{}
	for _, s := range writertest.Schemas() {
		for _, f := range s.Fields {
			if !seen[f.Name] {
				seen[f.Name] = true
				all.Fields = append(all.Fields, f)
			}
		}
	}
	return all
}

// dataSet writes a data set of two shards of n and 2n samples.
func dataSet(t testing.TB, s writertest.Schema, n int, seed uint64) (string, *index.Manifest) {
	t.Helper()
	dir := t.TempDir()
	m := writertest.WriteSet(t, writer.Format, s, dir,
		writertest.Batches(s, n, seed, n)[0], writertest.Batches(s, 2*n, seed+1, 2*n)[0])
	writertest.WriteManifest(t, dir, m)
	return dir, m
}

func table(dirs ...string) *format.Table {
	t := &format.Table{Roots: dirs}
	for i := range dirs {
		if i%2 == 0 { // both ways to name a data set
			t.Append(i, "", format.SizeUnknown, 0)
		} else {
			t.Append(i, index.ManifestName, format.SizeUnknown, 0)
		}
	}
	return t
}

func open(dirs ...string) (shardify.Source, error) {
	return mmap.Open(context.Background(), format.OpenArgs{Table: table(dirs...)})
}

func TestConformance(t *testing.T) {
	s := everything()
	a, _ := dataSet(t, s, 9, 1)
	b, _ := dataSet(t, s, 14, 5)
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return mmap.Open(context.Background(), format.OpenArgs{Table: table(a, b), Columns: columns, State: state})
	})
}

func TestShardReadAndWrittenAgainHasTheSameBytes(t *testing.T) {
	for _, s := range append(writertest.Schemas(), everything()) {
		if writer.Format.Check(s.Fields, s.Keyed, nil) != nil {
			continue
		}
		dir, m := dataSet(t, s, 19, 3)
		src, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.New()
		for i, sh := range m.Shards {
			rewrite(t, mem, src, m, i)
			was, err := os.ReadFile(filepath.Join(dir, sh.Name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(was, mem.Files()[sh.Name]) {
				t.Errorf("%s: %s differs after reading and writing it", s.Name, sh.Name)
			}
		}
		src.Close()
	}
}

// rewrite reads shard i of a data set and writes it to another store.
func rewrite(t *testing.T, to storage.Store, src shardify.Source, m *index.Manifest, i int) {
	t.Helper()
	ctx := context.Background()
	sh := m.Shards[i]
	lo := int64(0)
	for _, before := range m.Shards[:i] {
		lo += before.Samples
	}
	sink, err := writer.New(to, format.ShardSpec{Name: sh.Name, Schema: src.Schema(), Samples: sh.Samples, Exact: true, Keyed: m.Keyed})
	if err != nil {
		t.Fatal(err)
	}
	pool := shardify.NewPool(1 << 30)
	r, _ := src.Reader(0)
	defer r.Close()
	for span, err := range src.Spans(ctx, 200) {
		if err != nil {
			t.Fatal(err)
		}
		if span.Lo < lo || span.Lo >= lo+sh.Samples {
			continue
		}
		mem, _ := pool.Grant(ctx, span.Bytes)
		b, err := r.Read(ctx, span, mem)
		if err == nil {
			err = sink.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		mem.Release()
	}
	if _, err := sink.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

// readAll opens and reads a data set to its end, or to its first error.
func readAll(dir string) error {
	src, err := open(dir)
	if err != nil {
		return err
	}
	defer src.Close()
	ctx := context.Background()
	pool := shardify.NewPool(1 << 30)
	for span, err := range src.Spans(ctx, 4000) {
		if err != nil {
			return err
		}
		r, err := src.Reader(0)
		if err != nil {
			return err
		}
		mem, _ := pool.Grant(ctx, span.Bytes)
		b, err := r.Read(ctx, span, mem)
		if err == nil {
			err = b.Check()
		}
		mem.Release()
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func TestDamageThatStructureShowsIsCorrupt(t *testing.T) {
	race.Sequential(t)
	s := everything()
	dir, m := dataSet(t, s, 11, 7)
	name := filepath.Join(dir, m.Shards[0].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, err := index.ParseShard(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(name string) *index.Tensor {
		tt := head.Tensor(name)
		if tt == nil {
			t.Fatalf("no tensor %s", name)
		}
		return tt
	}
	put := func(b []byte, at int64, v int64) { binary.LittleEndian.PutUint64(b[at:], uint64(v)) }
	last := func(t *index.Tensor) int64 { return t.Hi - 8 }
	for what, damage := range map[string]func(b []byte) []byte{
		"cut short":             func(b []byte) []byte { return b[:len(b)-1] },
		"longer":                func(b []byte) []byte { return append(b, 0) },
		"empty":                 func(b []byte) []byte { return nil },
		"header changed":        func(b []byte) []byte { b[30] ^= 1; return b },
		"padding changed":       func(b []byte) []byte { b[head.HeaderBytes-1] ^= 1; return b },
		"first offset not 0":    func(b []byte) []byte { put(b, tensor("MET#offsets").Lo, 1); return b },
		"negative offset":       func(b []byte) []byte { put(b, tensor("MET#offsets").Lo, -1); return b },
		"offset falls":          func(b []byte) []byte { put(b, tensor("Jet#offsets").Lo+16, 1<<40); return b },
		"last offset too large": func(b []byte) []byte { put(b, last(tensor("hits#offsets1")), 1<<40); return b },
		"last offset too small": func(b []byte) []byte { put(b, last(tensor("__key__#offsets")), 0); return b },
		"bool of 2":             func(b []byte) []byte { b[tensor("s_bool").Lo] = 2; return b },
		"valid of 255":          func(b []byte) []byte { b[tensor("caption#valid").Lo] = 255; return b },
	} {
		os.WriteFile(name, damage(bytes.Clone(whole)), 0o666)
		err := readAll(dir)
		var e *shardify.Error
		if !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || e.File == "" {
			t.Errorf("%s: error %v", what, err)
		}
	}
	os.WriteFile(name, whole, 0o666)
	if err := readAll(dir); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

// TestDamageInDataIsProven: a flipped bit anywhere in the data of a shard is an
// error of structure, or the proofs do not join to the stored sums.
func TestDamageInDataIsProven(t *testing.T) {
	race.Sequential(t)
	dir, m := dataSet(t, everything(), 7, 7)
	name := filepath.Join(dir, m.Shards[0].Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, err := index.ParseShard(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	src, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	proven := 0
	for at := head.HeaderBytes; at < int64(len(whole)); at += 1 + (int64(len(whole))-head.HeaderBytes)/251 {
		b := bytes.Clone(whole)
		b[at] ^= 1 << (at % 8)
		os.WriteFile(name, b, 0o666)
		proofs, err := proofsOf(src)
		if err == nil {
			err = readertest.JoinProofs(proofs)
			proven++
		}
		if !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
	}
	if proven == 0 {
		t.Error("structure alone showed all damage")
	}
}

func proofsOf(src shardify.Source) (all []shardify.Proof, err error) {
	r, err := src.Reader(0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 20)
	for sp, err := range src.Spans(context.Background(), 300) {
		if err != nil {
			return nil, err
		}
		mem, err := pool.Grant(context.Background(), sp.Bytes)
		if err != nil {
			return nil, err
		}
		b, err := r.Read(context.Background(), sp, mem)
		if err != nil {
			return nil, err
		}
		all = append(all, b.Proofs...)
		mem.Release()
	}
	return all, nil
}

// Whatever a shard's bytes are, reading ends with values or an error.
func TestMutatedShardsNeverPanic(t *testing.T) {
	race.Sequential(t)
	s := everything()
	dir, m := dataSet(t, s, 5, 9)
	name := filepath.Join(dir, m.Shards[0].Name)
	whole, _ := os.ReadFile(name)
	r := rand.New(rand.NewPCG(1, 1))
	n, failed, reached := 200, 0, 0
	if os.Getenv("SHARDIFY_LONG") != "" {
		n = 50000
	}
	for range n {
		b := bytes.Clone(whole)
		from, to := int(headBytes(whole)), len(b)
		if r.IntN(3) == 0 {
			from, to = 0, from
		}
		for range 1 + r.IntN(3) {
			b[from+r.IntN(to-from)] = byte(r.Uint32())
		}
		if _, err := index.ParseShard(bytes.NewReader(b), int64(len(b))); err == nil {
			reached++
		}
		os.WriteFile(name, b, 0o666)
		// The manifest goes along, so that the digest does not hide what follows.
		m.Shards[0].Digest = index.DigestOf(b[:min(len(b), int(headBytes(b)))])
		writertest.WriteManifest(t, dir, m)
		if err := readAll(dir); err != nil {
			failed++
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatalf("error of no kind: %v", err)
			}
		}
	}
	if reached < n*3/10 || failed < n/10 {
		t.Errorf("the mutants test too little: %d of %d reach the values, %d are refused", reached, n, failed)
	}
	t.Logf("%d mutants: %d reached the values, %d refused", n, reached, failed)
}

func headBytes(b []byte) uint64 { return min(8+binary.LittleEndian.Uint64(b)%(1<<40), 1<<40) }

func TestInputsThatAreNoDataSetOfOurs(t *testing.T) {
	one := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F32}}}
	two := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F64}}}
	a, _ := dataSet(t, one, 3, 1)
	b, _ := dataSet(t, two, 3, 1)
	if _, err := open(a, b); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("two schemas: %v", err)
	}
	if _, err := open(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without manifest: %v", err)
	}
	wds, m := dataSet(t, one, 3, 1)
	m.Format = index.FormatWDS
	writertest.WriteManifest(t, wds, m)
	if _, err := open(wds); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("a wds data set: %v", err)
	}
	split := t.TempDir()
	writertest.WriteManifest(t, split, &index.Manifest{Format: index.FormatMmap, Samples: 1,
		Splits: map[string]index.Split{"train": {Samples: 1, Shards: 1, Digest: m.Digest}}})
	if _, err := open(split); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("a set of splits: %v", err)
	}
	claims, m := dataSet(t, one, 3, 1)
	m.Shards[0].Samples += 1 << 50
	m.Samples += 1 << 50
	writertest.WriteManifest(t, claims, m)
	if _, err := open(claims); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("more samples than the bytes can hold: %v", err)
	}
}

func TestSniffKnowsManifestsOfThisFormat(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F32}}}
	dir, m := dataSet(t, s, 3, 1)
	head := func() []byte {
		b, err := os.ReadFile(filepath.Join(dir, index.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		return b[:min(512, len(b))]
	}
	if !mmap.Format.Sniff(head(), index.ManifestName) || mmap.Format.Sniff(head(), "other.json") {
		t.Error("a manifest is known by its name and its format")
	}
	m.Format = index.FormatWDS
	writertest.WriteManifest(t, dir, m)
	if mmap.Format.Sniff(head(), index.ManifestName) {
		t.Error("took the manifest of a wds data set")
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name   string
		levels int
	}{{"fixed", 0}, {"jagged", 1}} {
		b.Run(c.name, func(b *testing.B) {
			var s writertest.Schema
			for i := range 4 {
				s.Fields = append(s.Fields, shardify.Field{Name: string(rune('a' + i)), DType: shardify.F32, Shape: []int{8}, Levels: c.levels})
			}
			dir, m := dataSet(b, s, 200000, 1)
			b.SetBytes(m.Bytes)
			ctx := context.Background()
			pool := shardify.NewPool(64 << 20)
			for b.Loop() {
				src, err := open(dir)
				if err != nil {
					b.Fatal(err)
				}
				r, _ := src.Reader(0)
				for span, err := range src.Spans(ctx, 4<<20) {
					if err != nil {
						b.Fatal(err)
					}
					mem, _ := pool.Grant(ctx, span.Bytes)
					if _, err := r.Read(ctx, span, mem); err != nil {
						b.Fatal(err)
					}
					mem.Release()
				}
				r.Close()
				src.Close()
			}
		})
	}
}

func TestColumnsBringTheirCompanions(t *testing.T) {
	dir, _ := dataSet(t, everything(), 3, 1)
	for glob, want := range map[string]int{"vol": 2, "image": 2, "Jet_*": 3, "s_[if]8": 1} {
		src, err := mmap.Open(context.Background(), format.OpenArgs{Table: table(dir), Columns: []string{glob}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(src.Schema()); n != want {
			t.Errorf("columns %s: %d fields, want %d", glob, n, want)
		}
	}
}
