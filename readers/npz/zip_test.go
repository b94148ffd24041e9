package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/storage/zips"
	"github.com/shardify/shardify/tests/race"
)

// The records of a zip archive: their marks, and how long they are without what varies.
const (
	localBytes               = 30
	dirSig, dirBytes         = "PK\x01\x02", 46
	end64Sig, end64Bytes     = "PK\x06\x06", 56
	locatorSig, locatorBytes = "PK\x06\x07", 20
	endBytes                 = 22
	maxComment               = 1<<16 - 1
)

func small(method uint16) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	return archive(
		member{"x.npy", method, npyBytes("<f4", false, []int{6, 2}, random(rng, 48))},
		member{"y.npy", zips.Stored, npyBytes("<i2", false, []int{6}, random(rng, 12))})
}

// loadBytes reads one file from memory, by way of the disk.
func loadBytes(dir, name string, b []byte, columns []string, o format.Options) (*loaded, error) {
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, b, 0o666); err != nil {
		return nil, err
	}
	return load([]string{name}, columns, o, 20)
}

func (l *loaded) same(o *loaded) error {
	if l.samples != o.samples || fmt.Sprint(l.order) != fmt.Sprint(o.order) || l.sum() != o.sum() {
		return fmt.Errorf("%d samples of %v, want %d of %v, or other values", o.samples, o.order, l.samples, l.order)
	}
	for name, c := range l.cols {
		d := o.cols[name]
		if c.DType != d.DType || fmt.Sprint(c.Shape, c.Offsets) != fmt.Sprint(d.Shape, d.Offsets) {
			return fmt.Errorf("column %s is %v %v", name, d.Field, d.Offsets)
		}
	}
	return nil
}

func TestEveryFlippedByteIsFoundOrHarmless(t *testing.T) {
	race.Sequential(t)
	dir := t.TempDir()
	for _, method := range []uint16{zips.Stored, zips.Deflated} {
		good := small(method)
		want, err := loadBytes(dir, "a.npz", good, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, harmless := 0, 0
		for i := range good {
			for _, mask := range []byte{1, 0x80} {
				bad := bytes.Clone(good)
				bad[i] ^= mask
				got, err := loadBytes(dir, "a.npz", bad, nil, nil)
				switch {
				case err == nil && want.same(got) == nil:
					harmless++ // dates, versions, permissions, names that the local header repeats
				case err == nil && (len(got.left) > 0 || len(got.order) < len(want.order)):
					found++ // as a column left out
				case err == nil:
					t.Errorf("method %d: byte %d with %#x flipped: %v", method, i, mask, want.same(got))
				case !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema):
					t.Errorf("method %d: byte %d: error of no kind: %v", method, i, err)
				default:
					found++
				}
			}
		}
		t.Logf("method %d: %d found, %d harmless", method, found, harmless)
	}
}

func TestEveryCutIsAnError(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(5, 6))
	for name, good := range map[string][]byte{
		"stored.npz": small(zips.Stored), "deflated.npz": small(zips.Deflated),
		"a.npy": npyBytes("<f4", false, []int{20}, random(rng, 80)),
	} {
		for n := range good {
			if got, err := loadBytes(dir, name, good[:n], nil, nil); err == nil {
				t.Errorf("%s cut to %d of %d bytes: %d samples and no error", name, n, len(good), got.samples)
			}
		}
	}
}

// withComment adds an archive comment.
func withComment(b []byte, comment string) []byte {
	b = bytes.Clone(b)
	le.PutUint16(b[len(b)-2:], uint16(len(comment)))
	return append(b, comment...)
}

// to64 writes the end of the archive again with ZIP64 records.
func to64(b []byte) []byte {
	end := b[len(b)-endBytes:]
	at := uint64(len(b) - endBytes)
	e64 := append([]byte(end64Sig), make([]byte, end64Bytes-4)...)
	le.PutUint64(e64[4:], end64Bytes-12)
	le.PutUint64(e64[24:], uint64(le.Uint16(end[8:])))
	le.PutUint64(e64[32:], uint64(le.Uint16(end[10:])))
	le.PutUint64(e64[40:], uint64(le.Uint32(end[12:])))
	le.PutUint64(e64[48:], uint64(le.Uint32(end[16:])))
	loc := append([]byte(locatorSig), make([]byte, locatorBytes-4)...)
	le.PutUint64(loc[8:], at)
	le.PutUint32(loc[16:], 1)
	out := append(bytes.Clone(b[:at]), append(e64, loc...)...)
	end = bytes.Clone(end)
	copy(end[8:], bytes.Repeat([]byte{0xff}, 12))
	return append(out, end...)
}

