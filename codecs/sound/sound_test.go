package sound

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// corpus has files of many programs, where it is there.
var corpus = filepath.Join("..", "..", "..", "..", "shared", "corpus", "science_images", "wav")

// said is what scipy and soundfile read of a file.
type said struct {
	Error  string
	Rate   int64
	Fields map[string]struct {
		DType  string
		Shape  []int64
		SHA256 string
	}
}

// TestCorpus: files of other programs have the values that scipy reads.
func TestCorpus(t *testing.T) {
	root := corpus
	names, _ := filepath.Glob(filepath.Join(root, "*.wav"))
	for _, sub := range []string{"real", "bad"} {
		more, _ := filepath.Glob(filepath.Join(root, sub, "*.wav"))
		names = append(names, more...)
	}
	if names == nil {
		t.Skip("no corpus")
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want said
		text, err := os.ReadFile(name + ".json")
		if err == nil {
			err = json.Unmarshal(text, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read("wav", file, false)
		base := filepath.Base(name)
		if read := base == "bits_20.wav" || base == "stream_sizes.wav"; err != nil || read {
			if want.Fields != nil && base != "test-44100Hz-le-1ch-4bytes-early-eof.wav" && !strings.Contains(base, "bit.wav") || read != (err == nil) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		data, err := s.Append(nil, s.DType, false)
		f := want.Fields["audio"]
		sum := sha256.Sum256(data)
		if err != nil || s.DType.String() != f.DType || s.Rate != want.Rate || s.Frames != f.Shape[0] || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s: %+v, %v; want %+v", name, s, err, want)
		}
	}
}

// frames is a file of FLAC: a header of STREAMINFO, with a number of frames of sound, and frames with checksums.
func frames(bits, channels, total uint64, blocks ...[]byte) []byte {
	f := append([]byte("fLaC\x80\x00\x00\x22"), make([]byte, 34)...)
	binary.BigEndian.PutUint64(f[18:], 8000<<44|(channels-1)<<41|(bits-1)<<36|total)
	for _, b := range blocks {
		f = append(f, b...)
		f = binary.BigEndian.AppendUint16(f, crc16(b))
	}
	return f
}

// header is that of a frame of one channel of 16 bits: n values.
func header(n int) []byte {
	h := []byte{0xff, 0xf8, 0x70, 0x08, 0, byte((n - 1) >> 8), byte(n - 1)}
	return append(h, crc8(h))
}

// TestFLAC: files that were made by hand, whole, cut at each byte, and with each byte changed.
func TestFLAC(t *testing.T) {
	constant := append(header(4), 0, 0xff, 0xfe)
	verbatim := append(header(2), 2, 0, 1, 0x80, 0)
	fixed := append(header(4), 9<<1, 0, 100, 0, 0b01_010_010, 0b010_00000) // 100, then three differences of 1
	file := frames(16, 1, 10, constant, verbatim, fixed)
	read := func(file []byte, short bool) ([]byte, *Sound, error) {
		s, err := Read("flac", file, short)
		if err != nil {
			return nil, nil, err
		}
		out, err := s.Append(nil, s.DType, false)
		return out, s, err
	}
	out, s, err := read(file, false)
	want := []int16{-2, -2, -2, -2, 1, -32768, 100, 101, 102, 103}
	if err != nil || s.Frames != 10 || s.Rate != 8000 || !slices.Equal(shardify.View[int16](out), want) {
		t.Fatalf("%v, %v; want %v", err, out, want)
	}
	for n := range file {
		if _, _, err := read(file[:n], false); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
		changed := slices.Clone(file)
		if changed[n] ^= 0x41; n >= 42 {
			if _, _, err := read(changed, false); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("byte %d changed: %v", n, err)
			}
		}
	}
	if out, s, err := read(file[:len(file)-1], true); err != nil || s.Frames != 6 || len(out) != 12 {
		t.Errorf("a file that is cut: %v, %d bytes", err, len(out))
	}
	if _, _, err := read(frames(16, 8, 1<<35), false); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "34359738368 frames of sound in a file of 42 bytes") {
		t.Errorf("a bomb: %v", err)
	}
}

// FuzzRead: any bytes are an error or frames, and floats have as many.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"*", "real/*", "bad/*"} {
		names, _ := filepath.Glob(filepath.Join(corpus, pattern))
		for _, name := range names {
			if file, err := os.ReadFile(name); err == nil && len(file) < 1<<13 && !strings.HasSuffix(name, "json") {
				f.Add(file, false)
				f.Add(file, true)
			}
		}
	}
	f.Add(frames(16, 1, 6, append(header(4), 0, 0xff, 0xfe), append(header(2), 2, 0, 1, 0x80, 0)), false)
	f.Fuzz(func(t *testing.T, file []byte, short bool) {
		for _, form := range []string{"wav", "flac"} {
			s, err := Read(form, file, short)
			if err != nil {
				continue
			}
			stored, err := s.Append(nil, s.DType, false)
			if err != nil {
				continue
			}
			width := int64(s.DType.Size())
			if int64(len(stored)) != s.Frames*width*int64(s.Channels) {
				t.Fatalf("%d bytes for %d frames", len(stored), s.Frames)
			}
			if mixed, err := s.Append(nil, shardify.F32, true); err != nil || int64(len(mixed)) != s.Frames*4 {
				t.Fatalf("%d bytes of the mean of %d frames, %v", len(mixed), s.Frames, err)
			}
		}
	})
}
