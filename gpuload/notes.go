package gpuload

import (
	"fmt"

	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/internal/printable"
)

// noteList is sentences for the user, written until the first batch.
type noteList struct{ list []string }

func (n *noteList) add(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}

func (n *noteList) all() []string { return append([]string(nil), n.list...) }

// noteOrder says what about the order may surprise.
func (w *samples) noteOrder(tier Tier) {
	s, st := w.Order.Streams(), &w.Steps
	if s > 1 && s%st.World != 0 {
		w.notes.add("world size %d does not divide %d streams: the samples of every global step are those of other world sizes, but a rank reads about %d times what it delivers; streams=%d would divide",
			st.World, s, st.World/order.GCD(st.World, s), s/order.GCD(s, st.World)*st.World)
	}
	if w.Order.Mixed() && (tier == TierStream || tier == TierStaged) {
		w.notes.add("inputs that are mixed and do not fit into memory are read sample by sample")
	}
	if p := st.Packs; p != nil {
		w.notePacks(p)
		return
	}
	if st.Count(0, 0) == 0 {
		w.notes.add("an epoch of %s samples has no batch: %d on each of %d ranks want %s samples; use last=pad or a smaller batch", printable.Count(st.Length), st.Batch, st.World, printable.Count(st.Global()))
	}
	w.noteLast()
	if w.cfg.Shuffle == Block {
		w.noteLabels()
	}
}

// noteLast says what a default policy does to the end of an epoch.
func (w *samples) noteLast() {
	st := &w.Steps
	left := st.Length % st.Global()
	switch {
	case left == 0 || st.Listed != nil || !w.cfg.lastIsDefault() || st.Count(0, 0) == 0:
	case st.Last == Drop:
		w.notes.add("an epoch leaves out %s of %s samples, which fill no batch on every rank: the default with a shuffle; last=short delivers them", printable.Count(left), printable.Count(st.Length))
	default:
		_, _, rows := st.Rows(0, st.Length-left)
		w.notes.add("the last batch of an epoch has %d of %d samples on this rank: the default without a shuffle; last=drop leaves it out on every rank", rows, st.Batch)
	}
}

// notePacks says what the batches of the first epoch are.
func (w *samples) notePacks(p *order.Packs) {
	if w.cfg.Shuffle == Block {
		w.notes.add("a budget with a block shuffle reads each sample by itself; shuffle=global mixes all at the same price")
	}
	if p.Batches(w.cfg.Epoch) == 0 {
		w.notes.add("an epoch of %s samples has no batch: each sample is more than the budget", printable.Count(w.Steps.Length))
	} else if p.Oversize == order.Skip && !w.Order.Listed() {
		if n := p.Over(); n > 0 {
			w.notes.add("%s of %s samples are more than the budget by themselves, and in no batch: oversize=drop", printable.Count(n), printable.Count(w.Order.Items()))
		}
	}
}
