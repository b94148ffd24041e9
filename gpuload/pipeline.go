package gpuload

import (
	"context"
	"sync"
)

// pipeline is the goroutines that make the batches from one place of the order on, until it is
// stopped.
type pipeline struct {
	queue  *queue
	from   *sources
	cancel context.CancelFunc
	wg     sync.WaitGroup
	helper *maker // of the consumer
}

func startPipeline(q *queue, from *sources, newMaker func(context.Context) *maker, epoch int, at int64) *pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	from.begin(ctx)
	q.begin(epoch, at)
	p := &pipeline{queue: q, from: from, cancel: cancel, helper: newMaker(ctx)}
	p.run(func() error {
		if err := from.open(ctx); err != nil {
			return err
		}
		for _, f := range from.ahead(ctx, epoch, at, q.spare) {
			p.run(f)
		}
		for range from.makers() {
			m := newMaker(ctx)
			p.wg.Go(func() { m.run() })
		}
		q.run()
		return nil
	})
	return p
}

// run starts a goroutine whose error keeps further batches from being delivered.
func (p *pipeline) run(f func() error) {
	p.wg.Go(func() {
		if err := f(); err != nil {
			p.queue.fail(err)
		}
	})
}

// take is the queue's, with a consumer that helps.
func (p *pipeline) take(ctx context.Context) (ticket, error) {
	return p.queue.take(ctx, p.helper.fill)
}

// stop ends all goroutines. Slots that the consumer does not hold are free again.
func (p *pipeline) stop() {
	p.cancel()
	p.queue.stop()
	p.from.Windows.Stop()
	p.wg.Wait()
	p.helper.close()
	p.queue.clear()
}
