package tar

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
)

// stdHeader is the header that archive/tar writes for the same member.
func stdHeader(t testing.TB, name string, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o444, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := w.WriteHeader(h); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var headerCases = []struct {
	name string
	size int64
}{
	{"a.jpg", 0}, {"a.jpg", 1}, {"000000-000000001.x.npy", 1792}, {"d1/d.2/n0001.cls", 3}, {strings.Repeat("n", 96) + ".jpg", 7},
	{"a.b", 0o777}, {"a.b", 1 << 32}, {"~!.b", MaxMember},
}

// TestNamesBeyondASCII: archive/tar reads them as they are, and readers of the other
// forms of tar, too; it refuses to write them.
func TestNamesBeyondASCII(t *testing.T) {
	for _, name := range []string{"日本.v1/写真.jpg", "e\u0301.txt", strings.Repeat("é", 48) + ".jpg"} {
		b := make([]byte, Block)
		PutHeader(b, []byte(name), 0)
		h, err := ParseHeader(b)
		if err != nil || string(h.Name) != name {
			t.Errorf("%s: parsed %q, %v", name, h.Name, err)
		}
		std, err := tar.NewReader(bytes.NewReader(b)).Next()
		if err != nil || std.Name != name {
			t.Errorf("%s: archive/tar has %+v, %v", name, std, err)
		}
	}
	for _, name := range []string{"\xff.jpg", "caf\xc3.jpg", "a\u0085.jpg", "a\u2028.jpg"} {
		b := make([]byte, Block)
		PutHeader(b, []byte(name), 0)
		if h, err := ParseHeader(b); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: parsed %q, %v", name, h.Name, err)
		}
	}
}

// TestHeaderEqualsArchiveTar: our header is byte for byte the one of the
// standard library, by either way to make it, and parses back.
func TestHeaderEqualsArchiveTar(t *testing.T) {
	for _, c := range headerCases {
		want := stdHeader(t, c.name, c.size)
		got := bytes.Repeat([]byte{0xff}, Block)
		PutHeader(got, []byte(c.name), c.size)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: header\n%q, archive/tar has\n%q", c.name, got, want)
		}
		_, member, _ := strings.Cut(c.name[strings.LastIndexByte(c.name, '/')+1:], ".")
		key := c.name[:len(c.name)-len(member)-1]
		tail := NewTail(member)
		clear(got)
		tail.Put(got, []byte(key), Sum([]byte(key)), c.size)
		if !bytes.Equal(got, want) {
			t.Errorf("%s by its tail: header\n%q, want\n%q", c.name, got, want)
		}
		h, err := ParseHeader(got)
		if err != nil || string(h.Name) != c.name || h.Size != c.size {
			t.Errorf("%s: parsed %q of %d bytes, error %v", c.name, h.Name, h.Size, err)
		}
	}
}

func TestTarSum(t *testing.T) {
	b := make([]byte, 600)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7] = 255, 255, 255, 255, 255, 255, 255, 255
	for n := range b {
		var want uint32
		for _, c := range b[:n] {
			want += uint32(c)
		}
		if got := Sum(b[:n]); got != want {
			t.Fatalf("sum of %d bytes is %d, want %d", n, got, want)
		}
	}
}

// TestEveryHeaderFlipIsSeen: no bit of a header may change unnoticed, but those
// that make another valid header: none, since the checksum covers all.
func TestEveryHeaderFlipIsSeen(t *testing.T) {
	good := make([]byte, Block)
	PutHeader(good, []byte("d/n0001.jpg"), 4711)
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			_, err := ParseHeader(b)
			var e *shardify.Error
			if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: error %v", bit, i, err)
			}
			if e.Offset < 0 || e.Offset >= Block {
				t.Fatalf("bit %d of byte %d: reported at %d", bit, i, e.Offset)
			}
		}
	}
}

// FuzzTarHeader: what we accept, archive/tar accepts with the same name and
// size, and writing it again gives the same bytes.
func FuzzTarHeader(f *testing.F) {
	for _, c := range headerCases {
		b := make([]byte, Block)
		PutHeader(b, []byte(c.name), c.size)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ParseHeader(b)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		again := make([]byte, Block)
		PutHeader(again, h.Name, h.Size)
		if !bytes.Equal(again, b[:Block]) {
			t.Fatalf("written again: %q, was %q", again, b)
		}
		std, err := tar.NewReader(bytes.NewReader(b[:Block])).Next()
		if err != nil || std.Name != string(h.Name) || std.Size != h.Size || std.Format != tar.FormatUSTAR && isASCII(h.Name) || std.Typeflag != tar.TypeReg && !strings.HasSuffix(std.Name, "/") {
			t.Fatalf("archive/tar reads %+v, error %v; we read %q of %d bytes", std, err, h.Name, h.Size)
		}
	})
}

