package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/lmdb"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

var filled = format.Options{format.NullItems.Name: "fill"}

func openAtoms(f format.Input, name string, columns []string, state []byte) (shardify.Source, error) {
	if columns == nil {
		columns = []string{"!tags"}
	}
	return f.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(name), Columns: columns, State: state, Options: filled, Jobs: 2})
}

func TestAtomsConformance(t *testing.T) {
	name := filepath.Join(corpus.Dir(t, "atoms"), "small.db")
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return openAtoms(Format, name, columns, state)
	})
}

// TestAtomsNeedNoOption: a database that lacks nothing is read as it is, in both forms.
func TestAtomsNeedNoOption(t *testing.T) {
	for name, f := range map[string]format.Input{"atoms.db": Format, "atoms.aselmdb": lmdb.Format} {
		path := filepath.Join("..", "testdata", "mutate", name)
		src, err := f.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(path), Jobs: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, err := readertest.Load(src, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := shardify.View[float64](all.ByName["energy"].Data); !slices.Equal(got, []float64{-.25, -1.25, -2.25, -4.25, -5.25, -6.25, -7.25, -8.25}) {
			t.Errorf("%s: energies %v", name, got)
		}
		src.Close()
	}
}

// TestColumnsOfAtomsAreNotLost: a column that databases of ASE do not have is named, and one less than rows have
// values is damage: all behind it would be read as their neighbours.
func TestColumnsOfAtomsAreNotLost(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "mutate", "atoms.db"))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"forces BLOB": "forcec BLOB", "BLOB,\n    magmoms": "BLOB\xff\xff    magmoms"} {
		b := bytes.Replace(data, []byte(from), []byte(to), 1)
		if len(b) != len(data) || bytes.Equal(b, data) {
			t.Fatal(from)
		}
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(readertest.Put(t, "a.db", string(b))), Jobs: 1})
		if err != nil {
			if from == "forces BLOB" || !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%q: %v", to, err)
			}
			continue
		}
		if left := src.(format.Reporter).Leftovers(); !slices.ContainsFunc(left, func(l format.Leftover) bool { return l.Name == "forcec" && l.Unreadable }) {
			t.Errorf("%q: left out %v", to, left)
		}
		src.Close()
	}
}

// TestAtomsAreThoseOfASE: positions, forces, cells and energies of both databases of the corpus.
func TestAtomsAreThoseOfASE(t *testing.T) {
	for name, f := range map[string]format.Input{"small.db": Format, "small.aselmdb": lmdb.Format} {
		path := filepath.Join(corpus.Dir(t, "atoms"), name)
		text, err := os.ReadFile(path + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Rows []map[string]json.RawMessage }
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		src, err := openAtoms(f, path, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		row, checked := 0, 0
		readertest.Each(t, src, readertest.Spans(t, src, 1<<10), func(b *shardify.Batch) {
			for k := range b.Samples {
				for i := range b.Columns {
					c := &b.Columns[i]
					in := map[string]string{"pos": "positions", "Lattice": "cell", "forces": "forces", "momenta": "momenta", "initial_magmoms": "initial_magmoms", "stress": "stress", "pbc": "pbc"}[c.Name]
					var a struct{ SHA256 string }
					if raw := want.Rows[row][in]; raw == nil || json.Unmarshal(raw, &a) != nil {
						continue
					}
					lo, hi := int64(k), int64(k)+1
					if c.Levels > 0 {
						lo, hi = c.Offsets[0][k], c.Offsets[0][k+1]
					}
					n := int64(c.ElemBytes())
					sum := sha256.Sum256(c.Data[lo*n : hi*n])
					if checked++; hex.EncodeToString(sum[:]) != a.SHA256 {
						t.Errorf("%s: row %d: %s is another", name, row, c.Name)
					}
				}
				row++
			}
		})
		if src.Close(); row != len(want.Rows) || checked < 4*row {
			t.Errorf("%s: %d rows, %d arrays checked; want %d rows", name, row, checked, len(want.Rows))
		}
	}
}

// TestTheTableOfAtomsCanBeRead: as the table that it is.
func TestTheTableOfAtomsCanBeRead(t *testing.T) {
	src, err := openFiles("systems", nil, filepath.Join(corpus.Dir(t, "atoms"), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	names := ""
	for _, f := range src.Schema() {
		names += f.Name + " "
	}
	if want := "unique_id "; !bytes.Contains([]byte(names), []byte(want)) {
		t.Errorf("fields %s, no %s", names, want)
	}
}

// TestMutatedAtomsGiveErrorsOnly reads damaged databases. SHARDIFY_MUTATIONS is their number.
func TestMutatedAtomsGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	seed, err := os.ReadFile(filepath.Join(corpus.Dir(t, "atoms"), "small.db"))
	if err != nil {
		t.Fatal(err)
	}
	m := readertest.Mutants{Format: "sqlite", Quick: 100, Seeds: 1, Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		data := bytes.Clone(seed)
		for range 1 + rng.IntN(3) {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
		return readertest.Mutant{Seed: "a.db", Data: data, Read: func(name string) (readertest.Walked, error) {
			return readertest.Walk(func(context.Context) (shardify.Source, error) { return openAtoms(Format, name, nil, nil) }, 1<<12, nil)
		}}
	}}
	m.Run(t)
}
