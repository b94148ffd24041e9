package gpuload

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/tier"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/storage/storages"
)

// windowsOnDevice is the device memory for windows of a Block shuffle that is used
// without being asked for.
const windowsOnDevice = 768 << 20

// planTier decides where samples come from, for the loader's device.
func (l *Loader) planTier() error {
	budget := l.memory()
	need := l.set.columnBytes(l.layout)
	fixed := l.set.samples * deviceRow(l.layout)
	_, gathers := l.gathers()
	l.tier = l.cfg.Tier
	switch l.tier {
	case TierAuto:
		l.tier = TierStream
		switch {
		case l.onHost && l.checked() && l.shardBytes() <= budget: // the shards themselves are kept in memory
		case gathers && fixed > 0 && l.cfg.DeviceMemory > 0 && fixed <= l.cfg.DeviceMemory && need-fixed <= budget:
			l.tier = TierDevice
		case l.rowsKept() > 0 && need <= budget && !l.order.Windowed():
			l.tier = TierDevice
		case need <= budget:
			l.tier = TierPinned
		}
		l.note("tier %s: the columns take about %s, there are %s of memory for them%s", l.tier, shardify.FormatSize(need), shardify.FormatSize(budget), l.instead(need, budget))
	case TierPinned:
		if need > budget {
			l.note("tier pinned takes about %s; %s were meant for it", shardify.FormatSize(need), shardify.FormatSize(budget))
		}
	case TierDevice:
		if err := l.checkDevice(fixed); err != nil {
			return err
		}
	}
	switch l.tier {
	case TierPinned:
		l.notePinned(need)
	case TierDevice:
		if fixed > l.cfg.DeviceMemory {
			l.keep(fixed)
			fixed = 0
		}
		l.notePinned(need - fixed)
	}
	l.noteWindows(need, budget)
	return nil
}

// verifier says how shards that are staged are checked: those of mmap by their headers.
func verifier(m *index.Manifest) (v format.Verifier, err error) {
	if m.Format == index.FormatMmap {
		v.Stream = dataset.NewMmapChecker
	}
	return v, nil
}

// sources makes what the tier reads from.
func (l *Loader) sources() error {
	l.hold()
	if l.tier == TierStream && l.shards.Hold == 0 && l.shards.Verify == load.VerifyWhole {
		if l.set.Bytes() <= load.ScrubWhole {
			l.shards.Verify = load.VerifyOpen
		} else {
			l.scrub = &load.Scrubber{Set: l.shards, Rank: l.cfg.Rank, World: l.cfg.World, Delivered: l.stats.delivered.Load}
		}
	}
	if k := slices.IndexFunc(l.set.inputs, func(in *input) bool { return in.Foreign }); k >= 0 {
		if l.tier == TierStaged {
			return shardify.Unsupported("tier staged of %s, which has no %s: shardify convert makes a data set from it", l.set.inputs[k].Path, index.ManifestName)
		}
		if l.cfg.Verify != load.VerifyNone {
			l.note("%s has no %s: its index was checked, but there are no checksums of its tokens", l.set.inputs[k].Path, index.ManifestName)
		}
	}
	if l.tier == TierStaged {
		l.stage = stage.NewShared(l.cfg.Stage, l.set.fingerprint, l.set.stored(), verifier, l.cfg.KeepStage)
		if err := l.stage.Check(); err != nil {
			return folder("stage", l.cfg.Stage, err)
		}
		l.note("tier staged: %s in %s", shardify.FormatSize(l.set.Bytes()), l.stage.Dir())
	}
	switch {
	case l.cfg.Synthetic: // a few batches are read one by one
	case l.tier == TierPinned || l.tier == TierDevice:
		l.pinned = &tier.Pinned{Dev: l.dev, Table: load.NewTable(l.layout, l.dev, &l.stats.usage)}
		if d, ok := l.gathers(); ok && l.tier == TierDevice && l.kept[1] > 0 {
			l.pinned.Lo, l.pinned.Hi, l.pinned.Kept = l.kept[0], l.kept[1], l.held(d)
		} else if ok && l.tier == TierDevice {
			l.pinned.Table.Absent = l.held(d)
		} else if ok && l.order.Windowed() {
			return l.windowsFromPinned(d)
		}
	case l.tier == TierStaged && l.mappable():
		l.mapped = &tier.Mapped{Set: l.shards}
	case l.order.Windowed():
		l.windowsFromShards()
	}
	return nil
}

