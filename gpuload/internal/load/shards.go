package load

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/memory"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/filemap"
)

// maxOpen is how many shards are kept open.
const maxOpen = 512

// Shard is a file of samples.
type Shard struct {
	*dataset.Set
	Record *shardify.Shard
	stored *shardify.Shard // Record as the file has it: of Set.OnDisk
	Number int             // of its input
	Path   string
	Lo     int64 // its first sample in the Dataset
	Tar    *tarFormat
	place  int // among all
	inSet  int // among those of Set

	opening  sync.Mutex
	verified bool
	first    *storage.Stamp // as it was when it was last found to be right
	suspect  bool           // it is another file now, or was written to
	checked  atomic.Bool    // it was fetched whole and found to be right
	left     atomic.Int64   // samples that are not read yet, of Shards.Once
	// Under Shards.mu:
	open *OpenShard
}

// OpenShard is a shard that was found to be what the manifest says.
type OpenShard struct {
	*Shard
	File storage.File
	refs int
	used int64 // when it was last acquired, in turns
	// stamp is the file's when it was opened, seen when it was last compared.
	stamp storage.Stamp
	seen  int64 // nanos
	stale bool  // it was written to since
	set   *Shards
	// Mmap: the shard, and the numbers of the wanted tensors in it; wds: the offset index.
	Mmap    *dataset.Mmap
	Tensors []int
	Index   []int64
	held    int64 // bytes in memory
	early   bool  // wanted soon, and not used yet
	mapOnce sync.Once
	mapped  *filemap.File // of mapping
	// unpacked: the digest is of the compressed file, and was compared.
	unpacked bool
}

// close ends the use of the file.
func (h *OpenShard) close() {
	h.mapped.Close()
	h.File.Close()
}

// Shards is all shards of a Dataset, read for some of the fields. It may be used
// concurrently.
type Shards struct {
	Layout *index.Layout // of the wanted fields
	Shards []*Shard
	Starts []int64 // of shards, and the number of samples
	Verify Verify
	// Hold is how many bytes of shards of other machines may be in memory, where they are
	// fetched whole and checked. 0: what is wanted is read from them, and not checked. Ahead
	// is how many shards are fetched before they are wanted, where they are read in order.
	Hold  int64
	Ahead int
	// Once: what is fetched is read once, and forgotten then.
	Once   bool
	files  map[*dataset.Set]*storage.Bound
	Used   *Usage                          // counts what is in memory
	wanted map[*dataset.Set][]bool         // by tensor of its layout, of mmap shards
	until  atomic.Pointer[context.Context] // of Until

	// Warm: the last batch was copied out of mappings whose pages were in memory.
	Warm atomic.Bool

	ReadNanos, ReadBytes atomic.Int64
	clock                func() int64

	Mu    sync.Mutex
	Open  int // shards to keep open
	Kept  []*OpenShard
	turn  int64
	held  int64
	again memory.Again // of shards in memory
	at    int          // place of the shard that ahead was called for

	coming   map[*Shard]bool // being fetched by ahead
	fetching sync.WaitGroup
}

// NewShards is the shards of data sets whose samples are numbered one after the other, read
// for the fields of a layout. No file is opened yet.
func NewShards(sets []*dataset.Set, layout *index.Layout, verify Verify) (*Shards, error) {
	s := &Shards{Layout: layout, Verify: verify, Used: &Usage{}, files: map[*dataset.Set]*storage.Bound{}, wanted: map[*dataset.Set][]bool{}, clock: trace.Nanos, Open: maxOpen}
	at := int64(0)
	for k, in := range sets {
		s.files[in] = storage.NewBound(in.FS)
		var tar *tarFormat
		switch in.Format {
		case index.FormatWDS, index.FormatMDS:
			var err error
			if tar, err = newTarFormat(in, layout); err != nil {
				return nil, shardify.Annotate(err, "open", in.Where(), "")
			}
		default:
			for i := range in.Layout.Tensors {
				name := in.Layout.Tensors[i].Name
				s.wanted[in] = append(s.wanted[in], slices.ContainsFunc(layout.Tensors, func(t index.TensorSpec) bool { return t.Name == name }))
			}
		}
		for i := range in.Shards {
			r := &in.Shards[i]
			if err := plausible(in, r); err != nil {
				return nil, shardify.Annotate(err, "open", in.Where(), "")
			}
			s.Shards = append(s.Shards, &Shard{Set: in, Number: k, Record: r, stored: &in.OnDisk().Shards[i], Path: dataset.FilePath(in.Path, r.Name), Lo: at, Tar: tar, place: len(s.Shards), inSet: i})
			s.Starts = append(s.Starts, at)
			at += r.Samples
		}
	}
	s.Starts = append(s.Starts, at)
	return s, nil
}

