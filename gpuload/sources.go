package gpuload

import (
	"context"
	"runtime"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/tier"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/stage"
)

// sources is where the samples of batches come from: the shards, and what the tier keeps of them.
// What has a capital does not change once it is made; the goroutine that opens the sources fills it.
type sources struct {
	Shards  *load.Shards
	Crew    *load.Crew
	Workers int
	Tier    Tier
	Windows *tier.Windows // nil as all that follows, where the tier has none
	Pinned  *tier.Pinned
	Mapped  *tier.Mapped
	Absent  []bool // by tensor of a slot: a device gathers it, and it has no memory on the host
	Listed  bool   // a device has the numbers of samples from the host
	Early   bool   // samples come from the shards until Pinned is filled

	cfg     *Config
	want    *samples
	dev     *target
	meter   *meter
	notes   *noteList
	kept    [2]int64
	stage   *stage.Shared
	staged  bool // the shards are read from there
	scrub   *load.Scrubber
	advisor *tier.Advisor
}

// maxWorkers bounds the goroutines that are used without being asked for.
const maxWorkers = 16

func newSources(cfg *Config, want *samples, dev *target, m *meter, notes *noteList) (*sources, error) {
	s := &sources{cfg: cfg, want: want, dev: dev, meter: m, notes: notes, Workers: cfg.Workers}
	var err error
	if s.Shards, err = load.NewShards(want.Set.sets(), want.Layout, cfg.Verify); err != nil {
		return nil, err
	}
	s.Shards.Used = &m.Usage
	if s.Workers == 0 {
		s.Workers = min(runtime.GOMAXPROCS(0), maxWorkers)
		if n := load.CoresAllowed(); n > 0 {
			s.Workers = min(s.Workers, n)
		}
	}
	s.Crew = load.NewCrew(s.Workers - 1)
	dev.near(s.Crew, notes)
	return s, nil
}

// plan chooses the tier and makes what it reads from.
func (s *sources) plan() error {
	b := &budget{cfg: s.cfg, want: s.want, dev: s.dev, shards: s.Shards, notes: s.notes}
	if err := b.plan(); err != nil {
		return err
	}
	s.Tier, s.kept = b.Tier, b.Kept
	s.Early = s.cfg.Tier == TierAuto && s.Tier == TierPinned && s.dev.Host && !s.want.Set.remote() && s.want.Set.Bytes() > load.ScrubWhole
	s.want.noteOrder(s.Tier)
	b.hold()
	if err := s.check(); err != nil {
		return err
	}
	if err := s.make(b); err != nil {
		return err
	}
	if s.dev.Gathers != nil && (s.Pinned != nil || s.Windows != nil) {
		if err := s.placeOrder(); err != nil {
			return err
		}
		s.Absent = s.dev.held(s.want)
	}
	if s.cfg.Numbers && !s.dev.Host && s.Absent == nil {
		return shardify.Unsupported("numbers of samples on %s with tier %s: want tier pinned or device, or a Block shuffle, where it gathers the batches", s.dev.Dev, s.Tier)
	}
	return nil
}

// check prepares how shards are checked, and copied for that.
func (s *sources) check() error {
	if s.Tier == TierStream && s.Shards.Hold == 0 && s.Shards.Verify == load.VerifyWhole {
		if s.want.Set.Bytes() <= load.ScrubWhole {
			s.Shards.Verify = load.VerifyOpen
		} else {
			s.scrub = &load.Scrubber{Set: s.Shards, Rank: s.cfg.Rank, World: s.cfg.World, Delivered: s.meter.Delivered.Load}
		}
	}
	for _, in := range s.want.Set.sets() {
		if in.Foreign && s.Tier == TierStaged {
			return shardify.Unsupported("tier staged of %s, which has no %s: shardify convert makes a data set from it", in.Path, index.ManifestName)
		}
		for _, text := range in.Notes(s.cfg.Verify != load.VerifyNone) {
			s.notes.add("%s", text)
		}
	}
	if s.Tier == TierStaged {
		s.stage = stage.NewShared(s.cfg.Stage, s.want.Set.Fingerprint(), s.want.Set.stored(), verifier, s.cfg.KeepStage)
		if err := s.stage.Check(); err != nil {
			return folder("stage", s.cfg.Stage, err)
		}
		s.notes.add("tier staged: %s in %s", shardify.FormatSize(s.want.Set.Bytes()), s.stage.Dir())
	}
	return nil
}

