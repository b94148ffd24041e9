package ttree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/tests/busy"
	"github.com/shardify/shardify/tests/corpus"
)

const (
	mutationMemory = 512 << 20
	mutationTime   = 10 * time.Second
)

// TestMutatedMetadataGivesErrorsOnly reads damaged files, and damaged records of
// trees: no panic, no hang, little memory, errors of a kind. SHARDIFY_MUTATIONS is
// their number.
func TestMutatedMetadataGivesErrorsOnly(t *testing.T) {
	count := 1000
	if os.Getenv("SHARDIFY_LONG") != "" {
		count = 1_000_000
	}
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	files := metadataSeeds(t)
	var trees, whole, broken int
	var peak uint64
	for i := range count {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		s := files[rng.IntN(len(files))]
		start := busy.Processor()
		var seen sightings
		if rng.IntN(2) == 0 {
			seen = tryFile(t, mutate(rng, s.file))
		} else {
			seen = tryRecord(t, s, mutate(rng, s.rec))
		}
		if d := busy.Processor() - start; d > mutationTime {
			t.Fatalf("mutation %d of %s took %v", i, s.name, d)
		}
		if i%16 == 0 {
			peak = max(peak, heapBytes())
		}
		trees += min(seen.trees, 1)
		broken += min(seen.broken, 1)
		if seen.trees > 0 && seen.broken == 0 {
			whole++
		}
		if t.Failed() {
			t.Fatalf("mutation %d of %s", i, s.name)
		}
	}
	t.Logf("%d mutations of %d seeds: %d gave a tree (%.0f %%), %d of them with damaged branches or baskets, %d whole; heap at most %s",
		count, len(files), trees, 100*float64(trees)/float64(count), broken, whole, shardify.FormatSize(int64(peak)))
	if peak > mutationMemory {
		t.Errorf("heap of %d bytes", peak)
	}
	if count >= 1000 && trees*10 < count*3 {
		t.Errorf("only %d of %d mutations reached a tree", trees, count)
	}
}

func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// seed is a file with a tree, and the tree's record decompressed.
type seed struct {
	name   string
	file   []byte
	rec    []byte
	keyLen int
	obj    rfile.Object
}

// metadataSeeds are files of testdata, made ones, and small ones of the corpus.
func metadataSeeds(t testing.TB) []seed {
	t.Helper()
	names, _ := filepath.Glob("testdata/*.root")
	more, _ := filepath.Glob(corpus.Path("root") + "/ttree/*.root")
	var list []seed
	for _, name := range append(names, more...) {
		if st, err := os.Stat(name); err != nil || st.Size() > 120<<10 {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list = addSeed(list, filepath.Base(name), b)
	}
	m := newMaker()
	rec := record(1, 2)
	at := m.raw(rec)
	m.add("TTree", "t", func(o *out) {
		o.tree(5, 3, func(i int) {
			o.branch(branch{name: string(rune('a' + i)), leaf: plainLeaf, write: 1, end: 5, bytes: []int{len(rec), 0}, first: []int64{0, 2}, seek: []int64{at, 0},
				baskets: func(o *out, i int) {
					if i == 0 {
						o.i32(0)
					} else {
						embeddedInts(o, 3, 4, 5)
					}
				}})
		})
	})
	return addSeed(list, "made", m.file())
}

func addSeed(list []seed, name string, file []byte) []seed {
	f, err := rfile.Open(bytes.NewReader(file), int64(len(file)), name)
	if err != nil {
		return list
	}
	for _, o := range f.Trees() {
		if rec, h, err := f.Object(o.Key); err == nil {
			list = append(list, seed{name, file, rec, h.KeyLen, o})
		}
	}
	return list
}

// mutate changes a few places: bits, bytes, numbers, lengths, and cuts.
func mutate(rng *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(b))
		switch rng.IntN(8) {
		case 0, 1, 2:
			b[at] ^= 1 << rng.IntN(8)
		case 3:
			b[at] = byte(rng.IntN(256))
		case 4:
			values := []uint32{0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x40000000, 0x00FFFFFF, 0x80000000, uint32(rng.IntN(1 << 20))}
			if at+4 <= len(b) {
				binary.BigEndian.PutUint32(b[at:], values[rng.IntN(len(values))])
			}
		case 5: // bytes of another place
			from := rng.IntN(len(b))
			copy(b[at:min(len(b), at+rng.IntN(64))], b[from:])
		case 6:
			if at+2 <= len(b) {
				binary.BigEndian.PutUint16(b[at:], binary.BigEndian.Uint16(b[at:])+uint16(rng.IntN(9)-4))
			}
		case 7:
			if rng.IntN(8) == 0 && at > 100 {
				b = b[:at]
			}
		}
	}
	return b
}

// sightings counts what came out of damaged bytes.
type sightings struct{ trees, broken int }

func tryFile(t *testing.T, file []byte) (seen sightings) {
	f, err := rfile.Open(bytes.NewReader(file), int64(len(file)), "mutated")
	if !rightKind(t, err) {
		return seen
	}
	f.Streamers()
	for _, o := range f.Trees() {
		tree, err := Read(f, o)
		if rightKind(t, err) {
			walkTree(t, f, tree, &seen)
		}
	}
	return seen
}

func tryRecord(t *testing.T, s seed, rec []byte) (seen sightings) {
	f, err := rfile.Open(bytes.NewReader(s.file), int64(len(s.file)), s.name)
	if err != nil {
		t.Fatal(err)
	}
	if s.keyLen > len(rec) {
		return seen
	}
	p := newParser(f, s.obj, rec, s.keyLen)
	if rightKind(t, p.readTree()) {
		walkTree(t, f, p.tree, &seen)
	}
	return seen
}

// walkTree touches all of a tree and a part of its baskets.
func walkTree(t *testing.T, f *rfile.File, tree *Tree, seen *sightings) {
	seen.trees++
	if !rightKind(t, tree.Problem) {
		seen.broken++
	}
	var s Scratch
	var o []int32
	read := 0
	for _, b := range tree.All {
		describe(b)
		tree.Clusters.End(b.End/2, b.End)
		if !rightKind(t, b.Err) {
			seen.broken++
			continue
		}
		for i := 0; i < b.Baskets.Len() && read < 100; i++ {
			basket, err := b.ReadBasket(f, i, &s)
			if err == nil && !basket.Generated {
				o, err = basket.Offsets(o[:0])
			}
			if !rightKind(t, err) {
				seen.broken++
			}
			read++
		}
	}
}

// rightKind is true without an error; one that is of no kind fails the test.
func rightKind(t *testing.T, err error) bool {
	if err == nil {
		return true
	}
	if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("an error of no kind: %v", err)
	}
	return false
}

// FuzzTree opens a file and reads the metadata of all trees in it.
func FuzzTree(f *testing.F) {
	for _, s := range metadataSeeds(f) {
		if len(s.file) < 16<<10 {
			f.Add(s.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<20 {
			return
		}
		tryFile(t, file)
	})
}

// FuzzTreeRecord reads a damaged record of a tree, as it is when decompressed.
func FuzzTreeRecord(f *testing.F) {
	seeds := metadataSeeds(f)
	for i, s := range seeds {
		if len(s.rec) < 16<<10 {
			f.Add(uint16(i), s.rec)
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, rec []byte) {
		if len(rec) > 1<<20 {
			return
		}
		tryRecord(t, seeds[int(i)%len(seeds)], rec)
	})
}
