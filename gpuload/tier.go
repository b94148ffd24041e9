package gpuload

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/tier"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage/storages"
)

// windowsOnDevice is the device memory for windows of a Block shuffle that is used
// without being asked for.
const windowsOnDevice = 768 << 20

// budget is the memory that samples may take, and what fits into it: so the tier that they come from.
type budget struct {
	Tier Tier
	Kept [2]int64 // samples that the device keeps, where it has no room for all

	cfg    *Config
	want   *samples
	dev    *target
	shards *load.Shards
	notes  *noteList
}

// plan chooses the tier.
func (b *budget) plan() error {
	budget := b.memory()
	need := b.want.Set.columnBytes(b.want.Layout)
	fixed := b.want.Set.Len() * b.want.Layout.RowBytes()
	gathers := b.dev.Gathers != nil
	b.Tier = b.cfg.Tier
	switch b.Tier {
	case TierAuto:
		b.Tier = TierStream
		switch {
		case b.dev.Host && b.checked() && b.shardBytes() <= budget: // the shards themselves are kept in memory
		case gathers && fixed > 0 && b.cfg.DeviceMemory > 0 && fixed <= b.cfg.DeviceMemory && need-fixed <= budget:
			b.Tier = TierDevice
		case b.rowsKept() > 0 && need <= budget && !b.want.Order.Windowed():
			b.Tier = TierDevice
		case need <= budget:
			b.Tier = TierPinned
		}
		b.notes.add("tier %s: the columns take about %s, there are %s of memory for them%s", b.Tier, shardify.FormatSize(need), shardify.FormatSize(budget), b.instead(need, budget))
	case TierPinned:
		if need > budget {
			b.notes.add("tier pinned takes about %s; %s were meant for it", shardify.FormatSize(need), shardify.FormatSize(budget))
		}
	case TierDevice:
		if err := b.checkDevice(fixed); err != nil {
			return err
		}
	}
	switch b.Tier {
	case TierPinned:
		b.dev.notePinned(b.Tier, need, b.notes)
	case TierDevice:
		if fixed > b.cfg.DeviceMemory {
			b.keep(fixed)
			fixed = 0
		}
		b.dev.notePinned(b.Tier, need-fixed, b.notes)
	}
	b.noteWindows(need, budget)
	return nil
}

// checked reports that samples come from shards of other machines, which are to be checked.
func (b *budget) checked() bool {
	return b.want.Set.remote() && b.cfg.Verify != load.VerifyNone && !b.cfg.Synthetic
}

// hold decides whether shards of other machines are fetched whole, so that they can be
// checked: where there is memory for all of them, or, read in order, for some.
func (b *budget) hold() {
	if !b.checked() || b.Tier == TierStaged {
		return
	}
	budget, largest := b.memory(), int64(0)
	for _, sh := range b.shards.Shards {
		largest = max(largest, b.shards.Bytes(sh))
	}
	switch all := b.shardBytes(); {
	case b.Tier != TierStream:
		b.shards.Once, b.shards.Open = true, len(b.shards.Shards)
		b.shards.Hold = max(min(budget-b.want.Set.columnBytes(b.want.Layout), all), 2*largest)
		if b.Tier == TierPinned && b.twice() {
			b.shards.Hold = max(all, 1)
		}
	case all <= budget:
		b.shards.Hold, b.shards.Open = max(budget, 1), len(b.shards.Shards)
	case b.cfg.Shuffle == None && !b.want.Order.Drawn() && b.cfg.Indices == nil && largest <= budget/(fewestShards+2*b.reach()):
		b.shards.Hold = budget
	default:
		b.notes.add("what is read from other machines is not checked before it is delivered: the shards take %s, and there are %s of memory for them; tier staged checks them", shardify.FormatSize(all), shardify.FormatSize(budget))
		return
	}
	if b.shards.Once || !b.want.Order.Windowed() {
		room := int(b.shards.Hold / max(largest, 1))
		b.shards.Ahead = min(max((room-1-2*int(b.reach()))*2/3, 1), aheadShards) // and half as many stay that are behind
	}
}