// withWideSizes moves the sizes of the first directory entry to a ZIP64 extra
// field behind a foreign one.
func withWideSizes(b []byte) []byte {
	end := len(b) - endBytes
	at := int(le.Uint32(b[end+16:]))
	entry := bytes.Clone(b[at:end])
	name := int(le.Uint16(entry[28:]))
	extra := []byte("\xfe\xca\x03\x00abc\x01\x00\x18\x00")
	extra = le.AppendUint64(extra, uint64(le.Uint32(entry[24:])))
	extra = le.AppendUint64(extra, uint64(le.Uint32(entry[20:])))
	extra = le.AppendUint64(extra, uint64(le.Uint32(entry[42:])))
	old := int(le.Uint16(entry[30:]))
	copy(entry[20:], bytes.Repeat([]byte{0xff}, 8))
	copy(entry[42:], bytes.Repeat([]byte{0xff}, 4))
	le.PutUint16(entry[30:], uint16(len(extra)))
	rest := entry[dirBytes+name+old:]
	out := append(bytes.Clone(b[:at]), entry[:dirBytes+name]...)
	out = append(append(out, extra...), rest...)
	tail := bytes.Clone(b[end:])
	le.PutUint32(tail[12:], uint32(len(entry)-old+len(extra)))
	return append(out, tail...)
}

