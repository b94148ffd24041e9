package jpeg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

// expected is what Pillow says about a file of the corpus.
type expected struct {
	Width, Height int
	Mode, Ours    string
	Native        string `json:"sha256_native"`
	RGB           string `json:"sha256_rgb"`
	Scaled        map[string]struct {
		Native string `json:"sha256_native"`
		Size   [2]int
	}
}

func decoded(d *Decoder, src []byte, o Options) ([]byte, Header, error) {
	h, err := d.Open(src)
	if err != nil {
		return nil, h, err
	}
	w, hh := h.Scaled(o.Scale)
	if o.X1 > 0 {
		w, hh = o.X1-o.X0, o.Y1-o.Y0
	}
	pix := make([]byte, w*hh*h.Channels(o))
	err = d.Decode(pix, o)
	return pix, h, err
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func corpusFiles(t testing.TB) []string {
	files, err := filepath.Glob(filepath.Join(corpus.Dir(t, "jpeg"), "*.jpg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// TestCorpus decodes files whose pixels Pillow recorded: whole, scaled, and in parts.
func TestCorpus(t *testing.T) {
	var d Decoder
	for _, file := range corpusFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want expected
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			switch name := filepath.Base(file); {
			case name == "prog_dconly.jpg":
				if _, _, err := decoded(&d, src, Options{}); !errors.Is(err, shardify.ErrUnsupported) {
					t.Errorf("a file without AC scans: %v", err)
				}
			case name == "bad_zeros.jpg": // damage that no check needs to find
			case name == "no_eoi.jpg":
				want.RGB = "" // Pillow refuses it; it is another file without its end
				whole, err := os.ReadFile(filepath.Join(filepath.Dir(file), "base420.jpg"))
				if err != nil {
					t.Fatal(err)
				}
				a, _, err := decoded(&d, src, Options{})
				b, _, err2 := decoded(&d, whole, Options{})
				if err != nil || err2 != nil || !bytes.Equal(a, b) {
					t.Errorf("other pixels without the end marker: %v, %v", err, err2)
				}
			case strings.HasPrefix(want.Ours, "decode") || name == "ycck_adobe.jpg":
				good(t, &d, src, &want)
			default:
				refused(t, &d, src, strings.TrimPrefix(want.Ours, "refuse: "))
			}
		})
	}
}

func good(t *testing.T, d *Decoder, src []byte, want *expected) {
	whole, h, err := decoded(d, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h.W != want.Width || h.H != want.Height || sum(whole) != want.RGB {
		t.Errorf("%d x %d pixels, or others than Pillow's", h.W, h.H)
	}
	native, _, err := decoded(d, src, Options{Native: true})
	if err != nil || sum(native) != want.Native {
		t.Errorf("other native pixels than Pillow's: %v", err)
	}
	for name, s := range want.Scaled { // named for what Pillow was asked; its size says what it did
		found := false
		for _, scale := range []int{1, 2, 4, 8} {
			if w, hh := h.Scaled(scale); [2]int{w, hh} != s.Size {
				continue
			}
			p, _, err := decoded(d, src, Options{Scale: scale, Native: true})
			found = found || err == nil && sum(p) == s.Native
		}
		if !found {
			t.Errorf("scaled to %s: at no scale Pillow's %d pixels", name, s.Size)
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(src))))
	for range 50 {
		o := Options{Scale: 1 << rng.IntN(4)}
		whole, h, err := decoded(d, src, o)
		if err != nil {
			t.Fatal(err)
		}
		w, hh := h.Scaled(o.Scale)
		o.X0, o.Y0 = rng.IntN(w), rng.IntN(hh)
		o.X1, o.Y1 = o.X0+1+rng.IntN(w-o.X0), o.Y0+1+rng.IntN(hh-o.Y0)
		part, _, err := decoded(d, src, o)
		if err != nil {
			t.Fatal(err)
		}
		n := 3 * (o.X1 - o.X0)
		for y := o.Y0; y < o.Y1; y++ {
			if !bytes.Equal(part[n*(y-o.Y0):][:n], whole[3*(y*w+o.X0):][:n]) {
				t.Fatalf("%+v: row %d differs from the whole image", o, y)
			}
		}
	}
}

func refused(t *testing.T, d *Decoder, src []byte, why string) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := new(Decoder).Open(src)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64*uint64(len(src))+1<<20 {
		t.Errorf("opening took %d bytes", got)
	}
	_, _, err2 := decoded(d, src, Options{})
	if err == nil {
		err = err2
	}
	t.Logf("%s: %v", why, err)
	if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
		t.Fatalf("decoded, or an error of no kind: %v", err)
	}
	word := strings.TrimSuffix(strings.Fields(why + " ")[0], ",")
	switch why {
	case "table missing":
		word = "missing"
	case "fractional sampling", "restart out of order", "unexpected marker", "arithmetic coding", "sampling factors", "not a JPEG", "Huffman table", "12 bits":
		word = why
	case "too large for its bytes; no allocation first":
		word = "cannot be in a file of"
	}
	if !strings.Contains(err.Error(), word) {
		t.Errorf("%q does not say %q", err, word)
	}
}