// make makes the tier.
func (s *sources) make(b *budget) error {
	switch {
	case s.cfg.Synthetic: // a few batches are read one by one
	case s.Tier == TierPinned || s.Tier == TierDevice:
		s.Pinned = &tier.Pinned{Dev: s.dev.Dev, Table: load.NewTable(s.want.Layout, s.dev.Dev, &s.meter.Usage)}
		if d := s.dev.Gathers; d != nil && s.Tier == TierDevice && s.kept[1] > 0 {
			s.Pinned.Lo, s.Pinned.Hi, s.Pinned.Kept = s.kept[0], s.kept[1], s.dev.held(s.want)
		} else if d != nil && s.Tier == TierDevice {
			s.Pinned.Table.Absent = s.dev.held(s.want)
		} else if d != nil && s.want.Order.Windowed() {
			return s.windowsFromPinned(b)
		}
	case s.Tier == TierStaged && b.mappable():
		s.Mapped = &tier.Mapped{Set: s.Shards}
	case s.want.Order.Windowed():
		s.windowsFromShards(b)
	}
	return nil
}

// windowsFromShards prepares what a Block shuffle reads ahead.
func (s *sources) windowsFromShards(b *budget) {
	w := tier.NewWindows(s.want.Order, s.Shards, s.Crew, &s.want.Steps, s.dev.Dev, &s.meter.Usage, s.meter.window)
	if w.View = s.want.View; b.direct() {
		if s.want.View == nil {
			s.advisor = tier.NewAdvisor(w)
		}
		return
	}
	s.Windows = w
	if s.want.View == nil && b.windowsOnDevice(w) > 0 {
		for _, g := range w.All {
			g.Table.Mirrored = true
		}
	}
}

// engineRow is the bytes of a sample from which the copy engine is as fast sample by
// sample.
const engineRow = 64 << 10

// windowsFromPinned lets a Block shuffle of small samples in pinned memory cross the
// link in blocks.
func (s *sources) windowsFromPinned(b *budget) error {
	if s.want.Order.Block() == 1 || s.want.Layout.RowBytes() >= engineRow {
		return nil
	}
	w := tier.NewWindows(s.want.Order, s.Shards, s.Crew, &s.want.Steps, s.dev.Dev, &s.meter.Usage, s.meter.window)
	if b.windowsOnDevice(w) == 0 {
		return nil
	}
	s.Windows = w
	return w.Pin(s.Pinned, s.dev.Gathers, s.dev.held(s.want))
}

// verifier says how shards that are staged are checked: those of mmap by their headers.
func verifier(m *index.Manifest) (v format.Verifier, err error) {
	if m.Format == index.FormatMmap {
		v.Stream = dataset.NewMmapChecker
	}
	return v, nil
}

// maxIndices is the most Indices, in bytes, that are copied to a device's memory, which is
// not asked for. More are looked up on the host.
const maxIndices = 64 << 20

// placeOrder decides who computes the samples of a batch: the device, or the host where they
// are drawn from lists.
func (s *sources) placeOrder() error {
	list := s.want.Order.Indices()
	s.Listed = s.Windows == nil && (s.want.Order.Drawn() || s.want.Order.Listed() || s.want.Steps.Packs != nil || len(list)*8 > maxIndices)
	if list == nil || s.Listed || s.Windows != nil {
		return nil
	}
	return s.dev.Gathers.Indices(list)
}

// makers is how many goroutines make batches, whatever Depth is: as many as may read and
// gather, for a batch at a time is made by one. Where a GPU makes all of a batch, one is enough:
// it has nothing to do but to call the driver, which takes one call at a time.
func (s *sources) makers() int {
	if s.Absent != nil && !s.Listed && !slices.Contains(s.Absent, false) {
		return 1
	}
	return s.Workers
}

