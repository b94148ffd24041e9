package hdf5

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := seeds(t)
	m := readertest.Mutants{Format: "hdf5", Quick: 1500, Seeds: len(all), Kind: clean, Make: func(rng *rand.Rand) readertest.Mutant {
		s := all[rng.IntN(len(all))]
		b := mutate(rng, all, bytes.Clone(s.data))
		mode := []string{"auto", "axis", "file", "group", "dataset", "group-axis"}[rng.IntN(6)]
		return readertest.Mutant{Seed: s.name, Data: b, Read: func(name string) (readertest.Walked, error) { return walkAll(name, mode, 30) }}
	}}
	m.Run(t)
}

// TestMutatedAnnDataGiveErrorsOnly is the same for AnnData, as cells and as data sets.
func TestMutatedAnnDataGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	var all []seed
	for _, s := range seeds(t) {
		if strings.HasSuffix(s.name, ".h5ad") {
			all = append(all, s)
		}
	}
	for _, name := range []string{"all.h5ad", "twice.h5ad"} {
		b, err := os.ReadFile(filepath.Join("../internal/anndata/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, seed{name, b})
	}
	m := readertest.Mutants{Format: "anndata", Quick: 250, Seeds: len(all), Kind: clean, Make: func(rng *rand.Rand) readertest.Mutant {
		s := all[rng.IntN(len(all))]
		b := mutate(rng, all, bytes.Clone(s.data))
		o := []format.Options{{}, {"genes": "first"}, {"genes": "union", "gene-duplicates": "add"}}[rng.IntN(3)]
		return readertest.Mutant{Seed: s.name, Data: b, Read: func(name string) (readertest.Walked, error) {
			return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
				return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: o, Jobs: 1})
			}, 1<<10, nil)
		}}
	}}
	m.Run(t)
}

type seed struct {
	name string
	data []byte
}

// seeds are our own files and the small ones of the corpus, if there is one.
func seeds(t testing.TB) (all []seed) {
	dirs := []string{"testdata"}
	for _, dir := range append(dirs, corpus.Path("hdf5")) {
		filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if b, err := os.ReadFile(p); err == nil && len(b) < 96<<10 && sniff(b, p) && bytes.Contains(b, []byte(signature)) {
				all = append(all, seed{filepath.Base(p), b})
			}
			return nil
		})
	}
	if len(all) == 0 {
		t.Fatal("no seeds")
	}
	return all
}

// walk reads a file that may be damaged.
func walk(name, mode string) (readertest.Walked, error) {
	table := &format.Table{Roots: []string{name}}
	table.Append(0, "", format.SizeUnknown, 0)
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"sample": mode, "external": "true"}, Jobs: 1})
	}, 32<<10, nil)
}

// walkAll reads also the first data sets one by one, whatever they have in common.
func walkAll(name, mode string, most int) (readertest.Walked, error) {
	w, err := walk(name, mode)
	if err != nil && !clean(err) {
		return w, err
	}
	f, broken := openPath(name)
	if broken != nil {
		return w, err
	}
	defer f.Close()
	for k, p := range allDatasets(f) {
		if k == most {
			break
		}
		if _, err := readWhole(f, p); err == nil {
			w.Reached = true
		} else if !clean(err) {
			return w, fmt.Errorf("%s: %w", p, err)
		}
	}
	return w, err
}

// mutate damages b in one to three places.
func mutate(rng *rand.Rand, all []seed, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := placeOf(rng, b)
		switch rng.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2:
			b[at] = byte(rng.Uint32())
		case 3, 4: // a length, an address, a count
			for i, v := range le.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])[:1<<rng.IntN(4)] {
				if at+i < len(b) {
					b[at+i] = v
				}
			}
		case 5: // an address of this file
			for i, v := range le.AppendUint64(nil, uint64(rng.IntN(len(b)))) {
				if at+i < len(b) {
					b[at+i] = v
				}
			}
		case 6: // a piece of another file
			o := all[rng.IntN(len(all))].data
			k := placeOf(rng, o)
			copy(b[at:], o[k:min(k+1+rng.IntN(64), len(o))])
		case 7: // the end, seldom
			if rng.IntN(8) == 0 {
				b = b[:at]
			} else {
				b[at]++
			}
		}
		repairSums(b)
	}
	return b
}

var structures = [][]byte{[]byte("OHDR"), []byte("TREE"), []byte("SNOD"), []byte("HEAP"), []byte("GCOL"), []byte("FRHP"), []byte("BTHD"), []byte("FADB"), []byte("EAHD"), {1, 0, 0, 0}, {0x78}}

