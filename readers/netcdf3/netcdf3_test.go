package netcdf3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(o format.Options, columns []string, names ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(names...), Options: o, Columns: columns, Jobs: 2})
}

func load(t testing.TB, src shardify.Source, err error) *readertest.Columns {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		object string
		names  []string
	}{{"", []string{"weather_1.nc", "weather_2.nc", "weather_5.nc"}}, {"x,y", []string{"fixed_1.nc", "fixed_1.nc"}}} {
		var files []string
		for i, name := range c.names {
			b, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, readertest.Put(t, fmt.Sprint(i, ".nc"), string(b)))
		}
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Options: format.Options{"object": c.object}, Jobs: 2})
		})
	}
}

// TestSameAsNetCDF4 reads the same data as netCDF-3 and as NetCDF-4: same fields, attributes and values.
func TestSameAsNetCDF4(t *testing.T) {
	for _, pair := range [][2]string{{"weather_1.nc", "weather_4.nc"}, {"weather_2.nc", "weather_4.nc"}, {"weather_5.nc", "weather_4.nc"}, {"wide_5.nc", "wide_4.nc"}, {"fixed_1.nc", "fixed_4.nc"}} {
		for _, o := range []format.Options{{}, {"cf": "off"}, {"sample": "file"}, {"text": "bytes"}, {"object": "v_*,packed,x"}, {"axis": "1", "object": "w"}, {"axis": "-1", "object": "v_f4,v_i1,w"},
			{"sel": "lat=15:30"}, {"sel": "time=2:5,lon=72"}, {"channels": "v_f4@lat=20,masked@lat=10"}} {
			at := fmt.Sprint(pair, o)
			have, err := openFiles(o, nil, filepath.Join("testdata", pair[0]))
			want, err4 := hdf5.Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(filepath.Join("testdata", pair[1])), Options: o})
			if (err == nil) != (err4 == nil) {
				t.Errorf("%s: %v, for NetCDF-4 %v", at, err, err4)
			}
			if err != nil || err4 != nil {
				continue
			}
			a, b := readertest.ReadAll(t, have, 100), readertest.ReadAll(t, want, 100)
			if a.Samples != b.Samples {
				t.Errorf("%s: %d samples, for NetCDF-4 %d", at, a.Samples, b.Samples)
			}
			compared := 0
			for _, f := range want.Schema() {
				if f.Name == "unwritten" || f.Name == "land" && o["cf"] == "off" { // not stored in NetCDF-4; hdf5 names no flags then
					continue
				}
				if err := b.EqualField(a, f.Name); err != nil {
					t.Errorf("%s: %v", at, err)
				}
				compared++
			}
			for _, f := range have.Schema() {
				if shardify.FieldIndex(want.Schema(), f.Name) < 0 && f.Name != "unwritten" {
					t.Errorf("%s: NetCDF-4 has no field %s", at, f.Name)
				}
			}
			if compared == 0 {
				t.Errorf("%s: no field", at)
			}
			have.Close()
			want.Close()
		}
	}
}

// expected is what netCDF4 reads of a file of the corpus.
type expected struct {
	Fields map[string]struct {
		DType  string
		Shape  []int64
		SHA    string `json:"sha256"`
		Values []any
		Dims   []string
	}
	Error, Read string
}

