package hdu

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/tests/corpus"
)

// expected is what astropy says of a file.
type expected struct {
	Error string
	HDUs  []struct {
		HDU    int
		Fields map[string]struct {
			DType, SHA256 string
			Shape         []int
			Values        json.RawMessage
			Rows          []struct{ Values json.RawMessage }
			TNull         any
		}
	} `json:"hdus"`
}

func inflated(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(b, []byte("\x1f\x8b")) {
		b = gunzip(t, b)
	}
	return b
}

// image decodes a whole image.
func (x *HDU) image(r io.ReaderAt, raw bool) (*Image, []byte, error) {
	if x.Kind == Tiles {
		t, err := x.Tiled(raw)
		if err != nil {
			return nil, nil, err
		}
		out := make([]byte, elements(t.Shape)*t.DType.Size())
		return t.Image, out, t.Decode(r, &Decoder{}, out, 0, t.Shape[0])
	}
	im, err := x.Image(raw)
	if err != nil {
		return nil, nil, err
	}
	src := make([]byte, x.Size)
	if err := readat.Full(r, src, x.Data); err != nil {
		return nil, nil, err
	}
	src = src[:int64(elements(im.Shape))*im.Width]
	out := make([]byte, elements(im.Shape)*im.DType.Size())
	return im, out, im.Convert(out, src, x.Data)
}

func elements(shape []int64) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}

func values() *Values {
	return &Values{Alloc: func(n int) []byte { return make([]byte, n) }, Ints: func(n int) []int64 { return make([]int64, n) }}
}

// read reads a whole column.
func (t *Table) readColumn(r io.ReaderAt, kind Kind, c *Column) (*Values, error) {
	rows := make([]byte, t.Rows*t.Width)
	if err := readat.Full(r, rows, t.RowsAt(0)); err != nil {
		return nil, err
	}
	v := values()
	if kind == Texts {
		return v, t.ReadText(c, rows, int(t.Rows), 0, v)
	}
	return v, t.Read(r, c, rows, int(t.Rows), 0, v)
}

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

func texts(v *Values) []string {
	out := []string{}
	ends := v.Offsets[len(v.Offsets)-1]
	for i := 1; i < len(ends); i++ {
		out = append(out, string(v.Data[ends[i-1]:ends[i]]))
	}
	return out
}

