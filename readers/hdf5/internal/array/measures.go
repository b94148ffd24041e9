package array

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Usable refuses what no reader can deliver, from the messages alone.
func (a *Array) Usable() error {
	d := a.Set
	if d.Layout.Class == dataset.Chunked {
		if len(d.Layout.ChunkDims) != len(a.Dims) || len(a.Dims) == 0 {
			return shardify.Corrupt(-1, "chunks of rank %d for a data set of rank %d", len(d.Layout.ChunkDims), len(a.Dims))
		}
		if _, err := newPipeline(d); err != nil {
			return err
		}
	}
	if n := a.Rows * a.RowBytes; n > hugeClaim && (d.Layout.Class == dataset.Chunked || d.Layout.Addr == meta.Undefined) {
		if err := a.ready(); err != nil {
			return err
		}
		if a.chunks == nil || a.chunks.decoded() < n>>10 {
			return shardify.Unsupported("%s, of which next to nothing is stored", shardify.FormatSize(n))
		}
	}
	if l := &d.Layout; l.Class == dataset.Contiguous && l.Addr != meta.Undefined && len(d.External) == 0 {
		if n := a.Rows * a.RowBytes; n > a.File.Size || l.Addr > a.File.Size-n {
			return shardify.Corrupt(l.Addr, "data set of %d bytes in a file of %d", n, a.File.Size)
		}
	}
	if len(d.External) > 0 || d.Layout.Class == dataset.Virtual {
		return a.ready()
	}
	return nil
}

// Unit is the rows that are decoded together: those of a chunk, 1 where any row
// can be read by itself.
func (a *Array) Unit() int64 {
	if a.Set.Layout.Class != dataset.Chunked || len(a.Set.Filters) == 0 && a.RowBytes > 0 {
		return 1
	}
	return max(min(a.Set.Layout.ChunkDims[a.Axis()], a.Rows), 1)
}

// Filtered reports whether it has chunks that are decoded.
func (a *Array) Filtered() bool { return a.chunks != nil && len(a.Set.Filters) > 0 }

// Storage says how an array is stored, and how well it is compressed.
func (a *Array) Storage() string {
	total := a.Rows * a.RowBytes
	switch l := &a.Set.Layout; {
	case l.Class == dataset.Compact:
		return "in its header"
	case l.Class == dataset.Virtual:
		return "virtual"
	case len(a.Set.External) > 0:
		return "in " + a.Set.External[0].Name
	case l.Class != dataset.Chunked && l.Addr == meta.Undefined:
		return "never written"
	case l.Class != dataset.Chunked:
		return "contiguous"
	}
	s := fmt.Sprintf("chunks %v", a.Set.Layout.ChunkDims)
	if len(a.Set.Filters) > 0 {
		if p, err := newPipeline(a.Set); err == nil {
			s += " " + strings.Join(p.Names(), " + ")
		}
	}
	if a.ready() != nil {
		return s
	}
	var stored int64
	table := a.asStored().chunks.table
	table.All(func(_ int64, c dataset.Chunk) bool { stored += c.Size; return true })
	s += fmt.Sprintf(", %s in %s", shardify.FormatSize(total), shardify.FormatSize(stored))
	if stored > 0 {
		s += fmt.Sprintf(" (%.1f:1)", float64(total)/float64(stored))
	}
	if n := table.Total() - int64(table.Stored()); n > 0 {
		s += fmt.Sprintf(", %d of %d chunks never written", n, table.Total())
	}
	return s
}
