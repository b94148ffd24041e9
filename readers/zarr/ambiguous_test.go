package zarr

import (
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestArraysOfSeveralLengthsAreADoubt, and so are samples with less than half of the bytes.
func TestArraysOfSeveralLengthsAreADoubt(t *testing.T) {
	array := func(dim string, shape ...int) *madeArray {
		a := &madeArray{dtype: "<f4", size: 4, shape: shape, chunk: shape, data: make([]byte, 4*product(shape))}
		if dim != "" {
			a.dims = []string{dim, "k"}[:len(shape)]
			a.attrs = map[string]any{"_ARRAY_DIMENSIONS": a.dims}
		}
		return a
	}
	for what, c := range map[string]struct {
		arrays map[string]*madeArray
		makes  []string
	}{
		"lengths": {map[string]*madeArray{"raw/data": array("", 20, 4), "raw/time": array("", 20), "units/id": array("", 7), "units/x": array("", 7, 9)},
			[]string{"20 samples of raw/data, raw/time", "7 samples of units/id, units/x", "each store one sample"}},
		"steps beside fields": {map[string]*madeArray{"field": array("cell", 60, 9), "t": array("time", 5, 9),
			"time": {dtype: "<f8", size: 8, shape: []int{5}, chunk: []int{5}, dims: []string{"time"}, data: make([]byte, 40), attrs: map[string]any{"units": "days since 2000-01-01", "_ARRAY_DIMENSIONS": []string{"time"}}},
			"more": array("other", 50, 9)},
			[]string{"60 samples of field", "50 samples of more", "5 samples of t", "each store one sample"}},
	} {
		dir := writeStore(t, 2, c.arrays)
		t.Run(what, func(t *testing.T) {
			readertest.Ways(t, func(columns []string, o format.Options) (shardify.Source, error) {
				return openStores(t, o, columns, dir)
			}, c.makes...)
		})
	}
}
