package gpuload

import (
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
)

// maxOpen is how many shards are kept open.
const maxOpen = 128

// shard is a file of samples.
type shard struct {
	*dataset.Set
	record *shardify.Shard
	number int // of its input
	path   string
	lo     int64 // its first sample in the Dataset
	tar    *tarFormat

	opening  sync.Mutex
	verified bool
	first    os.FileInfo // as it was when it was last found to be right
	suspect  bool        // it is another file now, or was written to
	// Under shardSet.mu:
	open *openShard
}

// openShard is a shard that was found to be what the manifest says.
type openShard struct {
	*shard
	file *os.File
	refs int
	used int64 // when it was last acquired, in turns
	// stamp is the file's when it was opened, seen when it was last compared.
	stamp os.FileInfo
	seen  int64 // nanos
	stale bool  // it was written to since
	set   *shardSet
	// mmap: the shard, and the numbers of the wanted tensors in it; wds: the offset index.
	mmap    *dataset.Mmap
	tensors []int
	index   []int64
}

// shardSet is all shards of a Dataset, read for some of the fields. It may be used
// concurrently.
type shardSet struct {
	layout *index.Layout // of the wanted fields
	shards []*shard
	starts []int64 // of shards, and the number of samples
	verify Verify

	readNanos, readBytes atomic.Int64
	clock                func() int64

	mu   sync.Mutex
	open int // shards to keep open
	kept []*openShard
	turn int64
}

func newShardSet(sets []*dataset.Set, layout *index.Layout, verify Verify) (*shardSet, error) {
	s := &shardSet{layout: layout, verify: verify, clock: nanos, open: maxOpen}
	at := int64(0)
	for k, in := range sets {
		var tar *tarFormat
		if in.Format == index.FormatWDS {
			var err error
			if tar, err = newTarFormat(in, layout); err != nil {
				return nil, shardify.Annotate(err, "open", dataset.ManifestPath(in.Path), "")
			}
		}
		for i := range in.Shards {
			r := &in.Shards[i]
			if err := plausible(in, r); err != nil {
				return nil, shardify.Annotate(err, "open", dataset.ManifestPath(in.Path), "")
			}
			s.shards = append(s.shards, &shard{Set: in, number: k, record: r, path: dataset.FilePath(in.Path, r.Name), lo: at, tar: tar})
			s.starts = append(s.starts, at)
			at += r.Samples
		}
	}
	s.starts = append(s.starts, at)
	return s, nil
}

// plausible refuses a count of samples that a shard's bytes cannot hold, before any
// memory is sized by it.
func plausible(in *dataset.Set, r *shardify.Shard) error {
	each, variable := rowBytes(in.Schema)
	if variable {
		each += 8
	}
	if in.Format == index.FormatWDS {
		each = index.TarBlock
	}
	if r.Samples < 0 || r.Samples > r.Bytes/max(each, 1) {
		return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes", r.Name, r.Samples, r.Bytes)
	}
	return nil
}

var start = time.Now()

// nanos is a monotonic clock.
func nanos() int64 { return int64(time.Since(start)) }

// find is the shard that has a sample.
func (s *shardSet) find(sample int64) *shard { return s.shards[s.number(sample)] }

// number is which shard that is.
func (s *shardSet) number(sample int64) int {
	return sort.Search(len(s.shards), func(i int) bool { return s.starts[i+1] > sample })
}

