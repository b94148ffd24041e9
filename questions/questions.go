// Package questions is the table of questions. Each is a package below it.
package questions

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/questions/group"
	"github.com/shardify/shardify/questions/operations"
	"github.com/shardify/shardify/questions/split"
	"github.com/shardify/shardify/questions/static"
	"github.com/shardify/shardify/questions/window"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform"
)

// Table has all questions. Each sees what those before it have made of the inputs: splits are known before rows become samples, and
// samples before windows.
var Table = []ask.Question{operations.Question, split.Question, group.Question, window.Question, static.Question}

// New begins to answer all questions for a conversion.
func New() (list []ask.Asked) {
	for i := range Table {
		list = append(list, Table[i].New())
	}
	return list
}

// Again prepares reading the inputs of a plan that was made before. open opens them with their format.
func Again(a *ask.Again, open func(context.Context, format.OpenArgs) (shardify.Source, error)) {
	a.Open = func(ctx context.Context, of *plan.Plan) (shardify.Source, error) {
		return open(ctx, format.OpenArgs{Table: a.Table, Columns: of.In.Columns, Options: of.In.Options, State: of.In.State, Page: of.In.Page(), Jobs: a.Jobs})
	}
	for i := range Table {
		if f := Table[i].Again; f != nil {
			f(a)
		}
	}
	if a.Compile == nil {
		a.Compile = transform.Compile
	}
}

// Record completes the manifest of a finished set, or of one of its splits.
func Record(ctx context.Context, p *plan.Plan, root, store storage.Store, m *index.Manifest) error {
	for i := range Table {
		if f := Table[i].Record; f != nil {
			if err := f(ctx, p, root, store, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// Extend refuses further inputs for a part of a set that only all inputs together can make.
func Extend(part *index.Part) error {
	for i := range Table {
		if f := Table[i].Extend; f != nil {
			if err := f(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// Verify compares what a manifest says with the shards. wrong is called for each difference.
func Verify(store storage.Store, m *index.Manifest, wrong func(what string)) error {
	for i := range Table {
		if f := Table[i].Verify; f != nil {
			if err := f(store, m, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}
