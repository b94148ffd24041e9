package pipeline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/internal/propose"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// check refuses settings that are wrong whatever the inputs are, and fills in defaults.
func (r *run) check() error {
	switch {
	case len(r.Inputs) == 0 && r.FilesFrom == "" && !readers.Invents(r.From):
		return shardify.Hint(shardify.Usage("no input"), "for example: shardify convert photos/ -o photos-shards")
	case r.Output == "":
		return shardify.Hint(shardify.Usage("no output folder"), "say where the shards go: -o FOLDER")
	}
	return r.complete()
}

// complete fills in defaults, and parses what is text.
func (r *run) complete() error {
	if err := r.Settings.Check(); err != nil {
		return err
	}
	s := r.Settings
	s.OnError = cmp.Or(s.OnError, plan.OnErrorFail)
	s.Shuffle = cmp.Or(s.Shuffle, plan.ShuffleNone)
	s.Sync = cmp.Or(s.Sync, string(local.SyncShard))
	s.Columns, s.Identity = value.Trimmed(s.Columns), value.Trimmed(s.Identity)
	s.Inputs = slices.Clone(s.Inputs)
	for i, in := range s.Inputs {
		s.Inputs[i] = storages.Plain(in)
	}
	s.Output = storages.Plain(s.Output)
	r.Draft.Seed, r.Draft.Asked.Provenance = s.Seed, s.Provenance
	return r.each(func(q ask.Asked) error { return q.Check(&r.Conversion) })
}

// proposed are settings that are not given, and without which something is lost that the names of
// the inputs say.
func (r *run) proposed() (notes []string) {
	given := func(name string) bool {
		k := settings.Lookup(name)
		return k != nil && k.Given(r.Settings) || r.Options[name] != ""
	}
	for _, p := range propose.For(r.Opened.Source, r.Opened.Args.Table) {
		if p.Other && !slices.ContainsFunc(append(slices.Collect(maps.Keys(p.Settings)), p.Unless...), given) {
			notes = append(notes, p.Why+": "+p.Flags())
		}
	}
	return notes
}
