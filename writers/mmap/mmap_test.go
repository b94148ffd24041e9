package mmap_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	reader "github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) {
	writertest.Run(t, mmap.Format, writertest.OpenWith(reader.Format, nil))
}

// mixed has tensors of known and of unknown size before and after each other.
func mixed() writertest.Schema {
	var s writertest.Schema
	for _, part := range writertest.Schemas() {
		switch part.Name {
		case "two levels, shared counter", "nullable numbers", "keyed", "arrays":
			s.Fields = append(s.Fields, part.Fields...)
			s.Keyed = s.Keyed || part.Keyed
		}
	}
	return s
}

func spec(s writertest.Schema, n int64, exact bool) format.ShardSpec {
	return format.ShardSpec{Name: "shard-000000.safetensors", Schema: s.Fields, Samples: n, Exact: exact, Keyed: s.Keyed}
}

func write(st storage.Store, sp format.ShardSpec, batches ...*shardify.Batch) (shardify.Shard, error) {
	sink, err := mmap.New(st, sp)
	if err != nil {
		return shardify.Shard{}, err
	}
	defer sink.Abort()
	for _, b := range batches {
		if err := sink.Write(b); err != nil {
			return shardify.Shard{}, err
		}
	}
	return sink.Commit(context.Background())
}

// Large enough that every way of a tensor's bytes is taken: gathered, straight
// from the batch, and through a spill file, on real files.
func TestSameBytesThroughBuffersAndSpills(t *testing.T) {
	s := mixed()
	const n = 30000
	var first []byte
	for _, c := range []struct {
		exact bool
		cut   int
	}{{true, n}, {true, 501}, {false, 9973}} {
		dir := t.TempDir()
		sp := spec(s, n, c.exact)
		sh, err := write(local.NewDir(dir, local.SyncNone), sp, writertest.Batches(s, n, 1, c.cut)...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, sp.Name))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
			check(t, b, &sh)
		} else if !bytes.Equal(first, b) {
			t.Errorf("exact %v, batches of %d: other bytes", c.exact, c.cut)
		}
	}
}

// A file for each column would pass the limit of open files, and cost more than the
// data.
func TestWideShardsHoldFewFilesOpen(t *testing.T) {
	files := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("open files cannot be counted: %v", err)
		}
		return len(names)
	}
	var schema []shardify.Field
	for i := range 300 {
		schema = append(schema, shardify.Field{Name: fmt.Sprintf("jet_%03d", i), DType: shardify.F32, Levels: 1})
	}
	const n = 2000
	dir := t.TempDir()
	wide := writertest.Schema{Fields: schema}
	sp := spec(wide, n, true)
	before := files()
	sink, err := mmap.New(local.NewDir(dir, local.SyncNone), sp)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Abort()
	for _, b := range writertest.Batches(wide, n, 1, 300) {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if open := files() - before; open > 4 {
		t.Errorf("%d files are open", open)
	}
	sh, err := sink.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, sp.Name))
	if err != nil {
		t.Fatal(err)
	}
	check(t, b, &sh)
}

// check holds a shard to the layout, contents included.
func check(t *testing.T, b []byte, record *shardify.Shard) {
	t.Helper()
	r := bytes.NewReader(b)
	s, err := index.OpenShard(r, int64(len(b)), record)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Places {
		if err := s.CheckTensor(r, i, make([]byte, 1<<16)); err != nil {
			t.Error(err)
		}
	}
}

func TestShardOfNoSamples(t *testing.T) {
	s := mixed()
	for _, exact := range []bool{true, false} {
		mem := memory.New()
		sh, err := write(mem, spec(s, 0, exact))
		if err != nil {
			t.Fatal(err)
		}
		check(t, mem.Files()[sh.Name], &sh)
	}
}

