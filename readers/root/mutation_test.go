package root

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/corpus"
	"github.com/shardify/shardify/readers/readertest"
)

// seed is a file to damage.
type seed struct {
	name   string
	data   []byte
	object string
	// want is what an RNTuple holds: all of it is under checksums, so that nothing
	// else may ever be read.
	want *readertest.Content
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, errors of a kind, and no wrong value under a checksum. SHARDIFY_MUTATIONS
// is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	quick := 1000
	if underRace {
		quick = 200
	}
	all := seeds(t)
	same := 0
	m := readertest.Mutants{Format: "root", Quick: quick, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		s := &all[rng.IntN(len(all))]
		return readertest.Mutant{Seed: s.name, Data: mutate(rng, all, bytes.Clone(s.data)), Read: func(name string) (readertest.Walked, error) {
			return walk(name, s, &same)
		}}
	}}
	m.Run(t)
	t.Logf("%d of them were RNTuples with the values of before", same)
}

// maxSeed keeps seeds small: a flipped bit should mean something.
const maxSeed = 72 << 10

// seeds are the files beside the tests and the small ones of the corpus, one for
// each of their trees.
func seeds(t testing.TB) []seed {
	var all []seed
	dir := corpus.Path("root")
	for _, root := range []string{"testdata", dir} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".root" {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil || len(b) > maxSeed {
				return nil
			}
			for _, object := range []string{"", "Events", "E", "tree"} {
				src, err := openFiles(shardify.Options{"object": object}, nil, path)
				if err != nil {
					continue
				}
				s := seed{name: filepath.Base(path), data: b, object: object}
				// What uproot wrote, beside the tests, has no checksums of pages.
				if root != "testdata" && strings.Contains(src.(*source).Describe()[0], "RNTuple") {
					s.want = readertest.ReadAll(t, src, 1<<20)
				}
				src.Close()
				all = append(all, s)
				break
			}
			return nil
		})
	}
	return all
}

// walk reads a file that may be damaged. same counts those that hold what they held.
func walk(name string, s *seed, same *int) (readertest.Walked, error) {
	content := readertest.NewContent()
	whole := false
	w, err := readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		src, err := Format.Open(ctx, shardify.OpenArgs{Table: tableOf(name), Options: shardify.Options{"object": s.object}, Jobs: 1})
		if err == nil {
			whole = len(src.(shardify.Reporter).Leftovers()) == 0
		}
		return src, err
	}, 32<<10, func(b *shardify.Batch) {
		if s.want != nil {
			content.Add(b, 0, b.Samples)
		}
	})
	if s.want != nil && w.Whole && whole {
		if err := s.want.Equal(content); err != nil {
			return w, fmt.Errorf("other values than before: %v", err)
		}
		*same++
	}
	return w, err
}

// mutate damages b in one to three places.
func mutate(rng *rand.Rand, all []seed, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := rng.IntN(len(b))
		if rng.IntN(3) == 0 { // near a key, or the name of something
			if k := bytes.Index(b[at:], []byte("T")); k >= 0 {
				at = min(at+max(k-rng.IntN(40), 0), len(b)-1)
			}
		}
		switch rng.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2:
			b[at] = byte(rng.Uint32())
		case 3, 4: // a length field
			v := binary.BigEndian.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])
			copy(b[at:], v[8-1<<rng.IntN(4):])
		case 5: // a piece of another file
			o := all[rng.IntN(len(all))].data
			k := rng.IntN(len(o))
			copy(b[at:], o[k:min(k+1+rng.IntN(128), len(o))])
		case 6: // one place as another
			k := rng.IntN(len(b))
			copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(64), len(b))]))
		case 7: // cut the end off, seldom
			if rng.IntN(6) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	for _, s := range seeds(f) {
		if len(s.data) < 16<<10 {
			f.Add(s.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.root")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walk(name, &seed{}, nil); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := tableOf(testdata("events-0.root"), testdata("events-1.root"))
	o := shardify.Options{"object": "Events"}
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), shardify.OpenArgs{Table: table, State: state, Options: o})
	})
}
