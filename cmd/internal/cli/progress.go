package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

// Bar shows how far something is: a bar on a terminal, else a line a minute, the first after a
// minute.
type Bar struct {
	o   *IO
	bar *progressbar.ProgressBar

	writing bool // of a global shuffle, the second time that the bar fills
}

// NewBar shows nothing yet.
func (o *IO) NewBar() *Bar { return &Bar{o: o} }

// Every is the time between two looks.
func (b *Bar) Every() time.Duration {
	if b.o.Terminal && !b.o.JSON {
		return 200 * time.Millisecond
	}
	return time.Minute
}

// drawn is the bar on a terminal, else nil. It counts bytes unless counts says otherwise.
func (b *Bar) drawn(doing string, all int64, counts ...progressbar.Option) *progressbar.ProgressBar {
	if b.bar == nil && b.o.Terminal && !b.o.JSON {
		if len(counts) == 0 {
			counts = []progressbar.Option{progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true), progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true)}
		}
		counts = append(counts, progressbar.OptionSetWriter(b.o.Err), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(doing))
		b.bar = progressbar.NewOptions64(all, counts...)
	}
	return b.bar
}

// Clear removes the bar.
func (b *Bar) Clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

// Converting shows a conversion. A global shuffle fills the bar twice: with what is read, then
// with what is written.
func (b *Bar) Converting(p pipeline.Progress) {
	writing := p.AllPortions > 0 && p.Gathered > 0 || p.AllBytes == 0
	doing, done := fmt.Sprintf("%s/%s shards", printable.Count(p.Shards), printable.Count(p.AllShards)), p.Bytes
	switch {
	case writing:
		done = int64(float64(p.AllBytes) * float64(p.Gathered) / float64(max(p.AllSamples, 1)))
	case p.AllPortions > 0:
		doing = fmt.Sprintf("reading %s/%s portions", printable.Count(p.Portions), printable.Count(p.AllPortions))
	}
	if bar := b.drawn("converting", max(p.AllBytes, 1)); bar != nil {
		if writing && !b.writing {
			b.writing = true
			bar.Reset()
		}
		bar.Describe(doing)
		bar.Set64(max(min(done, p.AllBytes-1), 0)) // a full bar goes away, and shards are still being published
		return
	}
	b.o.Object("progress", p)
	if p.Seconds < 1 {
		return
	}
	shuffled := ""
	if writing {
		shuffled = ", " + printable.Count(p.Gathered) + " in their order"
	}
	b.o.Note("%s of %s samples%s, %s of %s, %s of %s, %s", printable.Count(p.Samples), printable.Count(p.AllSamples), shuffled,
		shardify.FormatSize(p.Bytes), shardify.FormatSize(p.AllBytes), printable.Count(p.Shards), printable.Of(p.AllShards, "shard"), printable.About(p.Seconds))
}

// Copying shows a copy.
func (b *Bar) Copying(p pipeline.Progress) {
	if b.found("copying", p) || p.Seconds < 1 {
		return
	}
	b.o.Note("copying: %s of %s", shardify.FormatSize(p.Bytes), shardify.FormatSize(p.AllBytes))
	b.o.Object("progress", struct {
		Bytes int64 `json:"bytes"`
		Total int64 `json:"total_bytes"`
	}{p.Bytes, p.AllBytes})
}

// Checking shows a check.
func (b *Bar) Checking(p pipeline.Progress) {
	if b.found("verifying", p) || p.Seconds < 1 {
		return
	}
	b.o.Note("%s of %s read, %s checked", shardify.FormatSize(p.Bytes), shardify.FormatSize(p.AllBytes), printable.Of(p.Shards, "shard"))
	b.o.Object("progress", struct {
		Bytes  int64 `json:"bytes"`
		Total  int64 `json:"total_bytes"`
		Shards int64 `json:"shards"`
	}{p.Bytes, p.AllBytes, p.Shards})
}

// found moves the bar of work whose size is found out on the way; false if there is no bar.
func (b *Bar) found(doing string, p pipeline.Progress) bool {
	bar := b.drawn(doing, -1)
	if bar != nil && p.AllBytes > 0 {
		bar.ChangeMax64(p.AllBytes)
		bar.Set64(min(p.Bytes, p.AllBytes))
	}
	return bar != nil
}

// Training shows a run of so many steps, -1 if unknown, until stop.
func (b *Bar) Training(all int64, look func() (steps, bytes int64)) (stop func()) {
	if b.o.Quiet {
		return func() {}
	}
	begun, done := time.Now(), make(chan struct{})
	step := func() {
		steps, bytes := look()
		if bar := b.drawn("training", all, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("steps")); bar != nil {
			bar.Set64(steps)
			return
		}
		seconds := time.Since(begun).Seconds()
		b.o.Note("%s, %s after %s", printable.Of(steps, "step"), shardify.FormatSize(bytes), printable.About(seconds))
		b.o.Object("progress", struct {
			Steps   int64   `json:"steps"`
			Bytes   int64   `json:"bytes"`
			Seconds float64 `json:"seconds"`
		}{steps, bytes, seconds})
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(b.Every())
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				step()
			case <-done:
				b.Clear()
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
