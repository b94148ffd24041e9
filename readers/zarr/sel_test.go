package zarr

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	core "github.com/shardify/shardify/readers/internal/arrays"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// TestSelectionsOfTheCorpus compares with what xarray and NumPy select of the same store.
func TestSelectionsOfTheCorpus(t *testing.T) {
	race.Sequential(t)
	dir := filepath.Join(corpus.Dir(t, "zarr"), "cf")
	b, err := os.ReadFile(filepath.Join(dir, "windows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Store string
		Cases []struct {
			Name, Flags string
			Samples     int64
			X           struct {
				Shape []int
				SHA   string `json:"sha256_le"`
			}
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, c := range want.Cases {
		flag, value, _ := strings.Cut(c.Flags, " ")
		value = strings.Replace(value, "::4 from the third on (12 UTC)", "[2::4]", 1)
		if flag != "--sel" && flag != "--channels" {
			continue
		}
		field := "2m_temperature"
		if strings.Contains(value, "level=") {
			field = "geopotential"
		} else if flag == "--channels" {
			field = "x"
		}
		ctx := context.Background()
		a := format.OpenArgs{Table: tableOf(t, filepath.Join(dir, want.Store)), Options: format.Options{flag[2:]: value}}
		src, err := Format.Open(ctx, a)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		state, err := src.(format.Stater).State()
		src.Close()
		if a.State = state; err == nil { // as tasks open it
			src, err = Format.Open(ctx, a)
		}
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		all, err := readertest.Load(src, 700)
		src.Close()
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		x := all.ByName[field]
		if x == nil || x.DType != shardify.F32 {
			t.Errorf("%s: %s is missing, or %v", c.Name, field, x)
			continue
		}
		sum := sha256.Sum256(x.Data)
		if all.Samples != c.Samples || !slices.Equal(x.Shape, c.X.Shape) || hex.EncodeToString(sum[:]) != c.X.SHA {
			t.Errorf("%s: %d samples of %v with other values, want %d of %v", c.Name, all.Samples, x.Shape, c.Samples, c.X.Shape)
		}
		compared++
	}
	if compared != 7 {
		t.Errorf("%d cases", compared)
	}
}

// TestSelectionsInEveryForm: chunks and shards in several pieces give what the whole array has,
// each part is decoded once and no others are.
func TestSelectionsInEveryForm(t *testing.T) {
	times, levels, lats, lons := 20, 3, 5, 8
	data := make([]byte, 4*times*levels*lats*lons)
	for i := range len(data) / 4 {
		shardify.View[int32](data)[i] = int32(i)
	}
	count := func(n int) []byte {
		b := make([]byte, 4*n)
		for i := range n {
			shardify.View[int32](b)[i] = int32(10 * i)
		}
		return b
	}
	names := []string{"time", "level", "lat", "lon"}
	shape := []int{times, levels, lats, lons}
	for _, form := range []struct {
		format       int
		chunk, shard []int
	}{{2, []int{1, 3, 5, 8}, nil}, {2, []int{6, 2, 2, 3}, nil}, {3, []int{3, 1, 5, 4}, []int{6, 3, 5, 8}}} {
		arrays := map[string]*madeArray{"x": {dtype: "<i4", size: 4, shape: shape, chunk: form.chunk, shard: form.shard, dims: names, data: data, gzip: true}}
		for d, name := range names {
			arrays[name] = &madeArray{dtype: "<i4", size: 4, shape: shape[d : d+1], chunk: shape[d : d+1], dims: names[d : d+1], data: count(shape[d])}
		}
		dir := writeStore(t, form.format, arrays)
		for _, c := range []struct {
			sel string
			at  [4][]int
		}{
			{"time=20..90", [4][]int{{2, 3, 4, 5, 6, 7, 8, 9}}},
			{"time=::3,lat=10..30", [4][]int{{0, 3, 6, 9, 12, 15, 18}, nil, {1, 2, 3}}},
			{"time=10,140,level=20,0,lon=::5", [4][]int{{1, 14}, {2, 0}, nil, {0, 5}}},
			{"lon=[3:5],[0]", [4][]int{nil, nil, nil, {3, 4, 0}}},
		} {
			src, err := openStores(t, format.Options{"sel": c.sel, "cf": "off", "sample": "axis"}, []string{"x"}, dir)
			if err != nil {
				t.Fatalf("%v --sel %s: %v", form, c.sel, err)
			}
			want, parts := []float64{0}, 1
			for d, at := range c.at {
				if at == nil {
					for k := range shape[d] {
						at = append(at, k)
					}
				}
				hit := map[int]bool{}
				var next []float64
				for _, v := range want {
					for _, k := range at {
						next = append(next, v*float64(shape[d])+float64(k))
						hit[k/form.chunk[d]] = true
					}
				}
				want, parts = next, parts*len(hit)
			}
			r, _ := src.Reader(0)
			var got []float64
			spans := readertest.Spans(t, src, 1<<40)
			n := spans[len(spans)-1].Hi
			for lo := int64(0); lo < n; lo += 2 { // without regard to chunks
				mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), 1)
				b, err := r.Read(context.Background(), shardify.Span{Lo: lo, Hi: min(lo+2, n), Bytes: 1}, mem)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range shardify.View[int32](b.Columns[0].Data) {
					got = append(got, float64(v))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v --sel %s: %v, want %v", form, c.sel, got, want)
			}
			if n := core.Decoded(r); n != int64(parts) {
				t.Errorf("%v --sel %s: %d parts are decoded, want %d", form, c.sel, n, parts)
			}
			r.Close()
			src.Close()
		}
	}
}

// TestStoresOfAnotherGridAreRefused: their rows have one shape and other places.
func TestStoresOfAnotherGridAreRefused(t *testing.T) {
	race.Sequential(t)
	made := func(version int, first int32, lat []byte, dtype string, size int) string {
		time := []int32{first, first + 6, first + 12}
		return writeStore(t, version, map[string]*madeArray{
			"x":    {dtype: "<f4", size: 4, shape: []int{3, 4, 2}, chunk: []int{1, 4, 2}, dims: []string{"time", "lat", "lon"}, data: make([]byte, 96)},
			"lsm":  {dtype: "<f4", size: 4, shape: []int{4, 2}, chunk: []int{4, 2}, dims: []string{"lat", "lon"}, data: make([]byte, 32)},
			"time": {dtype: "<i4", size: 4, shape: []int{3}, chunk: []int{3}, dims: []string{"time"}, attrs: map[string]any{"units": "hours since 2018-01-01"}, data: shardify.Bytes(time)},
			"lat":  {dtype: dtype, size: size, shape: []int{4}, chunk: []int{4}, dims: []string{"lat"}, data: lat},
		})
	}
	falling, rising := []float32{60.1, 20.1, -20.1, -60.1}, []float32{-60.1, -20.1, 20.1, 60.1}
	for _, version := range []int{2, 3} {
		root := map[int]string{2: ".zgroup", 3: "zarr.json"}[version]
		a := made(version, 0, shardify.Bytes(falling), "<f4", 4)
		same := made(version, 18, shardify.Bytes([]float64{60.1, 20.1, -20.1, -60.1}), "<f8", 8)
		other := made(version, 18, shardify.Bytes(rising), "<f4", 4)
		for _, c := range []struct {
			b   string
			o   format.Options
			err string
		}{
			{same, nil, ""},
			{other, nil, "field x: the coordinate lat falls from 60.1 to -60.1 in " + a + "/" + root + ", rises from -60.1 to 60.1 in " + other},
			{other, format.Options{"sel": "lat=[1:3]"}, "the coordinate lat falls from 20.1 to -20.1"},
			{other, format.Options{"channels": "y=x,lsm"}, "the coordinate lat falls"},
			{same, format.Options{"channels": "y=x,lsm"}, ""},
		} {
			src, err := openStores(t, c.o, nil, a, c.b)
			if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("format %d %v: error %v, want %q", version, c.o, err, c.err)
			}
			if err == nil {
				src.Close()
			}
		}
	}
}
