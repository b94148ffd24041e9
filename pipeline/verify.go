package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/verify"
)

// Verify checks a data set, or files that other programs made. The first path is the folder
// or the manifest of a data set, and with Against the others are where the inputs are now;
// else all paths are files, or folders of them. What is wrong is in the report. Of the hooks
// Progress counts; its AllBytes are 0 as long as they are not known.
func Verify(ctx context.Context, paths []string, o verify.Options, h Hooks) (*verify.Report, error) {
	o.Command = cmp.Or(o.Command, "shardify verify")
	if len(paths) == 0 {
		return nil, shardify.Hint(shardify.Usage("want a folder to verify"), "see: "+o.Command+" --help")
	}
	o.Dir = dataset.Folder(paths[0])
	foreign := verify.IsForeign(o.Dir)
	switch {
	case foreign && (o.Against || o.Repair || o.PublicKey+o.ID != ""):
		return nil, shardify.Usage("%s is not a data set: --against, --repair, --public-key and --id are for data sets", paths[0])
	case !foreign && len(paths) > 1 && !o.Against:
		return nil, shardify.Hint(shardify.Usage("want one folder, not %d", len(paths)), "to compare with inputs: "+o.Command+" "+printable.Quote(paths[0])+" --against "+printable.Quote(paths[1]))
	}
	if o.Progress == nil {
		o.Progress = &verify.Progress{}
	}
	defer h.follow(func() Progress {
		return Progress{Bytes: o.Progress.Bytes.Load(), AllBytes: o.Progress.Total.Load(), Shards: o.Progress.Shards.Load()}
	})()
	var r *verify.Report
	var err error
	if foreign {
		r, err = verify.Lint(ctx, paths, o)
	} else {
		o.Inputs = append(o.Inputs, paths[1:]...)
		r, err = verify.Run(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Dir, err)
	}
	return r, nil
}

// Index rebuilds what follows from the shards of a data set and is missing or damaged. The
// data of shards are not read. If something else is wrong, there are a report and an error.
// Of a folder of tars that other programs made it keeps the index that readers make of them otherwise: beside them,
// or in the folder to.
func Index(ctx context.Context, dir, to string) (*verify.Report, error) {
	if dir = storages.Plain(dir); to != "" {
		to = storages.Plain(to)
	}
	r, err := indexTars(ctx, dir, to)
	if r != nil || err != nil {
		return r, err
	}
	switch {
	case to != "":
		return nil, shardify.Usage("%s: -o is for tars of other programs: shards of a data set have their index beside them", dir)
	case verify.IsForeign(dir):
		return nil, shardify.Unsupported("%s is no folder with a data set or with tars of other programs: there is nothing to index", dir)
	}
	r, err = Verify(ctx, []string{dir}, verify.Options{Read: verify.PartNone, Repair: true}, Hooks{})
	if err == nil && r.State == verify.StateUnfinished && r.Counts.Shards+r.Orphans == 0 {
		if _, e := storages.Files.Stat(ctx, storage.Join(dir, storage.Private)); errors.Is(e, fs.ErrNotExist) {
			return nil, shardify.Unsupported("%s is no folder with a data set or with tars of other programs: there is nothing to index", dir)
		}
	}
	if err == nil && r.Err() != nil {
		err = shardify.Hint(fmt.Errorf("%s: %w", dir, r.Err()), "what is wrong: shardify verify "+printable.Quote(dir))
	}
	return r, err
}

// indexTars publishes the index of tars of others; without such tars the report is nil.
func indexTars(ctx context.Context, dir, to string) (*verify.Report, error) {
	set, content, err := dataset.IndexTars(ctx, storages.Files, dir, to)
	if set == nil || err != nil {
		return nil, err
	}
	folder := cmp.Or(to, dataset.Folder(dir))
	store, err := storages.Open(folder, storages.Output{Sync: local.SyncShard})
	if err == nil {
		err = storage.Place(ctx, store, dataset.TarsIndexName, content)
	}
	if err != nil {
		if to == "" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, storage.ErrReadOnly)) {
			err = shardify.Hint(err, "keep it elsewhere: shardify index "+printable.Quote(dir)+" -o "+printable.Quote(filepath.Base(set.Path)+"-index"))
		}
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	done := fmt.Sprintf("%s: %s of %s in %s", storage.Join(folder, dataset.TarsIndexName), printable.Of(set.Samples, "sample"), printable.Of(int64(len(set.Shards)), "tar"), shardify.FormatSize(int64(len(content))))
	return &verify.Report{Path: folder, State: verify.StateForeign, Done: append([]string{done}, set.Notes(false)...)}, nil
}
