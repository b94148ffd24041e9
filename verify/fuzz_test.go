package verify

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
)

// twoSets are one small set of each format.
func twoSets(t testing.TB) []*memory.Store {
	t.Helper()
	return []*memory.Store{build(t, "mmap", small(t, "mmap"), 4), build(t, "wds", small(t, "wds"), 4)}
}

// FuzzVerify replaces a piece of one file of a sound set: whatever comes, verify
// neither panics nor finds nothing. The private folder is spoilt as well when
// there is no manifest.
func FuzzVerify(f *testing.F) {
	race.Sequential(f)
	quick(f)
	sets := twoSets(f)
	for set := range sets {
		for file := range published(sets[set]) {
			f.Add(uint8(set), uint8(file), uint16(9), uint16(3), []byte("xyz"), false)
		}
		f.Add(uint8(set), uint8(0), uint16(0), uint16(60000), []byte{}, true)
	}
	f.Fuzz(func(t *testing.T, set, file uint8, at, cut uint16, piece []byte, unfinished bool) {
		m := sets[int(set)%len(sets)].Clone()
		names := published(m)
		if unfinished {
			m.Remove("shardify.json")
			names = names[:0]
			for n := range m.Files() {
				names = append(names, n)
			}
			slices.Sort(names)
		}
		name := names[int(file)%len(names)]
		good := m.Files()[name]
		bad := splice(good, int(at), int(cut), piece)
		if bytes.Equal(good, bad) {
			return
		}
		m.Set(name, bad)
		sinkM, _ := sinkOf(t, "mmap")
		sinkW, _ := sinkOf(t, "wds")
		r, err := Run(context.Background(), Options{Store: m, Jobs: 1, Sinks: []format.Output{sinkM, sinkW}, Sources: []format.Input{}, Repair: len(piece) > 3})
		if err != nil {
			t.Fatal(err)
		}
		if r.Err() == nil && r.Repaired == 0 {
			t.Fatalf("%s: bytes [%d, %d) replaced by %q, and all is well", name, at, int(at)+int(cut), piece)
		}
	})
}

// splice replaces cut bytes at a place.
func splice(b []byte, at, cut int, piece []byte) []byte {
	at = min(at, len(b))
	cut = min(cut, len(b)-at)
	return slices.Concat(b[:at], piece, b[at+cut:])
}

// TestMutatedSetsAreNeverSound is the long form of FuzzVerify, by number.
func TestMutatedSetsAreNeverSound(t *testing.T) {
	race.Sequential(t)
	quick(t)
	n := 400
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" && os.Getenv("SHARDIFY_LONG") != "" {
		n, _ = strconv.Atoi(s)
	}
	sets := twoSets(t)
	r := rand.New(rand.NewPCG(1, 2))
	deep := 0 // damage behind the manifest
	for i := range n {
		m := sets[i%2].Clone()
		names := published(m)
		for range 1 + r.IntN(3) {
			name := names[r.IntN(len(names))]
			good := m.Files()[name]
			piece := make([]byte, r.IntN(20))
			for k := range piece {
				piece[k] = byte(r.Uint32())
			}
			cut := len(piece)
			if r.IntN(3) == 0 {
				cut = r.IntN(len(good) + 1)
			}
			m.Set(name, splice(good, r.IntN(len(good)+1), cut, piece))
		}
		same := true
		for _, name := range names {
			same = same && bytes.Equal(m.Files()[name], sets[i%2].Files()[name])
		}
		rep := check(t, m, func(o *Options) {
			if i%8 == 0 {
				o.Read = PartNone
			}
		})
		if !same && rep.OK() && i%8 != 0 {
			t.Fatalf("mutation %d is not found", i)
		}
		if rep.State == StateComplete {
			deep++
		}
	}
	t.Logf("%d mutated sets, none taken for sound; %d got past the manifest", n, deep)
}

// FuzzLint: files made by others.
func FuzzLint(f *testing.F) {
	for _, m := range twoSets(f) {
		for _, n := range published(m) {
			if ext := filepath.Ext(n); ext == ".tar" || ext == ".safetensors" {
				f.Add(m.Files()[n], ext == ".tar")
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, isTar bool) {
		name := filepath.Join(dir, "x.safetensors")
		if isTar {
			name = filepath.Join(dir, "x.tar")
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Lint(context.Background(), []string{name}, Options{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	})
}
