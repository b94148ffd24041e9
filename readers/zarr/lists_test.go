package zarr

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// TestListsByOffsets: arrays beside an array of offsets are lists, as they are in HDF5, in spans of
// any size and chunks of any length.
func TestListsByOffsets(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for round := range 12 {
		n := 1 + r.IntN(30)
		ends, id := make([]int64, n+1), make([]int32, n)
		for i := range n {
			ends[i+1], id[i] = ends[i]+int64(r.IntN(4)*r.IntN(3)), int32(i)
		}
		if ends[n] == int64(n) || ends[n] == int64(n+1) || ends[n] == 0 {
			continue
		}
		total := int(ends[n])
		hits, texts := make([]float32, 2*total), make([]string, total)
		for i := range texts {
			hits[2*i], hits[2*i+1], texts[i] = float32(i), -float32(i), strings.Repeat("é", i%3)+fmt.Sprint(i)
		}
		arrays := map[string]*madeArray{
			"g/hits":         {dtype: "<f4", size: 4, shape: []int{total, 2}, chunk: []int{1 + r.IntN(7), 1 + r.IntN(2)}, data: shardify.Bytes(hits), gzip: true},
			"g/hits_name":    {shape: []int{total}, chunk: []int{1 + r.IntN(7)}, texts: texts},
			"g/hits_offsets": {dtype: "<i8", size: 8, shape: []int{n + 1}, chunk: []int{1 + r.IntN(9)}, data: shardify.Bytes(ends)},
			"id":             {dtype: "<i4", size: 4, shape: []int{n}, chunk: []int{4}, data: shardify.Bytes(id)},
		}
		src, err := openStores(t, nil, nil, writeStore(t, 2+round%2, arrays))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readertest.Load(src, int64(1+r.IntN(200)))
		if err != nil {
			t.Fatal(err)
		}
		if told := notesOf(src); !strings.Contains(told, "lists by g/hits_offsets") || !strings.Contains(told, "g/hits_offsets: where the lists of g/hits begin") {
			t.Error(told)
		}
		src.Close()
		h, s := got.ByName["g/hits"], got.ByName["g/hits_name"]
		if got.Samples != int64(n) || !slices.Equal(h.Offsets[0], ends) || !slices.Equal(s.Offsets[0], ends) || !slices.Equal(shardify.View[float32](h.Data), hits) || !slices.Equal(h.Shape, []int{2}) {
			t.Errorf("%v %v, want %v %v", h.Offsets, h.Data, ends, hits)
		}
		for i, want := range texts {
			if v := string(s.Data[s.Offsets[1][i]:s.Offsets[1][i+1]]); v != want {
				t.Errorf("text %d is %q, want %q", i, v, want)
			}
		}
	}
}

// TestListsAreCertain: offsets that contradict themselves, or the arrays they are about, are
// errors; --lists off reads rows.
func TestListsAreCertain(t *testing.T) {
	made := func(name string, ends []int64, values int, skip map[string]bool) string {
		return writeStore(t, 3, map[string]*madeArray{
			"hits": {dtype: "<i4", size: 4, shape: []int{values}, chunk: []int{3}, data: shardify.Bytes(make([]int32, values))},
			name:   {dtype: "<i8", size: 8, shape: []int{len(ends)}, chunk: []int{2}, data: shardify.Bytes(ends), skip: skip},
			"id":   {dtype: "<i4", size: 4, shape: []int{len(ends) - 1}, chunk: []int{4}, data: shardify.Bytes(make([]int32, len(ends)-1))},
		})
	}
	open := func(dir string, o format.Options, columns ...string) error {
		src, err := openStores(t, o, columns, dir)
		if err != nil {
			return err
		}
		defer src.Close()
		_, err = readertest.Load(src, 1)
		return err
	}
	for name, c := range map[string]struct {
		dir    string
		sample int64
		kind   error
	}{
		"falling":        {made("hits_offsets", []int64{0, 5, 3, 8, 10}, 10, nil), 1, shardify.ErrCorrupt},
		"beyond":         {made("hits_offsets", []int64{0, 5, 11, 8, 10}, 10, nil), 1, shardify.ErrCorrupt},
		"negative":       {made("hits_offsets", []int64{0, -1, 3, 8, 10}, 10, nil), 0, shardify.ErrCorrupt},
		"another length": {made("hits_offsets", []int64{0, 2, 3, 8, 11}, 10, nil), -1, shardify.ErrCorrupt},
		"not certain":    {made("offsets", []int64{0, 1, 2, 3, 4}, 4, nil), -1, shardify.ErrSchema},
		"missing chunk":  {made("hits_offsets", []int64{0, 2, 3, 8, 10}, 10, map[string]bool{"c/1": true}), 1, shardify.ErrCorrupt},
	} {
		var at *shardify.Error
		err := open(c.dir, nil, "hits")
		if !errors.Is(err, c.kind) || !errors.As(err, &at) || c.sample >= 0 && at.Sample != c.sample || at.Object == "" {
			t.Errorf("%s: %v", name, err)
		}
		if c.sample < 0 { // known before a sample is read: with a way that works for all columns
			w, ok := errors.AsType[*format.Cured](open(c.dir, nil))
			if !ok || !strings.Contains(err.Error(), "--lists off") {
				t.Errorf("%s: %v", name, err)
			} else if err := open(c.dir, w.Ways[0].Options, w.Ways[0].Columns...); err != nil {
				t.Errorf("%s, %v: %v", name, w.Ways, err)
			}
		}
		if err := open(c.dir, format.Options{"lists": "off"}, "hits"); err != nil {
			t.Errorf("%s, --lists off: %v", name, err)
		}
	}
	got, _ := readNotes(t, nil, filepath.Join(corpus.Dir(t, "found3"), "zl.zarr"))
	if c := got.ByName["hits"]; got.Samples != 4 || c == nil || c.Counter != "hits_offsets" || !slices.Equal(c.Offsets[0], []int64{0, 3, 3, 7, 10}) {
		t.Errorf("%d %+v", got.Samples, c)
	}
}