// placeOf is where to damage a file: anywhere, or behind the mark of a structure.
func placeOf(rng *rand.Rand, b []byte) int {
	at := rng.IntN(len(b))
	if rng.IntN(4) == 0 {
		return at
	}
	mark := structures[rng.IntN(len(structures))]
	if k := bytes.Index(b[at:], mark); k >= 0 {
		return min(at+k+rng.IntN(120), len(b)-1)
	}
	return at
}

// repairSums makes the checksums of object headers right again, so that damage reaches
// what they protect.
func repairSums(b []byte) {
	for at := 0; ; {
		k := bytes.Index(b[at:], []byte("OHDR"))
		if k < 0 {
			return
		}
		at += k
		if h := b[at:]; len(h) > 6 {
			n := 6
			if h[5]&0x20 != 0 {
				n += 16
			}
			if h[5]&0x10 != 0 {
				n += 4
			}
			w := 1 << (h[5] & 3)
			if len(h) >= n+w {
				size := 0
				for i := w - 1; i >= 0 && size < len(b); i-- {
					size = size<<8 | int(h[n+i])
				}
				if end := n + w + size; size < len(h) && end+4 <= len(h) {
					le.PutUint32(h[end:], codecs.Lookup3(h[:end]))
				}
			}
		}
		at += 4
	}
}

// TestEveryFlippedByteIsFoundOrHarmless flips each byte of a file whose metadata
// have checksums, except for stored values that have none: what can be read then has
// the values of before.
func TestEveryFlippedByteIsFoundOrHarmless(t *testing.T) {
	race.Sequential(t)
	good, err := os.ReadFile("testdata/rows_b.h5")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "f.h5")
	sums := func(b []byte) (map[string]string, [][2]int64) {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := openPath(name)
		if err != nil {
			return nil, nil
		}
		defer f.Close()
		out := map[string]string{}
		var raw [][2]int64
		for _, p := range allDatasets(f) {
			l, err := readWhole(f, p)
			if err != nil {
				continue
			}
			h := sha256.New()
			for i := range l.cols {
				fmt.Fprint(h, l.cols[i].Field)
				h.Write(l.cols[i].Data)
			}
			out[p] = string(h.Sum(nil))
			raw = append(raw, unchecked(l.a)...)
		}
		return out, raw
	}
	want, raw := sums(good)
	if len(want) < 10 {
		t.Fatalf("%d data sets", len(want))
	}
	step, checked := 7, 0
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
flip:
	for i := 0; i < len(good); i += step {
		for _, r := range raw {
			if int64(i) >= r[0] && int64(i) < r[1] {
				continue flip
			}
		}
		checked++
		b := bytes.Clone(good)
		b[i] ^= 1 << (i % 8)
		got, _ := sums(b)
		for p, v := range got {
			if want[p] != v {
				t.Errorf("byte %d flipped: %s has other values", i, p)
			}
		}
	}
	t.Logf("%d of %d bytes flipped", checked, len(good))
}

// unchecked are the places of stored values without a checksum.
func unchecked(a *column.Dataset) (out [][2]int64) {
	l := &a.Set.Layout
	switch {
	case l.Class == dataset.Contiguous && l.Addr != meta.Undefined:
		return [][2]int64{{l.Addr, l.Addr + a.Rows*a.RowBytes}}
	case l.Class != dataset.Chunked:
		return nil
	}
	for _, f := range a.Set.Filters {
		if f.ID == 3 { // fletcher32
			return nil
		}
	}
	table, err := a.Set.Chunks()
	if err != nil {
		return nil
	}
	table.All(func(_ int64, c dataset.Chunk) bool {
		out = append(out, [2]int64{c.Addr, c.Addr + c.Size})
		return true
	})
	return out
}

// FuzzRead reads any bytes as a file.
func FuzzRead(f *testing.F) {
	race.Sequential(f)
	for _, name := range []string{"flips_old.h5", "flips_new.h5", "rows_b.h5", "types.h5", "virtual.h5", "netcdf.nc", "pytables.h5", "cosmo_0.hdf5", "dims_nine.nc", "dims_ids.nc", "dims_astray.h5", "anndata.h5ad", "tenx.h5", "lists.h5", "lists_index.h5", "items.h5", "splits_names.h5"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "f.h5")
		repairSums(b)
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walkAll(name, "auto", 10); err != nil && !clean(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	sets := [][]string{{"rows_a.h5", "rows_b.h5"}, {"groups.h5"}, {"volume_0.h5", "volume_1.h5"}, {"anndata.h5ad", "anndata_more.h5ad"}, {"items.h5"}, {"lists.h5"}, {"lists_index.h5"}, {"items_void.h5"}, {"items_ids.h5"}}
	readertest.FuzzState(f, len(sets), func(which int, state []byte) (shardify.Source, error) {
		o := format.Options{}
		if strings.HasPrefix(sets[which][0], "items") {
			o = asItems
		}
		return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(sets[which]...), State: state, Options: o})
	})
}
