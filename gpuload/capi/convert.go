package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/pipeline"
)

// conversion is a conversion that runs in the background.
type conversion struct {
	cancel   context.CancelCauseFunc
	progress atomic.Pointer[pipeline.Progress]
	done     chan struct{}
	result   *pipeline.Result
	err      error
}

// progressEvery is the time between two looks at how far a conversion is.
const progressEvery = 100 * time.Millisecond

// begin starts a conversion. text is JSON: keys of a recipe, and for each a word, a number,
// true or false, or a list of such.
func begin(text []byte) (*conversion, error) {
	s, err := settingsOf(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &conversion{cancel: cancel, done: make(chan struct{})}
	ctx = pipeline.WithHooks(ctx, pipeline.Hooks{
		Begin:    func(p *pipeline.Prepared, _ []int) func() { return limitMemory(p.Memory) },
		Progress: func(p pipeline.Progress) { c.progress.Store(&p) },
		Every:    progressEvery,
	})
	go func() {
		defer close(c.done)
		defer func() {
			if v := recover(); v != nil {
				c.err = recovered(v)
			}
		}()
		c.result, c.err = pipeline.Convert(ctx, s)
	}()
	return c, nil
}

func settingsOf(text []byte) (s pipeline.Settings, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return s, fmt.Errorf("settings: %w", err)
	}
	for key, raw := range keys {
		list := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &list); err != nil {
				return s, fmt.Errorf("settings: %s: %w", key, err)
			}
		}
		var words []string
		for _, e := range list {
			w := string(e) // of a number, true, false
			switch e[0] {
			case '"':
				if err := json.Unmarshal(e, &w); err != nil {
					return s, fmt.Errorf("settings: %s: %w", key, err)
				}
			case '{', '[', 'n':
				return s, fmt.Errorf("settings: %s: want words or numbers, not %.40s", key, e)
			}
			words = append(words, w)
		}
		if err := s.Put(key, words...); err != nil {
			return s, err
		}
	}
	return s, nil
}

// converted is what the caller gets of a result.
type converted struct {
	Output  string           `json:"output"`
	Format  string           `json:"format"`
	Samples int64            `json:"samples"`
	Shards  int64            `json:"shards"`
	Bytes   int64            `json:"bytes"`
	Skipped int64            `json:"skipped"`
	Splits  map[string]int64 `json:"splits"`
	Already bool             `json:"already"`
	Seconds float64          `json:"seconds"`
}

// wait reports after some time how far the conversion is; ended when it has ended.
func (c *conversion) wait(timeout time.Duration) (about any, ended bool, err error) {
	select {
	case <-c.done:
	case <-time.After(timeout):
		return c.progress.Load(), false, nil
	}
	if c.err != nil {
		return nil, true, c.err
	}
	m := c.result.Manifest
	out := converted{
		Output: c.result.Output, Format: m.Format, Samples: m.Samples, Shards: c.result.Shards(), Bytes: m.Bytes, Skipped: c.result.Skipped(),
		Splits: map[string]int64{}, Already: c.result.Already, Seconds: c.result.Took.Seconds(),
	}
	for name, s := range m.Splits {
		out.Splits[name] = s.Samples
	}
	return &out, true, nil
}

func (c *conversion) stop() { c.cancel(convert.ErrStopped) }