func TestCorpus(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "science_images"), "fits")
	var files []string
	for _, d := range []string{"*", "real/*"} {
		all, _ := filepath.Glob(filepath.Join(dir, d))
		files = append(files, all...)
	}
	equal, refused := 0, 0
	for _, path := range files {
		text, err := os.ReadFile(path + ".json")
		if err != nil {
			continue
		}
		var want expected
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(path, dir+"/")
		b := inflated(t, path)
		r := bytes.NewReader(b)
		all, _, err := Parse(r, int64(len(b)))
		if err != nil {
			t.Logf("%s: %v", name, err)
			refused++
			continue
		}
		for i := range all {
			x := &all[i]
			if x.Summed() {
				if err := x.SumData(r); err != nil {
					t.Errorf("%s %v: %v", name, x, err)
				}
			}
			k := 0
			for k < len(want.HDUs) && want.HDUs[k].HDU != x.Index {
				k++
			}
			if k == len(want.HDUs) {
				continue
			}
			h := want.HDUs[k]
			if f, ok := h.Fields["image"]; ok && (x.Kind == Images || x.Kind == Tiles) {
				im, out, err := x.image(r, false)
				if err != nil {
					t.Logf("%s %v: %v", name, x, err)
					refused++
					continue
				}
				equal++
				if sum(out) != f.SHA256 || im.DType.String() != f.DType {
					t.Errorf("%s %v: %s %v, want %s %v", name, x, im.DType, im.Shape, f.DType, f.Shape)
				}
			}
			if x.Kind != Tables && x.Kind != Texts {
				continue
			}
			tab, err := x.Table()
			if err != nil {
				t.Logf("%s %v: %v", name, x, err)
				refused++
				continue
			}
			for i := range tab.Columns {
				c := &tab.Columns[i]
				f, ok := h.Fields[c.Field.Name]
				if c.Left != "" || !ok {
					t.Logf("%s %v %s: left out: %s (there: %v)", name, x, c.Field.Name, c.Left, ok)
					continue
				}
				v, err := tab.readColumn(r, x.Kind, c)
				if err != nil {
					t.Logf("%s %v %s: %v", name, x, c.Field.Name, err)
					refused++
					continue
				}
				equal++
				switch {
				case f.DType == "txt":
					got, _ := json.Marshal(texts(v))
					var a, b any
					json.Unmarshal(got, &a)
					json.Unmarshal(f.Values, &b)
					if x, y := string(mustJSON(a)), strings.ReplaceAll(trimmed(b), `\u0000`, ""); x != y && f.Values != nil {
						t.Errorf("%s %s: %.200s, want %.200s", name, c.Field.Name, x, y)
					}
				case f.DType == "jagged":
					got := lists(c, v)
					for i, r := range f.Rows {
						if string(mustJSON(got[i])) != compacted(r.Values) && r.Values != nil {
							t.Errorf("%s %s: %s, want %s", name, c.Field.Name, mustJSON(got[i]), compacted(r.Values))
						}
					}
				case name == "table_scaled.fits" && c.Field.Name == "s": // astropy takes no notice of TNULL there
					if got := math.Float64frombits(binary.LittleEndian.Uint64(v.Data[8:])); !math.IsNaN(got) {
						t.Errorf("a missing number is %v", got)
					}
				case sum(v.Data) != f.SHA256:
					if c.Field.DType == shardify.I64 && x.Kind == Texts || c.Field.DType.String() != f.DType {
						if got := numbers(c, v.Data); string(mustJSON(got)) != compacted(f.Values) {
							t.Errorf("%s %s: %s, want %s", name, c.Field.Name, mustJSON(got), compacted(f.Values))
						}
						continue
					}
					t.Errorf("%s %s: %v %v, want %s %v", name, c.Field.Name, c.Field.DType, c.Field.Shape, f.DType, f.Shape)
				}
			}
		}
	}
	t.Logf("%d equal, %d refused", equal, refused)
	if equal < 140 {
		t.Errorf("%d arrays were compared", equal)
	}
}

func TestDamage(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "science_images"), "fits", "bad")
	files, _ := filepath.Glob(filepath.Join(dir, "*.fits"))
	for _, path := range files {
		name := filepath.Base(path)
		err := readAll(inflated(t, path))
		switch name {
		case "no_padding.fits", "rice_damaged.fits":
			if err != nil && name[0] == 'n' {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v", name, err)
	}
	if len(files) < 16 {
		t.Errorf("%d files", len(files))
	}
}

// readAll reads all of a file, and returns the first error.
func readAll(b []byte) error {
	r := bytes.NewReader(b)
	all, _, err := Parse(r, int64(len(b)))
	if err != nil {
		return err
	}
	for i := range all {
		x := &all[i]
		if err := x.SumData(r); err != nil {
			return err
		}
		switch x.Kind {
		case Images, Tiles:
			if _, _, err := x.image(r, false); err != nil {
				return err
			}
		case Tables, Texts:
			t, err := x.Table()
			if err != nil {
				return err
			}
			for k := range t.Columns {
				if c := &t.Columns[k]; c.Left == "" {
					if _, err := t.readColumn(r, x.Kind, c); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// TestCutFiles: a file that was cut is refused, or has fewer HDUs.
func TestCutFiles(t *testing.T) {
	b := inflated(t, filepath.Join(corpus.Dir(t, "science_images"), "fits", "table_types.fits"))
	for n := 0; n < len(b); n += 97 {
		err := readAll(b[:n])
		if err == nil && n != block {
			all, _, _ := Parse(bytes.NewReader(b[:n]), int64(n))
			if len(all) > 1 && int64(n) < all[1].Data+all[1].Size {
				t.Errorf("%d of %d bytes: no error", n, len(b))
			}
		}
	}
}
