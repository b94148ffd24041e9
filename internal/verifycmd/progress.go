package verifycmd

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/verify"
)

// watch shows how far a check is until the returned function is called: a bar on
// a terminal, else a line a minute.
func watch(o *cli.IO, p *verify.Progress) (stop func()) {
	if o.Quiet {
		return func() {}
	}
	every := time.Minute
	var bar *progressbar.ProgressBar
	if o.Terminal && !o.JSON {
		every = 200 * time.Millisecond
		bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(o.Err), progressbar.OptionShowBytes(true),
			progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription("verifying"))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				step(o, p, bar)
			case <-done:
				if bar != nil {
					bar.Clear()
				}
				return
			}
		}
	}()
	return func() { close(done); wg.Wait() }
}

func step(o *cli.IO, p *verify.Progress, bar *progressbar.ProgressBar) {
	read, total := p.Bytes.Load(), p.Total.Load()
	if bar == nil {
		o.Note("%s of %s read, %s checked", shardify.FormatSize(read), shardify.FormatSize(total), printable.Of(p.Shards.Load(), "shard"))
		o.Object("progress", struct {
			Bytes  int64 `json:"bytes"`
			Total  int64 `json:"total_bytes"`
			Shards int64 `json:"shards"`
		}{read, total, p.Shards.Load()})
		return
	}
	if total > 0 {
		bar.ChangeMax64(total)
	}
	bar.Set64(min(read, max(total, 1)))
}
