package png

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	stdpng "image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify"
)

func chunk(name string, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, name...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

var z = zlib.NewWriter(nil)

// file is a PNG of random bytes under random filters.
func file(rng *rand.Rand, kind byte, depth, w, h int, laced byte, rest ...[]byte) []byte {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(w)), uint32(h))
	out := append([]byte(Signature), chunk("IHDR", append(head, byte(depth), kind, 0, 0, laced))...)
	for _, b := range rest {
		out = append(out, b...)
	}
	var packed bytes.Buffer
	z.Reset(&packed)
	d := Decoder{head: Header{W: w, H: h}, depth: depth, kind: kind, laced: laced == 1}
	for _, p := range d.passes() {
		pw, ph := d.shape(p)
		row := make([]byte, 1+d.rowBytes(pw))
		for range ph {
			for i := range row {
				row[i] = byte(rng.Uint32N(256) >> rng.Uint32N(8))
			}
			row[0] = byte(rng.Uint32N(5))
			_, _ = z.Write(row)
		}
	}
	z.Close()
	at := rng.IntN(packed.Len() + 1)
	out = append(append(out, chunk("IDAT", packed.Bytes()[:at])...), chunk("IDAT", packed.Bytes()[at:])...)
	return append(out, chunk("IEND", nil)...)
}

// random is a file of any kind that is decoded.
func random(rng *rand.Rand) []byte {
	kind := []byte{grey, colour, indexed, greyAlpha, rgba}[rng.IntN(5)]
	depth := 8
	if channels[kind] == 1 {
		depth = 1 << rng.IntN(4)
	}
	if kind != indexed && rng.IntN(4) == 0 {
		depth = 16
	}
	var rest [][]byte
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	if kind == indexed {
		n := 1 + rng.IntN(1<<depth)
		rest = append(rest, chunk("PLTE", noise(3*n)))
		if rng.IntN(2) == 0 {
			rest = append(rest, chunk("tRNS", noise(1+rng.IntN(n))))
		}
	} else if kind < greyAlpha && rng.IntN(3) == 0 {
		key := make([]byte, 2*channels[kind])
		for i := 1; i < len(key); i += 2 {
			key[i] = byte(rng.Uint32N(1 << min(depth, 8)))
		}
		rest = append(rest, chunk("tRNS", key))
	}
	return file(rng, kind, depth, 1+rng.IntN(40), 1+rng.IntN(12), byte(rng.IntN(3)/2), append(rest, chunk("teXt", []byte("hello")))...)
}

// TestDecode compares with image/png, on black as image/draw shows it and without
// transparency.
func TestDecode(t *testing.T) {
	defer func(was bool) { haveAVX = was }(haveAVX)
	testDecode(t)
	haveAVX = false
	testDecode(t)
}

func testDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var d Decoder
	for i := range 1000 {
		src := random(rng)
		m, err := stdpng.Decode(bytes.NewReader(src))
		if err != nil {
			t.Fatal(err)
		}
		h, err := d.Open(src)
		if err != nil || image.Pt(h.W, h.H) != m.Bounds().Size() {
			t.Fatalf("image %d: %+v, %v", i, h, err)
		}
		onto := image.NewRGBA(m.Bounds())
		draw.Draw(onto, m.Bounds(), m, image.Point{}, draw.Src)
		var black, plain, greys []byte
		for y := range h.H {
			for x := range h.W {
				p := onto.RGBAAt(x, y)
				black = append(black, p.R, p.G, p.B)
				c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				switch n := m.At(x, y).(type) {
				case color.NRGBA:
					c = n
				case color.NRGBA64: // whose colours are lost by converting
					c = color.NRGBA{R: byte(n.R >> 8), G: byte(n.G >> 8), B: byte(n.B >> 8)}
				}
				plain, greys = append(plain, c.R, c.G, c.B), append(greys, c.R)
			}
		}
		got := make([]byte, len(black))
		if err := d.Decode(got, Options{Black: true}); err != nil || !bytes.Equal(got, black) {
			t.Fatalf("image %d, kind %d, %d bits, %+v: other pixels on black: %v", i, d.kind, d.depth, h, err)
		}
		if err := d.Decode(got, Options{}); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("image %d, kind %d, %d bits, %+v: other pixels: %v", i, d.kind, d.depth, h, err)
		}
		deep := make([]byte, 2*h.W*h.H)
		for p := range h.W * h.H {
			if n, ok := m.At(p%h.W, p/h.W).(color.Gray16); ok {
				binary.LittleEndian.PutUint16(deep[2*p:], n.Y)
			}
		}
		all := make([]byte, len(deep))
		wide, oneChannel := Deep(src)
		if err := d.Decode(all, Options{Deep: true}); (wide && oneChannel) != (err == nil) || wide != (d.depth == 16) || err == nil && len(d.key) == 0 && !bytes.Equal(all, deep) {
			t.Fatalf("image %d, kind %d, %d bits, %+v: other values of 16 bits: %v", i, d.kind, d.depth, h, err)
		}
		one := make([]byte, len(greys))
		if err := d.Decode(one, Options{Grey: true}); h.Grey != (err == nil) || h.Grey && !bytes.Equal(one, greys) {
			t.Fatalf("image %d, kind %d, %d bits, %+v: other levels of grey: %v", i, d.kind, d.depth, h, err)
		}
	}
}

// TestRefused: files that are damaged, or have an unknown chunk.
func TestRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var d Decoder
	good := file(rng, colour, 8, 5, 5, 0)
	for name, c := range map[string]struct {
		src  []byte
		want error
	}{
		"huge":       {good[:0], shardify.ErrCorrupt},
		"no palette": {file(rng, indexed, 8, 5, 5, 0), shardify.ErrCorrupt},
		"checksum":   {append(bytes.Clone(good[:len(good)-1]), 0), shardify.ErrCorrupt},
		"no end":     {good[:len(good)-12], shardify.ErrCorrupt},
		"critical":   {file(rng, colour, 8, 5, 5, 0, chunk("ABCD", nil)), shardify.ErrUnsupported},
	} {
		if _, err := d.Open(c.src); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, how := range [][]byte{{8, 2, 0, 0, 0}, {16, 2, 0, 0, 0}, {8, 2, 0, 0, 1}} {
		bomb := append([]byte(Signature), chunk("IHDR", append([]byte{0, 1, 0, 0, 0, 1, 0, 0}, how...))...)
		bomb = append(append(bomb, chunk("IDAT", make([]byte, 100))...), chunk("IEND", nil)...)
		if _, err := d.Open(bomb); !errors.Is(err, shardify.ErrCorrupt) {
			t.Error(err)
		}
	}
}