// isASCII matters as archive/tar names no form of headers that are not.
func isASCII(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x80 })
}

// member is a file in a test's tar.
type member struct{ name, data string }

// ours makes a tar in our profile.
func ours(members ...member) []byte {
	var b []byte
	for _, m := range members {
		h := make([]byte, Block)
		PutHeader(h, []byte(m.name), int64(len(m.data)))
		b = append(append(append(b, h...), m.data...), make([]byte, Pad(int64(len(m.data))))...)
	}
	return append(b, make([]byte, End)...)
}

var someMembers = []member{
	{"a.cls", "1"}, {"a.jpg", strings.Repeat("x", 70000)}, {"b.cls", ""}, {"b.jpg", strings.Repeat("y", 512)}, {"c.cls", "22"}, {"c.jpg", strings.Repeat("z", 511)},
}

// walkAll walks a whole tar and returns its members.
func walkAll(b []byte, buf int) ([]member, error) {
	var w Window
	w.Reset(bytes.NewReader(b), int64(len(b)), make([]byte, buf))
	end, err := CheckEnd(&w)
	if err != nil {
		return nil, err
	}
	walk := Walker{Window: &w}
	walk.Part(0, end)
	var all []member
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		name := string(e.Name)
		data := make([]byte, e.Size)
		if err := w.ReadAt(data, e.Data()); err != nil {
			return all, err
		}
		if e.End() != e.Offset+Block+(e.Size+511)/512*512 {
			return all, errors.New("wrong end")
		}
		all = append(all, member{name, string(data)})
	}
}

func TestWalkerReadsOurTars(t *testing.T) {
	b := ours(someMembers...)
	for _, buf := range []int{4 << 10, 64 << 10, 1 << 20} {
		got, err := walkAll(b, buf)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(someMembers) {
			t.Fatalf("%d members, want %d", len(got), len(someMembers))
		}
		for i := range got {
			if got[i] != someMembers[i] {
				t.Errorf("member %d is %s of %d bytes, want %s of %d", i, got[i].name, len(got[i].data), someMembers[i].name, len(someMembers[i].data))
			}
		}
	}
}

// TestWalkerSeesEveryFlip: each byte of the tar that is no data is checked, and
// no cut is taken for an end.
func TestWalkerSeesEveryFlip(t *testing.T) {
	small := []member{{"a.cls", "1"}, {"a.jpg", strings.Repeat("x", 600)}, {"b.cls", ""}, {"b.jpg", strings.Repeat("y", 512)}}
	good := ours(small...)
	inData := func(i int) bool {
		at := 0
		for _, m := range small {
			at += Block
			if i >= at && i < at+len(m.data) {
				return true
			}
			at += len(m.data) + int(Pad(int64(len(m.data))))
		}
		return false
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x10
		if _, err := walkAll(b, 4<<10); (err == nil) != inData(i) || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("byte %d flipped, data: %v, error: %v", i, inData(i), err)
		}
	}
	for n := range good {
		if _, err := walkAll(good[:n], 4<<10); !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	if _, err := walkAll(append(bytes.Clone(good), make([]byte, Block)...), 4<<10); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a third end block: %v", err)
	}
}

