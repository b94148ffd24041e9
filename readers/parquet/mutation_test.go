package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
)

const (
	mutationMemory = 512 << 20
	mutationTime   = 20 * time.Second
)

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	count := 1500
	if underRace {
		count = 150
	}
	count = readertest.Mutations(t, count)
	m := &mutator{seeds: seeds(t), dir: t.TempDir(), Watch: readertest.Watch{Limit: mutationTime, Memory: mutationMemory}}
	stop := m.Start()
	defer stop()
	for i := range count {
		m.one(t, uint64(i))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated files from %d seeds: %d opened, %d reached the value decoder (%.0f %%), %d were read to the end; heap at most %s",
		count, len(m.seeds), m.opened, m.reached, 100*float64(m.reached)/float64(count), m.whole, shardify.FormatSize(m.Heap()))
	if count >= 200 && m.reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the value decoder", m.reached, count)
	}
}

// seed is a file to damage.
type seed struct {
	name string
	data []byte
	// summed: the bytes before the footer are under checksums, but for the headers of
	// pages. want is what it holds.
	summed bool
	want   *readertest.Content
}

// seeds are the files beside the tests.
func seeds(t testing.TB) []seed {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) == 0 {
		t.Fatalf("no seeds: %v", err)
	}
	var all []seed
	for _, name := range names {
		src, err := openFiles(fillHoles, nil, name)
		if err != nil {
			continue // encrypted
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := seed{name: filepath.Base(name), data: b}
		switch s.name {
		case "codec-none.parquet", "codec-snappy.parquet", "codec-zstd.parquet", "codec-brotli.parquet", "codec-lz4.parquet", "nested-v2.parquet":
			s.summed = true
			s.want = readertest.ReadAll(t, src, 1<<20)
		}
		src.Close()
		all = append(all, s)
	}
	return all
}

var fillHoles = shardify.Options{optItems: "fill"}

type mutator struct {
	seeds                  []seed
	dir                    string
	opened, reached, whole int
	readertest.Watch
}

// footer is where the metadata of a file begin.
func footer(b []byte) int {
	if len(b) < 12 {
		return 0
	}
	return max(len(b)-8-int(binary.LittleEndian.Uint32(b[len(b)-8:])), 0)
}

// one makes input i, reads it and judges the outcome.
func (m *mutator) one(t *testing.T, i uint64) {
	m.Begin(i)
	rng := rand.New(rand.NewPCG(23, i))
	s := &m.seeds[rng.IntN(len(m.seeds))]
	// Half of all damage is where the pages are, or little would be decoded: a file is
	// half footer.
	lo, hi := 0, len(s.data)
	if rng.IntN(2) == 0 {
		lo, hi = 4, footer(s.data)
	}
	b := m.mutate(rng, bytes.Clone(s.data), lo, hi)
	name := filepath.Join(m.dir, "m.parquet")
	defer m.Judge(t, i, s.name, b, fmt.Sprintf("parquet-mutation-%d.parquet", i))
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := m.read(name, s); err != nil && !isKind(err) {
		t.Errorf("mutation %d of %s: error of no kind: %v", i, s.name, err)
	}
}

func (m *mutator) read(name string, s *seed) error {
	ctx := context.Background()
	src, err := Format.Open(ctx, shardify.OpenArgs{Table: tableOf(name), Options: fillHoles, Jobs: 1})
	if err != nil {
		return err
	}
	defer src.Close()
	m.opened++
	if err := shardify.ValidateSchema(src.Schema()); err != nil {
		return err
	}
	r, err := src.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	pool := shardify.NewPool(64 << 20)
	spans := 0
	for sp, err := range src.Spans(ctx, 8<<10) {
		if err != nil {
			return err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		if spans++; spans == 1 {
			m.reached++
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = b.Match(src.Schema())
		}
		mem.Release()
		if err != nil {
			return err
		}
		if spans == 200 { // a legal file of much that is compressed well
			return nil
		}
	}
	m.whole++
	return nil
}

// mutate damages b[lo:hi] in one to three places.
func (m *mutator) mutate(rng *rand.Rand, b []byte, lo, hi int) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		hi = min(hi, len(b))
		if hi <= lo {
			return b
		}
		at := lo + rng.IntN(hi-lo)
		switch rng.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2:
			b[at] = byte(rng.Uint32())
		case 3: // a length before values
			v := binary.LittleEndian.AppendUint64(nil, interesting[rng.IntN(len(interesting))])
			copy(b[at:], v[:1<<rng.IntN(4)])
		case 4: // a number of the metadata
			copy(b[at:], binary.AppendUvarint(nil, interesting[rng.IntN(len(interesting))]))
		case 5: // a piece of another file
			o := m.seeds[rng.IntN(len(m.seeds))].data
			k := rng.IntN(len(o))
			copy(b[at:], o[k:min(k+1+rng.IntN(128), len(o))])
		case 6: // one place as another
			k := rng.IntN(len(b))
			copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(64), len(b))]))
		case 7: // cut the end off, seldom
			if rng.IntN(12) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

var interesting = []uint64{0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 1 << 16, 1 << 24, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 0x40000000, 1<<62 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// TestDamageUnderAChecksumIsFound flips bytes of the pages of files whose pages
// have checksums, in the long form every one: values are equal or an error comes.
func TestDamageUnderAChecksumIsFound(t *testing.T) {
	flipped, found := 0, 0
	for _, s := range seeds(t) {
		if !s.summed {
			continue
		}
		name := filepath.Join(t.TempDir(), "f.parquet")
		step := 1
		if os.Getenv("SHARDIFY_LONG") == "" {
			step = 13
		}
		for at := 4; at < footer(s.data); at += step {
			b := bytes.Clone(s.data)
			b[at] ^= 1 << (at % 8)
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			flipped++
			src, err := openFiles(fillHoles, nil, name)
			if err != nil {
				found++
				continue
			}
			content := readertest.NewContent()
			err = read(t, src, 1<<30, func(b *shardify.Batch) { content.Add(b, 0, b.Samples) })
			src.Close()
			if err != nil {
				found++
			} else if err := s.want.Equal(content); err != nil {
				t.Fatalf("%s: byte %d flipped: %v", s.name, at, err)
			}
		}
	}
	t.Logf("%d flipped bytes: %d refused, the others changed nothing", flipped, found)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	for _, s := range seeds(f) {
		if len(s.data) < 16<<10 {
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.parquet")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		m := &mutator{}
		if err := m.read(name, &seed{}); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := tableOf(testdata("nested.parquet"), testdata("nested-v2.parquet"))
	src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table})
	if err != nil {
		f.Fatal(err)
	}
	state, err := src.(shardify.Stater).State()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Fuzz(func(t *testing.T, state []byte) {
		src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table, State: append([]byte{}, state...)})
		if err != nil {
			return
		}
		defer src.Close()
		r, err := src.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		pool := shardify.NewPool(64 << 20)
		n := 0
		for sp, err := range src.Spans(context.Background(), 1<<20) {
			if n++; err != nil || n > 50 || sp.Bytes > 1<<30 {
				return
			}
			mem, _ := pool.Grant(context.Background(), sp.Bytes)
			if b, err := r.Read(context.Background(), sp, mem); err == nil && b.Check() != nil {
				t.Errorf("%+v: %v", sp, b.Check())
			}
			mem.Release()
		}
	})
}
