package convert

import (
	"bufio"
	"context"
	"errors"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Merge checks every receipt, writes what foreign loaders want, and publishes
// the manifest. It alone may say that a data set is complete. Missing shards are
// ErrIncomplete.
func (j *Job) Merge(ctx context.Context) (*index.Manifest, error) {
	m, err := j.collect(ctx)
	if err != nil {
		return nil, err
	}
	if j.Plan.Splits.Rule != nil {
		err = j.finishSplits(ctx, m)
	} else if err = j.complete(ctx, j.Store, &m.Manifest); err == nil {
		err = j.finish(ctx, &m.Manifest)
	}
	if err != nil {
		return nil, err
	}
	return &m.Manifest, j.Tidy()
}

func (j *Job) finish(ctx context.Context, m *index.Manifest) error {
	if err := storage.Flush(ctx, j.Store); err != nil {
		return err
	}
	if err := publishManifest(ctx, j.Store, index.ManifestName, m); err != nil {
		return err
	}
	return storage.Flush(ctx, j.Store)
}

// publishManifest completes a manifest with its digest and publishes it.
func publishManifest(ctx context.Context, s storage.Store, name string, m *index.Manifest) error {
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	err = m.EncodeTo(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Commit(ctx)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

// Missing is the error of a merge that lacks shards. It is an ErrIncomplete.
type Missing struct {
	Shards []int
	Of     int
}

// collected is the manifest that receipts describe. With splits, the manifests of the splits list
// the shards, with names below their own folders.
type collected struct {
	index.Manifest
	splits    []*index.Manifest
	documents []int64 // by split, that sequences were made of; nil without
}
