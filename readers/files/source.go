package files

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage/storages"
)

// content is what the survey found and a state keeps.
type content struct {
	survey
	files  *names // of the inputs
	names  *names // by which they are samples: others than files if there are pairs
	m      *matrix
	joined *labels.Values // of --labels FILE; nil without
	left   []format.Leftover
	// What is no sample, where that was just found out.
	strays     []uint32
	leftStrays []format.Leftover
}

// source is a content narrowed to the wanted fields.
type source struct {
	*content
	schema  []shardify.Field
	fields  []field // as schema
	codes   map[string]int64
	columns []int // of joined
	width   int   // of ordinal keys
	dirs    *dirs
}

// field says where a column comes from.
type field struct {
	role   role
	member int  // of value and ext; of label tables the column
	text   bool // of value: must be UTF-8
}

type role uint8

const (
	value  role = iota // the bytes of a file
	ext                // which type the file has
	label              // the class
	joined             // a column of --labels FILE
)

// maxSpan bounds the samples of a span, so that many empty files do not make a
// single one.
const maxSpan = 4096

// assumed is the size that a file is taken to have if nothing is known.
const assumed = 64 << 10

func newSource(c *content, columns []string) (*source, error) {
	s := &source{content: c, dirs: newDirs(tars.Over(storages.Of(c.files.Table)), maxDirs), width: max(6, len(strconv.Itoa(c.m.samples-1)))}
	if c.Parts {
		s.width = partsWidth
	}
	var available []string
	for i := range c.Members {
		available = append(available, c.Members[i].Field)
	}
	if c.Labels != nil {
		available = append(available, labelField)
	}
	for _, f := range c.labelFields() {
		available = append(available, f.Name)
	}
	available = append(available, c.Unread...)
	want, err := wanted(columns, available)
	if err != nil {
		return nil, err
	}
	if c.Labels != nil && want(labelField) {
		s.codes = labels.Codes(c.Labels)
	}
	s.describe(want)
	return s, shardify.ValidateSchema(s.schema)
}

// describe makes the schema: members by name, cls among them.
func (s *source) describe(want func(string) bool) {
	labelled := s.codes == nil
	addLabels := func() {
		labelled = true
		s.add(labels.ClassesField(s.Labels), field{role: label})
	}
	for i, m := range s.Members {
		if !want(m.Field) {
			continue
		}
		if !labelled && m.Field > labelField {
			addLabels()
		}
		f := shardify.Field{Name: m.Field, DType: shardify.U8, Levels: 1, Media: "image", Nullable: m.Nullable}
		if !m.varies() {
			if f.Media = media(strings.TrimPrefix(m.Exts[0], strings.ToLower(m.Field)+".")); s.Bytes && format.IsText(f.Media) {
				f.Media = "bin"
			}
		}
		s.add(f, field{value, i, format.IsText(f.Media)})
		if m.varies() {
			var types []string
			for _, e := range m.Exts {
				types = append(types, media(e))
			}
			s.add(shardify.Field{Name: m.Field + shardify.ExtSuffix, DType: shardify.U8, Attrs: labels.NamesOf(types)}, field{role: ext, member: i})
		}
	}
	if !labelled {
		addLabels()
	}
	for i, f := range s.labelFields() {
		if want(f.Name) {
			s.add(f, field{role: joined, member: i})
			s.columns = append(s.columns, i)
		}
	}
}

// labelFields are those of --labels FILE.
func (c *content) labelFields() []shardify.Field {
	if c.joined == nil {
		return nil
	}
	return c.joined.Fields
}

func (s *source) add(f shardify.Field, from field) {
	s.schema = append(s.schema, f)
	s.fields = append(s.fields, from)
}

// Schema returns the wanted fields.
func (s *source) Schema() []shardify.Field { return s.schema }

// Leftovers lists what the survey left out.
func (s *source) Leftovers() []format.Leftover { return s.left }

// Strays implements format.Strayer.
func (s *source) Strays() ([]uint32, []format.Leftover) { return s.strays, s.leftStrays }

// Keyed reports that batches carry Keys.
func (s *source) Keyed() bool { return true }

// Owner is the file that a sample is named by.
func (s *source) Owner(_ uint32, sample int64) uint32 { return uint32(s.m.named(sample)) }

