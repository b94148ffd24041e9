package jpeg

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestPixels compares with what Pillow decoded; testdata/make.py wrote it down.
func TestPixels(t *testing.T) {
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]struct {
		RGB, Native, Half string
		Size              [2]int `json:"half_size"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	var d Decoder
	for name, w := range want {
		src, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		rgb, h, err := decoded(&d, src, Options{})
		native, _, err2 := decoded(&d, src, Options{Native: true})
		half, _, err3 := decoded(&d, src, Options{Scale: 2, Native: true})
		if err := errors.Join(err, err2, err3); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if sum(rgb) != w.RGB || sum(native) != w.Native {
			t.Errorf("%s: other pixels than Pillow's", name)
		}
		if a, b := h.Scaled(2); [2]int{a, b} != w.Size || sum(half) != w.Half {
			t.Errorf("%s: other pixels than Pillow's at half its size", name)
		}
	}
}

// TestTruncated cuts a file at every byte: an error with its place, or the whole image
// where only the end marker is cut.
func TestTruncated(t *testing.T) {
	var d Decoder
	for _, src := range seeds(t) {
		want, _, err := decoded(&d, src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for n := range src {
			got, _, err := decoded(&d, src[:n], Options{})
			if err == nil && bytes.Equal(got, want) && n >= len(src)-2 {
				continue
			}
			e := (*shardify.Error)(nil)
			if !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || e.Offset < 0 {
				t.Fatalf("%d of %d bytes: %v", n, len(src), err)
			}
		}
	}
}

// TestFilled cuts files at every byte, and takes what is left: rows in front of the end are
// those of the whole, and in files of one scan the others are grey.
func TestFilled(t *testing.T) {
	var d Decoder
	for k, src := range seeds(t) {
		want, h, err := decoded(&d, src, Options{})
		if err != nil {
			t.Fatal(err)
		}
		same, row := 0, 3*h.W
		at := bytes.Index(src, []byte{0xff, markerSOS})
		for n := at + 2 + int(src[at+3]); n <= len(src); n++ {
			got, _, err := decoded(&d, src[:n], Options{Fill: true})
			if err != nil {
				t.Fatalf("file %d, %d of %d bytes: %v", k, n, len(src), err)
			}
			if h.Progressive || h.Components == 4 {
				continue
			}
			rows := 0
			for rows < h.H && bytes.Equal(got[row*rows:row*(rows+1)], want[row*rows:row*(rows+1)]) {
				rows++
			}
			if rows < same {
				t.Fatalf("file %d, %d of %d bytes: %d rows, and %d of less", k, n, len(src), rows, same)
			}
			same = rows
			if rest := got[min(row*(rows+18), len(got)):]; len(bytes.Trim(rest, "\x80")) > 0 {
				t.Fatalf("file %d, %d of %d bytes, %d rows: what is missing is not grey", k, n, len(src), rows)
			}
		}
		if got, _, _ := decoded(&d, src, Options{Fill: true}); !bytes.Equal(got, want) || !h.Progressive && h.Components < 4 && same != h.H {
			t.Errorf("file %d: other pixels of the whole file, %d rows", k, same)
		}
	}
}

// TestManyScans: each costs time for all blocks.
func TestManyScans(t *testing.T) {
	src, err := os.ReadFile("testdata/prog420.jpg")
	if err != nil {
		t.Fatal(err)
	}
	// The first scan again and again.
	at := bytes.Index(src, []byte{0xff, markerSOS})
	end := at + 1 + bytes.Index(src[at+1:], []byte{0xff, 0xc4})
	long := append([]byte(nil), src[:end]...)
	for range 1000 {
		long = append(long, src[at:end]...)
	}
	if _, _, err := decoded(new(Decoder), append(long, src[end:]...), Options{}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a scan that repeats: %v", err)
	}
}

// TestScanLimit: 189 scans that are all allowed, of one grey block.
func TestScanLimit(t *testing.T) {
	src := []byte("\xff\xd8\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64) + "\xff\xc2\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00")
	for _, class := range []string{"\x00", "\x10"} { // one code of one bit: no value, end of block
		src = append(src, "\xff\xc4\x00\x14"+class+"\x01"+strings.Repeat("\x00", 15)+"\x00"...)
	}
	scan := func(k, bits byte) { src = append(src, 0xff, markerSOS, 0, 8, 1, 1, 0, k, k, bits, 0x7f) }
	scan(0, 0)
	count := 1
	for _, bits := range []byte{0x02, 0x21, 0x10} {
		for k := byte(1); k < 64; k++ {
			scan(k, bits)
			count++
		}
	}
	_, _, err := decoded(new(Decoder), append(src, 0xff, markerEOI), Options{})
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "128 scans") {
		t.Errorf("%d scans: %v", count, err)
	}
}

// TestGrey: the luma of files with colours, as Pillow's draft("L") gives it.
func TestGrey(t *testing.T) {
	var d Decoder
	for name, want := range map[string][3]string{
		"base420": {"d5c64b1f66eb07c7", "0216be6875d43bae", "786bd3069ff8d1c1"}, "prog420": {"688bd5a402e10c42", "705b0adf8825cf2d", "10603a22cbd09b76"}, "rst444": {"f08207d7ab8e4467", "e9977188feca5f06", "a4249fcd27bf82af"}, "grey": {"eebda4cc0d466891", "20cebf8f15d10c12", "feed3d6a9033ae19"},
	} {
		src, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		for i, scale := range []int{1, 2, 8} {
			pix, _, err := decoded(&d, src, Options{Grey: true, Scale: scale})
			if err != nil || sum(pix)[:16] != want[i] {
				t.Errorf("%s at 1/%d: other levels of grey than Pillow's: %s, %v", name, scale, sum(pix)[:16], err)
			}
		}
	}
	src, err := os.ReadFile("testdata/cmyk.jpg")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := decoded(&d, src, Options{Grey: true}); !errors.Is(err, shardify.ErrUnsupported) {
		t.Error(err)
	}
}

// peer runs a script of testdata with SHARDIFY_PILLOW, a Python that has Pillow and numpy.
// SHARDIFY_JPEGS is the number of images. each reads one from what the script writes.
func peer(t *testing.T, script string, each func(r io.Reader) error) {
	python := os.Getenv("SHARDIFY_PILLOW")
	if python == "" {
		t.Skip("SHARDIFY_PILLOW names no Python with Pillow and numpy")
	}
	n := os.Getenv("SHARDIFY_JPEGS")
	if n == "" {
		n = "300"
	}
	cmd := exec.Command(python, "testdata/"+script, n)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	images := 0
	for r := bufio.NewReader(out); ; images++ {
		if err := each(r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("image %d: %v", images, err)
		}
	}
	if err := cmd.Wait(); err != nil || images == 0 {
		t.Fatal(images, err)
	}
	t.Logf("%d images are Pillow's", images)
}

// TestAgainstPillow decodes random encodes.
func TestAgainstPillow(t *testing.T) {
	var d Decoder
	peer(t, "peer.py", func(r io.Reader) error {
		var head struct {
			Size, Scale uint32
			X, Y, W, H  uint32
			Sum         [64]byte
		}
		if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
			return err
		}
		src := make([]byte, head.Size)
		if _, err := io.ReadFull(r, src); err != nil {
			return err
		}
		o := Options{Scale: int(head.Scale), X0: int(head.X), Y0: int(head.Y), X1: int(head.X + head.W), Y1: int(head.Y + head.H)}
		p, _, err := decoded(&d, src, o)
		if err == nil && sum(p) != string(head.Sum[:]) {
			err = fmt.Errorf("%+v: other pixels than Pillow's", o)
		}
		return err
	})
}