// FuzzTarWalk: what our walker accepts, archive/tar reads as the same members.
func FuzzTarWalk(f *testing.F) {
	f.Add(ours(someMembers[2:]...))
	f.Add(ours())
	f.Add(ours(member{"a.b", "1"}, member{"a.b", "2"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := walkAll(b, 4<<10)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		r := tar.NewReader(bytes.NewReader(b))
		for i := range got {
			h, err := r.Next()
			if err != nil {
				t.Fatalf("archive/tar member %d: %v", i, err)
			}
			data, err := io.ReadAll(r)
			if err != nil || h.Name != got[i].name || !strings.HasSuffix(h.Name, "/") && string(data) != got[i].data {
				t.Fatalf("archive/tar member %d is %s of %d bytes, error %v; ours %s of %d", i, h.Name, len(data), err, got[i].name, len(got[i].data))
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("archive/tar goes on: %v", err)
		}
	})
}

// TestWindowReadsOnce: neighbouring small reads share system calls, and far
// jumps do not read what is between.
func TestWindowReadsOnce(t *testing.T) {
	b := make([]byte, 10<<20)
	for _, c := range []struct {
		name             string
		step, n          int
		maxCalls, maxSum int
	}{
		{"neighbours", 1 << 10, 512, 40, 11 << 20},
		{"far distances", 100 << 10, 512, 110, 110 * minStep},
	} {
		r := &countingReader{r: bytes.NewReader(b)}
		var w Window
		w.Reset(r, int64(len(b)), make([]byte, 1<<20))
		for at := 0; at+c.n <= len(b); at += c.step {
			if _, err := w.Bytes(int64(at), c.n); err != nil {
				t.Fatal(err)
			}
		}
		if r.calls > c.maxCalls || r.bytes > c.maxSum {
			t.Errorf("%s: %d calls for %d bytes, want at most %d and %d", c.name, r.calls, r.bytes, c.maxCalls, c.maxSum)
		}
	}
}

type countingReader struct {
	r            io.ReaderAt
	calls, bytes int
}

func (c *countingReader) ReadAt(b []byte, at int64) (int, error) {
	c.calls++
	c.bytes += len(b)
	return c.r.ReadAt(b, at)
}

func TestTarIndex(t *testing.T) {
	offsets := []int64{0, 1024, 4096, 5120}
	var b []byte
	for _, o := range offsets {
		b = AppendIndex(b, o)
	}
	const size = 5120 + End
	got, err := ParseIndex(b, 3, size)
	if err != nil || len(got) != 4 || got[2] != 4096 {
		t.Fatalf("%v, error %v", got, err)
	}
	if empty, err := ParseIndex(make([]byte, 8), 0, End); err != nil || len(empty) != 1 {
		t.Errorf("no samples: %v, error %v", empty, err)
	}
	part := make([]int64, 2)
	if err := DecodeIndex(part, b[8:24], 1, 3, size); err != nil || part[1] != 4096 {
		t.Errorf("part %v, error %v", part, err)
	}
	// Every flip of a bit leaves an index that is refused, or it moves a border by whole
	// blocks within its neighbours, which only the tar can show.
	for i := range b {
		for bit := range 8 {
			bad := bytes.Clone(b)
			bad[i] ^= 1 << bit
			got, err := ParseIndex(bad, 3, size)
			if err == nil && (i < 8 || i >= 24 || got[1] <= got[0] || got[2] <= got[1] || got[3] <= got[2]) {
				t.Errorf("bit %d of byte %d: %v", bit, i, got)
			}
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	for _, samples := range []int64{2, 4, -1, 1 << 61, 1<<63 - 1} {
		if _, err := ParseIndex(b, samples, size); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%d samples: %v", samples, err)
		}
	}
}

// FuzzTarIndex: what is accepted, written again, gives the same bytes.
func FuzzTarIndex(f *testing.F) {
	f.Add(AppendIndex(AppendIndex(AppendIndex(nil, 0), 1024), 4096), int64(2), int64(4096+End))
	f.Add(make([]byte, 8), int64(0), int64(End))
	f.Add([]byte(nil), int64(-1), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, samples, tarBytes int64) {
		offsets, err := ParseIndex(b, samples, tarBytes)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		var again []byte
		for i, o := range offsets {
			if again = AppendIndex(again, o); i > 0 && o <= offsets[i-1] {
				t.Fatalf("offsets %v do not rise", offsets)
			}
		}
		if !bytes.Equal(again, b) || offsets[0] != 0 || offsets[len(offsets)-1] != tarBytes-End || int64(len(offsets)) != samples+1 {
			t.Fatalf("offsets %v of %d samples in %d bytes", offsets, samples, tarBytes)
		}
	})
}

// TestParseTarHeaderLeavesTheBlockOnTheStack: a walk over headers costs no heap.
func TestParseTarHeaderLeavesTheBlockOnTheStack(t *testing.T) {
	name := []byte("cats/0001.jpg")
	var sum int64
	n := testing.AllocsPerRun(100, func() {
		var block [Block]byte
		PutHeader(block[:], name, 4711)
		h, err := ParseHeader(block[:])
		if err != nil {
			t.Fatal(err)
		}
		sum += h.Size + int64(len(h.Name))
	})
	if n > 0 || sum == 0 {
		t.Errorf("%.0f allocations a header", n)
	}
}
