package main

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/sparse"
)

// The arguments of shardify_sparse.
const (
	sparseValues = iota
	sparseIndices
	sparseWidth
	sparseKept
	sparseNormalize
	sparseLog1p
	sparseDense
	sparseWide
	sparseForm
)

// What shardify_sparse found.
const (
	foundElements = iota
	foundMixed
	foundRow
	foundElement
	foundColumn
	foundHuge
	foundLength
)

// sparseTypes are the types of values and of numbers of columns, by number.
var sparseTypes = []shardify.DType{
	shardify.Bool, shardify.U8, shardify.I8, shardify.U16, shardify.I16, shardify.U32, shardify.I32, shardify.U64, shardify.I64, shardify.F32, shardify.F64,
}

func sparseOf(form []int64, columns []int32) (*sparse.Form, error) {
	for _, k := range form[:sparseWidth] {
		if k < 0 || k >= int64(len(sparseTypes)) {
			return nil, fmt.Errorf("sparse rows of type %d", k)
		}
	}
	return &sparse.Form{
		Values: sparseTypes[form[sparseValues]], Indices: sparseTypes[form[sparseIndices]], Width: int(form[sparseWidth]), Kept: int(form[sparseKept]), Columns: columns,
		Normalize: math.Float64frombits(uint64(form[sparseNormalize])), Log1p: form[sparseLog1p] != 0, Dense: form[sparseDense] != 0, Wide: form[sparseWide] != 0,
	}, nil
}

func tell(found []int64, f sparse.Found) {
	found[foundElements], found[foundMixed], found[foundRow] = int64(f.Elements), int64(f.Mixed), -1
	if f.Bad != nil {
		found[foundRow], found[foundElement], found[foundColumn], found[foundHuge] = int64(f.Bad.Row), int64(f.Bad.Element), f.Bad.Column, 0
		if f.Bad.Huge {
			found[foundHuge] = 1
		}
	}
}

// denseLength is the numbers of shardify_dense: the words of device.Dense, and the type of numbers of columns.
const denseLength = 12

func denseRows(name string, stream gpuload.Stream, form []int64) error {
	kind := form[denseLength-1]
	if kind < 0 || kind >= int64(len(sparseTypes)) {
		return fmt.Errorf("numbers of columns of type %d", kind)
	}
	words := make([]uint64, denseLength-1)
	for i := range words {
		words[i] = uint64(form[i])
	}
	return device.Dense(name, stream, words, sparseTypes[kind])
}