// Until has reads of storages that answer late end with ctx.
func (s *Shards) Until(ctx context.Context) {
	s.until.Store(&ctx)
	for _, f := range s.files {
		f.Until(ctx)
	}
}

func (s *Shards) context() context.Context {
	if ctx := s.until.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

// plausible refuses a count of samples that a shard's bytes cannot hold, before any
// memory is sized by it.
func plausible(in *dataset.Set, r *shardify.Shard) error {
	each, variable := RowBytes(in.Schema)
	if variable {
		each += 8
	}
	room := r.Bytes
	switch {
	case in.Format == index.FormatWDS:
		each = tar.Block
	case in.Format == index.FormatMDS: // its index was held against the sizes of the unpacked shards
		return nil
	case in.Format == index.FormatMegatron && variable: // documents may be empty: they are in the index
		room = 0
		if f, err := dataset.IndexOf(r); err == nil {
			room = f.Bytes
		}
	}
	if r.Samples < 0 || r.Samples > room/max(each, 1) {
		return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes", r.Name, r.Samples, room)
	}
	return nil
}

// find is the shard that has a sample.
func (s *Shards) find(sample int64) *Shard { return s.Shards[s.Number(sample)] }

// Number is which shard that is.
func (s *Shards) Number(sample int64) int {
	// Most sets have shards of one size, but for the last.
	if i := sample / max(s.Starts[1], 1); i < int64(len(s.Shards)) && s.Starts[i] <= sample && sample < s.Starts[i+1] {
		return int(i)
	}
	return sort.Search(len(s.Shards), func(i int) bool { return s.Starts[i+1] > sample })
}

// Acquire opens a shard, or finds it open.
func (s *Shards) Acquire(sh *Shard) (*OpenShard, error) { return s.acquire(sh, false) }

// acquire is Acquire; early: the caller does not want to read it yet.
func (s *Shards) acquire(sh *Shard, early bool) (*OpenShard, error) {
	if h := s.opened(sh, early); h != nil {
		return h, nil
	}
	sh.opening.Lock()
	defer sh.opening.Unlock()
	if h := s.opened(sh, early); h != nil {
		return h, nil
	}
	room := s.reserve(sh)
	h, err := s.openFile(sh)
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.held -= room
	if err != nil {
		return nil, shardify.Annotate(err, "open", sh.Path, "")
	}
	s.turn++
	sh.open, h.refs, h.used, h.early = h, 1, s.turn, early
	s.Kept = append(s.Kept, h)
	if s.held += h.held; h.fetched() && !early {
		s.ahead(sh)
	}
	s.evict(s.Open)
	return h, nil
}

func (s *Shards) opened(sh *Shard, early bool) *OpenShard {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h := sh.open
	if h == nil {
		return nil
	}
	if now := trace.Nanos(); now-h.seen > Restat {
		if h.seen = now; h.changed() {
			s.drop(h)
			return nil
		}
	}
	h.refs++
	s.turn++
	h.used = s.turn
	if h.early && !early {
		h.early = false
		s.ahead(sh)
	}
	return h
}

// Restat is how often it is asked whether a shard was written to while it is open:
// nanoseconds.
const Restat = 200e6

// changed reports whether the file was written to since it was opened.
func (h *OpenShard) changed() bool {
	st, err := storage.Now(h.File)
	if err != nil || !sameStamp(&st, &h.stamp) {
		return true
	}
	if p, ok := h.File.(*pair); ok {
		was := p.index.Stamp()
		st, err = storage.Now(p.index)
		return err != nil || !sameStamp(&st, &was)
	}
	return false
}

func sameStamp(a, b *storage.Stamp) bool {
	return a.Size == b.Size && a.ModTime == b.ModTime && a.Version == b.Version && a.Node.Dev == b.Node.Dev && a.Node.Ino == b.Node.Ino
}

// drop forgets a shard that was written to. It is opened again, and its checksums are
// compared then.
func (s *Shards) drop(h *OpenShard) {
	h.stale, h.Shard.open = true, nil
	s.held -= h.held
	s.Kept = slices.DeleteFunc(s.Kept, func(k *OpenShard) bool { return k == h })
	if h.refs == 0 {
		h.close()
	}
}

// evict closes shards that are not in use until at most keep are open and no more are in memory
// than may be: the longest unused first, or, read in order, those that will be wanted last.
func (s *Shards) evict(keep int) {
	for len(s.Kept) > keep || s.held > s.Hold {
		last := -1
		for i, h := range s.Kept {
			if h.refs == 0 && (last < 0 || s.later(h, s.Kept[last])) {
				last = i
			}
		}
		if last < 0 {
			return
		}
		h := s.Kept[last]
		h.close()
		h.Shard.open = nil
		s.held -= h.held
		s.Kept = slices.Delete(s.Kept, last, last+1)
	}
}

// later reports whether one shard is wanted later than another, as far as that is known.
func (s *Shards) later(a, b *OpenShard) bool {
	if s.Ahead > 0 {
		return s.distance(a.Shard) > s.distance(b.Shard)
	}
	return a.used < b.used
}

// distance is how many shards come before one is read. Those before the last one that was
// started may still be wanted by goroutines that are behind.
func (s *Shards) distance(sh *Shard) int {
	n := len(s.Shards)
	return (sh.place - s.at + s.Ahead/2 + n) % n
}

// Release ends the use of a shard that Acquire returned.
func (s *Shards) Release(h *OpenShard) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	h.refs--
	switch {
	case h.refs > 0:
	case h.stale:
		h.close()
	case len(s.Kept) > s.Open || s.held > s.Hold:
		s.evict(s.Open)
	}
}

