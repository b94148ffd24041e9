package pipeline

import (
	"cmp"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// Check refuses settings that are wrong whatever the inputs are.
func (s *Settings) Check() error {
	switch {
	case len(s.Inputs) == 0 && s.FilesFrom == "" && !readers.Invents(s.From):
		return shardify.Hint(shardify.Usage("no input"), "for example: shardify convert photos/ -o photos-shards")
	case s.Output == "":
		return shardify.Hint(shardify.Usage("no output folder"), "say where the shards go: -o FOLDER")
	}
	for i := range Keys {
		if err := Keys[i].check(s); err != nil {
			return shardify.Usage("--%s %v", Keys[i].Name, err)
		}
	}
	if err := s.together(); err != nil {
		return err
	}
	split, err := s.parseSplit()
	if err != nil {
		return err
	}
	return s.checkWindow(split)
}

// complete fills in defaults, and parses what is text.
func (s *Settings) complete() (err error) {
	if err := s.together(); err != nil {
		return err
	}
	s.OnError = cmp.Or(s.OnError, plan.OnErrorFail)
	s.Shuffle = cmp.Or(s.Shuffle, plan.ShuffleNone)
	s.Sync = cmp.Or(s.Sync, string(local.SyncShard))
	s.Columns, s.Identity, s.Static = value.Trimmed(s.Columns), value.Trimmed(s.Identity), value.Trimmed(s.Static)
	s.Inputs = slices.Clone(s.Inputs)
	for i, in := range s.Inputs {
		s.Inputs[i] = storages.Plain(in)
	}
	s.Output = storages.Plain(s.Output)
	s.shape = s.operations()
	if s.split, err = s.parseSplit(); err == nil {
		s.grouping, err = s.parseGrouping()
	}
	return err
}