// checked reports that samples come from shards of other machines, which are to be checked.
func (l *Loader) checked() bool {
	return l.set.remote() && l.cfg.Verify != load.VerifyNone && !l.cfg.Synthetic
}

// hold decides whether shards of other machines are fetched whole, so that they can be
// checked: where there is memory for all of them, or, read in order, for some.
func (l *Loader) hold() {
	if !l.checked() || l.tier == TierStaged {
		return
	}
	budget, largest := l.memory(), int64(0)
	for _, sh := range l.shards.Shards {
		largest = max(largest, l.shards.Bytes(sh))
	}
	switch all := l.shardBytes(); {
	case l.tier != TierStream:
		l.shards.Once, l.shards.Open = true, len(l.shards.Shards)
		l.shards.Hold = max(min(budget-l.set.columnBytes(l.layout), all), 2*largest)
		if l.tier == TierPinned && l.twice() {
			l.shards.Hold = max(all, 1)
		}
	case all <= budget:
		l.shards.Hold, l.shards.Open = max(budget, 1), len(l.shards.Shards)
	case l.cfg.Shuffle == None && !l.order.Drawn() && l.cfg.Indices == nil && largest <= budget/(fewestShards+2*l.reach()):
		l.shards.Hold = budget
	default:
		l.note("what is read from other machines is not checked before it is delivered: the shards take %s, and there are %s of memory for them; tier staged checks them", shardify.FormatSize(all), shardify.FormatSize(budget))
		return
	}
	if l.shards.Once || !l.order.Windowed() {
		room := int(l.shards.Hold / max(largest, 1))
		l.shards.Ahead = min(max((room-1-2*int(l.reach()))*2/3, 1), aheadShards) // and half as many stay that are behind
	}
}

// reach is how many shards are between the first and the last row of a window, about. A shard that
// its last rows are of is used again by its first rows so many shards later: twice as many are
// used in between.
func (l *Loader) reach() int64 {
	if l.window == nil {
		return 0
	}
	lo, hi := l.window.Span()
	n := int64(len(l.shards.Shards))
	return min((hi-lo)/max(l.set.samples/max(n, 1), 1)+min(hi-lo, 1), n)
}

// twice reports whether shards are read twice: where samples begin, and then the samples.
func (l *Loader) twice() bool {
	_, variable := load.RowBytes(l.layout.Schema)
	return variable || l.layout.Keyed || slices.ContainsFunc(l.set.inputs, func(in *input) bool { return in.Format == index.FormatWDS })
}