// Folders implements format.Foldered.
func (s *source) Folders() *format.Table {
	if s.names == s.files {
		return nil
	}
	return s.names.Table
}

// Named implements format.Foldered.
func (s *source) Named(i int) (string, bool) {
	if s.names.Table.Root(i) > 0 { // a file in no pair
		return "", false
	}
	return string(s.names.Stem(i)), true
}

// Spans cuts the samples at target bytes.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		span := shardify.Span{Lo: s.m.base, Hi: s.m.base}
		labelled := labels.Cursor{Values: s.joined}
		for k := s.m.base; k < s.m.end(); k++ {
			if k%maxSpan == 0 && ctx.Err() != nil {
				yield(shardify.Span{}, context.Cause(ctx))
				return
			}
			n := s.sampleBytes(k)
			if s.columns != nil {
				more, err := labelled.Bytes(k, s.columns)
				if err != nil {
					yield(shardify.Span{}, err)
					return
				}
				n += more
			}
			if span.Hi > span.Lo && (span.Bytes+n > target || span.Samples() == maxSpan) {
				if !yield(span, nil) {
					return
				}
				span = shardify.Span{Lo: k, Hi: k}
			}
			span.Hi++
			span.Bytes += n
		}
		yield(span, nil)
	}
}

// sampleBytes is what a sample takes in a batch: its files, and beside them
// offsets, key, class and marks; without those of a table of labels.
func (s *source) sampleBytes(k int64) int64 {
	n := int64(s.keyLen(k)) + 8
	for i := range s.fields {
		switch f := s.fields[i]; f.role {
		case label:
			n += 8
		case ext:
			n++
		case joined:
		default:
			n += 8
			if s.schema[i].Nullable {
				n++
			}
			if file := s.m.file(k, f.member); file != none {
				n += s.planned(int(file))
			}
		}
	}
	return n
}

// planned is the size of a file as known before it is opened.
func (s *source) planned(i int) int64 {
	if n := s.files.Table.Size(i); n != format.SizeUnknown {
		return n
	}
	if s.Assume > 0 {
		return s.Assume
	}
	return assumed
}

func (s *source) keyLen(k int64) int {
	if s.Ordinal {
		return s.width
	}
	return s.names.KeyLen(s.m.named(k))
}

func (s *source) appendKey(dst []byte, k int64) []byte {
	if !s.Ordinal {
		return s.names.AppendKey(dst, s.m.named(k))
	}
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], k, 10)
	for range s.width - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// maxTarName is the longest name that a tar member can have.
const maxTarName = 100

// CheckKeys applies check to every key, and, if a dot and member names of up to
// memberMax bytes are appended to them, that this fits into a tar.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	var bad places
	var key []byte
	var why error
	for k := s.m.base; k < s.m.end(); k++ {
		key = s.appendKey(key[:0], k)
		err := error(nil)
		if memberMax > 0 && len(key)+1+memberMax > maxTarName {
			err = shardify.Mismatch("key of %d bytes; before a member name of %d a tar holds %d", len(key), memberMax, maxTarName-1-memberMax)
		} else if check != nil {
			err = check(key)
		}
		if err != nil {
			bad.add(func() string { return quote(key) })
			if why == nil {
				why = err
			}
		}
	}
	if why == nil {
		return nil
	}
	cure := ""
	if !s.Ordinal && !strings.Contains(why.Error(), optKeys+" ordinal") {
		cure = "; --keys ordinal numbers them instead"
	}
	return &problem{kind: "keys", found: []finding{{places: bad}}, text: func(p *problem) error {
		return fmt.Errorf("names of %s do not fit the output: %w%s", p.found[0].list("sample", "samples"), why, cure)
	}}
}

// Reader reads any span.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("files have no run %d", run)
	}
	return newReader(s), nil
}

// Pages implements format.Pager.
func (s *source) Pages() int { return s.joined.Pages() }

// Page implements format.Pager.
func (s *source) Page(i int) ([]byte, error) { return s.joined.Page(i) }

// Close closes the folders that are open for the next reader.
func (s *source) Close() error { return errors.Join(s.dirs.close(), s.joined.Close()) }
