package rntuple

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

const (
	mutationMemory = 512 << 20
	mutationTime   = 20 * time.Second
	mutationLimit  = 64 << 20
)

// seed is a file to damage.
type seed struct {
	name   string
	data   []byte
	anchor []byte
	places []envelopePlace // of envelopes that are not compressed
	pages  []page
	whole  []shardify.Column
	// sealed: every page has a checksum, so no damage may change a value.
	sealed bool
}

// plainCopy appends the envelopes of a file to it a second time, uncompressed, so that they
// can be changed one by one.
func plainCopy(file, anchor []byte) *made {
	a, err := parseAnchor(anchor)
	if err != nil {
		panic(err)
	}
	n := &Ntuple{r: bytes.NewReader(file), size: int64(len(file)), maxKey: a.maxKey}
	m := &maker{rng: rand.New(rand.NewPCG(1, 1)), plain: true}
	m.file.Write(file)
	must := func(kind int, b blob) ([]byte, uint64) {
		p, sum, err := n.envelope(kind, b)
		if err != nil {
			panic(err)
		}
		return p, sum
	}
	payload, sum := must(headerEnvelope, a.header)
	if err := n.parseHeader(payload); err != nil {
		panic(err)
	}
	header, _ := m.envelope(headerEnvelope, payload)
	payload, _ = must(footerEnvelope, a.footer)
	groups, err := n.parseFooter(payload, sum)
	if err != nil {
		panic(err)
	}
	c := newCursor(payload)
	featureFlags(&c)
	c.u64()
	c.record()
	f := out{slices.Clone(payload[:c.pos])}
	f.frame(len(groups), func() {
		for _, g := range groups {
			p, _ := must(pageListEnvelope, g.list)
			b, _ := m.envelope(pageListEnvelope, p)
			f.frame(-1, func() {
				f.u64(g.first)
				f.u64(g.entries)
				f.u32(g.clusters)
				f.u64(int64(b.size))
				f.locator(int64(b.offset), int64(b.disk))
			})
		}
	})
	footer, _ := m.envelope(footerEnvelope, f.b)
	m.anchor = slices.Clone(anchor)
	for i, v := range []uint64{header.offset, header.disk, header.size, footer.offset, footer.disk, footer.size} {
		binary.BigEndian.PutUint64(m.anchor[14+8*i:], v)
	}
	sealAnchor(m.anchor)
	return &made{m, m.file.Bytes()}
}

func (m *made) seed(t testing.TB, name string) *seed {
	n := m.open(t)
	s := &seed{name: name, data: m.data, anchor: m.anchor, places: m.places, sealed: true}
	for i := range n.Clusters {
		for _, p := range n.Clusters[i].pages {
			s.sealed = s.sealed && p.summed
			s.pages = append(s.pages, p)
		}
	}
	var err error
	if s.whole, err = readAll(n, every(n), []int64{0, n.Entries}, 1); err != nil {
		t.Fatal(err)
	}
	return s
}

// seeds are files of the tests' own writer, and the small ones of the corpus.
func seeds(t testing.TB) []*seed {
	var all []*seed
	for i := range 60 {
		all = append(all, makeFile(uint64(1000+i), 1+i%6, 1+i%40, true).seed(t, fmt.Sprint("made ", i)))
	}
	dir := corpus.Path("root")
	paths, _ := filepath.Glob(filepath.Join(dir, "rntuple", "*.root"))
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil || len(b) > 8<<10 {
			continue
		}
		for _, k := range findAnchors(b) {
			all = append(all, plainCopy(b, k.payload).seed(t, filepath.Base(p)+" "+k.name))
		}
	}
	return all
}