// shardBytes is at most what is fetched of all shards.
func (l *Loader) shardBytes() (total int64) {
	for _, sh := range l.shards.Shards {
		total += l.shards.Bytes(sh)
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

// remote reports whether some of the set is on another machine.
func (d *Dataset) remote() bool {
	return slices.ContainsFunc(d.inputs, func(in *input) bool { return !storages.Local(in.Path) })
}

// memory is the bytes of host memory that this rank's samples may take.
func (l *Loader) memory() int64 {
	budget := l.cfg.Memory
	if budget == 0 {
		m := host.Probe(func(string) string { return "" })
		if budget = m.Memory / 2; budget == 0 {
			budget = 1 << 30
		}
	}
	return budget / int64(l.cfg.LocalRanks)
}

// deviceMemory is the bytes of device memory for windows.
func (l *Loader) deviceMemory() int64 {
	switch n := l.cfg.DeviceMemory; {
	case l.onHost || n < 0:
		return 0
	case n == 0:
		return windowsOnDevice
	default:
		return n
	}
}

// instead names a tier that would do better where ranks share a node.
func (l *Loader) instead(need, budget int64) string {
	if l.tier == TierStream && l.cfg.LocalRanks > 1 && need <= budget*int64(l.cfg.LocalRanks) {
		return "; tier staged holds one copy for all ranks of a node"
	}
	return ""
}

func (l *Loader) checkDevice(fixed int64) error {
	switch {
	case l.onHost:
		return shardify.Unsupported("tier device on device %s: want a GPU", l.dev)
	case l.view != nil:
		return shardify.Unsupported("tier device with a window: its rows are gathered on the host; want tier pinned")
	case l.cfg.DeviceMemory <= 0:
		return shardify.Unsupported("tier device without DeviceMemory: say how many bytes of %s it may take; these columns take %s", l.dev, shardify.FormatSize(fixed))
	case fixed > l.cfg.DeviceMemory && l.rowsKept() == 0:
		return shardify.Unsupported("tier device: the columns take %s of %s, DeviceMemory is %s", shardify.FormatSize(fixed), l.dev, shardify.FormatSize(l.cfg.DeviceMemory))
	}
	return nil
}

// keptRows is what the number of samples is divisible by that a device keeps of a set: the bytes
// of their rows are then divisible by what is loaded at a time.
const keptRows = 16

// rowsKept is how many samples fit into DeviceMemory, with a gap behind each column.
func (l *Loader) rowsKept() int64 {
	row := deviceRow(l.layout)
	room := l.cfg.DeviceMemory
	for i := range l.layout.Tensors {
		if l.layout.Tensors[i].Lead == index.LeadSamples {
			room -= 256
		}
	}
	if _, gathers := l.gathers(); !gathers || row == 0 || room < 0 {
		return 0
	}
	return min(room/row, l.set.samples) / keptRows * keptRows
}

// keep chooses the samples that the device keeps where it has no room for all. An epoch takes
// each sample once, in an order of its own: whatever is kept, all that can be had at the end of
// an epoch for the next one is what fits. So what is kept stays, and costs the link nothing.
func (l *Loader) keep(fixed int64) {
	n := l.rowsKept()
	lo := l.keptFrom(n)
	l.kept = [2]int64{lo, lo + n}
	l.note("%s of %s samples fit into %s of %s (all take %s): these, from %s on, are gathered there, the others from pinned memory",
		printable.Count(n), printable.Count(l.set.samples), shardify.FormatSize(l.cfg.DeviceMemory), l.dev, shardify.FormatSize(fixed), printable.Count(lo))
}

// parts is how many parts of the set are looked at to find those that are drawn from most.
const parts = 1024

// keptFrom is from where on n samples are drawn most: with Indices or Weights not all are alike.
func (l *Loader) keptFrom(n int64) int64 {
	if l.cfg.Indices == nil && l.cfg.Weights == nil {
		return 0
	}
	var sums [parts + 1]float64
	each := (l.set.samples/parts/keptRows + 1) * keptRows
	for i := range l.order.Items() {
		w := 1.0
		if l.cfg.Weights != nil {
			w = l.cfg.Weights[i]
		}
		sums[l.order.Item(i)/each+1] += w
	}
	for k := range parts {
		sums[k+1] += sums[k]
	}
	at := func(row int64) float64 { // drawn below it
		k := min(row/each, parts-1)
		return sums[k] + (sums[k+1]-sums[k])*float64(row-k*each)/float64(each)
	}
	best, most := int64(0), at(n)
	for lo := each; lo+n <= l.set.samples; lo += each {
		if w := at(lo+n) - at(lo); w > most {
			best, most = lo, w
		}
	}
	return best
}

// noteWindows says what the windows of a Block shuffle take beyond what was meant.
func (l *Loader) noteWindows(need, budget int64) {
	if l.tier != TierStream && l.tier != TierStaged || !l.order.Windowed() || l.direct() {
		return
	}
	rows := l.windowedRows()
	if n := 2 * rows * (need/max(l.set.samples, 1) + 1); n > budget {
		l.note("two windows of %s samples take about %s; %s were meant for them: a smaller window, or more ranks, take less", printable.Count(rows), shardify.FormatSize(n), shardify.FormatSize(budget))
	}
}

// windowedRows is about how many rows one of the windows of a Block shuffle reads. Where samples are
// windows of rows themselves, each stretch of anchors is read with the rows around it.
func (l *Loader) windowedRows() int64 {
	w := l.order.Windows(&l.steps)
	rows := w.Rows()
	if l.window == nil || rows == 0 {
		return rows
	}
	lo, hi := l.window.Span()
	step := int64(1)
	for _, a := range l.window.Anchors {
		step = max(step, min(a.Step, hi-lo+1))
	}
	stretches := rows / w.Span * (w.Span/l.order.Block() + 2)
	return rows*step + min(stretches, rows)*(hi-lo)
}

// deviceRow is the bytes of a sample that a device can hold: fields of fixed size.
func deviceRow(l *index.Layout) (n int64) {
	for i := range l.Tensors {
		if l.Tensors[i].Lead == index.LeadSamples {
			n += l.Tensors[i].Row
		}
	}
	return n
}

// columnBytes is about what the wanted columns of all samples take: exact for
// fixed fields, at most the shards' size for others.
func (d *Dataset) columnBytes(l *index.Layout) (total int64) {
	for _, in := range d.inputs {
		wanted, _ := load.RowBytes(l.Schema)
		all, variable := load.RowBytes(in.Schema)
		_, some := load.RowBytes(l.Schema)
		total += in.Samples * wanted
		if variable && some {
			total += max(in.Bytes-in.Samples*all, 0)
		}
	}
	return total
}

// windowsFromShards prepares what a Block shuffle reads ahead.
func (l *Loader) windowsFromShards() {
	w := tier.NewWindows(l.order, l.shards, l.crew, &l.steps, l.dev, &l.stats.usage, l.generationRead)
	if w.View = l.view; l.direct() {
		if l.view == nil {
			l.advisor = tier.NewAdvisor(w)
		}
		return
	}
	l.windows = w
	if l.view == nil && l.windowsOnDevice(w) > 0 {
		for _, g := range w.All {
			g.Table.Mirrored = true
		}
	}
}

// windowsOnDevice is the bytes of device memory that the windows take, or 0 if that is
// more than they may.
func (l *Loader) windowsOnDevice(w *tier.Windows) int64 {
	if l.onHost {
		return 0
	}
	n := int64(len(w.All)) * w.Rows() * deviceRow(l.layout)
	if limit := l.deviceMemory(); n > limit {
		l.note("windows of %s do not fit into %s of %s: batches are gathered from host memory", shardify.FormatSize(n), shardify.FormatSize(limit), l.dev)
		return 0
	}
	return n
}

// engineRow is the bytes of a sample from which the copy engine is as fast sample by
// sample.
const engineRow = 64 << 10

// windowsFromPinned lets a Block shuffle of small samples in pinned memory cross the
// link in blocks.
func (l *Loader) windowsFromPinned(d device.GPU) error {
	if l.order.Block() == 1 || deviceRow(l.layout) >= engineRow {
		return nil
	}
	w := tier.NewWindows(l.order, l.shards, l.crew, &l.steps, l.dev, &l.stats.usage, l.generationRead)
	if l.windowsOnDevice(w) == 0 {
		return nil
	}
	l.windows, w.From = w, l.pinned
	for _, g := range w.All {
		g.Table.Absent = l.held(d)
		g.Table.Rows = w.Rows()
		for i := range g.Table.Counts {
			if g.Table.Absent[i] {
				g.Table.Counts[i] = w.Rows()
			}
		}
		if err := d.Reserve(g.Table); err != nil {
			return err
		}
	}
	return nil
}

// held is, by tensor, what a device keeps in its own memory.
func (l *Loader) held(d device.GPU) []bool {
	absent := make([]bool, len(l.layout.Tensors))
	for i := range absent {
		var k *load.Caster
		if l.casts != nil {
			k = l.casts[i]
		}
		absent[i] = d.Holds(&l.layout.Tensors[i], k)
	}
	return absent
}

// maxMapped is how many shards are mapped; the system allows some 65,000 mappings.
const maxMapped = 16 << 10

// windowedRow is the bytes of a sample below which a Block shuffle copies windows into
// huge pages first: samples at random places of 4 KiB pages wait for address
// translation, which at 64 bytes takes twice as long as both copies.
const windowedRow = 512

// mappable reports whether the shards can be mapped once they are staged, and should be.
func (l *Loader) mappable() bool {
	if l.order.Windowed() && l.set.columnBytes(l.layout)/max(l.set.samples, 1) < windowedRow {
		return false
	}
	if len(l.shards.Shards) > maxMapped || !load.InMemory(l.cfg.Stage) {
		return false
	}
	for _, in := range l.set.inputs {
		if in.Format == index.FormatWDS {
			return false
		}
	}
	return true
}

func (l *Loader) generationRead(start, k, bytes int64) {
	l.trace.event("window", "read", start, k, bytes)
}