// Close closes all shards; none is in use.
func (s *Shards) Close() {
	s.fetching.Wait()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.evict(0)
	s.again.Close()
}

// openFile opens a shard and holds it against the manifest.
func (s *Shards) openFile(sh *Shard) (*OpenShard, error) {
	h, again, err := s.openOnce(sh)
	for n := 0; again && n < dataset.Refetches; n++ {
		h, again, err = s.openOnce(sh)
	}
	return h, err
}

func (s *Shards) openOnce(sh *Shard) (h *OpenShard, again bool, err error) {
	f, err := dataset.OpenFile(s.context(), s.files[sh.Set], sh.Path, sh.Record.Bytes)
	switch path := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, dataset.Missing(sh.Record.Bytes)
	case errors.Is(err, storage.ErrNotFile):
		return nil, false, shardify.Unsupported("%v", err)
	case errors.As(err, &path):
		return nil, false, path.Err // the name is said by the error that this becomes
	case err != nil:
		return nil, false, err
	}
	h = &OpenShard{Shard: sh, set: s, File: f, stamp: f.Stamp(), seen: trace.Nanos()}
	sh.suspect = sh.first != nil && !sameStamp(&h.stamp, sh.first)
	if sh.Tar != nil {
		err = s.openTar(h)
	} else {
		err = s.openMmap(h)
	}
	if err != nil {
		again = dataset.Again(f, err)
		h.close()
		return nil, again, err
	}
	sh.verified, sh.first = true, &h.stamp
	sh.checked.Store(h.fetched())
	return h, false, nil
}

// checks reports whether the data of a shard are compared with its checksums when it is
// opened.
func (s *Shards) checks(h *OpenShard) bool {
	sh := h.Shard
	return h.fetched() || s.Verify == VerifyOpen && !sh.verified || s.Verify != VerifyNone && sh.suspect
}

