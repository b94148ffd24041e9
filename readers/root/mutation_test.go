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
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// seed is a file to damage.
type seed struct {
	name   string
	data   []byte
	object string
	// from is where a second, uncompressed copy of the metadata begins; damage is made
	// there. 0: anywhere.
	from int
	// columns and samples that there are, of a file with uncompressed metadata.
	columns, left int
	samples       int64
	// want is what an RNTuple holds: all of it is under checksums, so that nothing
	// else may ever be read.
	want *readertest.Content
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, errors of a kind, and no wrong value under a checksum. SHARDIFY_MUTATIONS
// is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	quick := 1000
	if race.On {
		quick = 200
	}
	all := seeds(t)
	var seen tally
	m := readertest.Mutants{Format: "root", Quick: quick, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		s := &all[rng.IntN(len(all))]
		return readertest.Mutant{Seed: s.name, Data: s.mutate(rng, all), Read: func(name string) (readertest.Walked, error) {
			return walk(name, s, &seen)
		}}
	}}
	m.Run(t)
	t.Logf("%d of them were RNTuples with the values of before; %d lost columns and %d samples without an error", seen.same, len(seen.columns), len(seen.samples))
	for _, s := range append(seen.columns, seen.samples...) {
		t.Logf("    lost: %s", s)
	}
}

// tally counts what became of damaged files that were read without an error.
type tally struct {
	same             int
	columns, samples []string
}

// plainMetadata is a file with the records of its trees and of its streamer infos once
// more at its end, uncompressed, and used from there.
func plainMetadata(file []byte, name string) (plain []byte, err error) {
	f, err := rfile.Open(bytes.NewReader(file), int64(len(file)), name)
	if err != nil {
		return nil, err
	}
	plain = bytes.Clone(file)
	move := func(rec []byte, h rfile.Header) (at, n int) {
		at, n = len(plain), h.KeyLen+h.ObjLen
		rec = bytes.Clone(rec[:n])
		binary.BigEndian.PutUint32(rec, uint32(n))
		plain = append(plain, rec...)
		return at, n
	}
	for _, o := range f.Trees() {
		rec, h, err := f.Object(o.Key)
		if err != nil {
			return nil, err
		}
		old := file[o.Key.Seek : o.Key.Seek+26] // as in the list of keys
		at, n := move(rec, h)
		for i := 0; i+26 <= len(file); i++ {
			if k := file[i : i+18]; i == int(o.Key.Seek) || !bytes.Equal(k[:4], old[:4]) || !bytes.Equal(k[6:16], old[6:16]) {
				continue
			}
			wide := binary.BigEndian.Uint16(file[i+4:]) > 1000
			if k := file[i+18:]; wide && int64(binary.BigEndian.Uint64(k)) == o.Key.Seek {
				binary.BigEndian.PutUint64(plain[i+18:], uint64(at))
			} else if !wide && int64(binary.BigEndian.Uint32(k)) == o.Key.Seek {
				binary.BigEndian.PutUint32(plain[i+18:], uint32(at))
			} else {
				continue
			}
			binary.BigEndian.PutUint32(plain[i:], uint32(n))
		}
	}
	infos, size, end := 37, 41, 12
	big := int32(binary.BigEndian.Uint32(file[4:])) >= 1000000
	if big {
		infos, size = 45, 53
	}
	seek := int64(binary.BigEndian.Uint32(file[infos:]))
	if big {
		seek = int64(binary.BigEndian.Uint64(file[infos:]))
	}
	if rec, h, err := f.Record(seek, int64(binary.BigEndian.Uint32(file[size:]))); err == nil {
		at, n := move(rec, h)
		binary.BigEndian.PutUint32(plain[size:], uint32(n))
		if big {
			binary.BigEndian.PutUint64(plain[infos:], uint64(at))
		} else {
			binary.BigEndian.PutUint32(plain[infos:], uint32(at))
		}
	}
	if big {
		binary.BigEndian.PutUint64(plain[end:], uint64(len(plain)))
	} else {
		binary.BigEndian.PutUint32(plain[end:], uint32(len(plain)))
	}
	return plain, nil
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
				src, err := openFiles(format.Options{"object": object}, nil, path)
				if err != nil {
					continue
				}
				s := seed{name: filepath.Base(path), data: b, object: object}
				all = appendPlain(t, all, s)
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

// appendPlain adds a seed with uncompressed metadata to the list, if it is a TTree that
// reads as before.
func appendPlain(t testing.TB, all []seed, s seed) []seed {
	data, err := plainMetadata(s.data, s.name)
	if err != nil || len(data) == len(s.data) {
		return all
	}
	dir := t.TempDir()
	var read [2]*loaded
	for i, b := range [][]byte{s.data, data} {
		name := filepath.Join(dir, fmt.Sprint(i, ".root"))
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if read[i], err = load(format.Options{"object": s.object, "text": "bytes"}, nil, 1<<20, name); err != nil {
			if i == 1 && read[0] != nil {
				t.Errorf("%s with uncompressed metadata: %v", s.name, err)
			}
			return all
		}
	}
	if len(read[0].cols) != len(read[1].cols) || read[0].samples != read[1].samples {
		t.Errorf("%s with uncompressed metadata: %d columns of %d samples, were %d of %d", s.name, len(read[1].cols), read[1].samples, len(read[0].cols), read[0].samples)
	}
	s.data, s.from, s.name = data, len(s.data), "plain-"+s.name
	s.columns, s.left, s.samples = len(read[1].cols), len(read[1].left), read[1].samples
	return append(all, s)
}

// walk reads a file that may be damaged.
func walk(name string, s *seed, t *tally) (readertest.Walked, error) {
	content := readertest.NewContent()
	whole, columns, samples := false, 0, int64(0)
	var left []format.Leftover
	w, err := readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		src, err := Format.Open(ctx, format.OpenArgs{Table: tableOf(name), Options: format.Options{"object": s.object}, Jobs: 1})
		if err == nil {
			left = src.(format.Reporter).Leftovers()
			whole, columns = len(left) == 0, len(src.Schema())
		}
		return src, err
	}, 32<<10, func(b *shardify.Batch) {
		samples += int64(b.Samples)
		if s.want != nil {
			content.Add(b, 0, b.Samples)
		}
	})
	if s.want != nil && w.Whole && whole {
		if err := s.want.Equal(content); err != nil {
			return w, fmt.Errorf("other values than before: %v", err)
		}
		t.same++
	}
	if s.columns > 0 && w.Whole && err == nil {
		if columns < s.columns && len(left) <= s.left {
			return w, fmt.Errorf("%d of %d columns, and no word about the others", columns, s.columns)
		}
		if columns < s.columns {
			t.columns = append(t.columns, fmt.Sprintf("%s: %d of %d columns, left out: %v", s.name, columns, s.columns, left))
		}
		if samples < s.samples {
			t.samples = append(t.samples, fmt.Sprintf("%s: %d of %d samples", s.name, samples, s.samples))
		}
	}
	return w, err
}

// mutate damages a copy of the file in one to three places.
func (s *seed) mutate(rng *rand.Rand, all []seed) []byte {
	if s.from > 0 && rng.IntN(8) > 0 {
		b := bytes.Clone(s.data)
		end := mutate(rng, all, b[s.from:])
		return b[:s.from+len(end)]
	}
	return mutate(rng, all, bytes.Clone(s.data))
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
	race.Sequential(f)
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
		if _, err := walk(name, &seed{}, &tally{}); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := tableOf(testdata("events-0.root"), testdata("events-1.root"))
	o := format.Options{"object": "Events"}
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state, Options: o})
	})
}
