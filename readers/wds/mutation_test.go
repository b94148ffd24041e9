package wds_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// TestMutatedTarsGiveErrorsOnly reads damaged tars and indexes of unchanged
// length: no panic, no hang, memory within a few times the file, errors of a
// kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedTarsGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	count := readertest.Mutations(t, 3000)
	rng := rand.New(rand.NewPCG(4, 2))
	var m mutant
	reached, whole := 0, 0
	var slowest time.Duration
	for i := range count {
		if i%1000 == 0 {
			m.close()
			m = newMutant(t, i/1000%2 == 1)
		}
		begin := time.Now()
		err := m.read(t, rng)
		slowest = max(slowest, time.Since(begin))
		var e *shardify.Error
		switch {
		case err == nil:
			reached++
			whole++
		case !errors.Is(err, shardify.ErrCorrupt):
			t.Fatalf("mutation %d: error of no kind: %v", i, err)
		case errors.As(err, &e) && (e.Field != "" || e.Sample > 0):
			reached++
		}
	}
	m.close()
	t.Logf("%d mutated tars: %d reached the value decoder (%.0f %%), %d were read to the end; the slowest took %v",
		count, reached, 100*float64(reached)/float64(count), whole, slowest)
	if count >= 1000 && reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the value decoder", reached, count)
	}
}

// mutant is a data set of one shard that is damaged and restored in place.
type mutant struct {
	src      shardify.Source
	span     shardify.Span
	tar, idx *os.File
	good     []byte // tar, then index
	tarBytes int
}

func newMutant(t *testing.T, keyed bool) (m mutant) {
	dir, man := set(t, kinds(keyed), 4)
	var err error
	if m.src, err = open(nil, nil, dir); err != nil {
		t.Fatal(err)
	}
	m.span = readertest.Spans(t, m.src, 1<<30)[0]
	for _, f := range []struct {
		name string
		to   **os.File
	}{{man.Shards[0].Name, &m.tar}, {man.Shards[0].Files[0].Name, &m.idx}} {
		name := filepath.Join(dir, f.name)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.good = append(m.good, b...); m.tarBytes == 0 {
			m.tarBytes = len(b)
		}
		if *f.to, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *mutant) close() {
	if m.tar != nil {
		m.tar.Close()
		m.idx.Close()
	}
}

// read reads the set with a few changes.
func (m *mutant) read(t *testing.T, rng *rand.Rand) error {
	b := append([]byte(nil), m.good...)
	tarred, idx := b[:m.tarBytes], b[m.tarBytes:]
	for range 1 + rng.IntN(3) {
		mutate(rng, tarred, idx)
	}
	if _, err := m.tar.WriteAt(tarred, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.idx.WriteAt(idx, 0); err != nil {
		t.Fatal(err)
	}
	r, err := m.src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 30)
	mem, err := pool.Grant(context.Background(), m.span.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Release()
	batch, err := r.Read(context.Background(), m.span, mem)
	if used := mem.Used(); used > 8*int64(m.tarBytes)+1<<20 {
		t.Fatalf("%d bytes of memory for a tar of %d", used, m.tarBytes)
	}
	if err != nil {
		return err
	}
	return batch.Check()
}

// mutate makes one change, and gives changed headers a right checksum.
func mutate(rng *rand.Rand, tarred, idx []byte) {
	block := func() int { return rng.IntN(len(tarred)/512) * 512 }
	at := block()
	switch rng.IntN(8) {
	case 0: // any byte, checksum left wrong
		tarred[rng.IntN(len(tarred))] ^= 1 << rng.IntN(8)
		return
	case 1: // an entry of the index moves
		e := idx[rng.IntN(len(idx)/8)*8:]
		binary.LittleEndian.PutUint64(e, binary.LittleEndian.Uint64(e)+uint64(rng.IntN(9)-4)*512)
		return
	case 2: // a block is elsewhere too
		copy(tarred[at:at+512], tarred[block():])
	case 3: // a size
		copy(tarred[at+124:], fmt.Sprintf("%011o", rng.Uint64()>>(31+rng.IntN(33))))
	case 4: // a letter of the name
		tarred[at+rng.IntN(40)] = "0a.-_/\x00A"[rng.IntN(8)]
	case 5: // a byte of the data's beginning: NumPy headers, texts, classes
		tarred[at+rng.IntN(130)] = "0123456789(), \"[]\\"[rng.IntN(18)]
	case 6:
		clear(tarred[at : at+512])
	default:
		tarred[at+rng.IntN(512)] = byte(rng.Uint32())
	}
	if h := tarred[at : at+512]; string(h[257:262]) == "ustar" {
		copy(h[148:], "        ")
		copy(h[148:], fmt.Sprintf("%06o\x00", tar.Sum(h)))
	}
}
