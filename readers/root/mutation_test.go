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
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
)

const (
	mutationMemory = 512 << 20
	mutationTime   = 20 * time.Second
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
	count := 1000
	if underRace {
		count = 200
	}
	count = readertest.Mutations(t, count)
	m := &mutator{seeds: seeds(t), dir: t.TempDir(), Watch: readertest.Watch{Limit: mutationTime, Memory: mutationMemory}}
	stop := m.Start()
	defer stop()
	for i := range count {
		m.one(t, uint64(i))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated files from %d seeds: %d opened, %d reached the value decoder (%.0f %%), %d were read to the end, %d of them RNTuples with the values of before; heap at most %s",
		count, len(m.seeds), m.opened, m.reached, 100*float64(m.reached)/float64(count), m.whole, m.same, shardify.FormatSize(m.Heap()))
	if count >= 200 && m.reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the value decoder", m.reached, count)
	}
}

// maxSeed keeps seeds small: a flipped bit should mean something.
const maxSeed = 72 << 10

// seeds are the files beside the tests and the small ones of the corpus, one for
// each of their trees.
func seeds(t testing.TB) []seed {
	var all []seed
	dir := os.Getenv("SHARDIFY_CORPUS_ROOT")
	if dir == "" {
		dir = "../../../shared/corpus/root"
	}
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

type mutator struct {
	seeds                        []seed
	dir                          string
	opened, reached, whole, same int
	readertest.Watch
}

// one makes input i, reads it and judges the outcome.
func (m *mutator) one(t *testing.T, i uint64) {
	m.Begin(i)
	rng := rand.New(rand.NewPCG(21, i))
	s := &m.seeds[rng.IntN(len(m.seeds))]
	b := m.mutate(rng, bytes.Clone(s.data))
	name := filepath.Join(m.dir, "m.root")
	defer m.Judge(t, i, s.name, b, fmt.Sprintf("root-mutation-%d.root", i))
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := m.read(name, s); err != nil && !isKind(err) {
		t.Errorf("mutation %d of %s: error of no kind: %v", i, s.name, err)
	}
}

func (m *mutator) read(name string, s *seed) error {
	ctx := context.Background()
	src, err := Format.Open(ctx, shardify.OpenArgs{Table: tableOf(name), Options: shardify.Options{"object": s.object}, Jobs: 1})
	if err != nil {
		return err
	}
	defer src.Close()
	m.opened++
	if err := shardify.ValidateSchema(src.Schema()); err != nil {
		return err
	}
	r, err := src.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	pool := shardify.NewPool(64 << 20)
	content := readertest.NewContent()
	spans := 0
	for sp, err := range src.Spans(ctx, 32<<10) {
		if err != nil {
			return err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		if spans++; spans == 1 {
			m.reached++
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = b.Match(src.Schema())
		}
		if err == nil && s.want != nil {
			content.Add(b, 0, b.Samples)
		}
		mem.Release()
		if err != nil {
			return err
		}
		if spans == 200 { // a legal file of much that is compressed well
			return nil
		}
	}
	m.whole++
	if s.want != nil && len(src.(shardify.Reporter).Leftovers()) == 0 {
		if err := s.want.Equal(content); err != nil {
			return fmt.Errorf("other values than before: %v", err)
		}
		m.same++
	}
	return nil
}

// mutate damages b in one to three places.
func (m *mutator) mutate(rng *rand.Rand, b []byte) []byte {
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
			v := binary.BigEndian.AppendUint64(nil, interesting[rng.IntN(len(interesting))])
			copy(b[at:], v[8-1<<rng.IntN(4):])
		case 5: // a piece of another file
			o := m.seeds[rng.IntN(len(m.seeds))].data
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

var interesting = []uint64{0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 0x40000000, 1<<62 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}

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
		m := &mutator{}
		if err := m.read(name, &seed{}); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := tableOf(testdata("events-0.root"), testdata("events-1.root"))
	o := shardify.Options{"object": "Events"}
	src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table, Options: o})
	if err != nil {
		f.Fatal(err)
	}
	state, err := src.(shardify.Stater).State()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Fuzz(func(t *testing.T, state []byte) {
		src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table, State: append([]byte{}, state...), Options: o})
		if err != nil {
			return
		}
		defer src.Close()
		r, err := src.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		pool := shardify.NewPool(64 << 20)
		n := 0
		for sp, err := range src.Spans(context.Background(), 1<<20) {
			if n++; err != nil || n > 50 || sp.Bytes > 1<<30 {
				return
			}
			mem, _ := pool.Grant(context.Background(), sp.Bytes)
			if b, err := r.Read(context.Background(), sp, mem); err == nil && b.Check() != nil {
				t.Errorf("%+v: %v", sp, b.Check())
			}
			mem.Release()
		}
	})
}