// reach is how many shards are between the first and the last row of a window, about. A shard that
// its last rows are of is used again by its first rows so many shards later: twice as many are
// used in between.
func (b *budget) reach() int64 {
	v := b.want.windowView()
	if v == nil {
		return 0
	}
	lo, hi := v.Span()
	n := int64(len(b.shards.Shards))
	return min((hi-lo)/max(b.want.Set.Len()/max(n, 1), 1)+min(hi-lo, 1), n)
}

// twice reports whether shards are read twice: where samples begin, and then the samples.
func (b *budget) twice() bool {
	_, variable := load.RowBytes(b.want.Layout.Schema)
	return variable || b.want.Layout.Keyed || slices.ContainsFunc(b.want.Set.sets(), (*dataset.Set).BySample)
}

// shardBytes is at most what is fetched of all shards.
func (b *budget) shardBytes() (total int64) {
	for _, sh := range b.shards.Shards {
		total += b.shards.Bytes(sh)
	}
	return total
}

const (
	// fewestShards is how many of the largest shards there must be room for to hold some of
	// them: one that is read, one before it, and one behind it.
	fewestShards = 3
	// aheadShards is how many shards are fetched at most before they are read.
	aheadShards = 8
)

// memory is the bytes of host memory that this rank's samples may take.
func (b *budget) memory() int64 {
	budget := b.cfg.Memory
	if budget == 0 {
		m := host.Probe(func(string) string { return "" })
		if budget = m.Memory / 2; budget == 0 {
			budget = 1 << 30
		}
	}
	return budget / int64(b.cfg.LocalRanks)
}

// deviceMemory is the bytes of device memory for windows.
func (b *budget) deviceMemory() int64 {
	switch n := b.cfg.DeviceMemory; {
	case b.dev.Host || n < 0:
		return 0
	case n == 0:
		return windowsOnDevice
	default:
		return n
	}
}

// instead names a tier that would do better where ranks share a node.
func (b *budget) instead(need, budget int64) string {
	if b.Tier == TierStream && b.cfg.LocalRanks > 1 && need <= budget*int64(b.cfg.LocalRanks) {
		return "; tier staged holds one copy for all ranks of a node"
	}
	return ""
}

func (b *budget) checkDevice(fixed int64) error {
	switch {
	case b.dev.Host:
		return shardify.Unsupported("tier device on device %s: want a GPU", b.dev.Dev)
	case b.want.View != nil:
		return shardify.Unsupported("tier device with a window: its rows are gathered on the host; want tier pinned")
	case b.cfg.DeviceMemory <= 0:
		return shardify.Unsupported("tier device without DeviceMemory: say how many bytes of %s it may take; these columns take %s", b.dev.Dev, shardify.FormatSize(fixed))
	case fixed > b.cfg.DeviceMemory && b.rowsKept() == 0:
		return shardify.Unsupported("tier device: the columns take %s of %s, DeviceMemory is %s", shardify.FormatSize(fixed), b.dev.Dev, shardify.FormatSize(b.cfg.DeviceMemory))
	}
	return nil
}

// keptRows is what the number of samples is divisible by that a device keeps of a set: the bytes
// of their rows are then divisible by what is loaded at a time.
const keptRows = 16

// rowsKept is how many samples fit into DeviceMemory, with a gap behind each column.
func (b *budget) rowsKept() int64 {
	row := b.want.Layout.RowBytes()
	room := b.cfg.DeviceMemory
	for i := range b.want.Layout.Tensors {
		if b.want.Layout.Tensors[i].Lead == index.LeadSamples {
			room -= 256
		}
	}
	if b.dev.Gathers == nil || row == 0 || room < 0 {
		return 0
	}
	return min(room/row, b.want.Set.Len()) / keptRows * keptRows
}

// keep chooses the samples that the device keeps where it has no room for all. An epoch takes
// each sample once, in an order of its own: whatever is kept, all that can be had at the end of
// an epoch for the next one is what fits. So what is kept stays, and costs the link nothing.
func (b *budget) keep(fixed int64) {
	n := b.rowsKept()
	lo := int64(0)
	if b.cfg.Indices != nil || b.cfg.Weights != nil { // not all are drawn alike
		lo = tier.MostDrawn(b.want.Order, b.cfg.Weights, b.want.Set.Len(), n, keptRows)
	}
	b.Kept = [2]int64{lo, lo + n}
	b.notes.add("%s of %s samples fit into %s of %s (all take %s): these, from %s on, are gathered there, the others from pinned memory",
		printable.Count(n), printable.Count(b.want.Set.Len()), shardify.FormatSize(b.cfg.DeviceMemory), b.dev.Dev, shardify.FormatSize(fixed), printable.Count(lo))
}

