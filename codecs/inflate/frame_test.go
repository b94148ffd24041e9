package inflate

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

func zlibbed(tb testing.TB, p []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zlib.NewWriter(&buf)
	if _, err := w.Write(p); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func gzipped(tb testing.TB, p []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Name, w.Comment, w.Extra = "jets.bin", "a comment", []byte("extra")
	if _, err := w.Write(p); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// decoding is one way to decode a whole input.
type decoding struct {
	name   string
	decode func(src []byte) (data []byte, used int64, err error)
}

// wholeAndStreamed are the two ways to decode frames of kind fr.
func wholeAndStreamed(fr frame) []decoding {
	return []decoding{
		{"whole", func(src []byte) ([]byte, int64, error) {
			dst := make([]byte, 1<<20)
			n, used, err := pooled(fr, dst, src)
			return dst[:n], int64(used), err
		}},
		{"streamed", func(src []byte) ([]byte, int64, error) {
			var r Reader
			r.reset(fr, bytes.NewReader(src))
			data, err := io.ReadAll(&r)
			return data, r.InputBytes(), err
		}},
	}
}

func TestZlib(t *testing.T) {
	data := energies(100_000)
	good := zlibbed(t, data)
	edit := func(f func(p []byte) []byte) []byte { return f(bytes.Clone(good)) }
	header := func(cmf, flg byte) []byte {
		flg += byte(31 - (int(cmf)<<8+int(flg))%31)
		return edit(func(p []byte) []byte { p[0], p[1] = cmf, flg; return p })
	}
	for _, c := range []struct {
		name string
		src  []byte
		want error
		what string
	}{
		{"good", good, nil, ""},
		{"empty", nil, io.ErrUnexpectedEOF, "zlib header"},
		{"half a header", good[:1], io.ErrUnexpectedEOF, "zlib header"},
		{"half the data", good[:len(good)/2], io.ErrUnexpectedEOF, "deflate data"},
		{"no trailer", good[:len(good)-4], io.ErrUnexpectedEOF, "zlib trailer"},
		{"half a trailer", good[:len(good)-1], io.ErrUnexpectedEOF, "zlib trailer"},
		{"trailer changed", edit(func(p []byte) []byte { p[len(p)-1]++; return p }), ErrCorrupt, "Adler-32: trailer says"},
		{"header check", edit(func(p []byte) []byte { p[1]++; return p }), ErrCorrupt, "zlib header check"},
		{"method 7", header(0x77, 0), ErrUnsupported, "zlib method 7"},
		{"window 2^16", header(0x88, 0), ErrCorrupt, "zlib window size"},
		{"dictionary", header(0x78, 0x20), ErrUnsupported, "zlib preset dictionary"},
	} {
		for _, d := range wholeAndStreamed(zlibFrame) {
			got, used, err := d.decode(c.src)
			expect(t, c.name+", "+d.name, err, c.want, c.what)
			if c.want == nil && (used != int64(len(c.src)) || !bytes.Equal(got, data)) {
				t.Errorf("%s, %s: used %d of %d bytes, or other data", c.name, d.name, used, len(c.src))
			}
		}
	}
	dst := make([]byte, len(data))
	if n, used, err := Zlib(dst, append(good, 1, 2, 3)); n != len(data) || used != len(good) || err != nil {
		t.Errorf("bytes behind: %d bytes, used %d of %d: %v", n, used, len(good), err)
	}
}

// expect checks the cause of err and the words that say what is wrong.
func expect(t *testing.T, name string, err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), what) {
		t.Errorf("%s: got %v, want %v and %q", name, err, want, what)
	}
}

// gzipMember is a member with the flags and what they announce between header
// and data.
func gzipMember(tb testing.TB, data []byte, flags byte, fields string) []byte {
	p := append([]byte{0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 5, 6}, fields...)
	if flags&gzipHeaderCRC != 0 {
		p = binary.LittleEndian.AppendUint16(p, uint16(crc32.ChecksumIEEE(p)))
	}
	p = append(p, deflated(tb, data, 6)...)
	p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(p, uint32(len(data)))
}

