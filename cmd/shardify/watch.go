package main

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
)

// base is what a data set is called: the name of its folder.
func base(set string) string {
	abs, err := filepath.Abs(set)
	if err != nil {
		abs = filepath.Clean(set)
	}
	if filepath.Base(abs) == index.ManifestName {
		abs = filepath.Dir(abs)
	}
	return filepath.Base(abs)
}

// watchBytes shows how far something is until the returned function is called: a bar
// on a terminal, else a line a minute.
func (p *program) watchBytes(doing string, done, total *atomic.Int64) (stop func()) {
	if p.Quiet {
		return func() {}
	}
	every := time.Minute
	var bar *progressbar.ProgressBar
	if p.Terminal && !p.JSON {
		every = 200 * time.Millisecond
		bar = progressbar.NewOptions64(-1, progressbar.OptionSetWriter(p.Err), progressbar.OptionShowBytes(true),
			progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(doing))
	}
	show := func() {
		n, all := done.Load(), total.Load()
		switch {
		case bar != nil && all > 0:
			bar.ChangeMax64(all)
			bar.Set64(min(n, all))
		case bar == nil:
			p.Note("%s: %s of %s", doing, cli.Size(n), cli.Size(all))
			p.Object("progress", struct {
				Bytes int64 `json:"bytes"`
				Total int64 `json:"total_bytes"`
			}{n, all})
		}
	}
	end := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				show()
			case <-end:
				if bar != nil {
					bar.Clear()
				}
				return
			}
		}
	})
	return func() { close(end); wg.Wait() }
}
