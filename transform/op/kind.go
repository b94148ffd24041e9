package op

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// Kind is one kind of operation.
type Kind struct {
	Name    string // of its flag and its recipe key
	Help    string // one line, no full stop
	Value   string // the form of a value: NAME=EXPRESSION
	Example string // of a value
	More    string // what else is to be known about values; may be ""

	Phase Phase
	// Keeps: the fields that it names are wanted, under their own or another name. Those
	// that other kinds name are read, and dropped unless they are asked for elsewhere.
	Keeps bool
	// ByInput: each input has one of the lines of a text, which is found when the plan is
	// made: its transform is a Lines.
	ByInput bool
	// Texts makes operations of the values; nil makes one of each.
	Texts func(values []string) ([]string, error)
	// Random says that the seed matters; nil if it never does.
	Random func(text string) bool
	// Fields returns the fields that an operation names and makes; nil without any.
	Fields func(e *Env, text string) (Fields, error)
	// New makes an operation of its text.
	New func(e *Env, text string) (Stage, error)
}

// Usage is the help of the kind's flag: the form of a value in backquotes, and what it does.
func (k *Kind) Usage() string {
	s := "`" + k.Value + "`: " + k.Help + ", as in '" + k.Example + "'"
	if k.More != "" {
		s += "; " + k.More
	}
	return s
}

// Phase is when operations run.
type Phase int

// Phases, in their order.
const (
	BeforeSplit Phase = iota
	AfterSplit        // and after the copies
	AtEnd             // when the fields that were read for other operations are gone
)

// Fields are those that an operation names and makes.
type Fields struct {
	Named, Made []string
	Defs        map[string]string   // the expressions of those that are made, if they have some
	Parts       map[string][]string // the fields that those that are made are put together from
	Old         map[string]string   // other names of those that are named, by the new ones
}

// Env is what an operation is made for.
type Env struct {
	Table   *format.Table // the inputs; nil without
	Splits  []string      // their names; empty without
	Helpers []string      // fields that will not be in the set
	Keyed   bool          // the samples have names of their own
	// Defs and Parts are those of operations that come later.
	Defs  map[string]string
	Parts map[string][]string
	// Runs is the line of each input as it was found when the plan was made; nil looks at
	// the table.
	Runs Runs
	// Beside is the open file that the text names; nil if it is not open. Digest says what
	// was in it when the plan was made; "" if that does not matter.
	Beside any
	Digest string
	// Scratch is where surveys keep what is too much for memory; nil is the system's folder.
	Scratch storage.Store
}

// Train is the split to train on, alone; nil without one.
func (e *Env) Train() []string {
	if !slices.Contains(e.Splits, "train") {
		return nil
	}
	return []string{"train"}
}

// Changed reports whether a file is not what it was when the plan was made.
func (e *Env) Changed(digest string) bool { return e.Digest != "" && digest != e.Digest }

// Stage is what an operation adds to a pipeline.
type Stage struct {
	shardify.Transform          // nil if no batch is changed
	Splits             []string // that it applies to; nil is all of them
	Copies             int      // of each sample; 0 is one
	Packer             Packer
}

// Packer makes other samples of those of each shard, in the end.
type Packer interface {
	Schema(in []shardify.Field) ([]shardify.Field, error)
	// Begin begins a shard, as New of flow.Packer does.
	Begin(store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) Packing
	// Memory is what a Packing takes at most.
	Memory() int64
}

// Packing is the samples of one shard, made by one goroutine.
type Packing interface {
	Add(b *shardify.Batch) error
	End() error
	Counts() []shardify.Count
	Close() error
}

// Lines is a transform that knows which line of its text each input has.
type Lines interface{ Runs() Runs }

// Of is a Kind's New: a transform for all splits.
func Of[T shardify.Transform](make func(*Env, string) (T, error)) func(*Env, string) (Stage, error) {
	return func(e *Env, text string) (Stage, error) {
		t, err := make(e, text)
		return Stage{Transform: t}, err
	}
}

// FieldsOf is a Kind's Fields, which its transform knows.
func FieldsOf[T interface{ Fields() Fields }](make func(*Env, string) (T, error)) func(*Env, string) (Fields, error) {
	return func(e *Env, text string) (Fields, error) {
		x, err := make(e, text)
		if err != nil {
			return Fields{}, err
		}
		return x.Fields(), nil
	}
}

// Joined is a Kind's Texts: one operation of all values.
func Joined(sep string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) { return []string{strings.Join(values, sep)}, nil }
}

// Words is a Kind's Texts: an operation of each word.
func Words(values []string) ([]string, error) {
	return strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' }), nil
}

// Once is a Kind's Texts: one value.
func Once(name string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) {
		if len(values) > 1 {
			return nil, fmt.Errorf("--%s is there %d times", name, len(values))
		}
		return values, nil
	}
}
