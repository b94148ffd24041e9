package zarr

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// files are those of a store, by their paths.
type files map[string][]byte

func filesOf(t testing.TB, dir string) files {
	t.Helper()
	all := files{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		p, err := os.ReadFile(name)
		all[filepath.ToSlash(rel)] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// archived is the store as a zip file.
func (all files) archived() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(all[name])
		}
		if err != nil {
			panic(err)
		}
	}
	z.Close()
	return b.Bytes()
}

// seedStores are stores of both formats: what others wrote, and what is made here.
func seedStores(t testing.TB) []files {
	var out []files
	for _, name := range []string{"era5_shards_v3.zarr", "v2_consolidated.zarr"} {
		out = append(out, filesOf(t, filepath.Join("testdata", name)))
	}
	for version := 2; version <= 3; version++ {
		dir := writeStore(t, version, weather(rand.New(rand.NewPCG(11, 12)), 9, version))
		if version == 3 {
			consolidate(t, dir)
		}
		out = append(out, filesOf(t, dir))
	}
	return out
}

func walkArchive(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		table := &format.Table{Roots: []string{name}}
		table.Append(0, "", format.SizeUnknown, 0)
		return Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"sample": "axis", "missing-chunks": "fill", "missing": "intersect"}, Jobs: 1})
	}, 1<<10, nil)
}

// TestMutatedStoresGiveErrorsOnly damages metadata, chunks and archives: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedStoresGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	mutants(t, "zarr", 1500, seedStores(t), walkArchive)
}

// TestMutatedAnnDataGiveErrorsOnly is the same for AnnData.
func TestMutatedAnnDataGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	mutants(t, "anndata", 120, annData(t), walkCells)
}

// annData are stores of one AnnData.
func annData(t *testing.T) (seeds []files) {
	for _, name := range []string{"all_v2.zarr.zip", "all_v3.zarr.zip"} {
		z, err := zip.OpenReader(filepath.Join("../internal/anndata/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		all := files{}
		for _, f := range z.File {
			if all[f.Name], err = fs.ReadFile(z, f.Name); err != nil {
				t.Fatal(err)
			}
		}
		seeds = append(seeds, all)
	}
	return seeds
}

func walkCells(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: format.Options{"genes": "first", "missing-chunks": "fill"}, Jobs: 1})
	}, 1<<10, nil)
}

// TestFrameThatIsADamagedArray: what was a group of AnnData is an array whose metadata cannot be read.
func TestFrameThatIsADamagedArray(t *testing.T) {
	for _, group := range []string{"obs", "var", "X"} {
		all := annData(t)[0]
		all[group+"/.zarray"] = []byte(`{"zarr_format": 2}`)
		delete(all, ".zmetadata")
		name := filepath.Join(t.TempDir(), "m.zip")
		if err := os.WriteFile(name, all.archived(), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walkCells(name); err == nil || !isKind(err) {
			t.Errorf("%s: %v", group, err)
		}
	}
}

func mutants(t *testing.T, format string, quick int, seeds []files, read func(name string) (readertest.Walked, error)) {
	m := readertest.Mutants{Format: format, Quick: quick, Seeds: len(seeds), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		all := maps.Clone(seeds[rng.IntN(len(seeds))])
		names := slices.Sorted(maps.Keys(all))
		for range 1 + rng.IntN(3) {
			name := names[rng.IntN(len(names))]
			b := bytes.Clone(all[name])
			switch at := rng.IntN(len(b) + 1); rng.IntN(7) {
			case 0, 1:
				if at < len(b) {
					b[at] ^= 1 << rng.IntN(8)
				}
			case 2:
				if at < len(b) {
					b[at] = "0123456789[]{},.-\"en"[rng.IntN(20)]
				}
			case 3:
				b = b[:at]
			case 4: // the content of another file
				b = bytes.Clone(all[names[rng.IntN(len(names))]])
			case 5: // a digit more
				b = slices.Insert(b, at, byte('0'+rng.IntN(10)))
			case 6:
				delete(all, name)
				continue
			}
			all[name] = b
		}
		data := all.archived()
		if rng.IntN(8) == 0 {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		return readertest.Mutant{Seed: "m.zip", Data: data, Read: read}
	}}
	m.Run(t)
}

// FuzzStore reads archives from the first byte to the last value.
func FuzzStore(f *testing.F) {
	race.Sequential(f)
	for _, all := range seedStores(f) {
		f.Add(all.archived())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.zip")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walkArchive(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact stores.
func FuzzState(f *testing.F) {
	table := tableOf(f, filepath.Join("testdata", "era5_shards_v3.zarr"))
	readertest.FuzzState(f, 2, func(which int, state []byte) (shardify.Source, error) {
		o := format.Options{"sample": []string{"axis", "chunk"}[which]}
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state, Options: o})
	})
}
