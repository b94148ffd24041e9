package tar

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

// seeds are one tar of every form.
func seeds(t testing.TB) [][]byte {
	rng := rand.New(rand.NewPCG(9, 9))
	parts := samples(rng, "k", 6)
	long := samples(rng, strings.Repeat("folder/", 20), 4)
	ustar := pack(t, stdtar.FormatUSTAR, parts...)
	return [][]byte{ustar, pack(t, stdtar.FormatPAX, long...), pack(t, stdtar.FormatGNU, long...), v7(ustar), readertest.Gzip(ustar), readertest.Zstd(ustar)}
}

// TestMutatedTarsGiveErrorsOnly reads damaged tars: no panic, no hang, little memory,
// and errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedTarsGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	count := readertest.Mutations(t, 1500)
	all := seeds(t)
	w := readertest.Watch{Limit: 20 * time.Second, Memory: 512 << 20}
	defer w.Start()()
	name := filepath.Join(t.TempDir(), "x.tar")
	opened, read := 0, 0
	for i := range count {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		k := rng.IntN(len(all))
		b := bytes.Clone(all[k])
		for range 1 + rng.IntN(3) {
			b = damage(rng, b)
		}
		w.Begin(uint64(i))
		func() {
			defer w.Judge(t, uint64(i), fmt.Sprint("seed ", k), b, "tar-mutant")
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			o, r := try(t, name, int64(len(b)), []string{"fail", "drop", "fill"}[rng.IntN(3)])
			opened, read = opened+o, read+r
		}()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated tars: %d opened, %d were read to the end; heap at most %s", count, opened, read, shardify.FormatSize(w.Heap()))
	if count >= 1000 && opened*10 < count*2 {
		t.Errorf("only %d of %d opened", opened, count)
	}
}

// try reads all of a tar. What is wrong must have a kind.
func try(t testing.TB, name string, size int64, missing string) (opened, read int) {
	t.Helper()
	tab := &format.Table{Roots: []string{name}}
	tab.Append(0, "", size, 0)
	kind := func(err error) {
		t.Helper()
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("error of no kind: %v", err)
		}
	}
	src, err := openAll(tab, nil, nil, "missing", missing)
	if err != nil {
		kind(err)
		return 0, 0
	}
	defer src.Close()
	ctx := context.Background()
	var r shardify.Reader
	for sp, err := range src.Spans(ctx, 2000) {
		if err != nil {
			kind(err)
			return 1, 0
		}
		if r == nil {
			if r, err = src.Reader(sp.Run); err != nil {
				t.Fatal(err)
			}
			defer r.Close()
		}
		mem, err := shardify.NewPool(1<<30).Grant(ctx, sp.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(ctx, sp, mem)
		if used := mem.Used(); used > 4*sp.Bytes+1<<20 {
			t.Errorf("%d bytes of memory for a span of %d", used, sp.Bytes)
		}
		if err == nil {
			err = b.Check()
		}
		mem.Release()
		if err != nil {
			kind(err)
			return 1, 0
		}
	}
	return 1, 1
}

// damage makes one change, and mostly gives changed headers a right checksum.
func damage(rng *rand.Rand, b []byte) []byte {
	if len(b) < 1024 {
		return append(b, 0)
	}
	block := func() int { return rng.IntN(len(b)/512) * 512 }
	at := block()
	switch rng.IntN(10) {
	case 0:
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		return b
	case 1:
		return b[:rng.IntN(len(b))]
	case 2:
		copy(b[at:at+512], b[block():])
	case 3:
		copy(b[at+124:], fmt.Sprintf("%011o", rng.Uint64()>>(31+rng.IntN(33))))
	case 4:
		b[at+124] = 0x80 | byte(rng.IntN(2)*127)
	case 5:
		b[at+rng.IntN(60)] = "0a.-_/\x00A"[rng.IntN(8)]
	case 6:
		b[at+156] = "0x1LKgS75\x00"[rng.IntN(10)]
	case 7:
		b[at+rng.IntN(130)] = "0123456789(), =\"'TF\n"[rng.IntN(20)]
	case 8:
		clear(b[at : at+512])
	default:
		b[at+rng.IntN(512)] = byte(rng.Uint32())
	}
	if at+512 <= len(b) && rng.IntN(8) > 0 && (string(b[at+257:at+262]) == "ustar" || rng.IntN(2) == 0) {
		resum(b[at : at+512])
	}
	return b
}

// FuzzTar reads any bytes as a tar.
func FuzzTar(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	name := filepath.Join(f.TempDir(), "x.tar")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		try(t, name, int64(len(b)), "fill")
	})
}
