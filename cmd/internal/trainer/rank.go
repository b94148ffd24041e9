package trainer

import (
	"context"
	"io"
	"time"

	"github.com/shardify/shardify/gpuload"
)

// rank is one process of a training job.
type rank struct {
	o      *Options
	number int
	loader *gpuload.Loader
	events *recorder // or nil

	begin    time.Time // the return of the first batch
	computed time.Duration
	atBegin  usage
	atEnd    usage
	last     time.Time // the return of the last one
	deadline time.Time

	steps, epochs  int64
	samples, bytes int64 // after the first batch
	allBytes       int64 // with the first batch
	wait           histogram
	flow           *series // samples, bytes, seconds of waiting, seconds of steps
	stats          gpuload.Stats
	device         gpuload.DeviceInfo
}

const (
	flowSamples = iota
	flowBytes
	flowWait
	flowStep
	flowKinds
)

// run trains until a limit is reached.
func (r *rank) run(ctx context.Context) error {
	r.flow = newSeries(flowKinds)
	defer func() { r.atEnd = usageNow() }()
	for {
		entered := time.Now()
		b, err := r.loader.Next(ctx)
		if err == io.EOF {
			if r.epochs++; r.o.Epochs > 0 && r.epochs >= int64(r.o.Epochs) {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		err = r.step(ctx, b, entered)
		if err != nil || r.done() {
			return err
		}
	}
}

// step accounts for a batch, computes, and gives it back.
func (r *rank) step(ctx context.Context, b *gpuload.Batch, entered time.Time) error {
	now := time.Now()
	samples, bytes := int64(b.Rows()), b.Bytes()
	if r.steps == 0 {
		r.begin, r.atBegin = now, usageNow()
		if r.o.Time > 0 {
			r.deadline = now.Add(r.o.Time)
		}
	} else {
		wait, step := now.Sub(entered), entered.Sub(r.last)
		r.computed += step
		r.wait.add(int64(wait))
		r.samples, r.bytes = r.samples+samples, r.bytes+bytes
		r.flow.add(int64(r.last.Sub(r.begin)), int64(now.Sub(r.begin)), float64(samples), float64(bytes), wait.Seconds(), step.Seconds())
	}
	r.last = now
	r.allBytes += bytes
	r.steps++
	r.o.Progress.Steps.Add(1)
	r.o.Progress.Bytes.Add(bytes)
	err := b.Ready(0)
	if err == nil {
		sleep(ctx, r.o.Step)
	}
	if e := b.ReleaseOn(0); err == nil {
		err = e
	}
	return err
}

func (r *rank) done() bool {
	return r.o.Steps > 0 && r.steps >= r.o.Steps || !r.deadline.IsZero() && !time.Now().Before(r.deadline)
}
