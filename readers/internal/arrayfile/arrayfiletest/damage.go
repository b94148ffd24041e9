package arrayfiletest

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// Kind is a format whose readers are tested: files of testdata, and what a sample may be.
type Kind struct {
	format.Input
	Samples []string // values of --sample
	Seeds   []string
}

func (k *Kind) seeds(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, name := range k.Seeds {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// Conform runs the suite of all readers on copies of files, for each value of --sample.
func (k *Kind) Conform(t *testing.T, sample string, names ...string) {
	t.Helper()
	var files []string
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, readertest.Put(t, name, string(b)))
	}
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return k.open(context.Background(), sample, columns, state, files...)
	})
}

func (k *Kind) open(ctx context.Context, sample string, columns []string, state []byte, names ...string) (shardify.Source, error) {
	o := format.Options{}
	if sample != "" {
		o["sample"] = sample
	}
	return k.Input.Open(ctx, format.OpenArgs{Table: readertest.TableOf(names...), Columns: columns, State: state, Options: o, Jobs: 1})
}

// walk reads a file that may be damaged in every way that there is.
func (k *Kind) walk(name string) (w readertest.Walked, err error) {
	for _, sample := range append(slices.Clone(k.Samples), "") {
		w, err = readertest.Walk(func(ctx context.Context) (shardify.Source, error) { return k.open(ctx, sample, nil, nil, name) }, 1<<10, nil)
		if err != nil && !isKind(err) {
			return w, err
		}
	}
	return w, err
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// Mutants reads damaged files: the places that matter are in the first bytes.
func (k *Kind) Mutants(t *testing.T, header int) {
	all := k.seeds(t)
	m := readertest.Mutants{Format: k.Name, Quick: 1000, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		i := rng.IntN(len(all))
		b := slices.Clone(all[i])
		for range 1 + rng.IntN(2) {
			switch at := rng.IntN(min(len(b), header)); rng.IntN(8) {
			case 0, 1:
				b[at] ^= 1 << rng.IntN(8)
			case 2:
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			case 3, 4, 5: // a number of the header
				x := binary.LittleEndian.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])
				if rng.IntN(2) == 0 {
					slices.Reverse(x)
				}
				n := 1 << (1 + rng.IntN(3))
				copy(b[at/2*2:], x[:n])
			case 6:
				b = b[:rng.IntN(len(b))+1]
			default:
				copy(b[at:], b[rng.IntN(len(b)):])
			}
		}
		return readertest.Mutant{Seed: k.Seeds[i], Data: b, Read: k.walk}
	}}
	m.Run(t)
}

// Fuzz reads files from the first byte to the last value.
func (k *Kind) Fuzz(f *testing.F) {
	for _, b := range k.seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := k.walk(readertest.Put(t, "a"+filepath.Ext(k.Seeds[0]), string(b))); err != nil && !isKind(err) {
			t.Error(err)
		}
	})
}
