package entries

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/tests/corpus"
)

// basketSeed is a basket and how it is read.
type basketSeed struct {
	name    string
	r       *Reading
	basket  ttree.Basket
	lengths Lengths
}

// basketSeeds are the first baskets of every kind of branch that is at hand.
func basketSeeds(t testing.TB) []basketSeed {
	var files []string
	for _, name := range []string{"uproot-stl_containers", "uproot-small-evnt-tree-fullsplit", "uproot-small-evnt-tree-nosplit", "uproot-HZZ-objects", "leaves",
		"uproot-issue-214", "uproot-issue513", "uproot-small-dy-nooffsets", "uproot-vectorVectorDouble", "std-containers-split00", "uproot-double32-float16", "std-map-split1"} {
		dir := corpus.Path("root")
		files = append(files, filepath.Join(dir, "ttree", name+".root"))
	}
	for _, pattern := range []string{"../ttree/testdata/*.root", "../../testdata/*.root"} { // where the corpus is absent
		own, _ := filepath.Glob(pattern)
		files = append(files, own...)
	}
	var all []basketSeed
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f, err := rfile.Open(bytes.NewReader(raw), int64(len(raw)), filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range f.Trees() {
			if tree, err := ttree.Read(f, o); err == nil {
				for _, r := range Interpret(tree, f.Streamers()) {
					all = seedOf(all, f, r)
				}
			}
		}
	}
	return all
}

func seedOf(all []basketSeed, f *rfile.File, r *Reading) []basketSeed {
	if r.layout == layoutNone || r.Branch.Baskets.Len() == 0 {
		return all
	}
	b, err := r.Branch.ReadBasket(f, 0, &ttree.Scratch{})
	if err != nil || b.Entries == 0 || len(b.Data) > 1<<14 {
		return all
	}
	s := basketSeed{name: f.Name() + " " + r.Branch.Path, r: r, basket: b}
	if s.lengths, err = r.lengths(f, b.First, b.First+int64(b.Entries)); err != nil {
		return all
	}
	return append(all, s)
}

// read decodes a basket with some of its bytes changed.
func (s *basketSeed) read(rng *rand.Rand, mem *shardify.Arena) error {
	b := s.basket
	b.Data = bytes.Clone(b.Data)
	b.Raw = bytes.Clone(b.Raw)
	for range 1 + rng.IntN(3) {
		to := b.Data
		if len(b.Raw) > 0 && rng.IntN(4) == 0 {
			to = b.Raw
		}
		if len(to) == 0 {
			continue
		}
		at := rng.IntN(len(to))
		switch rng.IntN(4) {
		case 0:
			to[at] ^= 1 << rng.IntN(8)
		case 1:
			to[at] = byte(rng.Uint32())
		case 2:
			v := []uint32{0, 1, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0x40000000, 0x40004000, uint32(len(to))}
			copy(to[at:], binary.BigEndian.AppendUint32(nil, v[rng.IntN(len(v))]))
		case 3:
			b.Data = b.Data[:rng.IntN(len(b.Data)+1)]
		}
	}
	lengths := s.lengths
	if lengths.Lists != nil && rng.IntN(4) == 0 {
		counts := make([]int64, len(lengths.Lists)-1)
		for i := range counts {
			counts[i] = rng.Int64N(1 << rng.IntN(31))
		}
		lengths.Lists = make([]int64, len(counts)+1)
		if !Sum(lengths.Lists, counts) {
			return nil
		}
	}
	if lengths.Each != nil && rng.IntN(4) == 0 {
		lengths.Each = lengths.Each[:rng.IntN(len(lengths.Each)+1)]
	}
	want := make([]bool, len(s.r.Columns))
	for i := range want {
		want[i] = s.r.Columns[i].Unreadable == ""
	}
	d := NewDecoder(s.r)
	d.Begin(b.First, b.First+int64(b.Entries), want, 1, lengths, mem)
	if err := d.Basket(&b); err != nil {
		return err
	}
	for i, w := range want {
		if !w {
			continue
		}
		c := &s.r.Columns[i]
		col := shardify.Column{Field: shardify.Field{Name: "x", DType: c.DType, Shape: c.Shape, Levels: c.Levels}}
		if err := d.Finish(i, &col); err != nil {
			return err
		}
		batch := shardify.Batch{Samples: b.Entries, Columns: []shardify.Column{col}}
		if err := batch.Check(); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			return err
		}
	}
	return nil
}

// TestMutatedBasketsGiveErrorsOnly decodes damaged baskets: no panic, little memory,
// errors of a kind, and columns that are consistent. SHARDIFY_MUTATIONS is their
// number.
func TestMutatedBasketsGiveErrorsOnly(t *testing.T) {
	count := 20_000
	if underRace {
		count = 2000
	}
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
	seeds := basketSeeds(t)
	if len(seeds) == 0 {
		t.Fatal("no baskets at hand")
	}
	pool := shardify.NewPool(1 << 20)
	whole := 0
	for i := range count {
		rng := rand.New(rand.NewPCG(31, uint64(i)))
		s := &seeds[rng.IntN(len(seeds))]
		mem := pool.Overdraft()
		err := s.read(rng, mem)
		if n := mem.Used(); n > 64<<20 {
			t.Fatalf("mutation %d of %s: %s of columns", i, s.name, shardify.FormatSize(n))
		}
		mem.Release()
		if err == nil {
			whole++
		} else if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatalf("mutation %d of %s: error of no kind: %v", i, s.name, err)
		}
	}
	t.Logf("%d mutated baskets of %d branches: %d decoded, the others refused", count, len(seeds), whole)
}

// FuzzBasket decodes any bytes as the entries of any branch at hand.
func FuzzBasket(f *testing.F) {
	seeds := basketSeeds(f)
	for i := 0; i < len(seeds); i += 7 {
		f.Add(uint16(i), seeds[i].basket.Data, seeds[i].basket.Raw)
	}
	f.Fuzz(func(t *testing.T, which uint16, data, raw []byte) {
		s := seeds[int(which)%len(seeds)]
		s.basket.Data = data
		if s.basket.Width == 0 && !s.basket.Generated {
			s.basket.Entries = min(s.basket.Entries, len(raw)/4)
			s.basket.Raw = raw[:4*s.basket.Entries]
			if s.lengths.Lists != nil {
				s.lengths.Lists = s.lengths.Lists[:s.basket.Entries+1]
			}
		}
		mem := shardify.NewPool(1 << 20).Overdraft()
		if err := s.read(rand.New(rand.NewPCG(0, 0)), mem); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: error of no kind: %v", s.name, err)
		}
	})
}