// pair is the tokens of a pair of Megatron-LM, with the index that belongs to them.
type pair struct {
	storage.File
	index storage.File
}

// Unwrap is the tokens.
func (p *pair) Unwrap() any { return p.File }

// Close closes both files.
func (p *pair) Close() error { return errors.Join(p.File.Close(), p.index.Close()) }

// openPair opens and checks the index of a pair.
func (s *Shards) openPair(h *OpenShard) (*dataset.Mmap, error) {
	record, err := dataset.IndexOf(h.stored)
	if err != nil {
		return nil, err
	}
	name := megatron.Index(h.Path)
	idx, err := storage.OpenOwn(s.context(), s.files[h.Set], name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, shardify.Annotate(dataset.Missing(record.Bytes), "open", name, "")
	}
	if err != nil {
		return nil, err
	}
	h.File = &pair{h.File, idx}
	m, err := dataset.OpenPair(h.File, idx, h.stored, h.OnDisk().Layout)
	if err != nil && dataset.Again(idx, err) {
		m, err = dataset.OpenPair(h.File, idx, h.stored, h.OnDisk().Layout)
	}
	return m, err
}

// openMmap checks size, header and schema of an mmap shard, or a pair of Megatron-LM, and finds the
// wanted tensors.
func (s *Shards) openMmap(h *OpenShard) (err error) {
	if h.Format == index.FormatMegatron {
		h.Mmap, err = s.openPair(h)
	} else {
		h.Mmap, err = dataset.OpenMmap(h.File, h.Record.Bytes, h.stored, h.OnDisk().Layout)
	}
	if err == nil && h.Stored != nil {
		if h.Mmap, err = h.Mmap.Flat(h.Set); err == nil && h.Mmap.Samples != h.Record.Samples {
			err = shardify.Corrupt(-1, "%d elements, there were %d", h.Mmap.Samples, h.Record.Samples)
		}
	}
	if err != nil {
		return err
	}
	h.Mmap.File = h
	byName := make(map[string]int, len(h.Mmap.Tensors))
	for i := range h.Mmap.Tensors {
		byName[h.Mmap.Tensors[i].Name] = i
	}
	for i := range s.Layout.Tensors {
		t := &s.Layout.Tensors[i]
		j, ok := byName[t.Name]
		if !ok || h.Mmap.Tensors[j].DType != t.DType || h.Mmap.Tensors[j].Row != t.Row {
			return shardify.Corrupt(-1, "no tensor %s as wanted", t.Name)
		}
		h.Tensors = append(h.Tensors, j)
	}
	if err := s.fetch(h); err != nil {
		return err
	}
	if s.checks(h) {
		return h.check(h.File)
	}
	return nil
}

// openTar checks that a tar ends as it should, and reads its offset index.
func (s *Shards) openTar(h *OpenShard) (err error) {
	if loose, _ := h.Loose(h.inSet); loose {
		return s.openLoose(h)
	}
	var meanwhile errgroup.Group
	read := func() (err error) {
		h.Index, err = dataset.ReadTarIndex(s.context(), s.files[h.Set], h.Path, h.Record)
		return err
	}
	if s.fetches(h) {
		meanwhile.Go(read)
		defer func() { _ = meanwhile.Wait() }()
	}
	if err := s.fetch(h); err != nil {
		return err
	}
	var w tar.Window
	w.Reset(h.File, h.Record.Bytes, make([]byte, 4<<10))
	if _, err := tar.CheckEnd(&w); err != nil {
		return err
	}
	if s.checks(h) {
		if err := h.check(h.File); err != nil {
			return err
		}
	}
	if h.fetched() {
		return meanwhile.Wait()
	}
	return read()
}

// openLoose finds the samples of a shard that others made, or of MDS. One that is compressed is checked as it
// is, and unpacked.
func (s *Shards) openLoose(h *OpenShard) (err error) {
	_, packed := h.Loose(h.inSet)
	if !packed {
		err = s.fetch(h)
	}
	if err == nil && (s.checks(h) || packed && s.Verify != VerifyNone) {
		err = h.check(h.File)
	}
	if err != nil {
		return err
	}
	h.File, h.Index, err = h.Places(s.context(), h.File, h.inSet)
	h.unpacked = packed
	return err
}

