package verify

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// Options say what to check and how far.
type Options struct {
	// Dir is the data set's folder: where it is read, unless Store is set, and
	// how commands in fixes name it.
	Dir   string
	Store storage.Store
	// Command is how fixes name this program; "" means "shardify verify".
	Command string
	// Sources and Sinks are the tables of formats, nil for those of this program. They serve to
	// compare values and to rebuild files for foreign loaders.
	Sources []format.Input
	Sinks   []format.Output

	Read Part
	Seed uint64 // decides which shards a percentage takes

	// Against compares values with the source. Inputs says where the inputs are
	// now; none means that they are where they were.
	Against bool
	Inputs  []string
	// Scratch is the folder in which a conversion is made again to compare with, "" that of
	// the system. Compile makes the operations of its plan, nil those of this program.
	Scratch string
	Compile flow.Compile

	// PublicKey, as minisign prints it, checks that shardify.json.minisig signs the manifest; "" asks
	// for no signature. A signature that is missing or wrong is an error of Run.
	PublicKey string
	// ID, as shardify id prints it, is the id that the set must have, or the set of which it is a
	// split; "" for any. Another one is an error of Run.
	ID string

	Repair   bool
	Jobs     int // shards at once; 0 means GOMAXPROCS
	Keep     int // problems kept in the report; 0 means 10,000
	Progress *Progress
}

// Progress may be read while Run works.
type Progress struct {
	Bytes, Total, Shards atomic.Int64
}

// ErrNotDataSet: the folder holds nothing to check.
var ErrNotDataSet = errors.New("neither a data set nor shards")

// Run checks a data set. Whatever is wrong with the data is in the report; an
// error means that the check itself could not be made.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Store == nil {
		st, err := storages.Files.Stat(ctx, o.Dir)
		if err != nil {
			return nil, err
		}
		if st.Type != storage.Folder {
			return nil, fmt.Errorf("%s is not a folder", o.Dir)
		}
		if o.Store, err = storages.Read(o.Dir); err != nil {
			return nil, err
		}
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Sources == nil {
		o.Sources = readers.Formats
	}
	if o.Sinks == nil {
		o.Sinks = writers.Formats
	}
	c, err := o.pass(ctx)
	if err == nil && c.again {
		// The first pass had no manifest to go by. What it repaired stays in the
		// report, all else is looked at again.
		first := c
		if c, err = o.pass(ctx); err == nil {
			c.carry(first)
		}
	}
	if err != nil {
		return nil, err
	}
	r := c.finish()
	r.Path, r.Next = o.Dir, next(c, &o)
	return r, nil
}

// pass checks everything once.
func (o *Options) pass(ctx context.Context) (*collector, error) {
	c := newCollector(o.Keep)
	s := &set{o: o, c: c, store: o.Store}
	if o.PublicKey != "" {
		if err := s.signature(); err != nil {
			return nil, err
		}
	}
	if o.ID != "" {
		if err := s.identify(ctx); err != nil {
			return nil, err
		}
	}
	err := s.run(ctx)
	if err = errors.Join(err, s.replay.close()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c, nil
}

// Err is nil when nothing is wrong; else it wraps convert.ErrIncomplete and says
// how much is.
func (r *Report) Err() error {
	switch {
	case !r.OK():
		return &incomplete{printable.Of(r.Total-r.Repaired, "problem")}
	case r.State == StateUnfinished:
		return &incomplete{"the conversion is not finished"}
	case r.Orphans > 0:
		return &incomplete{fmt.Sprintf("%s of a data set without its %s: it is not known whether shards are missing or differ from what was converted", printable.Of(r.Orphans, "shard"), index.ManifestName)}
	case r.Uncompared != "":
		return &incomplete{"values were not compared: " + r.Uncompared}
	}
	return nil
}

type incomplete struct{ msg string }

func (e *incomplete) Error() string   { return e.msg }
func (e *incomplete) Is(t error) bool { return t == convert.ErrIncomplete }
