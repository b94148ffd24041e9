package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// StatusReport is how far a data set is.
type StatusReport = cluster.Report

// StatusOptions are how closely to look, and whether to list the tasks that are not done.
type StatusOptions = cluster.Options

// Status reports how far a data set is. It changes nothing, and may run while others work.
func Status(ctx context.Context, folder string, o StatusOptions) (*StatusReport, error) {
	r, err := o.Status(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, shardify.Hint(err, "make a data set: shardify convert INPUT... -o "+printable.Quote(folder))
	}
	return r, err
}

// Unfinished is the error of a data set that is not complete, with what to do.
func Unfinished(r *StatusReport) error {
	err := fmt.Errorf("%s is %w", r.Output, convert.ErrIncomplete)
	if r.State != cluster.StatusNone || len(r.Next) > 0 {
		return err
	}
	if _, e := storages.Files.Stat(context.Background(), storage.Join(r.Output, storage.Private)); e == nil {
		return shardify.Hint(err, "the unfinished work there has no plan, as a merge of sets has none: run its command again, shardify merge-sets ... -o "+printable.Quote(r.Output))
	}
	return shardify.Hint(err, "it is not a data set of shardify; this shows what it is: shardify inspect "+printable.Quote(r.Output))
}
