package npz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/zips"
	"github.com/shardify/shardify/tests/race"
)

// A byte of the payload flipped must be found whatever way the rows are read:
// in place, scattered, decoded; as a whole or in parts.
func TestFlippedValuesAreFound(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(13, 14))
	for _, fortran := range []bool{false, true} {
		good := archive(member{"x.npy", zips.Stored, npyBytes("<f4", fortran, []int{300, 20}, random(rng, 24000))})
		for _, target := range []int64{1000, 1 << 40} {
			for _, at := range []int{300, 12000, 24000} {
				name := t.TempDir() + "/a.npz"
				writeFile(t, name, patch(good, at, good[at]^4))
				_, err := load([]string{name}, nil, nil, target)
				if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "crc32") {
					t.Errorf("fortran %v, spans of %d bytes, byte %d: error %v", fortran, target, at, err)
				}
			}
		}
	}
}

// What follows the end of a deflate stream within its member is damage, though
// all values and their sum are right.
func TestBytesBehindADeflateStreamAreFound(t *testing.T) {
	z := small(zips.Deflated)
	first := int(le.Uint32(z[len(z)-endBytes+16:]))
	packed, local := int(le.Uint32(z[first+20:])), int(le.Uint32(z[first+42:]))
	data := local + localBytes + len("x.npy") + int(le.Uint16(z[local+28:]))
	out := append(bytes.Clone(z[:data+packed]), 1, 2, 3)
	out = append(out, z[data+packed:]...)
	first += 3
	le.PutUint32(out[first+20:], uint32(packed+3))
	second := first + bytes.Index(out[first+4:], []byte(dirSig)) + 4
	le.PutUint32(out[second+42:], le.Uint32(out[second+42:])+3)
	le.PutUint32(out[len(out)-endBytes+16:], uint32(first))
	_, err := loadBytes(t.TempDir(), "a.npz", out, nil, nil)
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "compressed data end after") {
		t.Errorf("error %v", err)
	}
}

// Spans of a run come in order, but a reader asked otherwise still reads right.
func TestRunBackwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	table := folder(t, member{"a.npz", 0, archive(columnsOf(rng, 60, 99)...)})
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	spans := readertest.Spans(t, src, 20000)
	var want []*readertest.Content
	keep := func(b *shardify.Batch) {
		c := readertest.NewContent()
		c.Add(b, 0, b.Samples)
		want = append(want, c)
	}
	readertest.Each(t, src, spans, keep)
	forward := want
	want = nil
	slices.Reverse(spans)
	readertest.Each(t, src, spans, keep)
	for i := range spans {
		if err := forward[len(spans)-1-i].Equal(want[i]); err != nil {
			t.Errorf("%+v: %v", spans[i], err)
		}
	}
}

// Plans may cut a span of a run, for a limit on samples.
func TestSpansOfARunMayBeCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	table := folder(t, member{"a.npz", 0, archive(fortranOf(rng, 50, zips.Deflated)...)})
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	spans := readertest.Spans(t, src, 1)
	if len(spans) != 1 || spans[0].Run == 0 {
		t.Fatalf("spans %+v, want one of a run", spans)
	}
	a, b := spans[0], spans[0]
	a.Hi, b.Lo = 17, 17
	got := readertest.NewContent()
	readertest.Each(t, src, []shardify.Span{a, b}, func(b *shardify.Batch) { got.Add(b, 0, b.Samples) })
	if err := readertest.ReadAll(t, src, 1).Equal(got); err != nil {
		t.Error(err)
	}
}

// dying is a context that is cancelled at the n-th look.
type dying struct {
	context.Context
	left int
}

