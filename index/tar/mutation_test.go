package tar

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
)

// TestMutatedTars damages tars of every form, with checksums put right: the
// linter and the walker end without a panic, and errors have a kind.
// SHARDIFY_MUTATIONS is their number.
func TestMutatedTars(t *testing.T) {
	count := 5000
	if os.Getenv("SHARDIFY_LONG") != "" {
		count = 1_000_000
	}
	if n, err := strconv.Atoi(os.Getenv("SHARDIFY_MUTATIONS")); err == nil {
		count = n
	}
	long := strings.Repeat("d", 120) + "/a.jpg"
	seeds := [][]byte{
		ours(someMembers[2:]...),
		std(t, tar.Header{Name: long, Format: tar.FormatPAX, ModTime: time.Unix(1, 5e8)}, tar.Header{Name: "b.jpg", Size: 5}),
		std(t, tar.Header{Name: long, Format: tar.FormatGNU}, tar.Header{Name: "d", Typeflag: tar.TypeDir}, tar.Header{Name: "d/b.jpg", Size: 700}),
		std(t, tar.Header{Name: long}, tar.Header{Name: "a.b", Typeflag: tar.TypeSymlink, Linkname: "b"}),
		change(ours(member{"a.jpg", "data"}, member{"a.cls", "1"}), 156, "S", true),
	}
	rng := rand.New(rand.NewPCG(7, 7))
	reached, whole := 0, 0
	for i := range count {
		b := bytes.Clone(seeds[i%len(seeds)])
		for range 1 + rng.IntN(3) {
			mutate(rng, b)
		}
		if rng.IntN(8) == 0 {
			b = b[:rng.IntN(len(b))]
		}
		counts, err := Lint(context.Background(), bytes.NewReader(b), int64(len(b)), func(p Problem) bool {
			if p.Offset < 0 || p.Offset > int64(len(b)) {
				t.Fatalf("mutation %d: problem at %d of %d bytes", i, p.Offset, len(b))
			}
			return true
		})
		if err != nil {
			t.Fatalf("mutation %d: %v", i, err)
		}
		if counts.Members > 0 {
			reached++
		}
		if _, err := walkAll(b, 4<<10); err == nil {
			whole++
		} else if !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("mutation %d: error of no kind: %v", i, err)
		}
	}
	t.Logf("%d mutated tars: in %d (%.0f %%) the linter found members, %d are still in our profile", count, reached, 100*float64(reached)/float64(count), whole)
	if count >= 1000 && reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the members", reached, count)
	}
}

func mutate(rng *rand.Rand, b []byte) {
	at := rng.IntN(len(b)/Block) * Block
	switch rng.IntN(5) {
	case 0:
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		return
	case 1:
		copy(b[at:at+Block], b[rng.IntN(len(b)/Block)*Block:])
	case 2:
		copy(b[at+sizeAt:], strconv.FormatUint(rng.Uint64()>>rng.IntN(60), 8))
	case 3:
		b[at+156] = "01257SxgLK\x00V"[rng.IntN(12)]
	default:
		b[at+rng.IntN(Block)] = byte(rng.Uint32())
	}
	if string(b[at+257:at+262]) == "ustar" {
		rehash(b, at)
	}
}
