package gpuload

import (
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/internal/poison"
)

// slot is the memory of one batch, used again and again. It belongs to one
// goroutine at a time: the one that makes the batch, then the consumer.
type slot struct {
	table *load.Table
	sides []*load.Table // of windows: the table as rows
	on    device.Slot   // the same on the device
	// Under Loader.mu: the batch is there, or could not be made.
	made bool
	err  error
	// Of the current batch:
	order.Step
	ids      []int64
	naming   sync.Mutex    // guards ids once the consumer has them
	known    bool          // ids are those of the batch; else they are computed when asked for
	cursor   *order.Cursor // for that
	segments []load.Segment
	keep     bool // Config.Synthetic: the content is to stay
	filled   bool // once, which is enough for Config.Synthetic
	held     bool // by the consumer; under Loader.mu
}

// number computes the IDs.
func (s *slot) number(o *order.Order, st *order.Steps) {
	if s.cursor == nil || s.cursor.Epoch() != s.Epoch {
		s.cursor = o.Cursor(s.Epoch)
	}
	st.Fill(s.ids[:s.Rows], &s.Step, s.cursor)
	for j := s.Rows; j < len(s.ids); j++ {
		s.ids[j] = -1
	}
	s.known = true
}

// poison makes what a released batch held unreadable in test builds.
func (s *slot) poison() {
	if s.keep {
		return
	}
	for i := range s.table.Data {
		poison.Fill(s.table.Bytes(i))
	}
	poison.Fill(shardify.Bytes(s.ids))
}