func (d *dying) Err() error {
	if d.left--; d.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelInTheMiddleNeverGivesAShortBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	n := 150_000
	table := folder(t, member{"a.npz", 0, archive(
		member{"x.npy", zips.Stored, npyBytes("<f4", false, []int{n}, random(rng, 4*n))},
		member{"f.npy", zips.Stored, npyBytes("<f4", true, []int{n, 2}, random(rng, 8*n))},
		member{"s.npy", zips.Deflated, npyBytes("|S3", false, []int{n}, random(rng, 3*n))})})
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 30)
	sp := readertest.Spans(t, src, 1<<40)[0]
	r, err := src.Reader(sp.Run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for k := 0; ; k++ {
		mem, _ := pool.Grant(context.Background(), sp.Bytes)
		b, err := r.Read(&dying{context.Background(), k}, sp, mem)
		if err == nil {
			if err := b.Check(); err != nil || b.Samples != n {
				t.Errorf("after %d looks: %d samples, %v", k, b.Samples, err)
			}
			mem.Release()
			if k < 7 {
				t.Errorf("Read looks at its context only %d times for %d bytes", k, sp.Bytes)
			}
			return
		}
		if b != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at look %d: batch %v, error %v", k, b != nil, err)
		}
		mem.Release()
	}
}

// reversed turns an array in Fortran order.
func reversed(rows int, inner []int64, size int) *turning {
	r := region{part: &part{flags: inFortran}, item: &npy.Type{Size: size}, rows: int64(rows), inner: inner}
	return r.turning(rows)
}

func TestReverseAxes(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(19, 20))
	for _, c := range []struct {
		rows  int
		inner []int64
	}{{1, []int64{1}}, {5, []int64{3}}, {37, []int64{2, 3}}, {1000, []int64{17}}, {40, []int64{4, 1, 3, 2}}, {20, []int64{50, 60}}} {
		for _, size := range []int{1, 2, 3, 4, 8, 16, 23} {
			dims := append([]int64{int64(c.rows)}, c.inner...)
			n := int64(size)
			for _, d := range dims {
				n *= d
			}
			mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), 2*n)
			src, dst := mem.Alloc(int(n)), mem.Alloc(int(n))
			copy(src, random(rng, int(n)))
			reversed(c.rows, c.inner, size).run(dst, src)
			if err := checkReversed(dst, src, dims, size); err != nil {
				t.Errorf("%v of %d bytes: %v", dims, size, err)
			}
			mem.Release()
		}
	}
}

// checkReversed compares element by element, by the definition of both orders.
func checkReversed(dst, src []byte, dims []int64, size int) error {
	index := make([]int64, len(dims))
	for at := 0; at < len(dst); at += size {
		from, stride := int64(0), int64(1)
		for k, i := range index {
			from += i * stride
			stride *= dims[k]
		}
		if !bytes.Equal(dst[at:at+size], src[from*int64(size):][:size]) {
			return fmt.Errorf("element %v differs", index)
		}
		for k := len(dims) - 1; k >= 0; k-- {
			if index[k]++; index[k] < dims[k] {
				break
			}
			index[k] = 0
		}
	}
	return nil
}

// A compressed array in Fortran order has to be held whole; a gigantic one is
// refused before anything is read.
func TestGiganticFortranArrayIsRefused(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(21, 22))
	rows := 135_000_000
	head := npyBytes("<f4", true, []int{rows, 2}, nil)
	var noise []byte // enough to make the promised size possible
	for len(noise) < 1100<<10 {
		noise = le.AppendUint64(noise, rng.Uint64())
	}
	z := archive(member{"x.npy", zips.Deflated, append(bytes.Clone(head), noise...)})
	first := int(le.Uint32(z[len(z)-endBytes+16:]))
	le.PutUint32(z[first+24:], uint32(len(head)+8*rows))
	_, err := loadBytes(t.TempDir(), "a.npz", z, nil, nil)
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "in Fortran order: 1.0 GiB") {
		t.Errorf("error %v", err)
	}
}

// Each compressed column that is read in part holds a decoder; a file of very
// many must not hold as many.
func TestManyCompressedColumnsAreReadOneAfterAnother(t *testing.T) {
	var members []member
	for i := range maxStreams + 1 {
		members = append(members, member{fmt.Sprintf("c%03d.npy", i), zips.Deflated, zeros("<f4", 100)})
	}
	for n, want := range map[int]int{maxStreams: 100, maxStreams + 1: 1} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: folder(t, npz("a.npz", members[:n]...))})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(readertest.Spans(t, src, 1)); got != want {
			t.Errorf("%d columns: %d spans, want %d", n, got, want)
		}
	}
}
