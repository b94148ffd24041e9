package transform

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/transform/annotations"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/codes"
	"github.com/shardify/shardify/transform/fields"
	"github.com/shardify/shardify/transform/lists"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/samples"
	"github.com/shardify/shardify/transform/sequence"
	"github.com/shardify/shardify/transform/tables"
)

// Table has every kind of operation, in the order in which they run.
var Table = []op.Kind{
	annotations.Parse,
	tables.Join,
	fields.Set,
	samples.Fraction,
	samples.Where,
	samples.DropDuplicates,
	samples.Copies,
	samples.Patch,
	augmentation,
	fields.Define,
	cast.NaN,
	codes.Encode,
	codes.Tokenize,
	lists.Pick,
	lists.Sort,
	fields.Stack,
	lists.Pad,
	fields.Rename,
	cast.Cast,
	fields.Pack,
	sequence.Sequences,
}

// Names of the operations, which are those of their flags and recipe keys.
const (
	Parse          = "parse"
	Join           = "join"
	Set            = "set"
	Fraction       = "fraction"
	Where          = "where"
	DropDuplicates = "drop-duplicates"
	Copies         = "copies"
	Patch          = format.PatchOp
	Augment        = "augment"
	Define         = "define"
	NaN            = "nan"
	Encode         = "encode"
	Tokenize       = "tokenize"
	Pick           = "pick"
	Sort           = "sort"
	Stack          = "stack"
	Pad            = "pad"
	Rename         = "rename"
	Cast           = "cast"
	Pack           = "pack"
	Sequences      = "sequences"
)

// Lookup finds a line of the table; nil if no line has that name.
func Lookup(name string) *op.Kind {
	if i := lineOf(name); i >= 0 {
		return &Table[i]
	}
	return nil
}

// lineOf is when operations of a name run, -1 if there is no such kind.
func lineOf(name string) int {
	return slices.IndexFunc(Table, func(k op.Kind) bool { return k.Name == name })
}

// Random says whether samples depend on the seed by one of some operations.
func Random(list []plan.Op) bool {
	return slices.ContainsFunc(list, func(o plan.Op) bool {
		k := Lookup(o.Name)
		return k != nil && k.Random != nil && k.Random(strings.Join(Shown(o), "\n"))
	})
}

// New makes a single transform of a value. The table has the inputs that globs in the
// value are for; it may be nil.
func New(kind, value string, table *format.Table) (shardify.Transform, error) {
	k := Lookup(kind)
	if k == nil {
		return nil, shardify.Unsupported("no operation %q", kind)
	}
	s, err := k.New(&op.Env{Table: table}, value)
	if err == nil && s.Transform == nil {
		err = shardify.Unsupported("--%s is not a transform", kind)
	}
	return s.Transform, err
}
