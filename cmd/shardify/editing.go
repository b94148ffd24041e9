package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/pflag"
)

// addEditing adds how a new version is made.
func addEditing(fs *pflag.FlagSet, e *pipeline.Edit) {
	fs.Var((*value.Jobs)(&e.Jobs), "jobs", "shards written at the same time; the cores of the machine or allocation if left out")
	fs.Var((*value.Memory)(&e.Memory), "memory", "`SIZE` of memory to stay under")
	fs.Var(value.OneOf(&e.Sync, "shard", "end", "none"), "sync", "make files durable one by one, all at the end, or never (none: for scratch)")
}

// edit makes a new version of a data set, and says what changed.
func (p *program) edit(ctx context.Context, e *pipeline.Edit) error {
	if err := pipeline.Change(ctx, e, p.hooks(ctx, nil)); err != nil {
		return err
	}
	was, is := &e.Before, &e.After
	version := is.VersionNumber()
	p.Object(e.Op, struct {
		Folder  string              `json:"folder"`
		Version int64               `json:"version"`
		Dry     bool                `json:"dry_run"`
		Before  int64               `json:"samples_before"`
		Samples int64               `json:"samples"`
		Changed int64               `json:"samples_changed"`
		Shards  int                 `json:"shards_written"`
		Bytes   int64               `json:"bytes_written"`
		Windows map[string][2]int64 `json:"windows,omitempty"`
	}{e.Dir, version, e.Dry, was.Samples, is.Samples, e.Changed, e.Written, e.Bytes, e.Windows})
	what := printable.Of(is.Samples, "sample") + ", before " + printable.Count(was.Samples)
	if e.Changed > 0 {
		what += ", " + printable.Count(e.Changed) + " with other values"
	}
	what += "; " + printable.Of(int64(e.Written), "shard") + ", " + shardify.FormatSize(e.Bytes) + ", written again" + e.WindowsText()
	switch {
	case e.To != "" && e.Dry:
		p.Result("version %d: %s would be in %s", e.Version, printable.Of(is.Samples, "sample"), e.To)
		p.Result("nothing written (--dry-run)")
	case e.To != "":
		p.Result("version %d: %s in %s", version, printable.Of(is.Samples, "sample"), e.To)
	case was.Digest == is.Digest && was.Samples == is.Samples && e.Changed == 0:
		p.Result("nothing changed: version %d of %s", version, printable.Of(is.Samples, "sample"))
	case e.Dry:
		p.Result("version %d would have %s", version+1, what)
		p.Result("nothing written (--dry-run)")
	default:
		p.Result("version %d: %s", version, what)
	}
	return nil
}