// acquire opens a shard, or finds it open.
func (s *shardSet) acquire(sh *shard) (*openShard, error) {
	if h := s.opened(sh); h != nil {
		return h, nil
	}
	sh.opening.Lock()
	defer sh.opening.Unlock()
	if h := s.opened(sh); h != nil {
		return h, nil
	}
	h, err := s.openFile(sh)
	if err != nil {
		return nil, shardify.Annotate(err, "open", sh.path, "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sh.open, h.refs = h, 1
	s.kept = append(s.kept, h)
	s.evict(s.open)
	return h, nil
}

func (s *shardSet) opened(sh *shard) *openShard {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := sh.open
	if h == nil {
		return nil
	}
	if now := nanos(); now-h.seen > restat {
		if h.seen = now; h.changed() {
			s.drop(h)
			return nil
		}
	}
	h.refs++
	s.turn++
	h.used = s.turn
	return h
}

// restat is how often it is asked whether a shard was written to while it is open:
// nanoseconds.
const restat = 200e6

// changed tells whether the file was written to since it was opened.
func (h *openShard) changed() bool {
	st, err := h.file.Stat()
	return err != nil || !sameStamp(st, h.stamp)
}

func sameStamp(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// drop forgets a shard that was written to. It is opened again, and its checksums are
// compared then.
func (s *shardSet) drop(h *openShard) {
	h.stale, h.shard.open = true, nil
	s.kept = slices.DeleteFunc(s.kept, func(k *openShard) bool { return k == h })
	if h.refs == 0 {
		h.file.Close()
	}
}

// evict closes shards that nobody uses, the longest unused first, until at most
// keep are open.
func (s *shardSet) evict(keep int) {
	for len(s.kept) > keep {
		oldest := -1
		for i, h := range s.kept {
			if h.refs == 0 && (oldest < 0 || h.used < s.kept[oldest].used) {
				oldest = i
			}
		}
		if oldest < 0 {
			return
		}
		h := s.kept[oldest]
		h.file.Close()
		h.shard.open = nil
		s.kept = slices.Delete(s.kept, oldest, oldest+1)
	}
}

func (s *shardSet) release(h *openShard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.refs--
	switch {
	case h.refs > 0:
	case h.stale:
		h.file.Close()
	case len(s.kept) > s.open:
		s.evict(s.open)
	}
}

// close closes all shards; none is in use.
func (s *shardSet) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(0)
}

// openFile opens a shard and holds it against the manifest.
func (s *shardSet) openFile(sh *shard) (*openShard, error) {
	f, err := dataset.OpenFile(sh.path, sh.record.Bytes)
	if err != nil {
		return nil, err
	}
	h := &openShard{shard: sh, set: s, file: f, seen: nanos()}
	if h.stamp, err = f.Stat(); err != nil {
		f.Close()
		return nil, err
	}
	sh.suspect = sh.first != nil && !sameStamp(h.stamp, sh.first)
	if sh.tar != nil {
		err = s.openTar(h)
	} else {
		err = s.openMmap(h)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	sh.verified, sh.first = true, h.stamp
	return h, nil
}

// checks tells whether the data of a shard are compared with its checksums when it is
// opened.
func (s *shardSet) checks(sh *shard) bool {
	return s.verify == VerifyOpen && !sh.verified || s.verify != VerifyNone && sh.suspect
}

// openMmap checks size, header and schema of an mmap shard, and finds the wanted
// tensors.
func (s *shardSet) openMmap(h *openShard) (err error) {
	if h.mmap, err = dataset.OpenMmap(h.file, h.record.Bytes, h.record, h.Layout); err != nil {
		return err
	}
	h.mmap.File = h
	byName := make(map[string]int, len(h.mmap.Tensors))
	for i := range h.mmap.Tensors {
		byName[h.mmap.Tensors[i].Name] = i
	}
	for i := range s.layout.Tensors {
		t := &s.layout.Tensors[i]
		j, ok := byName[t.Name]
		if !ok || h.mmap.Tensors[j].DType != t.DType || h.mmap.Tensors[j].Row != t.Row {
			return shardify.Corrupt(-1, "no tensor %s as wanted", t.Name)
		}
		h.tensors = append(h.tensors, j)
	}
	if s.checks(h.shard) {
		return h.check(h.file)
	}
	return nil
}

// openTar checks that a tar ends as it should, and reads its offset index.
func (s *shardSet) openTar(h *openShard) (err error) {
	var w index.TarWindow
	w.Reset(h.file, h.record.Bytes, make([]byte, 4<<10))
	if _, err := index.CheckTarEnd(&w); err != nil {
		return err
	}
	if s.checks(h.shard) {
		if err := h.check(h.file); err != nil {
			return err
		}
	}
	h.index, err = dataset.ReadTarIndex(h.path, h.record)
	return err
}

// check compares the data of the wanted tensors with their checksums; of a tar, all data.
func (h *openShard) check(r io.ReaderAt) error {
	if h.tar != nil {
		return dataset.CheckTar(r, h.record)
	}
	buf := make([]byte, 1<<20)
	for _, j := range h.tensors {
		if err := h.mmap.CheckTensor(r, j, buf); err != nil {
			return err
		}
	}
	return nil
}

// ReadAt reads from the shard, and counts how long that took.
func (h *openShard) ReadAt(b []byte, at int64) (int, error) {
	t := h.set.clock()
	n, err := h.file.ReadAt(b, at)
	h.set.readNanos.Add(h.set.clock() - t)
	h.set.readBytes.Add(int64(n))
	return n, err
}

// rowBytes is the bytes of a sample's fixed fields, and whether there are others.
func rowBytes(fields []shardify.Field) (n int64, variable bool) {
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

// checkRead compares the checksums of a shard with those of what was read of each wanted
// tensor, so many rows. Offsets, which memory has in another form, and tars are read once
// more.
func (h *openShard) checkRead(sum func(i int) (crc uint32, rows int64)) error {
	if h.tar != nil {
		return dataset.CheckTar(h, h.record)
	}
	var buf []byte
	for i, j := range h.tensors {
		t := &h.mmap.Tensors[j]
		if t.Lead == index.LeadOffsets || t.Lead == index.LeadLists {
			if buf == nil {
				buf = make([]byte, 1<<20)
			}
			if err := h.mmap.CheckTensor(h, j, buf); err != nil {
				return err
			}
			continue
		}
		crc, rows := sum(i)
		if want, place := h.mmap.CRC32C[j], h.mmap.Places[j].Lo; crc != want || rows != h.mmap.Counts[j] {
			return shardify.Annotate(shardify.Corrupt(place, "crc32c of %d rows is %08x, stored %08x of %d", rows, crc, want, h.mmap.Counts[j]), "", "", t.Name)
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
	// large set once beside the reading; docs/loader.md says how soon.
	VerifyWhole Verify = "whole"
	// VerifyOpen checks a shard's wanted tensors (of a tar, all) when it is first
	// opened, which reads it once more.
	VerifyOpen Verify = "open"
	VerifyNone Verify = "none"
)