func TestGzip(t *testing.T) {
	data := energies(100_000)
	good := gzipped(t, data)
	edit := func(f func(p []byte)) []byte { p := bytes.Clone(good); f(p); return p }
	const fields = "\x03\x00abcname\x00comment\x00"
	all := gzipMember(t, data, 31, fields)
	badHeader := bytes.Clone(all)
	badHeader[4]++ // the time
	longName := gzipMember(t, data, gzipName, strings.Repeat("n", 3*inputSize)+"\x00")
	longExtra := gzipMember(t, data, gzipExtra, "\xff\xff"+strings.Repeat("x", 65535))
	for _, c := range []struct {
		name string
		src  []byte
		want error
		what string
	}{
		{"good", good, nil, ""},
		{"all fields", all, nil, ""},
		{"long name", longName, nil, ""},
		{"long extra field", longExtra, nil, ""},
		{"zeros behind", append(bytes.Clone(good), make([]byte, 1000)...), nil, ""},
		{"empty", nil, io.ErrUnexpectedEOF, "gzip header"},
		{"only magic", good[:2], io.ErrUnexpectedEOF, "gzip header"},
		{"half a name", all[:16], io.ErrUnexpectedEOF, "gzip header"},
		{"half the data", good[:len(good)/2], io.ErrUnexpectedEOF, "deflate data"},
		{"no trailer", good[:len(good)-8], io.ErrUnexpectedEOF, "gzip trailer"},
		{"half a trailer", good[:len(good)-3], io.ErrUnexpectedEOF, "gzip trailer"},
		{"no magic", edit(func(p []byte) { p[1]++ }), ErrCorrupt, "no gzip header"},
		{"method", edit(func(p []byte) { p[2]++ }), ErrUnsupported, "gzip method 9"},
		{"reserved flag", edit(func(p []byte) { p[3] |= 0x40 }), ErrUnsupported, "reserved gzip flags"},
		{"header CRC", badHeader, ErrCorrupt, "gzip header CRC: header says"},
		{"CRC", edit(func(p []byte) { p[len(p)-8]++ }), ErrCorrupt, "CRC-32: trailer says"},
		{"size", edit(func(p []byte) { p[len(p)-1]++ }), ErrCorrupt, "size: trailer says"},
		{"half a second member", append(bytes.Clone(good), good[:20]...), io.ErrUnexpectedEOF, "gzip header"},
		{"one byte of a second member", append(bytes.Clone(good), good[:1]...), io.ErrUnexpectedEOF, "gzip header"},
	} {
		for _, d := range wholeAndStreamed(gzipFrame) {
			got, used, err := d.decode(c.src)
			expect(t, c.name+", "+d.name, err, c.want, c.what)
			if c.want == nil && (used != int64(len(c.src)) || !bytes.Equal(got, data)) {
				t.Errorf("%s, %s: used %d of %d bytes, or other data", c.name, d.name, used, len(c.src))
			}
		}
	}
}

func TestGzipMembers(t *testing.T) {
	var src, data []byte
	for i, size := range []int{0, 1, 200_000, 5, 0, 300_000, 70_000} {
		part := kinds[i].make(size)
		src = append(src, gzipped(t, part)...)
		if i == 3 {
			src = append(src, make([]byte, 512)...)
		}
		data = append(data, part...)
	}
	for _, d := range wholeAndStreamed(gzipFrame) {
		got, used, err := d.decode(src)
		if err != nil || used != int64(len(src)) || !bytes.Equal(got, data) {
			t.Errorf("%s: %d of %d bytes, used %d of %d: %v", d.name, len(got), len(data), used, len(src), err)
		}
	}

	more := append(bytes.Clone(src), 0, 0, 'x')
	dst := make([]byte, len(data))
	if n, used, err := Gzip(dst, more); n != len(data) || used != len(src) || err != nil {
		t.Errorf("bytes behind, whole: %d of %d bytes, used %d of %d: %v", n, len(data), used, len(src), err)
	}
	var r Reader
	r.ResetGzip(bytes.NewReader(more))
	got, err := io.ReadAll(&r)
	expect(t, "bytes behind, streamed", err, ErrCorrupt, "followed by something else")
	if !bytes.Equal(got, data) {
		t.Errorf("bytes behind, streamed: %d of %d bytes, or others", len(got), len(data))
	}
	if _, _, err := Gzip(dst[:len(dst)-1], src); !errors.Is(err, ErrTooLong) {
		t.Errorf("short buffer: %v", err)
	}
}

// TestMembersDoNotShareHistory has a second member that reaches back into the first.
func TestMembersDoNotShareHistory(t *testing.T) {
	first := gzipMember(t, text(1000), 0, "")
	var w bitWriter
	w.bits(1, 1)
	w.bits(1, 2)
	w.code(fixed().widths[:], 257)
	w.bits(0, 5) // distance 1
	w.code(fixed().widths[:], endSymbol)
	w.align()
	second := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, w.p...)
	src := append(append(first, second...), make([]byte, 8)...)
	for _, d := range wholeAndStreamed(gzipFrame) {
		_, _, err := d.decode(src)
		expect(t, d.name, err, ErrCorrupt, "before the start of the data")
	}
}
