package dcm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

// decode reads all pixels of a file.
func decode(b []byte) (*File, *Image, []byte, error) {
	r := bytes.NewReader(b)
	f, err := Parse(r, int64(len(b)), nil)
	if err != nil {
		return nil, nil, nil, err
	}
	im, err := f.Image()
	if err != nil {
		return nil, nil, nil, err
	}
	d, err := NewDecoder(r, im)
	if err != nil {
		return nil, nil, nil, err
	}
	out := make([]byte, im.Frames*im.FrameBytes())
	return f, im, out, d.Read(out, 0, im.Frames)
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func TestCorpus(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "science_images"), "dicom")
	equal := 0
	for _, d := range []string{"*", "real/*", "series/*"} {
		files, _ := filepath.Glob(filepath.Join(dir, d))
		for _, path := range files {
			text, err := os.ReadFile(path + ".json")
			if err != nil {
				continue
			}
			name := strings.TrimPrefix(path, dir+"/")
			var want struct {
				Error       string
				Fields, Raw map[string]struct{ DType, SHA256 string }
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, im, out, err := decode(b)
			if err != nil || want.Error != "" {
				t.Logf("%s: %v (pydicom: %.60s)", name, err, want.Error)
				if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) || want.Error == "" && name != "real/JPEG2000.dcm" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			dtype := im.DType.String()
			w, scaled := want.Raw["image"]
			if !scaled {
				w = want.Fields["image"]
			}
			if sum(out) != w.SHA256 || dtype != w.DType {
				t.Errorf("%s: %s %v, want %s: %s", name, dtype, im.Shape(), w.DType, text)
				continue
			}
			equal++
			if scaled {
				slope, inter, ok, err := f.Rescale()
				if err != nil || !ok || sum(rescaled(im, out, slope, inter)) != want.Fields["image"].SHA256 {
					t.Errorf("%s: rescaled: %v", name, err)
				}
			}
		}
	}
	t.Logf("%d equal", equal)
	if equal < 40 {
		t.Errorf("%d files were compared", equal)
	}
}

func rescaled(im *Image, b []byte, slope, inter float64) []byte {
	out := []byte{}
	for i := 0; i < len(b); i += 2 {
		v := float64(binary.LittleEndian.Uint16(b[i:]))
		if im.signed {
			v = float64(int16(binary.LittleEndian.Uint16(b[i:])))
		}
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(v*slope)+inter))
	}
	return out
}

func TestDamage(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "science_images"), "dicom", "bad", "*.dcm"))
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = decode(b)
		t.Logf("%s: %v", filepath.Base(path), err)
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if len(files) < 15 {
		t.Errorf("%d files", len(files))
	}
}

// TestCutFiles: a file that was cut is refused, wherever.
func TestCutFiles(t *testing.T) {
	for _, name := range []string{"explicit_u12.dcm", "rle_u16.dcm", "deflated_u16.dcm", "real/CT_small.dcm"} {
		b, err := os.ReadFile(filepath.Join(corpus.Dir(t, "science_images"), "dicom", name))
		if err != nil {
			t.Fatal(err)
		}
		_, _, whole, err := decode(b)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b); n += 13 {
			if _, _, got, err := decode(b[:n]); err == nil && !bytes.Equal(got, whole) {
				t.Errorf("%s: %d of %d bytes give other pixels", name, n, len(b))
			}
		}
	}
}

// FuzzDCM: any bytes are read, or refused with a reason.
func FuzzDCM(f *testing.F) {
	for _, d := range []string{"*.dcm", "real/*.dcm", "bad/*.dcm"} {
		files, _ := filepath.Glob(filepath.Join(corpus.Path("science_images"), "dicom", d))
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 64<<10 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, _, err := decode(b); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}
