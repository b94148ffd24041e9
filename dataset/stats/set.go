// Package stats finds out what is in a data set in one pass: extremes, moments and
// quantiles of numbers, lengths of lists, the balance of classes, missing values,
// sizes of images, and duplicate samples.
//
//	s := stats.New(schema, stats.Options{})
//	p := s.Part()        // for each part of the samples; parts may run side by side
//	err = p.Add(batch)
//	err = s.Merge(p)     // in the order of the parts
//	report := s.Report()
//
// The figures depend on the samples, their order and the parts alone. Memory depends
// on the number of fields, not of samples, but for the search for duplicates.
package stats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // formats whose sizes are reported
	_ "image/png"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/jpeg"
	"github.com/shardify/shardify/internal/guard"
	"github.com/zeebo/xxh3"
	_ "golang.org/x/image/webp" // as above
)

// Options choose what is gathered beyond numbers.
type Options struct {
	// Duplicates is how many bytes the search for samples that are there twice may
	// take; 0 means no search.
	Duplicates int64
	// Aside names fields in which two samples may differ and be duplicates nevertheless,
	// such as where they came from.
	Aside []string
	// Thumbnails is how many encoded images of each image field, and slices of each volume, are kept, spread over
	// Total samples.
	Thumbnails int
	Total      int64
}

// ErrTooMany: the search for duplicates wants more memory than it may have.
var ErrTooMany = errors.New("too many samples to look for duplicates in the memory at hand")

// Set gathers facts of the samples of a schema.
type Set struct {
	o       Options
	fields  []shardify.Field
	Samples int64
	columns []column
	digests []digest
	at      int64 // number of the next sample
}

// column is what is known of a field.
type column struct {
	missing int64
	numbers *Numbers // of all values
	lengths *Numbers // of lists or of opaque bytes
	inner   *Numbers // of lists in lists
	classes *Classes
	images  *images
	slices  []Thumbnail // of arrays that are images or volumes
	// channels are the numbers of each place of the first dimension.
	channels []*Numbers
}

type digest struct {
	sum    [16]byte
	sample int64
}

// images is what is known of encoded images.
type images struct {
	width, height *Numbers
	types         map[string]int64
	bad           int64
	thumbs        []Thumbnail
	jpeg          *jpeg.Decoder
}

// Thumbnail is an encoded image.
type Thumbnail struct {
	Sample int64
	Place  string // in a volume: which slice it is
	Type   string
	Data   []byte
}

// maxThumb is the largest encoded image that is kept.
const maxThumb = 2 << 20

// New begins with nothing.
func New(schema []shardify.Field, o Options) *Set {
	s := &Set{o: o, fields: schema, columns: make([]column, len(schema))}
	for i := range schema {
		f, c := &schema[i], &s.columns[i]
		if shardify.Companion(schema, i) {
			continue
		}
		c.classes = newClasses(f)
		if f.Media == "" {
			c.numbers = newNumbers(f.DType)
		}
		for range Channels(f) {
			n := newNumbers(f.DType)
			n.plain = true
			c.channels = append(c.channels, n)
		}
		if f.Levels > 0 {
			c.lengths = newNumbers(shardify.I64)
		}
		if f.Levels > 1 {
			c.inner = newNumbers(shardify.I64)
		}
		if isImage(f.Media) && f.Levels == 1 {
			c.images = newImages()
		}
	}
	return s
}

func isImage(media string) bool {
	return slices.Contains([]string{"image", "jpg", "png", "gif", "webp"}, media)
}

func newImages() *images {
	return &images{width: newNumbers(shardify.I64), height: newNumbers(shardify.I64), types: map[string]int64{}}
}

// Part is an empty Set for samples from number first on, to be merged into s.
func (s *Set) Part(first int64) *Set {
	p := New(s.fields, s.o)
	p.at = first
	for i := range s.columns {
		from, to := &s.columns[i], &p.columns[i]
		for _, n := range [][2]**Numbers{{&from.numbers, &to.numbers}, {&from.lengths, &to.lengths}, {&from.inner, &to.inner}} {
			if *n[0] != nil {
				*n[1] = (*n[0]).part()
			}
		}
		for k, n := range from.channels {
			to.channels[k] = n.part()
		}
	}
	return p
}

// Add gathers from a batch.
func (s *Set) Add(b *shardify.Batch) error {
	if err := b.Match(s.fields); err != nil {
		return err
	}
	for i := range b.Columns {
		s.columns[i].add(s, &b.Columns[i], b.Samples)
	}
	s.pictures(b)
	if s.o.Duplicates > 0 {
		if err := s.digest(b); err != nil {
			return err
		}
	}
	s.Samples += int64(b.Samples)
	s.at += int64(b.Samples)
	return nil
}