// A plan's output size: exact for fixed fields, else offsets are what is added.
func TestSampleBytes(t *testing.T) {
	for _, s := range append(writertest.Schemas(), mixed()) {
		const n = 1000
		b := writertest.Batches(s, n, 1, n)[0]
		decoded, variable := int64(0), s.Keyed
		for i := range b.Columns {
			decoded += int64(len(b.Columns[i].Data))
			if b.Columns[i].Levels == 2 {
				decoded += 8 * int64(len(b.Columns[i].Offsets[1]))
			}
			variable = variable || b.Columns[i].Levels > 0
		}
		if s.Keyed {
			decoded += int64(len(b.Keys.Data))
		}
		sh, err := write(memory.New(), spec(s, n, true), b)
		if err != nil {
			t.Fatal(err)
		}
		fixed, factor := mmap.Format.SampleBytes(s.Fields, s.Keyed)
		layout, _ := index.NewLayout(s.Fields, s.Keyed)
		got, want := sh.Bytes-layout.HeaderBytes, n*fixed+int64(factor*float64(decoded))
		if diff := got - want; diff != 0 && !variable || diff < 0 || diff > 8*int64(len(layout.Tensors)) {
			t.Errorf("%s: %d bytes, planned %d", s.Name, got, want)
		}
	}
}

func TestFieldsOfOneCounterMustHaveEqualLengths(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{
		{Name: "Jet_pt", DType: shardify.U8, Levels: 1, Counter: "Jet"},
		{Name: "Jet_eta", DType: shardify.U8, Levels: 1, Counter: "Jet"},
	}}
	batch := func(a, b []int64) *shardify.Batch {
		return &shardify.Batch{Samples: 3, First: shardify.ID{Sample: 100}, Columns: []shardify.Column{
			{Field: s.Fields[0], Data: make([]byte, a[3]), Offsets: [][]int64{a}},
			{Field: s.Fields[1], Data: make([]byte, b[3]), Offsets: [][]int64{b}},
		}}
	}
	o := []int64{0, 1, 3, 4}
	for _, equal := range []*shardify.Batch{batch(o, o), batch(o, []int64{0, 1, 3, 4})} {
		if _, err := write(memory.New(), spec(s, 3, true), equal); err != nil {
			t.Error(err)
		}
	}
	_, err := write(memory.New(), spec(s, 3, true), batch(o, []int64{0, 1, 2, 4}))
	var e *shardify.Error
	if !errors.Is(err, shardify.ErrSchema) || !errors.As(err, &e) || e.Sample != 101 ||
		!strings.Contains(err.Error(), "Jet_pt") || !strings.Contains(err.Error(), "Jet_eta") {
		t.Errorf("unequal lengths: %v", err)
	}
}

// counting is a store that keeps only the first bytes of a file and the extent
// and sum of what was written behind them.
type counting struct {
	storage.Store
	head  []byte
	end   int64
	bytes int64
}

func (c *counting) Create(string) (storage.Pending, error) { return c, nil }
func (c *counting) Write(b []byte) (int, error)            { panic("unused") }
func (c *counting) Commit(context.Context) error           { return nil }
func (c *counting) Abort() error                           { return nil }
func (c *counting) WriteAt(b []byte, off int64) (int, error) {
	if off == 0 {
		c.head = bytes.Clone(b)
	} else if off != c.end && off > c.end { // tensors are written side by side
		return 0, errors.New("hole in the file")
	}
	c.end = max(c.end, off+int64(len(b)))
	c.bytes += int64(len(b))
	return len(b), nil
}

func TestShardBeyond32Bits(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.U8, Levels: 1}}}
	const size, each = 5 << 30, 64 << 20
	data := bytes.Repeat([]byte("shardify"), each/8)
	b := &shardify.Batch{Samples: 1, Columns: []shardify.Column{{Field: s.Fields[0], Data: data, Offsets: [][]int64{{0, each}}}}}
	c := &counting{end: 8192} // the header and the offsets come last
	sink, err := mmap.New(c, spec(s, size/each, true))
	if err != nil {
		t.Fatal(err)
	}
	sum, one := uint32(0), index.CRC32C(0, data)
	for range size / each {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
		sum = index.CombineCRC32(crc32.Castagnoli, sum, one, each)
	}
	sh, err := sink.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := int64(4096 + 8*(size/each+1) + size)
	if sh.Bytes != want || c.end != want {
		t.Errorf("%d bytes recorded, %d written, want %d", sh.Bytes, c.end, want)
	}
	head, err := index.OpenShard(sparse{c.head}, sh.Bytes, &sh)
	if err != nil {
		t.Fatal(err)
	}
	if p := head.Tensor("x#values"); p.Hi-p.Lo != size || head.CRC32C[1] != sum {
		t.Errorf("tensor %+v, crc32c %08x, want %08x", p, head.CRC32C[1], sum)
	}
}