// noteWindows says what the windows of a Block shuffle take beyond what was meant.
func (b *budget) noteWindows(need, budget int64) {
	if b.Tier != TierStream && b.Tier != TierStaged || !b.want.Order.Windowed() || b.direct() {
		return
	}
	rows := b.windowedRows()
	if n := 2 * rows * (need/max(b.want.Set.Len(), 1) + 1); n > budget {
		b.notes.add("two windows of %s samples take about %s; %s were meant for them: a smaller window, or more ranks, take less", printable.Count(rows), shardify.FormatSize(n), shardify.FormatSize(budget))
	}
}

// windowedRows is about how many rows one of the windows of a Block shuffle reads. Where samples are
// windows of rows themselves, each stretch of anchors is read with the rows around it.
func (b *budget) windowedRows() int64 {
	w := b.want.Order.Windows(&b.want.Steps)
	rows := w.Rows()
	v := b.want.windowView()
	if v == nil || rows == 0 {
		return rows
	}
	lo, hi := v.Span()
	step := int64(1)
	for _, a := range v.Anchors {
		step = max(step, min(a.Step, hi-lo+1))
	}
	stretches := rows / w.Span * (w.Span/b.want.Order.Block() + 2)
	return rows*step + min(stretches, rows)*(hi-lo)
}

// windowsOnDevice is the bytes of device memory that the windows take, or 0 if that is
// more than they may.
func (b *budget) windowsOnDevice(w *tier.Windows) int64 {
	if b.dev.Host {
		return 0
	}
	n := int64(len(w.All)) * w.Rows() * b.want.Layout.RowBytes()
	if limit := b.deviceMemory(); n > limit {
		b.notes.add("windows of %s do not fit into %s of %s: batches are gathered from host memory", shardify.FormatSize(n), shardify.FormatSize(limit), b.dev.Dev)
		return 0
	}
	return n
}

// maxMapped is how many shards are mapped; the system allows some 65,000 mappings.
const maxMapped = 16 << 10

// windowedRow is the bytes of a sample below which a Block shuffle copies windows into
// huge pages first: samples at random places of 4 KiB pages wait for address
// translation, which at 64 bytes takes twice as long as both copies.
const windowedRow = 512

// mappable reports whether the shards can be mapped once they are staged, and should be.
func (b *budget) mappable() bool {
	if b.want.Order.Windowed() && b.want.Set.columnBytes(b.want.Layout)/max(b.want.Set.Len(), 1) < windowedRow {
		return false
	}
	if len(b.shards.Shards) > maxMapped || !load.InMemory(b.cfg.Stage) {
		return false
	}
	for _, in := range b.want.Set.sets() {
		if in.BySample() {
			return false
		}
	}
	return true
}

// direct reports that samples of a Block shuffle are read one by one.
func (b *budget) direct() bool {
	calls := int64(1) // of a sample in a tar
	for _, in := range b.want.Set.sets() {
		if !in.BySample() {
			calls = int64(len(b.want.Layout.Tensors))
		}
	}
	each := b.want.Set.columnBytes(b.want.Layout) / max(b.want.Set.Len(), 1)
	if !b.want.Set.remote() && 5*b.windowedRows()*(each+1)/2 > b.memory() {
		return true // two windows take more memory than there is, with what lists have in reserve
	}
	return b.want.Order.Block() == 1 || each >= tier.LargeRow*calls
}

// remote reports whether some of the set is on another machine.
func (d *Dataset) remote() bool {
	return slices.ContainsFunc(d.inputs, func(in *input) bool { return !storages.Local(in.Path) })
}

// columnBytes is about what the wanted columns of all samples take.
func (d *Dataset) columnBytes(l *index.Layout) int64 { return load.ColumnBytes(d.sets(), l) }