func expectedOf(t *testing.T, name string) (e expected) {
	t.Helper()
	b, err := os.ReadFile(name + ".json")
	if err == nil {
		err = json.Unmarshal(b, &e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestCorpus reads each variable of each file by itself, as it is stored.
func TestCorpus(t *testing.T) {
	race.Sequential(t)
	root := filepath.Join(corpus.Dir(t, "science_images"), "netcdf3")
	var files []string
	for _, g := range []string{"*.nc", "real/*.nc"} {
		list, _ := filepath.Glob(filepath.Join(root, g))
		files = append(files, list...)
	}
	n := 0
	check := func(name string, e expected) {
		for field, f := range e.Fields {
			for _, o := range []format.Options{{"sample": "file", "cf": "off"}, {"sample": "axis", "cf": "off"}} {
				if len(f.Shape) == 0 && o["sample"] == "axis" {
					continue
				}
				at := fmt.Sprint(filepath.Base(name), " ", field, o)
				o["object"] = field
				src, err := openFiles(o, nil, name)
				c := load(t, src, err)
				col := c.ByName[field]
				if o["sample"] == "axis" && c.Samples != f.Shape[0] {
					t.Errorf("%s: %d samples, want %v", at, c.Samples, f.Shape)
				}
				n++
				if f.DType != "txt" {
					if sum := sha256.Sum256(col.Data); hex.EncodeToString(sum[:]) != f.SHA || col.DType.String() != f.DType {
						t.Errorf("%s: other values of type %s: %v", at, col.DType, col.Data)
					}
					continue
				}
				want := ""
				for _, v := range f.Values {
					want += v.(string)
				}
				if string(col.Data) != want {
					t.Errorf("%s: %q, want %q", at, col.Data, want)
				}
			}
		}
	}
	for _, name := range files {
		check(name, expectedOf(t, name))
	}
	check(filepath.Join(root, "bad", "streaming.nc"), expectedOf(t, filepath.Join(root, "netcdf3_classic.nc")))
	if len(files) < 10 || n < 80 {
		t.Errorf("%d files, %d variables", len(files), n)
	}
}

// TestCorpusOfBadFiles: each is refused, and the error says where and why.
func TestCorpusOfBadFiles(t *testing.T) {
	root := filepath.Join(corpus.Dir(t, "science_images"), "netcdf3", "bad")
	for name, want := range map[string]string{
		"dims_bomb.nc": "2147483647 dimensions in a file of 1860 bytes", "fixed_short.nc": "x at byte 204: its values end at byte", "numrecs_bomb.nc": "its 1073741824 records end at byte",
		"rank_bomb.nc": "variable x has 268435456 dimensions", "short_header.nc": "the header ends early", "short_records.nc": "its 4 records end at byte 1840", "tag_99.nc": "tag 99 where a list of dimensions",
		"version3.nc": "CDF version 3 is unknown",
	} {
		for _, sample := range []string{"axis", "file"} {
			_, err := openFiles(format.Options{"sample": sample}, nil, filepath.Join(root, name))
			if !isKind(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestRandomFiles: what was written comes out, whatever the layout; with numrecs -1, too.
func TestRandomFiles(t *testing.T) {
	for i := range uint64(300) {
		r := rand.New(rand.NewPCG(1, i))
		m := random(r)
		m.streaming = i%5 == 0
		name := readertest.Put(t, "r.nc", string(m.bytes()))
		for k := range m.vars {
			v := &m.vars[k]
			n, record := m.inner(v)
			if m.streaming && !slices.ContainsFunc(m.vars, func(v madeVar) bool { _, r := m.inner(&v); return r }) || record && m.records == 0 {
				continue
			}
			src, err := openFiles(format.Options{"object": v.name, "sample": []string{"axis", "file"}[i%2], "cf": "off", "text": "bytes"}, nil, name)
			if err != nil && len(v.dims) == 0 && errors.As(err, new(*format.Ambiguous)) {
				continue // a single value alone
			}
			c := load(t, src, err)
			want := v.little()
			if got := c.ByName[v.name].Data; string(got) != string(want) {
				t.Fatalf("file %d, %s of type %d, %d bytes a record %v: %q, want %q", i, v.name, v.typ, n, record, got, want)
			}
		}
	}
}

// TestEveryCutIsAnError: no prefix of a file reads as one with fewer samples.
func TestEveryCutIsAnError(t *testing.T) {
	for _, name := range []string{"weather_1.nc", "wide_5.nc", "fixed_1.nc"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		cut := filepath.Join(t.TempDir(), "cut.nc")
		if err := os.WriteFile(cut, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for n := len(b) - 1; n >= 0; n -= 1 + n%7 {
			if err := os.Truncate(cut, int64(n)); err != nil {
				t.Fatal(err)
			}
			if src, err := openFiles(nil, nil, cut); err == nil {
				src.Close()
				if n < len(b)-3 { // the padding behind the last record
					t.Errorf("%s: the first %d of %d bytes are read", name, n, len(b))
				}
			} else if !isKind(err) {
				t.Errorf("%s: %d bytes: %v", name, n, err)
			}
		}
	}
}

// TestClaims: what a header claims beyond the file is damage, and costs nothing.
func TestClaims(t *testing.T) {
	two := func() *made {
		return &made{version: 1, records: 3, dims: []madeDim{{"rec", 0}, {"x", 4}}, vars: []madeVar{{name: "a", typ: 4, dims: []int{0, 1}, data: make([]byte, 48)}, {name: "b", typ: 6, dims: []int{1}, data: make([]byte, 32)}}}
	}
	for name, c := range map[string]struct {
		change func(m *made)
		patch  func(b []byte) []byte
		want   string
	}{
		"a long name":     {patch: func(b []byte) []byte { copy(b[16:], be(uint32(1<<31))); return b }, want: "the name of a dimension has 2147483648 bytes"},
		"two record axes": {change: func(m *made) { m.dims = append(m.dims, madeDim{"other", 0}) }, want: "two dimensions are those of the records"},
		"the same name":   {change: func(m *made) { m.vars[1].name = "a" }, want: "two variables are named a"},
		"a slash":         {change: func(m *made) { m.vars[1].name = "a/b" }, want: "is not a valid name of a variable"},
		"an inner record": {change: func(m *made) { m.vars[0].dims = []int{1, 0} }, want: "is not its first"},
		"an unknown type": {change: func(m *made) { m.vars[1].typ = 7 }, want: "type 7 is unknown: CDF-1 has 1 to 6"},
		"a longer dimension": {patch: func(b []byte) []byte {
			return replaced(b, append([]byte("x\x00\x00\x00"), be(uint32(4))...), append([]byte("x\x00\x00\x00"), be(uint32(3))...))
		}, want: "by the header and 12 by its shape"},
	} {
		m := two()
		if c.change != nil {
			c.change(m)
		}
		b := m.bytes()
		if c.patch != nil {
			b = c.patch(b)
		}
		_, err := openFiles(format.Options{"sample": "axis"}, nil, readertest.Put(t, "c.nc", string(b)))
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := two()
	head := m.header([]int{200, 201})
	b := append(head, make([]byte, 4096)...)
	if _, err := openFiles(nil, nil, readertest.Put(t, "c.nc", string(b))); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "in the same place") {
		t.Errorf("two variables in one place: %v", err)
	}
}

func replaced(b, old, new []byte) []byte {
	return []byte(strings.Replace(string(b), string(old), string(new), 1))
}

// TestWhatTheHeaderLeavesOut is said: records that are not counted, or that are counted by the size.
func TestWhatTheHeaderLeavesOut(t *testing.T) {
	m := &made{version: 2, records: 3, dims: []madeDim{{"rec", 0}}, vars: []madeVar{{name: "a", typ: 4, dims: []int{0}, data: be([]int32{1, 2, 3})}}}
	whole := m.bytes()
	m.streaming = true
	streaming := m.bytes()
	for name, c := range map[string]struct {
		data    []byte
		samples int64
		want    string
	}{
		"fewer records": {replaced(whole, be(uint32(3)), be(uint32(2))), 2, "room for 1 more"},
		"streaming":     {streaming, 3, "its size makes 3"},
		"half a record": {append(streaming, 0, 0), 3, "2 B behind them are not read"},
	} {
		src, err := openFiles(nil, nil, readertest.Put(t, "c.nc", string(c.data)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		notes := strings.Join(src.(format.Noter).Notes(), "\n")
		if got := load(t, src, nil); got.Samples != c.samples {
			t.Errorf("%s: %d samples", name, got.Samples)
		}
		if !strings.Contains(notes, c.want) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	src, err := openFiles(nil, nil, filepath.Join("testdata", "weather_1.nc"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if notes := strings.Join(src.(format.Noter).Notes(), "\n"); strings.Count(notes, "unwritten: its last value is the one that netCDF writes") != 1 || strings.Count(notes, "its last value") != 1 {
		t.Errorf("notes %q", notes)
	}
}

// TestOtherFormatsAreNamed: a file of the wrong kind is not called damaged.
func TestOtherFormatsAreNamed(t *testing.T) {
	_, err := openFiles(nil, nil, filepath.Join("testdata", "weather_4.nc"))
	if errors.Is(err, shardify.ErrCorrupt) || !isKind(err) || !strings.Contains(err.Error(), "--from hdf5 reads it") {
		t.Error(err)
	}
	_, err = hdf5.Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(filepath.Join("testdata", "weather_1.nc"))})
	if errors.Is(err, shardify.ErrCorrupt) || !isKind(err) || !strings.Contains(err.Error(), "--from netcdf3 reads it") {
		t.Error(err)
	}
	if _, err := openFiles(format.Options{"sample": "chunk"}, nil, filepath.Join("testdata", "weather_1.nc")); err == nil || !strings.Contains(err.Error(), `--sample "chunk": want one of auto, axis, file`) {
		t.Error(err)
	}
}

// TestManyChunks reads variables of many chunks, whole and in records, in spans that begin anywhere.
func TestManyChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := &made{version: 2, records: 700, dims: []madeDim{{"rec", 0}, {"x", 1500}, {"y", 3}, {"many", 700}, {"long", 400_000}}, vars: []madeVar{
		{name: "slabs", typ: 4, dims: []int{0, 1}}, {name: "small", typ: 3, dims: []int{0, 2}}, {name: "bytes", typ: 1, dims: []int{0}},
		{name: "fixed", typ: 6, dims: []int{3, 1}}, {name: "rows", typ: 5, dims: []int{2, 4}},
	}}
	for i := range m.vars {
		n, record := m.inner(&m.vars[i])
		if record {
			n *= m.records
		}
		m.vars[i].data = make([]byte, n)
		for k := range m.vars[i].data {
			m.vars[i].data[k] = byte(r.Uint32())
		}
	}
	name := readertest.Put(t, "m.nc", string(m.bytes()))
	for _, object := range []string{"slabs,small,bytes", "fixed", "rows"} {
		src, err := openFiles(format.Options{"object": object, "sample": "axis"}, nil, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []int64{1 << 40, 777_777} {
			c, err := readertest.Load(src, target)
			if err != nil {
				t.Fatal(err)
			}
			for i := range m.vars {
				v := &m.vars[i]
				if col := c.ByName[v.name]; col != nil {
					want := v.little()
					if !slices.Equal(col.Data, want) {
						t.Errorf("%s, target %d: other values", v.name, target)
					}
				}
			}
		}
		src.Close()
	}
}

func walkFile(name string) (readertest.Walked, error) {
	return readertest.Walk(func(context.Context) (shardify.Source, error) {
		return openFiles(format.Options{"sample": "axis"}, nil, name)
	}, 1<<10, nil)
}

// seeds are files that are damaged.
func seeds(t testing.TB) (all [][]byte) {
	for _, name := range []string{"weather_1.nc", "weather_2.nc", "wide_5.nc", "fixed_1.nc"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	for i := range uint64(6) {
		all = append(all, random(rand.New(rand.NewPCG(9, i))).bytes())
	}
	return all
}

// TestMutatedFilesGiveErrorsOnly damages files: no panic, no hang, little memory, and errors of a kind.
// SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := seeds(t)
	m := readertest.Mutants{Format: "netcdf3", Quick: 2000, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		b := slices.Clone(all[rng.IntN(len(all))])
		for range 1 + rng.IntN(2) {
			switch at := rng.IntN(len(b)); rng.IntN(8) {
			case 0, 1:
				b[at] ^= 1 << rng.IntN(8)
			case 2:
				b[len(b)/2+at/2] ^= 1 << rng.IntN(8)
			case 3, 4: // a number of the header
				x := readertest.Interesting[rng.IntN(len(readertest.Interesting))]
				if at = at / 4 * 4; at+8 <= len(b) && rng.IntN(2) == 0 {
					copy(b[at:], be(x))
				} else {
					copy(b[at:], be(uint32(x)))
				}
			case 5:
				b = b[:at+1]
			case 6:
				b = slices.Insert(b, at, b[at:min(len(b), at+4)]...)
			default:
				copy(b[at:], b[rng.IntN(len(b)):])
			}
		}
		return readertest.Mutant{Seed: "m.nc", Data: b, Read: walkFile}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	race.Sequential(f)
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.nc")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := walkFile(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%v for %d bytes", d, len(data))
		}
	})
}

// FuzzState opens damaged states beside an intact file.
func FuzzState(f *testing.F) {
	table := readertest.TableOf(filepath.Join("testdata", "weather_1.nc"))
	readertest.FuzzState(f, 2, func(which int, state []byte) (shardify.Source, error) {
		o := format.Options{"sample": []string{"axis", "file"}[which]}
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state, Options: o})
	})
}
