package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
)

// Watch shows a job's progress until the returned function is called: a bar on a
// terminal, else a line now and one a minute.
func (o *IO) Watch(p *convert.Plan, units []int, c *convert.Progress) (stop func()) {
	w := &watch{o: o, c: c, start: time.Now()}
	for _, u := range units {
		w.bytes += p.UnitBytes(u)
		x := p.Units[u]
		w.shards += int64(x.Hi - x.Lo)
		for _, s := range p.Shards[x.Lo:x.Hi] {
			w.samples += s.Samples
		}
	}
	if p.Shuffle == convert.ShuffleGlobal {
		w.shards = int64(p.Gathers)
	}
	if o.Quiet || w.shards == 0 {
		return func() {}
	}
	every := time.Minute
	if o.Terminal && !o.JSON {
		every = 200 * time.Millisecond
		w.bar = progressbar.NewOptions64(max(w.bytes, 1), progressbar.OptionSetWriter(o.Err), progressbar.OptionShowBytes(true),
			progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetDescription("converting"))
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		w.run(every, done)
	}()
	return func() { close(done); wg.Wait() }
}

type watch struct {
	o                      *IO
	c                      *convert.Progress
	bar                    *progressbar.ProgressBar
	start                  time.Time
	bytes, samples, shards int64 // to do, resumed ones included
}

func (w *watch) run(every time.Duration, done <-chan struct{}) {
	t := time.NewTicker(every)
	defer t.Stop()
	w.show()
	for {
		select {
		case <-t.C:
			w.show()
		case <-done:
			if w.bar != nil {
				w.bar.Clear()
			}
			return
		}
	}
}

func (w *watch) show() {
	samples, bytes, shards := w.c.Samples.Load(), w.c.Bytes.Load(), w.c.Shards.Load()
	if w.bar != nil {
		w.bar.Describe(fmt.Sprintf("%d/%d shards", shards, w.shards))
		w.bar.Set64(min(bytes, w.bytes))
		return
	}
	seconds := time.Since(w.start).Seconds()
	w.o.Note("%s of %s samples, %s of %s, %s of %s, %s", Count(samples), Count(w.samples),
		shardify.FormatSize(bytes), shardify.FormatSize(w.bytes), Count(shards), Of(w.shards, "shard"), Seconds(seconds))
	w.o.Object("progress", struct {
		Samples   int64   `json:"samples"`
		Total     int64   `json:"total_samples"`
		Bytes     int64   `json:"bytes"`
		AllBytes  int64   `json:"total_bytes"`
		Shards    int64   `json:"shards"`
		AllShards int64   `json:"total_shards"`
		Seconds   float64 `json:"seconds"`
	}{samples, w.samples, bytes, w.bytes, shards, w.shards, seconds})
}
