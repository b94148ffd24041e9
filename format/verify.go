package format

import (
	"context"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

// Verifier checks the shards of one set, for package verify. Sizes and digests are checked
// there: a Verifier checks what the bytes mean, and finds the place of a damage.
type Verifier struct {
	// Head is how many bytes at the beginning of a shard its digest covers; 0 is all of them,
	// by index.PieceDigest.
	Head int64
	// Shard checks one shard. It is called from several goroutines.
	Shard func(c *ShardCheck)
	// Stream checks a shard while its bytes pass, as when it is copied; r reads what
	// describes the rest, such as a header. nil: its digest covers all bytes.
	Stream func(record *shardify.Shard, r io.ReaderAt) (Checker, error)
}

// Checker receives a file's bytes in order, and knows at their end whether they are the
// file's.
type Checker interface {
	// Write fails as soon as something is known to be wrong.
	Write(b []byte) (int, error)
	End() error
}

// Linter checks files that any program may have written.
type Linter struct {
	// Ext ends the names of such files in folders, if that is not the format's Ext; then they
	// must begin as Sniff says, too.
	Ext string
	// Sniff recognizes such a file by its first bytes, up to 512. A file whose name ends in
	// the format's Ext is always taken for one.
	Sniff func(head []byte) bool
	// Check reports what is damaged, and what makes some loader misread the file. ours: it is
	// a shard of a data set. The error is that of reading.
	Check func(ctx context.Context, c *ShardCheck) (ours bool, err error)
}

// ShardCheck is one shard under check. Problems name its file unless they name another, and
// count samples from its first one.
type ShardCheck struct {
	// Shard is its record; Samples is -1 and Digest is "" where nothing says.
	Shard shardify.Shard
	// From names what has the record, Schema what has the schema of the set, as sides of a
	// comparison.
	From, Schema string
	File         io.ReaderAt   // reads end with the check; what is read counts for the digest
	Size         int64         // of the file, which may not be that of the record
	Store        storage.Store // of the folder that names are below
	Buf          []byte        // 1 MiB to work with
	// Full: all data are to be checked, not only what is cheap. A Linter sets it if it did.
	Full   bool
	Report func(problem.Problem)
	// Intact reads the whole file and reports whether its digest is that of the record.
	Intact func() bool

	// What was found: samples, -1 if unknown, and tensors or members.
	Samples, Parts int64
}

// Fail reports an error of reading or parsing the shard.
func (c *ShardCheck) Fail(level problem.Level, err error) { c.Report(problem.Of(level, "", err)) }

// Differs begins the report that the shard says one thing and something else another.
func (c *ShardCheck) Differs(what string, want, got *problem.Side) problem.Problem {
	p := problem.New(problem.LevelStructure, problem.KindMismatch, "", what)
	p.Want, p.Got = want, got
	return p
}

// Count notes how many samples there are, as a part of the shard says, and reports if that
// is not what its record says.
func (c *ShardCheck) Count(samples int64, part string) {
	c.Samples = samples
	if c.Shard.Samples >= 0 && c.Shard.Samples != samples {
		c.Report(c.Differs("samples", problem.Says(c.From, fmt.Sprint(c.Shard.Samples)), problem.Says(part, fmt.Sprint(samples))))
	}
}
