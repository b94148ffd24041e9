package look

import (
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
)

// chunkRows is the rows of a chunk, 0 of a data set that is not stored in chunks.
func chunkRows(a *array.Array) int64 {
	if a.Set.Layout.Class != dataset.Chunked || len(a.Dims) == 0 {
		return 0
	}
	return a.Set.Layout.ChunkDims[a.Axis()]
}
