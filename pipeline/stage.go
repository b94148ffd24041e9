package pipeline

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
)

// StageSettings say how a data set is copied to where this node reads it fastest.
type StageSettings struct {
	Source string
	Dest   string // "" is the best place that has room
	Jobs   int    // files at the same time; two for each core if 0
	Memory int64
	Sync   string
	Wait   time.Duration // for space, or for another process that copies
	Fresh  bool          // replace a copy that is damaged, or of another data set

	// Chosen and Waiting report where the copy goes, and what is waited for.
	Chosen  func(dest, why string)
	Waiting func(what string)
	Hooks   Hooks // of Progress, Bytes and AllBytes count
}

// Staged is a copy.
type Staged = stage.Result

// Stage copies a data set. Every file is checked while it passes through.
func Stage(ctx context.Context, s StageSettings) (*Staged, error) {
	o := s.options()
	o.Steps = new(stall.Board)
	defer s.Hooks.watch(o.Steps.Watch)()
	if s.Dest == "" {
		step := o.Steps.Begin("looking for a place")
		dest, why, err := stage.Choose(o.Source, stage.Places(os.Getenv), o.InMemory)
		step.End()
		if err != nil {
			return nil, hintStage(err, &o)
		}
		if o.Dest = dest; s.Chosen != nil {
			s.Chosen(dest, why)
		}
	}
	stop := s.Hooks.follow(func() Progress {
		return Progress{Bytes: o.Progress.Bytes.Load(), AllBytes: o.Progress.Total.Load()}
	})
	r, err := stage.Run(ctx, o)
	stop()
	return r, hintStage(err, &o)
}

func (s *StageSettings) options() stage.Options {
	jobs := s.Jobs
	if jobs == 0 {
		n, _ := host.This().Jobs(0)
		jobs = 2 * n // half of them wait for reads
	}
	return stage.Options{
		Source: s.Source, Dest: s.Dest, Verify: verifierOf, Jobs: jobs, Memory: s.Memory, Sync: local.Sync(cmp.Or(s.Sync, string(local.SyncShard))), Fresh: s.Fresh, Wait: s.Wait,
		InMemory: host.This().Memory, Progress: &stage.Progress{}, Waiting: s.Waiting,
	}
}

// verifierOf is how shards of a set are checked.
func verifierOf(m *index.Manifest) (format.Verifier, error) {
	f, ok := writers.Lookup(m.Format)
	if !ok {
		return format.Verifier{}, shardify.Unsupported("format %q of the data set", m.Format)
	}
	return f.Verify(m.Schema, m.Keyed, m.Members)
}

// Removed is what Unstage has removed.
type Removed = stage.Removed

// Unstage removes the copy at Dest, and what an unfinished one has left.
func Unstage(ctx context.Context, s StageSettings) (*Removed, error) {
	o := s.options()
	r, err := stage.Remove(ctx, o)
	return r, hintStage(err, &o)
}

// hintStage says what to do next.
func hintStage(err error, o *stage.Options) error {
	switch {
	case errors.Is(err, stage.ErrStale), errors.Is(err, stage.ErrDamaged):
		return shardify.Hint(err, "when nothing reads it any more: the same command with --fresh")
	case errors.Is(err, stage.ErrSpace):
		return shardify.Hint(err, "make room (shardify stage --remove FOLDER removes a copy), wait for it with --wait 10m, or choose another folder")
	case errors.Is(err, stage.ErrNotOurs) && o.Source != "":
		return shardify.Hint(err, "did you mean: shardify stage "+printable.Quote(o.Source)+" "+printable.Quote(strings.TrimRight(o.Dest, "/")+"/"+setName(o.Source)))
	case errors.Is(err, stage.ErrNotOurs):
		return shardify.Hint(err, "only what shardify stage has made is removed")
	case errors.Is(err, shardify.ErrCorrupt) && o.Source != "":
		return shardify.Hint(err, "what is damaged: shardify verify "+printable.Quote(o.Source))
	}
	return err
}

// setName is what a data set is called: the name of its folder.
func setName(set string) string {
	abs, err := filepath.Abs(set)
	if err != nil {
		abs = filepath.Clean(set)
	}
	return filepath.Base(dataset.Folder(abs))
}