func (c *column) add(s *Set, col *shardify.Column, samples int) {
	for _, v := range col.Valid {
		if v == 0 {
			c.missing++
		}
	}
	if c.lengths != nil {
		c.lengths.lengths(col.Offsets[0])
	}
	if c.inner != nil {
		c.inner.lengths(col.Offsets[1])
	}
	if c.numbers != nil {
		if c.missing == 0 || col.Levels > 0 || col.Valid == nil {
			c.numbers.column(col.Data)
		} else {
			c.present(col, samples)
		}
	}
	c.ofChannels(col, samples)
	if c.classes != nil {
		c.classes.column(col, samples)
	}
	if c.images != nil {
		c.images.column(s, col, samples)
	}
}

// present adds the values of samples that have one.
func (c *column) present(col *shardify.Column, samples int) {
	for lo := 0; lo < samples; {
		hi := lo
		for hi < samples && col.Valid[hi] == col.Valid[lo] {
			hi++
		}
		if col.Valid[lo] != 0 {
			from, to := col.Range(lo, hi)
			c.numbers.column(slices.Clone(col.Data[from:to])) // aligned
		}
		lo = hi
	}
}

func (m *images) column(s *Set, col *shardify.Column, samples int) {
	for i := range samples {
		if col.Valid != nil && col.Valid[i] == 0 {
			continue
		}
		b := col.Data[col.Offsets[0][i]:col.Offsets[0][i+1]]
		w, h, kind, err := m.size(b)
		if err != nil {
			m.bad++
			continue
		}
		m.types[kind]++
		m.width.add(float64(w))
		m.height.add(float64(h))
		at := s.at + int64(i)
		if n, total := int64(s.o.Thumbnails), max(s.o.Total, 1); n > 0 && len(b) <= maxThumb && (at*n/total != (at-1)*n/total || at == 0) {
			m.thumbs = append(m.thumbs, Thumbnail{Sample: at, Type: kind, Data: bytes.Clone(b)})
		}
	}
}

// size reads the header of an image.
func (m *images) size(b []byte) (w, h int, kind string, err error) {
	if bytes.HasPrefix(b, []byte("\xff\xd8")) {
		if m.jpeg == nil {
			m.jpeg = new(jpeg.Decoder)
		}
		head, err := m.jpeg.Open(b)
		return head.W, head.H, "jpeg", err
	}
	err = guard.Do(func() error {
		cfg, name, err := image.DecodeConfig(bytes.NewReader(b))
		w, h, kind = cfg.Width, cfg.Height, name
		return err
	})
	return w, h, kind, err
}

// digest sums each sample up.
func (s *Set) digest(b *shardify.Batch) error {
	const each = 24 + 8 // grown by appending
	if int64(len(s.digests)+b.Samples)*each > s.o.Duplicates {
		return ErrTooMany
	}
	var h xxh3.Hasher
	var n [8]byte
	put := func(x int64) {
		binary.LittleEndian.PutUint64(n[:], uint64(x))
		h.Write(n[:])
	}
	for i := range b.Samples {
		h.Reset()
		for k := range b.Columns {
			c := &b.Columns[k]
			if slices.Contains(s.o.Aside, c.Name) {
				continue
			}
			if c.Valid != nil && c.Valid[i] == 0 {
				put(-1)
				continue
			}
			lo, hi := c.Range(i, i+1)
			put(int64(hi - lo))
			if c.Levels > 1 {
				o := c.Offsets[1][c.Offsets[0][i] : c.Offsets[0][i+1]+1]
				put(int64(len(o)))
				for j := 1; j < len(o); j++ {
					put(o[j] - o[j-1])
				}
			}
			h.Write(c.Data[lo:hi])
		}
		s.digests = append(s.digests, digest{h.Sum128().Bytes(), s.at + int64(i)})
	}
	return nil
}

// Merge adds what a part has gathered.
func (s *Set) Merge(p *Set) error {
	s.Samples += p.Samples
	for i := range s.columns {
		to, from := &s.columns[i], &p.columns[i]
		to.missing += from.missing
		to.slices = append(to.slices, from.slices...)
		for _, n := range [][2]*Numbers{{to.numbers, from.numbers}, {to.lengths, from.lengths}, {to.inner, from.inner}} {
			if n[0] != nil {
				n[0].merge(n[1])
			}
		}
		for k, n := range from.channels {
			to.channels[k].merge(n)
		}
		if to.classes != nil {
			to.classes.merge(from.classes)
		}
		if m := to.images; m != nil {
			m.width.merge(from.images.width)
			m.height.merge(from.images.height)
			m.bad += from.images.bad
			m.thumbs = append(m.thumbs, from.images.thumbs...)
			for k, n := range from.images.types {
				m.types[k] += n
			}
		}
	}
	if int64(len(s.digests)+len(p.digests))*24 > s.o.Duplicates && s.o.Duplicates > 0 {
		return ErrTooMany
	}
	s.digests = append(s.digests, p.digests...)
	return nil
}