type mutations struct {
	seeds                         []*seed
	opened, reached, whole, equal int
	current, since, heap          atomic.Int64
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little
// memory, and errors of a kind. Where a checksum covers the damage, what is read is
// what was written; where the damage has a right checksum, columns are consistent.
// SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	count := 4000
	if long() {
		count = 1_000_000
	}
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		count = n
	}
	m := &mutations{seeds: seeds(t)}
	stop := m.watch()
	defer stop()
	for i := range count {
		m.one(t, uint64(i))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutated files from %d seeds: %d opened, %d reached the page decoder (%.0f %%), %d were read to the end, %d of these under checksums and equal; heap at most %s",
		count, len(m.seeds), m.opened, m.reached, 100*float64(m.reached)/float64(count), m.whole, m.equal, shardify.FormatSize(m.heap.Load()))
	if count >= 1000 && m.reached*10 < count*3 {
		t.Errorf("only %d of %d inputs reached the page decoder", m.reached, count)
	}
}

// watch ends the process when an input takes too long, and notes the heap.
func (m *mutations) watch() (stop func()) {
	done := make(chan struct{})
	m.since.Store(time.Now().UnixNano())
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			metrics.Read(sample)
			m.heap.Store(max(m.heap.Load(), int64(sample[0].Value.Uint64())))
			if time.Since(time.Unix(0, m.since.Load())) > mutationTime {
				panic(fmt.Sprintf("mutation %d hangs", m.current.Load()))
			}
		}
	}()
	return func() { close(done) }
}

func (m *mutations) one(t *testing.T, i uint64) {
	m.current.Store(int64(i))
	m.since.Store(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(20, i))
	s := m.seeds[rng.IntN(len(m.seeds))]
	data, anchor := bytes.Clone(s.data), bytes.Clone(s.anchor)
	how := mutate(rng, s, data, anchor)
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("mutation %d of %s (%s): panic: %v\n%s", i, s.name, how, p, debug.Stack())
		}
		if n := m.heap.Load(); n > mutationMemory {
			t.Errorf("mutation %d of %s (%s): heap of %s", i, s.name, how, shardify.FormatSize(n))
		}
	}()
	cols, err := m.read(data, anchor, how != "flip")
	switch {
	case err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported):
		t.Errorf("mutation %d of %s (%s): error of no kind: %v", i, s.name, how, err)
	case err == nil && how == "flip" && s.sealed:
		m.equal++
		for k := range cols {
			if a, b := &cols[k], &s.whole[k]; a.Name != b.Name || !bytes.Equal(a.Data, b.Data) || !bytes.Equal(a.Valid, b.Valid) || slices.CompareFunc(a.Offsets, b.Offsets, slices.Compare[[]int64]) != 0 {
				t.Errorf("mutation %d of %s: %s has other values and no error", i, s.name, a.Name)
			}
		}
	}
}

// mutate damages a file. "flip" leaves all checksums as they were; the others make
// them right again for what was changed.
func mutate(rng *rand.Rand, s *seed, data, anchor []byte) (how string) {
	switch k := rng.IntN(10); {
	case k < 3: // most of it in the pages
		for range 1 + rng.IntN(3) {
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		return "flip"
	case k < 6 && len(s.pages) > 0:
		p := s.pages[rng.IntN(len(s.pages))]
		if p.size > 0 {
			body := data[p.offset:][:p.size]
			change(rng, body)
			if p.summed {
				le.PutUint64(data[p.offset+p.size:], xxh3.Hash(body))
			}
		}
		return "page"
	case k == 6:
		change(rng, anchor[6:len(anchor)-sumSize])
		sealAnchor(anchor)
		return "anchor"
	}
	e := s.places[rng.IntN(len(s.places))]
	b := data[e.at:][:e.size]
	for range 1 + rng.IntN(2) {
		change(rng, b[8:e.size-sumSize])
	}
	seal(b)
	if e.kind == headerEnvelope {
		for _, o := range s.places {
			at := 8
			if o.kind == footerEnvelope {
				at = 16
			}
			if o.kind != headerEnvelope {
				copy(data[o.at+at:], b[e.size-sumSize:])
				seal(data[o.at:][:o.size])
			}
		}
	}
	return envelopes[e.kind]
}

// change alters a byte or a number.
func change(rng *rand.Rand, b []byte) {
	at := rng.IntN(len(b))
	switch rng.IntN(4) {
	case 0:
		b[at] ^= 1 << rng.IntN(8)
	case 1:
		b[at] = byte(rng.Uint32())
	case 2:
		var w [8]byte
		le.PutUint64(w[:], []uint64{0, 1, 1 << 31, 1<<31 - 1, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0), 1 << 20, ^uint64(0) - 11}[rng.IntN(10)])
		copy(b[at:], w[:1<<rng.IntN(4)])
	case 3:
		b[at] += byte(1 + 254*rng.IntN(2))
	}
}

