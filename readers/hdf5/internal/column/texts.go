package column

import (
	"context"

	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
)

// Listed are the names in the order in which a data set of texts has each of them once;
// nil if it does not.
func (f *File) Listed(p string, names []string) []string {
	a, err := f.Dataset(p)
	if err != nil {
		return nil
	}
	left := make(map[string]bool, len(names))
	for _, name := range names {
		left[name] = true
	}
	out := make([]string, 0, len(names))
	whole := f.Each(a, func(text string) bool {
		known := left[text]
		delete(left, text)
		out = append(out, text)
		return known
	})
	if !whole || len(left) > 0 {
		return nil
	}
	return out
}

// Texts are a member's values in a small data set of compound type.
func (a *Dataset) Texts(m datatype.Member) (out []string) {
	raw := make([]byte, a.Rows*a.RowBytes)
	if a.Read(context.Background(), new(array.Buffers), raw, 0, a.Rows) != nil {
		return nil
	}
	for ; len(raw) > 0; raw = raw[a.RowBytes:] {
		out = append(out, string(element.Trim(raw[m.Offset:][:m.Type.Size], datatype.NulPadded)))
	}
	return out
}

// ShortTexts reads a small data set of texts; nil for any other.
func (f *File) ShortTexts(p string) []string {
	a, err := f.Dataset(p)
	if err != nil || a.Set.Type.Class != datatype.String || a.Rows > element.MaxColumns {
		return nil
	}
	var out []string
	size := 0
	whole := f.Each(a, func(text string) bool {
		size += len(text)
		out = append(out, text)
		return size <= element.MaxText
	})
	if !whole {
		return nil
	}
	return out
}

// Each goes through a list of texts or numbers until f has enough. It reports whether it
// came to the end.
func (f *File) Each(a *Dataset, item func(text string) bool) bool {
	if len(a.Dims) != 1 || a.RowBytes > element.MaxAttr || a.Usable() != nil {
		return false
	}
	leaves, _ := a.Leaves(nil)
	if len(leaves) != 1 || leaves[0].Err != nil || leaves[0].At.Values() != 1 {
		return false
	}
	const block = 1 << 10
	var w array.Buffers
	heap, raw := heap.New(f.H5.File, 1<<20), make([]byte, 0, min(a.Rows, block)*a.RowBytes)
	for lo := int64(0); lo < a.Rows; lo += block {
		hi := min(lo+block, a.Rows)
		raw = raw[:(hi-lo)*a.RowBytes]
		if a.Read(context.Background(), &w, raw, lo, hi) != nil {
			return false
		}
		for b := raw; len(b) > 0; b = b[a.RowBytes:] {
			if text, ok := element.ItemText(heap, &leaves[0], b[:a.RowBytes]); !ok || !item(text) {
				return false
			}
		}
	}
	return true
}