func TestArchivesOfAllForms(t *testing.T) {
	dir := t.TempDir()
	good := small(zips.Deflated)
	want, err := loadBytes(dir, "a.npz", good, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	junk := []byte(strings.Repeat("#!/bin/sh\n", 77))
	for name, b := range map[string][]byte{
		"comment":                    withComment(good, "hello"),
		"longest comment":            withComment(good, strings.Repeat("c", maxComment)),
		"end record in the comment":  withComment(good, string(good[len(good)-endBytes:])+"x"),
		"end record ends comment":    withComment(good, "x"+string(good[len(good)-endBytes:])),
		"leading junk":               append(bytes.Clone(junk), good...),
		"zip64":                      to64(good),
		"zip64 behind junk":          append(bytes.Clone(junk), to64(good)...),
		"zip64 sizes":                withWideSizes(good),
		"zip64 sizes and end, junk":  append(bytes.Clone(junk), to64(withWideSizes(good))...),
		"zip64 with a comment, junk": append(bytes.Clone(junk), withComment(to64(good), "hello")...),
	} {
		got, err := loadBytes(dir, "a.npz", b, nil, nil)
		if err == nil {
			err = want.same(got)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// patch overwrites bytes of a copy. Negative places count from the end.
func patch(b []byte, at int, with ...byte) []byte {
	b = bytes.Clone(b)
	if at < 0 {
		at += len(b)
	}
	copy(b[at:], with)
	return b
}

func TestArchivesRefused(t *testing.T) {
	dir := t.TempDir()
	good := small(zips.Deflated)
	first := int(le.Uint32(good[len(good)-endBytes+16:])) // directory entry of x
	local := int(le.Uint32(good[first+42:]))
	second := first + 4 + bytes.Index(good[first+4:], []byte(dirSig))
	size := good[second+20] + 30 // of y, with the data descriptor behind it
	long := npyBytes("<f4", false, []int{6, 2}, make([]byte, 49))
	short := npyBytes("<f4", false, []int{6, 2}, make([]byte, 47))
	bomb := npyBytes("<u1", false, []int{100000}, make([]byte, 100000))
	var overlap bytes.Buffer
	w := zip.NewWriter(&overlap)
	f, _ := w.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zips.Deflated, UncompressedSize64: 1 << 40, CompressedSize64: 5})
	f.Write([]byte("hello"))
	w.Close()
	for _, c := range []struct {
		name string
		b    []byte
		kind error
		want string
	}{
		{"empty", archive(), shardify.ErrUnsupported, "no arrays"},
		{"no zip", []byte("hello, world, this is no archive at all"), shardify.ErrCorrupt, "no end of a zip archive"},
		{"raw member only", archive(member{"a.txt", 0, []byte("hello")}), shardify.ErrUnsupported, "no NPY array"},
		{"x is encrypted", patch(patch(good, first+8, 9), local+6, 9), shardify.ErrUnsupported, "member is encrypted"},
		{"x is lzma", patch(patch(good, first+10, 14), local+8, 14), shardify.ErrUnsupported, "method 14 (lzma)"},
		{"method in the local header", patch(good, local+8, 0), shardify.ErrCorrupt, "local header has method 0"},
		{"name in the local header", patch(good, local+localBytes, 'q'), shardify.ErrCorrupt, `name "q.npy"`},
		{"local header elsewhere", patch(good, first+42, 1), shardify.ErrCorrupt, "no local header"},
		{"local header in the directory", patch(good, first+42, byte(first), byte(first>>8)), shardify.ErrCorrupt, "behind the zip directory"},
		{"packed size runs into the directory", patch(patch(good, second+20, size), second+24, size), shardify.ErrCorrupt, "runs into the zip directory"},
		{"more members than entries", patch(good, len(good)-endBytes+10, 3), shardify.ErrCorrupt, "3 members"},
		{"directory larger than the file", patch(good, len(good)-endBytes+12, 0xff, 0xff), shardify.ErrCorrupt, "no end of a zip archive"},
		{"array longer than the member", archive(member{"x.npy", zips.Stored, short}), shardify.ErrCorrupt, "truncated"},
		{"member longer than the array", archive(member{"x.npy", zips.Stored, long}), shardify.ErrCorrupt, "larger than its array"},
		{"deflated member longer than the array", archive(member{"x.npy", zips.Deflated, long}), shardify.ErrCorrupt, "larger than its array"},
		{"decoded size that deflate cannot reach", overlap.Bytes(), shardify.ErrCorrupt, "cannot hold"},
		{"stream longer than the directory says", forgeSize(bomb, 50000), shardify.ErrCorrupt, "larger than its array"},
	} {
		columns := []string(nil)
		if strings.HasPrefix(c.name, "x is") { // else it would be left out
			columns = []string{"x"}
		}
		_, err := loadBytes(dir, "a.npz", c.b, columns, nil)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: error %v, want ...%s...: %v", c.name, err, c.want, c.kind)
		}
	}
}

// forgeSize compresses a longer array than header and directory admit.
func forgeSize(b []byte, n int) []byte {
	lie := npyBytes("<u1", false, []int{n}, nil)
	copy(b, lie)
	z := archive(member{"x.npy", zips.Deflated, b})
	first := int(le.Uint32(z[len(z)-endBytes+16:]))
	le.PutUint32(z[first+24:], uint32(len(lie)+n))
	return z
}

func TestOverlappingMembersAreRefused(t *testing.T) {
	b := archive(member{"a.npy", zips.Stored, npyBytes("<u1", false, []int{500}, make([]byte, 500))})
	end := len(b) - endBytes
	at := int(le.Uint32(b[end+16:]))
	entry := b[at:end]
	out := bytes.Clone(b[:at])
	for range 3 {
		out = append(out, entry...)
	}
	tail := bytes.Clone(b[end:])
	le.PutUint16(tail[8:], 3)
	le.PutUint16(tail[10:], 3)
	le.PutUint32(tail[12:], uint32(3*len(entry)))
	_, err := loadBytes(t.TempDir(), "a.npz", append(out, tail...), nil, nil)
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("error %v", err)
	}
}

func FuzzDirectory(f *testing.F) {
	good := small(zips.Deflated)
	f.Add(good)
	f.Add(to64(withWideSizes(good)))
	f.Add(withComment(good, string(good[len(good)-endBytes:])))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &zips.Input{R: bytes.NewReader(b), Size: int64(len(b))}
		d, err := zips.ReadDirectory(in)
		if err != nil {
			if !members.IsData(err) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		for i := range d.Entries {
			e := &d.Entries[i]
			off, err := d.DataOffset(in, e)
			if err == nil && (off < localBytes || off+e.Packed > d.Start) {
				t.Errorf("member %q at [%d, %d) of %d bytes", e.Name, off, off+e.Packed, d.Start)
			}
		}
	})
}