// Whole reports whether a shard has one digest of all of its bytes, and not one of each tensor.
func (sh *Shard) Whole() bool { return sh.Tar != nil || sh.Format == index.FormatMegatron }

// checkWhole compares the digest of a shard. Files that others wrote have none.
func (h *OpenShard) checkWhole(r io.ReaderAt) error {
	if h.Foreign || h.unpacked {
		return nil
	}
	return dataset.CheckDigest(r, h.Record)
}

// check compares the data of the wanted tensors with their checksums; of a tar or pair, all data.
func (h *OpenShard) check(r io.ReaderAt) error {
	if h.Whole() {
		return h.checkWhole(r)
	}
	buf := make([]byte, 1<<20)
	for _, j := range h.Tensors {
		if err := h.Mmap.CheckTensor(r, j, buf); err != nil {
			return err
		}
	}
	return nil
}

// ReadAt reads from the shard, and counts how long that took.
func (h *OpenShard) ReadAt(b []byte, at int64) (int, error) {
	t := h.set.clock()
	n, err := h.File.ReadAt(b, at)
	if h.fetched() {
		return n, err
	}
	h.set.ReadNanos.Add(h.set.clock() - t)
	h.set.ReadBytes.Add(int64(n))
	return n, err
}

// RowBytes is the bytes of a sample's fixed fields, and whether there are others.
func RowBytes(fields []shardify.Field) (n int64, variable bool) {
	for i := range fields {
		if f := &fields[i]; f.Levels == 0 {
			n += int64(f.ElemBytes())
		} else {
			variable = true
		}
		if fields[i].Nullable {
			n++
		}
	}
	return n, variable
}

// ColumnBytes is about what the columns of a layout of all samples of sets take: exact for fixed fields,
// at most the shards' size for others.
func ColumnBytes(sets []*dataset.Set, l *index.Layout) (total int64) {
	wanted, some := RowBytes(l.Schema)
	for _, in := range sets {
		all, variable := RowBytes(in.Schema)
		total += in.Samples * wanted
		if variable && some {
			total += max(in.Bytes-in.Samples*all, 0)
		}
	}
	return total
}

// CheckRead compares the checksums of a shard with those of what was read of each wanted
// tensor, so many rows. Offsets, which memory has in another form, and tars are read once
// more.
func (h *OpenShard) CheckRead(sum func(i int) (crc uint32, rows int64)) error {
	if h.Whole() {
		return h.checkWhole(h)
	}
	var buf []byte
	for i, j := range h.Tensors {
		t := &h.Mmap.Tensors[j]
		if t.Lead == index.LeadOffsets || t.Lead == index.LeadLists {
			if buf == nil {
				buf = make([]byte, 1<<20)
			}
			if err := h.Mmap.CheckTensor(h, j, buf); err != nil {
				return err
			}
			continue
		}
		crc, rows := sum(i)
		if want, place := h.Mmap.CRC32C[j], h.Mmap.Places[j].Lo; crc != want || rows != h.Mmap.Counts[j] {
			return shardify.Annotate(shardify.Corrupt(place, "crc32c of %d rows is %08x, stored %08x of %d", rows, crc, want, h.Mmap.Counts[j]), "", "", t.Name)
		}
	}
	return nil
}

// Verify says when the checksums in the shards are compared with the data. Size
// and header of a shard are compared with the manifest whenever it is opened.
type Verify string

// The kinds.
const (
	// VerifyWhole checks what is read whole before the first batch: TierPinned,
	// TierDevice, TierStaged, and small sets. In TierStream it checks each shard of a
	// large set once beside the reading; docs/design/loader.md says how soon.
	VerifyWhole Verify = "whole"
	// VerifyOpen checks a shard's wanted tensors (of a tar, all) when it is first
	// opened, which reads it a second time.
	VerifyOpen Verify = "open"
	VerifyNone Verify = "none"
)