// sparse reads the head of a file whose rest was not kept.
type sparse struct{ head []byte }

func (s sparse) ReadAt(b []byte, off int64) (int, error) { return copy(b, s.head[off:]), nil }

// Bytes whose place is known go there at once: no scratch file, no second copy.
func TestFixedColumnsAreWrittenInPlace(t *testing.T) {
	s := writertest.Schema{Fields: columns(5, 0)}
	const n, rounds = 1 << 20, 4
	c := &counting{end: 1 << 40}
	sink, err := mmap.New(c, spec(s, n*rounds, true))
	if err != nil {
		t.Fatal(err)
	}
	b := &shardify.Batch{Samples: n}
	for _, f := range s.Fields {
		b.Columns = append(b.Columns, shardify.Column{Field: f, Data: make([]byte, 4*n)})
	}
	for range rounds {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(len(s.Fields)) * 4 * n * rounds; c.bytes != want {
		t.Errorf("%d of %d bytes were written before Commit", c.bytes, want)
	}
	if err := sink.Write(b); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("a batch beyond the plan would overwrite the next column: %v", err)
	}
	sink.Abort()
}

// A sample must cost no allocation, nor a batch more than a few.
func TestWritingAllocatesNothingPerSample(t *testing.T) {
	s := mixed()
	const n = 5000
	b := writertest.Batches(s, n, 1, n)[0]
	sink, err := mmap.New(&counting{end: 1 << 40}, spec(s, 1<<40, false))
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Abort()
	allocs := testing.AllocsPerRun(10, func() {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 20 {
		t.Errorf("%v allocations per batch of %d samples", allocs, n)
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name   string
		fields []shardify.Field
		exact  bool
	}{
		{"fixed", []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{64}}, {Name: "y", DType: shardify.I64}}, true},
		{"fixed/columns100", columns(100, 0), true},
		{"fixed/inexact", columns(4, 0), false},
		{"jagged", columns(4, 1), true},
	} {
		for _, to := range []string{"memory", "file"} {
			b.Run(c.name+"/"+to, func(b *testing.B) { benchmark(b, writertest.Schema{Fields: c.fields}, c.exact, to == "file") })
		}
	}
}

func columns(n, levels int) (f []shardify.Field) {
	for i := range n {
		f = append(f, shardify.Field{Name: "c" + string(rune('0'+i/10)) + string(rune('0'+i%10)), DType: shardify.F32, Levels: levels})
	}
	return f
}

// benchmark writes shards of 64 spans of about 4 MiB.
func benchmark(b *testing.B, s writertest.Schema, exact, file bool) {
	row := 0
	for _, f := range s.Fields {
		row += f.ElemBytes()
	}
	n := (4 << 20) / row
	batch := writertest.Batches(s, n, 1, n)[0]
	const spans = 64
	b.SetBytes(batch.Bytes() * spans)
	dir := b.TempDir()
	for b.Loop() {
		var st storage.Store = &counting{end: 1 << 50}
		if file {
			st = local.NewDir(dir, local.SyncNone)
			st.Remove("shard-000000.safetensors") // its pages are used again: new ones cost more than the copy
		}
		sink, err := mmap.New(st, spec(s, int64(n*spans), exact))
		if err != nil {
			b.Fatal(err)
		}
		for range spans {
			if err := sink.Write(batch); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := sink.Commit(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
