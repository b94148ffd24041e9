package benchcmd

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/trainer"
)

// watch shows how far a run is until the returned function is called: a line on a
// terminal, else a line a minute.
func watch(o *cli.IO, t *trainer.Options) (stop func()) {
	if o.Quiet {
		return func() {}
	}
	p, begun := t.Progress, time.Now()
	every := time.Minute
	var bar *progressbar.ProgressBar
	if o.Terminal && !o.JSON {
		every = 200 * time.Millisecond
		bar = progressbar.NewOptions64(limit(t), progressbar.OptionSetWriter(o.Err), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("steps"), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("training"))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if bar != nil {
					bar.Set64(p.Steps.Load())
					continue
				}
				o.Note("%s, %s after %s", printable.Of(p.Steps.Load(), "step"), shardify.FormatSize(p.Bytes.Load()), printable.Seconds(time.Since(begun).Seconds()))
				o.Object("progress", struct {
					Steps   int64   `json:"steps"`
					Bytes   int64   `json:"bytes"`
					Seconds float64 `json:"seconds"`
				}{p.Steps.Load(), p.Bytes.Load(), time.Since(begun).Seconds()})
			case <-done:
				if bar != nil {
					bar.Clear()
				}
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// limit is the steps of all ranks; -1 unless they are what ends the run.
func limit(t *trainer.Options) int64 {
	if t.Steps == 0 {
		return -1
	}
	return t.Steps * int64(max(t.Ranks, 1))
}
