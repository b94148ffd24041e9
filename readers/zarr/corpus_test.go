package zarr

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// tableOf has a line for each store.
func tableOf(t testing.TB, stores ...string) *format.Table {
	t.Helper()
	table := &format.Table{Roots: stores}
	for i, s := range stores {
		name := ""
		for _, r := range slices.Backward(store.Roots) {
			if _, err := os.Stat(filepath.Join(s, r)); err == nil {
				name = r
			}
		}
		table.Append(i, name, format.SizeUnknown, 0)
	}
	return table
}

func openStores(t testing.TB, o format.Options, columns []string, stores ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(t, stores...), Options: o, Columns: columns, Jobs: 2})
}

// expected is what zarr-python or xarray read.
type expected struct {
	Shape  []int64
	DType  any
	SHA    string `json:"sha256_le"`
	SHALen string `json:"sha256_len8_bytes"`
	SHANs  string `json:"sha256_unix_ns"`
	NaN    int64
	Error  string
	CFTime any `json:"cftime"`
}

// stored is the bytes of columns as the store has them, or its texts with their lengths.
func stored(c *readertest.Columns, e *expected) string {
	h := sha256.New()
	col := c.ByName[c.Order[0]]
	d, _ := e.DType.(string)
	if col.Levels > 0 {
		ends := col.Offsets[len(col.Offsets)-1]
		width, _ := strconv.Atoi(strings.TrimLeft(d, "<>|SU"))
		for i := range len(ends) - 1 {
			n := int64(max(col.ElemBytes(), 1))
			p := col.Data[ends[i]*n : ends[i+1]*n]
			switch {
			case e.SHALen != "":
				h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
				h.Write(p)
			case strings.Contains(d, "S"):
				h.Write(append(slices.Clone(p), make([]byte, width-len(p))...))
			default:
				n := 0
				for _, r := range string(p) {
					h.Write(binary.LittleEndian.AppendUint32(nil, uint32(r)))
					n++
				}
				h.Write(make([]byte, 4*(width-n)))
			}
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	if len(c.Order) == 1 {
		h.Write(col.Data)
		return hex.EncodeToString(h.Sum(nil))
	}
	n := int64(1)
	for _, s := range e.Shape {
		n *= s
	}
	for i := range n { // a structure, field by field
		for _, name := range c.Order {
			p := c.ByName[name].Data
			if ends := c.ByName[name].Offsets; ends != nil { // |S4
				h.Write(append(slices.Clone(p[ends[0][i]:ends[0][i+1]]), make([]byte, 4-(ends[0][i+1]-ends[0][i]))...))
				continue
			}
			w := int64(len(p)) / n
			h.Write(p[i*w : (i+1)*w])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestCorpusOfStores reads all arrays of all stores, each by itself, as they are stored.
func TestCorpusOfStores(t *testing.T) {
	race.Sequential(t)
	root := corpus.Dir(t, "zarr")
	n := 0
	for _, folder := range []string{"v2", "v3", "cf"} {
		list, _ := filepath.Glob(filepath.Join(root, folder, "*.zarr*.json"))
		for _, name := range list {
			for path, e := range expectedOf(t, name, "raw") {
				at := filepath.Base(name) + ":" + path
				got, err := readArray(t, strings.TrimSuffix(name, ".json"), path, e, format.Options{"cf": "off"}, 1<<40)
				if strings.Contains(path, "MUST_REFUSE") {
					if !errors.Is(err, shardify.ErrUnsupported) {
						t.Errorf("%s: %v", at, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if sum := stored(got, e); e.SHA+e.SHALen != "" && sum != e.SHA && sum != e.SHALen {
					t.Errorf("%s: other values %v: %q", at, e.DType, got.ByName[got.Order[0]].Data[:min(64, len(got.ByName[got.Order[0]].Data))])
				}
				n++
			}
		}
	}
	t.Logf("%d arrays", n)
}

// expectedOf is what a file of expectations says of each array.
func expectedOf(t *testing.T, name, kind string) map[string]*expected {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var x struct {
		Arrays map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(p, &x); err != nil {
		t.Fatal(name, err)
	}
	out := map[string]*expected{}
	for path, a := range x.Arrays {
		e := &expected{}
		if a[kind] == nil {
			continue
		}
		if err := json.Unmarshal(a[kind], e); err != nil {
			t.Fatal(name, path, err)
		}
		out[path] = e
	}
	return out
}

// readArray reads one array of a store in spans of about target bytes.
func readArray(t *testing.T, dir, path string, e *expected, o format.Options, target int64) (*readertest.Columns, error) {
	o = maps.Clone(o)
	o["object"], o["missing-chunks"], o["sample"] = path, "fill", "axis"
	if len(e.Shape) == 0 {
		o["sample"] = "file"
	}
	src, err := openStores(t, o, nil, dir)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return readertest.Load(src, target)
}

// TestCorpusDecoded compares what CF attributes make of the arrays with xarray's values.
func TestCorpusDecoded(t *testing.T) {
	race.Sequential(t)
	root := corpus.Dir(t, "zarr")
	list, _ := filepath.Glob(filepath.Join(root, "cf", "*.zarr.json"))
	n := 0
	for _, name := range list {
		for path, e := range expectedOf(t, name, "cf") {
			at := filepath.Base(name) + ":" + path
			got, err := readArray(t, strings.TrimSuffix(name, ".json"), path, e, format.Options{"cf": "on"}, 1<<40)
			if err != nil {
				t.Errorf("%s: %v", at, err)
				continue
			}
			col := got.ByName[got.Order[0]]
			if e.Error != "" || e.SHA == "" && e.SHANs == "" {
				t.Logf("%s: xarray: %s %v; here %s", at, e.Error, e.CFTime, col.DType)
				continue
			}
			n++
			if e.SHANs != "" {
				v := slices.Clone(shardify.View[int64](col.Data))
				for i := range v {
					if col.Attrs["time"] == "s" && v[i] != math.MinInt64 {
						v[i] *= 1e9
					}
				}
				if s := sha256.Sum256(shardify.Bytes(v)); hex.EncodeToString(s[:]) != e.SHANs {
					t.Errorf("%s: other times: %v", at, v[:min(4, len(v))])
				}
				continue
			}
			if e.DType == "<i8" && col.DType == shardify.F64 && strings.HasSuffix(path, "i") || strings.HasSuffix(path, "_int") {
				continue // an integer as scale_factor: f64 here, truncated by xarray
			}
			canonical(col)
			if sum := stored(got, e); sum != e.SHA {
				t.Errorf("%s: other values: %s, want %v, %v", at, col.DType, e.DType, col.Data[:min(32, len(col.Data))])
			}
		}
	}
	t.Logf("%d arrays", n)
}

// TestStoreOfAnemoi: the variables of the stack have names, and dates without data are reported.
func TestStoreOfAnemoi(t *testing.T) {
	src, err := openStores(t, nil, nil, filepath.Join(corpus.Dir(t, "zarr"), "cf", "anemoi_like.zarr"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := src.Schema()[0]; got.Name != "data" || strings.Count(got.Attrs["channels"], "\n") != got.Shape[0]-1 {
		t.Errorf("%+v", got)
	}
	if notes := notesOf(src); !strings.Contains(notes, "missing_dates") || !strings.Contains(notes, "1 of 12 chunks") {
		t.Error(notes)
	}
}

// canonical makes all NaN NumPy's.
func canonical(c *shardify.Column) {
	switch c.DType {
	case shardify.F32:
		for i, v := range shardify.View[float32](c.Data) {
			if v != v {
				shardify.View[uint32](c.Data)[i] = 0x7fc00000
			}
		}
	case shardify.F64:
		for i, v := range shardify.View[float64](c.Data) {
			if v != v {
				shardify.View[uint64](c.Data)[i] = 0x7ff8000000000000
			}
		}
	}
}

// TestCorpusOfBadStores: each is refused at the level that is stated, and the array beside it
// is read.
func TestCorpusOfBadStores(t *testing.T) {
	race.Sequential(t)
	root := corpus.Dir(t, "zarr")
	list, _ := filepath.Glob(filepath.Join(root, "bad", "*.json"))
	for _, name := range list {
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		type good struct {
			Path string
			expected
		}
		var want struct {
			Refuse struct{ Level, Where, Why string }
			Good   *good
			Own    map[string]*expected
			Links  [][2]string
		}
		if err := json.Unmarshal(p, &want); err != nil {
			t.Fatal(name, err)
		}
		at := filepath.Base(name)
		dir := strings.TrimSuffix(name, ".json") + ".zarr"
		if _, err := os.Stat(dir); err != nil {
			dir += ".zip"
		}
		if want.Refuse.Level == "store" && want.Links == nil && want.Own == nil {
			_, err := openStores(t, nil, nil, dir)
			if note := strings.Contains(at, "duplicate"); (err != nil) == note || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%s: %v: %s", at, err, want.Refuse.Why)
			}
			continue
		}
		if want.Links != nil {
			to := filepath.Join(t.TempDir(), "links.zarr")
			if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			for _, l := range want.Links {
				if err := os.Symlink(l[1], filepath.Join(to, l[0])); err != nil {
					t.Fatal(err)
				}
			}
			dir = to
		}
		if g := want.Good; g != nil {
			got, err := readArray(t, dir, g.Path, &g.expected, format.Options{"cf": "off"}, 1<<40)
			if err != nil || stored(got, &g.expected) != g.SHA {
				t.Errorf("%s: good: other values, or %v", at, err)
			}
		}
		for path, e := range want.Own {
			got, err := readArray(t, dir, path, e, format.Options{"cf": "off"}, 1<<40)
			if err != nil || stored(got, e) != e.SHA {
				t.Errorf("%s: %s: other values, or %v", at, path, err)
			}
		}
		object := strings.Split(want.Refuse.Where, "/")[0]
		src, err := openStores(t, format.Options{"cf": "off", "sample": "axis", "object": object, "missing-chunks": map[bool]string{true: "fill", false: "auto"}[want.Refuse.Level == "none"]}, nil, dir)
		opened := err == nil
		if opened {
			_, err = readertest.Load(src, 1<<40)
			src.Close()
		}
		switch level := want.Refuse.Level; {
		case level == "none" && err != nil && object != "":
			t.Errorf("%s: refused: %v", at, err)
		case level == "array" && (opened || err == nil) && !strings.Contains(at, "path"):
			t.Errorf("%s: an array that is to be refused opens: %s", at, want.Refuse.Why)
		case level == "chunk" && (!opened || err == nil):
			t.Errorf("%s: opened %v, %v, where a chunk is bad: %s", at, opened, err, want.Refuse.Why)
		}
		t.Logf("%s: %v", at, err)
		if err != nil && !isKind(err) {
			t.Errorf("%s: %v is of no kind", at, err)
		}
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		peak, _, _ = strings.Cut(peak, "kB")
		t.Logf("%s %s KiB", mostMemory, strings.TrimSpace(peak))
	}
}

const mostMemory = "most memory:"

// TestCorpusOfBadStoresTakesLittleMemory: what they claim to hold is never allocated. A process of
// its own reads all of them.
func TestCorpusOfBadStoresTakesLittleMemory(t *testing.T) {
	race.Sequential(t)
	corpus.Dir(t, "zarr")
	out, err := exec.Command(os.Args[0], "-test.run=^TestCorpusOfBadStores$", "-test.v").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, told, ok := strings.Cut(string(out), mostMemory)
	if !ok {
		t.Skip("no /proc/self/status")
	}
	var peak int
	if _, err := fmt.Sscan(told, &peak); err != nil || peak > 64<<10 {
		t.Errorf("%d KiB, %v", peak, err)
	}
	t.Logf("%d KiB", peak)
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}