// inMemory reports that making a batch is no more than copying memory of the host, or may be.
func (s *sources) inMemory() bool {
	return s.dev.Host && (s.Tier == TierStream || s.Pinned != nil || s.Windows != nil || s.Mapped != nil)
}

// onDevice is the samples that the device keeps.
func (s *sources) onDevice() int64 {
	switch {
	case s.Tier != TierDevice:
		return 0
	case s.kept[1] > 0:
		return s.kept[1] - s.kept[0]
	}
	return s.want.Set.Len()
}

// open reads what there is to be read before the first batch, once.
func (s *sources) open(ctx context.Context) error {
	if s.stage != nil && !s.staged {
		t, before := trace.Nanos(), s.Shards.ReadNanos.Load()
		if err := s.stage.Open(ctx, s.Workers); err != nil {
			return err
		}
		for _, sh := range s.Shards.Shards {
			sh.Path = dataset.FilePath(s.stage.Path(sh.Number), sh.Record.Name)
		}
		if s.Mapped != nil {
			if err := s.Mapped.Open(s.Crew); err != nil {
				return err
			}
		}
		s.staged = true
		s.meter.staged(t, s.Shards.ReadNanos.Load()-before, s.want.Set.Bytes())
	}
	if s.Pinned != nil && !s.Early && !s.Pinned.Filled() {
		return s.fill(ctx)
	}
	return nil
}

// fill reads all samples into memory.
func (s *sources) fill(ctx context.Context) error {
	t, before := trace.Nanos(), s.Shards.ReadNanos.Load()
	if err := s.Pinned.Fill(ctx, s.Shards, s.Crew); err != nil {
		return err
	}
	s.meter.filled(t, s.Shards.ReadNanos.Load()-before, s.Pinned.Table.Size())
	return nil
}

// ahead are the goroutines that read ahead of batches from a position on, until ctx ends, and after stop.
// spare reports whether the Loader has nothing to do.
func (s *sources) ahead(ctx context.Context, epoch int, at int64, spare func() bool) (list []func() error) {
	if s.Windows != nil {
		list = append(list, func() error {
			defer s.Crew.Bind()()
			defer s.dev.bind()()
			s.Windows.Run(ctx, epoch, at)
			return nil
		})
	}
	if a := s.advisor; a != nil {
		a.Begun = false
		list = append(list, func() error { a.Run(ctx); return nil })
	}
	if s.Early && !s.Pinned.Filled() {
		list = append(list, func() error { return s.fill(ctx) })
	}
	if s.scrub != nil {
		if !s.want.Set.remote() { // else what is read is another's, too
			s.scrub.Spare = spare
		}
		list = append(list, func() error { return s.scrub.Run(ctx) })
	}
	return list
}

// claim notes that a batch is made next, in order; with ready only if that needs no waiting.
func (s *sources) claim(st *order.Step, ready bool) bool {
	if st.Rows == 0 {
		return true
	}
	if ready && s.Windows == nil && s.Mapped == nil && (s.Pinned == nil || !s.Pinned.Filled()) && !s.Shards.Warm.Load() {
		return false
	}
	if s.Windows != nil {
		a, b := s.Windows.Keys(st)
		if ready && !s.Windows.Loaded(a, b) {
			return false
		}
		s.Windows.Claim(a, b)
	}
	s.advisor.Touch(st.Epoch, st.First)
	return true
}

// begin comes before open and ahead.
func (s *sources) begin(ctx context.Context) {
	s.Shards.Until(ctx)
	s.Windows.Reset()
}

// free gives the tier's memory back.
func (s *sources) free() {
	if s.Pinned != nil {
		s.Pinned.Table.Close()
	}
	s.Windows.Close()
	s.Mapped.Close()
}

// close closes shards and their copies.
func (s *sources) close() error {
	s.Shards.Close()
	if s.stage != nil {
		return s.stage.Close()
	}
	return nil
}
