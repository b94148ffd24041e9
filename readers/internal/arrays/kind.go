package arrays

import (
	"context"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/storage"
)

// Kind is a kind of files that hold named arrays. Its format's Open is Source, and its Outline is
// Outline.
type Kind struct {
	Name  string // of the format: "zarr"
	Title string // the same in errors: "Zarr"
	Key   string // changes when the state that plans keep does: "zarr 2"
	One   string // what an input is: "store"
	// Cells: inputs may be AnnData.
	Cells bool
	// Options are those of the format: OptObject and so on, and its own.
	Options []format.Option
	// Open gives the parts of an input by their names. in is the open file, and stays the caller's.
	Open func(ctx context.Context, fs storage.FS, name string, in storage.File) (store.Files, error)
	// Scan finds the arrays of an input; c nil finds all.
	Scan func(ctx context.Context, f store.Files, c *store.Choice) (*store.Tree, error)
	// Reopen is a tree of the arrays with these paths alone.
	Reopen func(ctx context.Context, f store.Files, paths []string) (*store.Tree, error)
}
