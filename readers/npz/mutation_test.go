package npz

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := seeds(t)
	kind := func(err error) bool { return members.IsData(err) || errors.Is(err, shardify.ErrSchema) }
	m := readertest.Mutants{Format: "npz", Quick: 5000, Seeds: len(all), Kind: kind, Make: func(rng *rand.Rand) readertest.Mutant {
		s := all[rng.IntN(len(all))]
		b := mutate(rng, all, bytes.Clone(s.data))
		mode := []string{"row", "file"}[rng.IntN(2)]
		axis := "auto"
		if strings.HasPrefix(s.name, "axis") {
			axis = "1"
		}
		return readertest.Mutant{Seed: s.name, Data: b, Read: func(name string) (readertest.Walked, error) { return walk(name, mode, axis) }}
	}}
	m.Run(t)
}

// seeds are the files of the corpus, if there is one, and one of each feature.
func seeds(t testing.TB) []member {
	rng := rand.New(rand.NewPCG(9, 9))
	var all []member
	for _, method := range []uint16{zips.Stored, zips.Deflated, 99} {
		z := archive(columnsOf(rng, 12, method)...)
		all = append(all, member{"all.npz", 0, z}, member{"all64.npz", 0, to64(withWideSizes(z))}, member{"small.npz", 0, small(method % 99)})
	}
	all = append(all, member{"f.npz", 0, archive(fortranOf(rng, 9, zips.Stored)...)}, member{"fd.npz", 0, archive(fortranOf(rng, 9, zips.Deflated)...)},
		member{"axis.npz", 0, archive(axesOf(rng, 9, zips.Stored)...)}, member{"axisd.npz", 0, archive(axesOf(rng, 9, zips.Deflated)...)})
	for _, m := range append(columnsOf(rng, 9, 0), fortranOf(rng, 9, 0)...) {
		all = append(all, member{m.name, 0, m.data})
	}
	dir := corpus.Path("npz")
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".np") {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 && len(b) < 128<<10 && !strings.Contains(path, "bad_") && !strings.Contains(path, "MUST_REFUSE") {
			all = append(all, member{filepath.Base(path), 0, b})
		}
		return nil
	})
	return all
}

// walk reads a file that may be damaged.
func walk(name, mode, axis string) (readertest.Walked, error) {
	table := &format.Table{Roots: []string{name}}
	table.Append(0, "", format.SizeUnknown, 0)
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"sample": mode, "axis": axis}, Jobs: 1})
	}, 32<<10, nil)
}

// mutate damages b in one to three places.
func mutate(rng *rand.Rand, all []member, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := placeOf(rng, b)
		kind := rng.IntN(8)
		if kind == 4 || kind == 5 { // shifts what follows, which archives seldom survive
			kind = rng.IntN(8)
		}
		switch kind {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2: // a length field
			for i, v := range le.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])[:1<<rng.IntN(4)] {
				if at+i < len(b) {
					b[at+i] = v
				}
			}
		case 3: // a digit of a header
			if k := bytes.IndexAny(b[at:], "0123456789"); k >= 0 {
				b[at+k] = byte('0' + rng.IntN(10))
			}
		case 4: // cut a piece out
			n := min(1+rng.IntN(64), len(b)-at)
			b = append(b[:at], b[at+n:]...)
		case 5: // double a piece
			n := min(1+rng.IntN(64), len(b)-at)
			b = append(b[:at+n], b[at:]...)
		case 6: // a piece of another file
			o := all[rng.IntN(len(all))].data
			k := placeOf(rng, o)
			copy(b[at:], o[k:min(k+1+rng.IntN(128), len(o))])
		case 7: // cut the end off, seldom
			if rng.IntN(4) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

// placeOf is where to damage a file: anywhere, in the first header, in the
// directory, or in a later header.
func placeOf(rng *rand.Rand, b []byte) int {
	switch rng.IntN(4) {
	case 0:
		return rng.IntN(min(len(b), 200))
	case 1:
		return len(b) - 1 - rng.IntN(min(len(b), 120))
	case 2:
		at := rng.IntN(len(b))
		if k := bytes.Index(b[at:], []byte("NUMPY")); k >= 0 {
			return min(at+k+rng.IntN(80), len(b)-1)
		}
	}
	return rng.IntN(len(b))
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	rng := rand.New(rand.NewPCG(11, 12))
	table := folder(f, member{"a.npz", 0, archive(columnsOf(rng, 5, 99)...)}, member{"b.npz", 0, archive(columnsOf(rng, 8, zips.Deflated)...)})
	mixed := folder(f, typesOf(rng, zips.Stored, zips.Deflated)...)
	options := []format.Options{{}, {"sample": "file"}, {}, {"sample": "file"}}
	tables := []*format.Table{table, table, mixed, mixed}
	readertest.FuzzState(f, len(options), func(which int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: tables[which], State: state, Options: options[which]})
	})
}
