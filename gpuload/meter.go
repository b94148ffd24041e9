package gpuload

import (
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/trace"
)

// meter counts what all goroutines do, and how long it takes.
type meter struct {
	Usage     load.Usage
	Delivered atomic.Int64 // bytes
	Computed  atomic.Int64 // samples whose numbers were needed to make batches

	trace                     *trace.Trace
	fill, stage, gather, send atomic.Int64 // nanoseconds
	early                     atomic.Int64 // nanoseconds of reading before the first batch: tiers that read all
	onStage                   atomic.Int64 // bytes

	// Written by the consumer:
	mu                  sync.Mutex
	batches, samples    int64
	wait, compute       int64 // nanoseconds; the first wait and what came before are not counted
	firstWait, returned int64
}

// took notes the making of a part of a batch, from start (nanos) until now.
func (m *meter) took(total *atomic.Int64, lane string, start int64, s *slot) {
	total.Add(trace.Nanos() - start)
	m.trace.Event(lane, lane, start, s.Number, s.Table.Size())
}

func (m *meter) gathered(start int64, s *slot) { m.took(&m.gather, "gather", start, s) }

func (m *meter) copied(start int64, s *slot) { m.took(&m.send, "copy", start, s) }

// read notes the reading of a batch; shards count its time themselves.
func (m *meter) read(start int64, s *slot) {
	m.trace.Event("read", "read", start, s.Number, s.Table.Size())
}

// window notes the reading of a generation of windows.
func (m *meter) window(start, k, bytes int64) { m.trace.Event("window", "read", start, k, bytes) }

// staged and filled note what was read before the first batch, with nanoseconds of reading.
func (m *meter) staged(start, read, bytes int64) {
	m.onStage.Store(bytes)
	m.before(&m.stage, "stage", start, read, bytes)
}

func (m *meter) filled(start, read, bytes int64) { m.before(&m.fill, "fill", start, read, bytes) }

func (m *meter) before(total *atomic.Int64, name string, start, read, bytes int64) {
	total.Add(trace.Nanos() - start)
	m.early.Add(read)
	m.trace.Event(name, "read", start, 0, bytes)
}

// consumed notes how long the consumer waited for a batch, and what it did before.
func (m *meter) consumed(s *slot, entered int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := trace.Nanos()
	if m.batches == 0 {
		m.firstWait = now - entered
	} else {
		m.wait += now - entered
		m.compute += entered - m.returned
		m.trace.Span("step", "step", m.returned, entered, s.Number-1, 0)
	}
	m.trace.Span("wait", "wait", entered, now, s.Number, 0)
	m.returned = now
	m.batches += s.Steps
	m.samples += int64(s.Rows)
	m.Delivered.Add(s.Table.Size())
}

// stats is what was counted; read is the nanoseconds of reading while there were batches.
func (m *meter) stats(readNanos int64) (s Stats, read float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const ns = 1e-9
	s = Stats{
		Batches: m.batches, Samples: m.samples, Bytes: m.Delivered.Load(),
		FirstWait: float64(m.firstWait) * ns, Fill: float64(m.fill.Load()) * ns, Stage: float64(m.stage.Load()) * ns,
		Wait: float64(m.wait) * ns, Compute: float64(m.compute) * ns,
		Read: float64(readNanos) * ns, Gather: float64(m.gather.Load()) * ns, Copy: float64(m.send.Load()) * ns,
		Memory: m.Usage.Host.Load(), DeviceMemory: m.Usage.Device.Load(), Staged: m.onStage.Load(),
	}
	return s, s.Read - float64(m.early.Load())*ns
}

func (m *meter) close() error { return m.trace.Close() }