// TestListsOfListsAreRefused: offsets of offsets are a second level, also where both have as many lists.
func TestListsOfListsAreRefused(t *testing.T) {
	race.Sequential(t)
	dir := writeStore(t, 3, map[string]*madeArray{
		"x":                 {dtype: "<i4", size: 4, shape: []int{6}, chunk: []int{3}, data: shardify.Bytes(make([]int32, 6))},
		"x_offsets":         {dtype: "<i8", size: 8, shape: []int{4}, chunk: []int{2}, data: shardify.Bytes([]int64{0, 2, 4, 6})},
		"x_offsets_offsets": {dtype: "<i8", size: 8, shape: []int{4}, chunk: []int{2}, data: shardify.Bytes([]int64{0, 1, 3, 4})},
	})
	_, err := openStores(t, nil, nil, dir)
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "lists of lists, by x_offsets and x_offsets_offsets") {
		t.Error(err)
	}
	src, err := openStores(t, format.Options{"lists": "off", "sample": "file"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
}

// TestListsThatTheOptionNames: the same rules as of HDF5, in spans of any size and chunks of any length,
// and every byte of the numbers that is changed is an error or makes other lists of all values.
func TestListsThatTheOptionNames(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 8))
	for round := range 16 {
		n := 1 + r.IntN(20)
		ends, starts, number := make([]int64, n+1), make([]int32, n), make([]uint16, n)
		for i := range n {
			number[i] = uint16(r.IntN(4) * r.IntN(3))
			starts[i], ends[i+1] = int32(ends[i]), ends[i]+int64(number[i])
		}
		total := int(ends[n])
		if total == 0 {
			continue
		}
		hits, id := make([]float32, 2*total), make([]int32, n)
		for i := range hits {
			hits[i] = float32(i)
		}
		arrays := map[string]*madeArray{
			"h/a":    {dtype: "<f4", size: 4, shape: []int{total, 2}, chunk: []int{1 + r.IntN(7), 2}, data: shardify.Bytes(hits)},
			"id":     {dtype: "<i4", size: 4, shape: []int{n}, chunk: []int{4}, data: shardify.Bytes(id)},
			"first":  {dtype: "<i4", size: 4, shape: []int{n}, chunk: []int{1 + r.IntN(5)}, data: shardify.Bytes(starts), gzip: true},
			"number": {dtype: "<u2", size: 2, shape: []int{n}, chunk: []int{1 + r.IntN(5)}, data: shardify.Bytes(number)},
			"last":   {dtype: "<i8", size: 8, shape: []int{n}, chunk: []int{3}, data: shardify.Bytes(ends[1:])},
			"ptr":    {dtype: "<i8", size: 8, shape: []int{n + 1}, chunk: []int{3}, data: shardify.Bytes(ends)},
		}
		rule := []string{"h counts=number", "h/* starts=first counts=number", "h/a starts=first ends=last", "h ends=last", "h offsets=ptr"}[round%5]
		read := func() (*readertest.Columns, string, error) {
			src, err := openStores(t, format.Options{"lists": rule}, []string{"h/a", "id"}, writeStore(t, 2+round%2, arrays))
			if err != nil {
				return nil, "", err
			}
			defer src.Close()
			got, err := readertest.Load(src, int64(1+r.IntN(100)))
			return got, notesOf(src), err
		}
		got, told, err := read()
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		if a := got.ByName["h/a"]; got.Samples != int64(n) || !slices.Equal(a.Offsets[0], ends) || !slices.Equal(shardify.View[float32](a.Data), hits) || !strings.Contains(told, "lists by ") {
			t.Errorf("%s: %v, want %v; %s", rule, a.Offsets, ends, told)
		}
		for _, name := range []string{"first", "number", "last", "ptr"} {
			if !strings.Contains(rule, name) {
				continue
			}
			b := arrays[name]
			at := r.IntN(len(b.data))
			b.data = slices.Clone(b.data)
			b.data[at] ^= 1 << r.IntN(8)
			got, _, err := read()
			if err == nil { // an empty list may start anywhere
				if a := got.ByName["h/a"]; a.Offsets[0][n] != int64(total) || !slices.Equal(shardify.View[float32](a.Data), hits) {
					t.Errorf("%s, byte %d of %s: %v", rule, at, name, a.Offsets)
				}
			} else if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("%s, byte %d of %s: %v", rule, at, name, err)
			}
		}
	}
}
