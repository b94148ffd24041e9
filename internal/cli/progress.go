package cli

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

// Bar shows how far something is: a bar on a terminal, else a line a minute.
type Bar struct {
	o   *IO
	bar *progressbar.ProgressBar
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

// drawn is a bar if there shall be one.
func (b *Bar) drawn(doing string, all int64) *progressbar.ProgressBar {
	if b.bar == nil && b.o.Terminal && !b.o.JSON {
		b.bar = progressbar.NewOptions64(all, progressbar.OptionSetWriter(b.o.Err), progressbar.OptionShowBytes(true),
			progressbar.OptionFullWidth(), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetDescription(doing))
	}
	return b.bar
}

// Clear removes the bar.
func (b *Bar) Clear() {
	if b.bar != nil {
		b.bar.Clear()
	}
}

// Converting shows a conversion.
func (b *Bar) Converting(p pipeline.Progress) {
	if bar := b.drawn("converting", max(p.AllBytes, 1)); bar != nil {
		bar.Describe(fmt.Sprintf("%d/%d shards", p.Shards, p.AllShards))
		bar.Set64(min(p.Bytes, p.AllBytes))
		return
	}
	b.o.Note("%s of %s samples, %s of %s, %s of %s, %s", printable.Count(p.Samples), printable.Count(p.AllSamples),
		shardify.FormatSize(p.Bytes), shardify.FormatSize(p.AllBytes), printable.Count(p.Shards), printable.Of(p.AllShards, "shard"), printable.Seconds(p.Seconds))
	b.o.Object("progress", p)
}

// Copying shows a copy.
func (b *Bar) Copying(p pipeline.Progress) {
	if bar := b.drawn("copying", -1); bar == nil {
		b.o.Note("copying: %s of %s", shardify.FormatSize(p.Bytes), shardify.FormatSize(p.AllBytes))
		b.o.Object("progress", struct {
			Bytes int64 `json:"bytes"`
			Total int64 `json:"total_bytes"`
		}{p.Bytes, p.AllBytes})
	} else if p.AllBytes > 0 {
		bar.ChangeMax64(p.AllBytes)
		bar.Set64(min(p.Bytes, p.AllBytes))
	}
}
