package npz

import (
	"bytes"
	"context"
	"errors"
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

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	count := readertest.Mutations(t, 5000)
	m := &mutator{seeds: seeds(t), dir: t.TempDir(), Watch: readertest.Watch{Limit: mutationTime, Memory: mutationMemory}}
	stop := m.Start()
	defer stop()
	for i := range count {
		m.one(t, uint64(i))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated files from %d seeds: %d opened, %d reached the value decoder (%.0f %%), %d were read to the end; heap at most %s",
		count, len(m.seeds), m.opened, m.reached, 100*float64(m.reached)/float64(count), m.whole, shardify.FormatSize(m.Heap()))
	if count >= 1000 && m.reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the value decoder", m.reached, count)
	}
}

// seeds are the files of the corpus, if there is one, and one of each feature.
func seeds(t testing.TB) []member {
	rng := rand.New(rand.NewPCG(9, 9))
	var all []member
	for _, method := range []uint16{stored, deflated, 99} {
		z := archive(columnsOf(rng, 12, method)...)
		all = append(all, member{"all.npz", 0, z}, member{"all64.npz", 0, to64(withWideSizes(z))}, member{"small.npz", 0, small(method % 99)})
	}
	all = append(all, member{"f.npz", 0, archive(fortranOf(rng, 9, stored)...)}, member{"fd.npz", 0, archive(fortranOf(rng, 9, deflated)...)})
	for _, m := range append(columnsOf(rng, 9, 0), fortranOf(rng, 9, 0)...) {
		all = append(all, member{m.name, 0, m.data})
	}
	dir := os.Getenv("SHARDIFY_CORPUS_NPZ")
	if dir == "" {
		dir = "../../../shared/corpus/npz"
	}
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

type mutator struct {
	seeds                  []member
	dir                    string
	opened, reached, whole int
	readertest.Watch
}

// one makes input i, reads it and judges the outcome.
func (m *mutator) one(t *testing.T, i uint64) {
	m.Begin(i)
	rng := rand.New(rand.NewPCG(20, i))
	seed := m.seeds[rng.IntN(len(m.seeds))]
	b := m.mutate(rng, bytes.Clone(seed.data))
	name := filepath.Join(m.dir, "m"+filepath.Ext(seed.name))
	defer m.Judge(t, i, seed.name, b, fmt.Sprintf("npz-mutation-%d%s", i, filepath.Ext(seed.name)))
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	mode := "row"
	if rng.IntN(2) == 0 {
		mode = "file"
	}
	if err := m.read(name, mode); err != nil && !isData(err) && !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("mutation %d of %s: error of no kind: %v", i, seed.name, err)
	}
}

func (m *mutator) read(name, mode string) error {
	ctx := context.Background()
	table := &shardify.Table{Roots: []string{name}}
	table.Append(0, "", shardify.SizeUnknown, 0)
	src, err := Format.Open(ctx, shardify.OpenArgs{Table: table, Options: shardify.Options{"sample": mode}, Jobs: 1})
	if err != nil {
		return err
	}
	defer src.Close()
	m.opened++
	if err := shardify.ValidateSchema(src.Schema()); err != nil {
		return err
	}
	pool := shardify.NewPool(64 << 20)
	r, err := src.Reader(0)
	if err != nil {
		return err
	}
	run, spans := uint32(0), 0
	defer func() { r.Close() }()
	for sp, err := range src.Spans(ctx, 32<<10) {
		if err != nil {
			return err
		}
		if sp.Run != run {
			r.Close()
			if r, err = src.Reader(sp.Run); err != nil {
				return err
			}
			run = sp.Run
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
			err = b.Check()
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
	return nil
}

// mutate damages b in one to three places.
func (m *mutator) mutate(rng *rand.Rand, b []byte) []byte {
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		if len(b) == 0 {
			return b
		}
		at := m.place(rng, b)
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
			for i, v := range le.AppendUint64(nil, interesting[rng.IntN(len(interesting))])[:1<<rng.IntN(4)] {
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
			o := m.seeds[rng.IntN(len(m.seeds))].data
			k := m.place(rng, o)
			copy(b[at:], o[k:min(k+1+rng.IntN(128), len(o))])
		case 7: // cut the end off, seldom
			if rng.IntN(4) == 0 {
				b = b[:at]
			}
		}
	}
	return b
}

var interesting = []uint64{0, 1, 2, 7, 8, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 - 1, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// place is where to damage a file: anywhere, in the first header, in the
// directory, or in a later header.
func (m *mutator) place(rng *rand.Rand, b []byte) int {
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
	table := folder(f, member{"a.npz", 0, archive(columnsOf(rng, 5, 99)...)}, member{"b.npz", 0, archive(columnsOf(rng, 8, deflated)...)})
	for _, o := range []shardify.Options{nil, {"sample": "file"}} {
		src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table, Options: o})
		if err != nil {
			f.Fatal(err)
		}
		state, err := src.(shardify.Stater).State()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(state, o != nil)
	}
	f.Fuzz(func(t *testing.T, state []byte, byFile bool) {
		o := shardify.Options{}
		if byFile {
			o["sample"] = "file"
		}
		src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: table, State: append([]byte{}, state...), Options: o})
		if err != nil {
			return
		}
		defer src.Close()
		n := 0
		pool := shardify.NewPool(64 << 20)
		for sp, err := range src.Spans(context.Background(), 1<<20) {
			if n++; err != nil || n > 50 || sp.Bytes > 1<<30 {
				return
			}
			r, err := src.Reader(sp.Run)
			if err != nil {
				return
			}
			mem, _ := pool.Grant(context.Background(), sp.Bytes)
			if b, err := r.Read(context.Background(), sp, mem); err == nil && b.Check() != nil {
				t.Errorf("%+v: %v", sp, b.Check())
			}
			mem.Release()
			r.Close()
		}
	})
}