func (m *mutations) read(data, anchor []byte, parts bool) ([]shardify.Column, error) {
	n, err := Open(bytes.NewReader(data), int64(len(data)), anchor)
	if err != nil {
		return nil, err
	}
	m.opened++
	s := n.Select(every(n))
	if err := shardify.ValidateSchema(s.Fields()); err != nil && len(n.Flats) > 0 {
		return nil, fmt.Errorf("schema: %v", err)
	}
	r := s.Reader()
	r.Limit = mutationLimit
	pool := shardify.NewPool(mutationLimit)
	target := int64(1 << 30)
	if parts {
		target = 10_000
	}
	var cols []shardify.Column
	count := 0
	for p := range s.Parts(target) {
		if count == 0 {
			m.reached++
		}
		mem := pool.Overdraft()
		cols, err = r.Read(context.Background(), p.Lo, p.Hi, mem, nil)
		if err == nil {
			b := shardify.Batch{Samples: int(p.Hi - p.Lo), Columns: cols}
			if e := b.Check(); e != nil {
				err = fmt.Errorf("batch: %v", e)
			}
		}
		if parts {
			mem.Release()
		}
		if err != nil {
			return nil, err
		}
		if count++; count == 50 { // much that is compressed well
			break
		}
	}
	m.whole++
	return cols, nil
}

// FuzzOpen takes an anchor and a file; checksums are made right, so that the fuzzer
// reaches what is behind them.
func FuzzOpen(f *testing.F) {
	for i := range 12 {
		m := makeFile(uint64(i), 1+i%4, 1+i, true)
		f.Add(m.data, m.anchor)
	}
	f.Fuzz(func(t *testing.T, data, anchor []byte) {
		if len(anchor) >= anchorSize {
			anchor = bytes.Clone(anchor)
			sealAnchor(anchor)
			data = resealed(bytes.Clone(data), anchor)
		}
		var m mutations
		if _, err := m.read(data, anchor, true); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatalf("error of no kind: %v", err)
		}
	})
}

// resealed repairs the checksums of header, footer and the page lists that can be
// found.
func resealed(data, anchor []byte) []byte {
	a, err := parseAnchor(anchor)
	if err != nil {
		return data
	}
	cut := func(b blob) []byte {
		if b.disk != b.size || b.disk < 24 || b.disk > uint64(len(data)) || b.offset > uint64(len(data))-b.disk {
			return nil
		}
		return data[b.offset:][:b.size]
	}
	h, f := cut(a.header), cut(a.footer)
	if h == nil || f == nil {
		return data
	}
	seal(h)
	sum := h[len(h)-sumSize:]
	copy(f[16:len(f)-sumSize], sum)
	n := &Ntuple{r: bytes.NewReader(data), size: int64(len(data))}
	n.parseHeader(h[8 : len(h)-sumSize])
	groups, _ := n.parseFooter(f[8:len(f)-sumSize], le.Uint64(sum))
	for _, g := range groups {
		if p := cut(g.list); p != nil {
			copy(p[8:], sum)
			seal(p)
		}
	}
	seal(f)
	return data
}
