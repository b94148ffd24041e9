package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	quick := 1500
	if race.On {
		quick = 150
	}
	all := seeds(t)
	m := readertest.Mutants{Format: "parquet", Quick: quick, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		s := all[rng.IntN(len(all))]
		// Half of all damage is where the pages are, or little would be decoded: a file is
		// half footer.
		lo, hi := 0, len(s.data)
		if rng.IntN(2) == 0 {
			lo, hi = 4, footer(s.data)
		}
		return readertest.Mutant{Seed: s.name, Data: mutate(rng, all, bytes.Clone(s.data), lo, hi), Read: walkFile}
	}}
	m.Run(t)
}

// TestAPageBehindItsColumn: a dictionary that is longer than its column has no page behind it, though the bytes are there.
func TestAPageBehindItsColumn(t *testing.T) {
	data := make([]byte, 200)
	w := window{r: bytes.NewReader(data), buf: data[:120]}
	var h pq.PageHeader
	for off, want := range map[int64]string{116: "inside of a page", 112: "inside of a page header"} {
		if _, err := w.header(context.Background(), off, headGuess, 112, &h); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("at %d: %v", off, err)
		}
	}
}

// seed is a file to damage.
type seed struct {
	name string
	data []byte
	// summed: the bytes before the footer are under checksums, except for the headers of
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

var fillHoles = format.Options{"null-items": "fill"}

// footer is where the metadata of a file begin.
func footer(b []byte) int {
	if len(b) < 12 {
		return 0
	}
	return max(len(b)-8-int(binary.LittleEndian.Uint32(b[len(b)-8:])), 0)
}

// walkFile reads a file that may be damaged.
func walkFile(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: tableOf(name), Options: fillHoles, Jobs: 1})
	}, 8<<10, nil)
}

// mutate damages b[lo:hi] in one to three places.
func mutate(rng *rand.Rand, all []seed, b []byte, lo, hi int) []byte {
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
			v := binary.LittleEndian.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])
			copy(b[at:], v[:1<<rng.IntN(4)])
		case 4: // a number of the metadata
			copy(b[at:], binary.AppendUvarint(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))]))
		case 5: // a piece of another file
			o := all[rng.IntN(len(all))].data
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

// TestDamageUnderAChecksumIsFound flips bytes of the pages of files whose pages
// have checksums, in the long form every one: values are equal or an error comes.
func TestDamageUnderAChecksumIsFound(t *testing.T) {
	race.Sequential(t)
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
	race.Sequential(f)
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
		if _, err := walkFile(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := tableOf(testdata("nested.parquet"), testdata("nested-v2.parquet"))
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state})
	})
}
