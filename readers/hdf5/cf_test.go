package hdf5

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// cfArray is an array as xarray decodes it.
type cfArray struct {
	Raw struct {
		DType string
		SHA   string `json:"sha256_le"`
		NaN   int
	}
	CF struct {
		DType string
		SHA   string `json:"sha256_le"`
		Error string
		Time  *struct {
			Unix   []int64 `json:"unix_ns"`
			CFTime []string
		}
	}
}

// TestCFCorpusEqualsXarray decodes every array by its attributes, and not.
func TestCFCorpusEqualsXarray(t *testing.T) {
	race.Sequential(t)
	paths, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "zarr"), "cf", "*.nc"))
	compared, times := 0, 0
	for _, p := range paths {
		b, err := os.ReadFile(p + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct{ Arrays map[string]cfArray }
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		on := mustLoad(t, []string{p}, nil, format.Options{"sample": "file"})
		off := mustLoad(t, []string{p}, nil, format.Options{"sample": "file", "cf": "off"})
		for name, a := range want.Arrays {
			what := filepath.Base(p) + " " + name
			if strings.Contains(a.Raw.DType, "S") || a.Raw.DType == "string" {
				continue
			}
			if c := off.cols[name]; c == nil || digest(c.Data) != a.Raw.SHA {
				t.Errorf("%s: stored values differ", what)
			}
			c := on.cols[name]
			switch {
			case strings.Contains(a.CF.Error, "decode time units"): // units that are not decoded: as stored
				if c == nil || c.Attrs["unit"] == "" || digest(c.Data) != a.Raw.SHA {
					t.Errorf("%s: units that cannot be decoded", what)
				}
				continue
			case a.CF.Error != "":
				if c != nil && c.DType != shardify.F64 || c == nil && on.left[name] == "" { // an integer as scale_factor, or a text
					t.Errorf("%s: xarray says %s", what, a.CF.Error)
				}
				continue
			case c == nil:
				t.Errorf("%s is missing", what)
				continue
			case a.CF.Time != nil:
				times++
				checkTimes(t, what, c, a.CF.Time.Unix)
				continue
			case strings.Contains(name, "_si") || name == "upper": // integers as scale_factor, Hours Since: documented
				continue
			}
			compared++
			if got := numpyName(c.DType); got != a.CF.DType || digest(oneNaN(c)) != a.CF.SHA {
				t.Errorf("%s: %s %v, want %s", what, got, values(c), a.CF.DType)
			}
		}
	}
	t.Logf("%d arrays of numbers and %d of times equal", compared, times)
}

func digest(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func numpyName(d shardify.DType) string {
	switch {
	case d == shardify.Bool:
		return "|b1"
	case d.Size() == 1:
		return "|" + d.String()[:1] + "1"
	}
	return fmt.Sprintf("<%c%d", d.String()[0], d.Size())
}

// oneNaN writes all NaNs alike.
func oneNaN(c *shardify.Column) []byte {
	switch c.DType {
	case shardify.F32:
		for i, v := range shardify.View[float32](c.Data) {
			if v != v {
				le.PutUint32(c.Data[4*i:], 0x7fc00000)
			}
		}
	case shardify.F64:
		for i, v := range shardify.View[float64](c.Data) {
			if v != v {
				le.PutUint64(c.Data[8*i:], 0x7ff8000000000000)
			}
		}
	}
	return c.Data
}

// checkTimes compares with nanoseconds, where numpy has such dates.
func checkTimes(t *testing.T, what string, c *shardify.Column, want []int64) {
	unit := int64(1)
	if c.Attrs["time"] == "s" {
		unit = 1e9
	}
	if c.DType != shardify.I64 || c.Attrs["unit"] != "" || c.Attrs["time"] == "" {
		t.Errorf("%s: %s %v", what, c.DType, c.Attrs)
		return
	}
	got := shardify.View[int64](c.Data)
	for i, w := range want {
		if g := got[i]; g != w && (g == math.MinInt64 || g*unit != w) {
			t.Errorf("%s: time %d is %d of %d ns, want %d", what, i, g, unit, w)
			return
		}
	}
}

// Files whose times have other origins, or whose codes have other factors, are one series.
func TestEachFileIsDecodedByItsOwnAttributes(t *testing.T) {
	s := mustLoad(t, []string{"cf_0.nc", "cf_1.nc", "cf_2.nc"}, nil, nil)
	got := shardify.View[int64](s.cols["time"].Data)
	bounds := shardify.View[int64](s.cols["time_bnds"].Data)
	if len(got) != 12 || s.cols["time"].Attrs["time"] != "s" || s.cols["time_bnds"].Attrs["time"] != "s" {
		t.Fatalf("times %v %v", got, s.cols["time"].Attrs)
	}
	for i, v := range got {
		if want := int64(946684800 + 21600*i); v != want || bounds[2*i] != want || bounds[2*i+1] != want+21600 {
			t.Errorf("time %d is %d with bounds %v, want %d", i, v, bounds[2*i:2*i+2], want)
		}
	}
	x := s.cols["x"]
	if x.DType != shardify.F32 || x.Attrs["unit"] != "K" || x.Attrs["scale_factor"] != "" {
		t.Fatalf("x %s %v", x.DType, x.Attrs)
	}
	for i, v := range shardify.View[float32](x.Data) {
		if want := float32(i); i%7 == 3 && v == v || i%7 != 3 && v != want {
			t.Errorf("x %d is %v, want %v", i, v, want)
		}
	}
	notes := strings.Join(s.notes, "\n")
	for _, want := range []string{"x i16 -> f32 (_FillValue, add_offset, scale_factor)", "time f64 -> i64 seconds since 1970", "--cf off"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q: %s", want, notes)
		}
	}
	if _, err := load([]string{"cf_0.nc", "cf_1.nc"}, nil, format.Options{"cf": "off"}); err == nil || !strings.Contains(err.Error(), "cf_1.nc") {
		t.Errorf("codes of other factors side by side: %v", err)
	}
	if s := mustLoad(t, []string{"cf_0.nc"}, []string{"x"}, format.Options{"cf": "off"}); s.cols["x"].DType != shardify.I16 || s.cols["x"].Attrs["scale_factor"] != "0.5" {
		t.Errorf("--cf off: %s %v", s.cols["x"].DType, s.cols["x"].Attrs)
	}
}

// A damaged attribute of a packed data set is damage of its values.
func TestDamagedPackingIsNotLeftOut(t *testing.T) {
	b, err := os.ReadFile("testdata/cf_0.nc")
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(string(b), "scale_factor")
	b[i+16] = 0x7f // the attribute's datatype
	name := filepath.Join(t.TempDir(), "a.nc")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := load([]string{name}, []string{"x"}, nil)
	if err == nil && s.cols["x"] != nil {
		t.Errorf("x is read as %s", s.cols["x"].DType)
	}
}
