// Package ask is the vocabulary of questions: what a user may want of a conversion beyond reading one format and writing
// another, such as windows of rows, samples of several rows, splits, fields that are stored once.
//
// A Question is a package below questions, and a line in questions.Table. It holds all that belongs to it: which settings ask
// it, what they exclude, what it adds to a plan, the source that it makes of another, what it publishes beside the shards and
// says in the manifest, and how a set is checked. Pipeline goes through the table and knows no question by its name.
package ask

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform"
)

// Question is one question. Functions may be nil.
type Question struct {
	Name string
	// Keys are the names of the settings that ask it.
	Keys []string
	// New begins to answer it for one conversion.
	New func() Asked
	// Again prepares reading the inputs of a plan that was made before, as tasks and checks do.
	Again func(*Again)
	// Record completes the manifest of a finished set, or of one of its splits, which are in store;
	// root is that of the whole set.
	Record func(ctx context.Context, p *plan.Plan, root, store storage.Store, m *index.Manifest) error
	// Extend refuses further inputs for a part of a set that only all inputs together can make.
	Extend func(part *index.Part) error
	// Verify compares what a manifest says with the shards. wrong is called for each difference.
	Verify func(store storage.Store, m *index.Manifest, wrong func(what string)) error
}

// Asked is a question of one conversion. Each step is called for all questions in the order of the
// table before the next one.
type Asked interface {
	// Check refuses settings that are wrong whatever the inputs are, and writes into the draft what
	// they say.
	Check(c *Conversion) error
	// Prepare reads what is needed before the inputs are opened, and names fields of theirs that are needed
	// whichever were chosen.
	Prepare(ctx context.Context, c *Conversion) (fields []string, err error)
	// Open is called with the open inputs. It may make another source of c.Opened.Source.
	Open(ctx context.Context, c *Conversion) error
	// Planned is called with the plan: it refuses what does not fit, and adds notes.
	Planned(ctx context.Context, c *Conversion, p *plan.Plan, sink *format.Output) error
	// Publish writes what must be there before the first shard.
	Publish(ctx context.Context, store storage.Store) error
}

// Nothing is an Asked that does nothing: questions embed it for the steps that they do not need.
type Nothing struct{}

// Check implements Asked.
func (Nothing) Check(*Conversion) error { return nil }

// Prepare implements Asked.
func (Nothing) Prepare(context.Context, *Conversion) ([]string, error) { return nil, nil }

// Open implements Asked.
func (Nothing) Open(context.Context, *Conversion) error { return nil }

// Planned implements Asked.
func (Nothing) Planned(context.Context, *Conversion, *plan.Plan, *format.Output) error { return nil }

// Publish implements Asked.
func (Nothing) Publish(context.Context, storage.Store) error { return nil }

// Conversion is what questions know of a conversion while its plan is made.
type Conversion struct {
	*settings.Settings
	// Draft is what the plan will say. Of it, questions fill in what is theirs.
	Draft plan.Plan
	// Shape is the operations; Compile makes them.
	Shape   transform.Settings
	Compile flow.Compile
	Memory  int64
	Jobs    int
	// Once: a long list of inputs must be planned at once, and not in parts.
	Once bool

	Input   format.Input
	Request readers.Request
	Opened  *readers.Opened // from Open on

	// Parsed are the fields of files that operations make values of, from Open on.
	Parsed []string

	// Notes are said with the plan, in their order.
	Notes []string
	// Looks look at some samples for further notes, if the conversion is new.
	Looks []func(context.Context) []string
	// Closers are closed with the conversion.
	Closers Closers
}

// Pool is memory for samples.
func (c *Conversion) Pool() *shardify.Pool { return shardify.NewPool(PoolLimit(c.Memory)) }

// Note adds a note.
func (c *Conversion) Note(text string) { c.Notes = append(c.Notes, text) }

// Reopen opens the inputs again, with other fields or options, and names them in errors.
func (c *Conversion) Reopen(ctx context.Context, change func(*format.OpenArgs)) (shardify.Source, error) {
	a := c.Opened.Args
	change(&a)
	src, err := c.Input.Open(ctx, a)
	return src, a.Table.Locate(err)
}

// Misused makes mistakes in the texts of operations errors of usage.
func Misused(compile flow.Compile) flow.Compile {
	return func(list []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		p, err := compile(list, env)
		if _, isFile := errors.AsType[*fs.PathError](err); isFile || errors.Is(err, shardify.ErrCorrupt) {
			return p, err
		}
		return p, shardify.Misused(err)
	}
}

// PoolLimit is the share of the memory that holds samples in flight. The rest is for what the sinks buffer,
// decoders, the plan itself and the runtime.
func PoolLimit(memory int64) int64 { return memory / 8 * 5 }

// TableShare is the part of the memory for samples that a table beside the inputs may take, as 1/TableShare; tests give it less.
var TableShare int64 = 4

// Open opens the inputs of a plan.
type Open func(ctx context.Context, of *plan.Plan) (shardify.Source, error)

// Again is how the inputs of a plan are read again. Questions change Open and Compile.
type Again struct {
	Plan    *plan.Plan
	Table   *format.Table // where the inputs are now
	Memory  int64
	Jobs    int
	Compile flow.Compile
	Open    Open
	Closers Closers
}

// Closers are closed together.
type Closers []io.Closer

// Add adds what is to be closed.
func (c *Closers) Add(x io.Closer) { *c = append(*c, x) }

// Close closes all of them.
func (c *Closers) Close() (err error) {
	for _, x := range *c {
		err = errors.Join(err, x.Close())
	}
	*c = nil
	return err
}