// TestMutatedFiles damages files, and corrects their checksums: no panic.
func TestMutatedFiles(t *testing.T) {
	count := 1000
	if n, err := strconv.Atoi(os.Getenv("SHARDIFY_MUTATIONS")); err == nil {
		count = n
	}
	rng := rand.New(rand.NewPCG(4, 4))
	var d Decoder
	good := 0
	for range count {
		src := random(rng)
		for range 1 + rng.IntN(3) {
			src[len(Signature)+rng.IntN(len(src)-len(Signature))] = byte(rng.Uint32() >> rng.Uint32N(32))
		}
		if rng.IntN(4) == 0 {
			src = src[:rng.IntN(len(src))]
		}
		for at := len(Signature); at+12 <= len(src); {
			n := int(binary.BigEndian.Uint32(src[at:]))
			if n > len(src)-at-12 {
				break
			}
			binary.BigEndian.PutUint32(src[at+8+n:], crc32.ChecksumIEEE(src[at+4:at+8+n]))
			at += 12 + n
		}
		h, err := d.Open(src)
		if err == nil && h.W < 1<<12 && h.H < 1<<12 {
			err = d.Decode(make([]byte, 3*h.W*h.H), Options{Black: rng.IntN(2) == 0})
		}
		if err == nil {
			good++
		} else if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d files were decoded", good, count)
}

// BenchmarkFolder decodes the PNGs of SHARDIFY_JPEG_DIR, as bench/jpeg.py does with Pillow.
func BenchmarkFolder(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("SHARDIFY_JPEG_DIR"), "*.png"))
	if os.Getenv("SHARDIFY_JPEG_DIR") == "" || len(files) == 0 {
		b.Skip("SHARDIFY_JPEG_DIR names no folder of PNGs")
	}
	var images [][]byte
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		images = append(images, src)
	}
	var d Decoder
	var pix []byte
	pixels := 0
	for b.Loop() {
		for _, src := range images {
			h, err := d.Open(src)
			if err != nil {
				b.Fatal(err)
			}
			if n := 3 * h.W * h.H; cap(pix) < n {
				pix = make([]byte, n)
			}
			if err := d.Decode(pix[:3*h.W*h.H], Options{}); err != nil {
				b.Fatal(err)
			}
			pixels += h.W * h.H
		}
	}
	b.ReportMetric(float64(pixels)/1e6/b.Elapsed().Seconds(), "Mpx/s")
}

// TestKernels compares rows of every length, and looks at what is behind them.
func TestKernels(t *testing.T) {
	defer func(was bool) { haveAVX = was }(haveAVX)
	if !haveAVX {
		t.Skip("no kernels for this processor")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for n := 1; n < 150; n++ {
		src, above := make([]byte, n), make([]byte, n)
		for i := range src {
			src[i], above[i] = byte(rng.Uint32()), byte(rng.Uint32())
		}
		for _, step := range []int{1, 2, 3, 4, 6, 8} {
			for filter := byte(0); filter < 5; filter++ {
				var rows [2][]byte
				for i := range rows {
					haveAVX = i == 0
					rows[i] = bytes.Repeat([]byte{9}, n+8)
					unfilter(filter, rows[i][:n], src, above, step)
				}
				if !bytes.Equal(rows[0], rows[1]) || rows[1][n] != 9 {
					t.Fatalf("filter %d, %d bytes, step %d: %x, want %x", filter, n, step, rows[0], rows[1])
				}
			}
		}
	}
}

// FuzzDecode: what both decode looks the same as by image/png, and damage is ErrCorrupt.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(random(rng))
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, src []byte) {
		h, err := d.Open(src)
		if err == nil && h.W*h.H > 1<<20 {
			return
		}
		got := make([]byte, 3*h.W*h.H)
		if err == nil {
			err = d.Decode(got, Options{Black: true})
		}
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		m, err := stdpng.Decode(bytes.NewReader(src))
		if err != nil {
			return // it refuses bytes behind the pixels
		}
		onto := image.NewRGBA(m.Bounds())
		draw.Draw(onto, m.Bounds(), m, image.Point{}, draw.Src)
		for i := range got {
			if want := onto.Pix[i/3*4+i%3]; got[i] != want {
				t.Fatalf("byte %d is %d, want %d", i, got[i], want)
			}
		}
	})
}

// TestThinImages: a file of some KB may have millions of rows of a pixel each.
func TestThinImages(t *testing.T) {
	const h = 1 << 22
	var packed bytes.Buffer
	z.Reset(&packed)
	_, _ = z.Write(make([]byte, 2*h))
	z.Close()
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1), h)
	src := append([]byte(Signature), chunk("IHDR", append(head, 8, grey, 0, 0, 0))...)
	src = append(append(src, chunk("IDAT", packed.Bytes())...), chunk("IEND", nil)...)
	var d Decoder
	if _, err := d.Open(src); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 3*h)
	begun := time.Now()
	if err := d.Decode(dst, Options{Black: true}); err != nil || time.Since(begun) > 20*time.Second {
		t.Errorf("%d bytes: %v, %v", len(src), time.Since(begun), err)
	}
}
