// Package schema finds out what the features of TFRecord files are, by the keys and lengths of all
// records, and which fields they become.
//
//	learn.go   what is seen in the records of a file; several files joined
//	leaf.go    the fields: types, shapes, and what features.json says of them
package schema

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/internal/filekind"
)

// met is the first place of several where something was seen.
type met struct {
	file   string
	number int // of the file
	record int64
	set    bool
}

func (m *met) see(o met) {
	if o.set && (!m.set || o.number < m.number || o.number == m.number && o.record < m.record) {
		*m = o
	}
}

func (m met) String() string { return fmt.Sprintf("record %d of %s", m.record, m.file) }

// key names a feature: of a record, or of its lists.
type key struct {
	name string
	list bool
}

// stat is what was seen of a feature.
type stat struct {
	kinds   [4]met // where each kind was first
	present int64  // records that have it
	lengths        // values, or steps of a list
	inner   lengths
	items   int64 // values in all
	size    int64 // bytes of values of bytes
	binary  bool  // not all are UTF-8
	other   bool  // not all are images
	empty   met   // a step without values of a kind
	exts    []string
	hash    uint64 // of all lengths in order, modulo prime
}

// lengths are those of lists.
type lengths struct {
	seen     bool
	min, max int64
	unit     int64 // greatest common divisor
	first    met
	differs  met // the first that is not as long as the first
}

func (l *lengths) see(n int64, at met) {
	if !l.seen {
		*l = lengths{true, n, n, n, at, met{}}
		return
	}
	if n != l.min || n != l.max {
		l.differs.see(at)
		l.min, l.max, l.unit = min(l.min, n), max(l.max, n), gcd(l.unit, n)
	}
}

func (l *lengths) join(o *lengths) {
	switch {
	case !o.seen:
	case !l.seen:
		*l = *o
	default:
		if l.min != o.min || l.max != o.max {
			l.differs.see(o.first)
			l.differs.see(o.differs)
		}
		l.first.see(o.first)
		l.min, l.max, l.unit = min(l.min, o.min), max(l.max, o.max), gcd(l.unit, o.unit)
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// File is what was seen in a file.
type File struct {
	Records int64
	stats   map[key]*stat
	// Sequence: records have lists of features. Known: one has a feature with values.
	Sequence, Known bool

	name   string
	number int
	steps  *steps // of which each is a sample; nil: records are
	full   int64  // records that have samples
	x      tfrecord.Example
	of     [2]tfrecord.Table
	own    [2][]*stat // by slot
	value  tfrecord.Value
}

// NewFile begins a file, which has a number among all. BySteps: samples are the steps of records.
func NewFile(name string, number int, bySteps bool, named *Named) (f *File, err error) {
	f = &File{name: name, number: number, stats: map[key]*stat{}}
	if bySteps {
		f.steps, err = named.theSteps()
	}
	return f, err
}

// Count parses the next record, and says how many samples it is.
func (f *File) Count(record []byte) (int, error) {
	if f.steps != nil {
		return CountSteps(f.steps.values, &f.x, &f.value, record)
	}
	return 1, parse(&f.x, record)
}

func parse(x *tfrecord.Example, record []byte) error {
	if err := x.Parse(record); err != nil {
		return shardify.Amend(err, func(e *shardify.Error) { e.Offset = -1 })
	}
	return nil
}

// Add looks at the record that was counted.
func (f *File) Add(samples int) error {
	var err error
	if samples > 0 {
		f.full++
	}
	f.Sequence = f.Sequence || f.x.Sequence
	for i, entries := range [2][]tfrecord.Entry{f.x.Features, f.x.Lists} {
		t := &f.of[i]
		if err := t.Take(entries); err != nil {
			return err
		}
		for k := len(f.own[i]); k < len(t.Slots); k++ {
			s := &stat{}
			f.stats[key{t.Slots[k].Key, i == 1}] = s
			f.own[i] = append(f.own[i], s)
		}
		for k, s := range f.own[i] {
			if !t.Has(k) {
				continue
			}
			present, items, size := s.present, s.items, s.size
			_, step := f.steps.of(key{t.Slots[k].Key, i == 1})
			if i == 0 {
				err = s.feature(t.Slots[k].Value, &f.value, f.here(), flag(!step)+flag(step)*samples)
			} else {
				err = s.list(t.Slots[k].Value, &f.value, f.here())
			}
			if !step { // each sample has them
				s.items, s.size = items+(s.items-items)*int64(samples), size+(s.size-size)*int64(samples)
			}
			if err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Offset = t.Slots[k].Key, -1 })
			}
			if f.Known = f.Known || s.present > present; samples == 0 {
				s.present = present
			}
		}
	}
	f.Records++
	return nil
}

func (f *File) here() met { return met{f.name, f.number, f.Records, true} }

// feature sees the values of a record, or of all steps of one.
func (s *stat) feature(b []byte, v *tfrecord.Value, at met, steps int) error {
	if err := v.Parse(b); err != nil {
		return err
	}
	if v.Kind == tfrecord.None { // as if it was not there
		return nil
	}
	s.present++
	if steps > 0 {
		s.lengths.see(int64(v.Count/steps), at)
	}
	s.mix(v.Count)
	s.values(v, at)
	return nil
}

func (s *stat) list(b []byte, v *tfrecord.Value, at met) error {
	steps := int64(0)
	err := tfrecord.Steps(b, func(b []byte) error {
		if err := v.Parse(b); err != nil {
			return err
		}
		steps++
		if v.Kind == tfrecord.None {
			s.empty.see(at)
			return nil
		}
		s.inner.see(int64(v.Count), at)
		s.values(v, at)
		return nil
	})
	s.present++
	s.lengths.see(steps, at)
	s.mix(int(steps))
	return err
}

// prime is the modulus of hashes of lengths: that of lengths which are all k times as large is k times
// that of the others, and can be divided by k.
const prime = 1<<61 - 1

func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, rest := bits.Div64(hi, lo, prime)
	return rest
}

// mix makes a length part of the hash.
func (s *stat) mix(n int) {
	s.hash = (times(s.hash, 0x9e3779b97f4a7c15%prime) + uint64(n)%prime) % prime
}

// classOf is the hash of the lengths in elements of so many values.
func (s *stat) classOf(elem int) uint64 {
	inverse, base := uint64(1), uint64(elem)%prime
	for e := uint64(prime - 2); e > 0; e >>= 1 {
		if e&1 != 0 {
			inverse = times(inverse, base)
		}
		base = times(base, base)
	}
	return times(s.hash, inverse)
}

func (s *stat) values(v *tfrecord.Value, at met) {
	if k := &s.kinds[v.Kind]; !k.set {
		*k = at
	}
	s.items += int64(v.Count)
	s.size += int64(v.Size)
	if v.Kind != tfrecord.Bytes || s.binary && s.other {
		return
	}
	v.Each(func(b []byte) {
		s.binary = s.binary || !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0
		if s.other {
			return
		}
		k := filekind.Of(b)
		if k == nil || !k.Image || len(k.Exts) == 0 {
			s.other = true
		} else if !slices.Contains(s.exts, k.Exts[0]) {
			s.exts = append(s.exts, k.Exts[0])
		}
	})
}

// Join adds what was seen in another file.
func (f *File) Join(o *File) {
	f.Records += o.Records
	f.full += o.full
	f.Sequence = f.Sequence || o.Sequence
	for k, b := range o.stats {
		a := f.stats[k]
		if a == nil {
			a = &stat{}
			f.stats[k] = a
		}
		for i := range a.kinds {
			a.kinds[i].see(b.kinds[i])
		}
		a.present += b.present
		a.lengths.join(&b.lengths)
		a.inner.join(&b.inner)
		a.items, a.size = a.items+b.items, a.size+b.size
		a.binary, a.other = a.binary || b.binary, a.other || b.other
		a.empty.see(b.empty)
		for _, e := range b.exts {
			if !slices.Contains(a.exts, e) {
				a.exts = append(a.exts, e)
			}
		}
	}
}

// kind is the one that all values have.
func (s *stat) kind(name string) (tfrecord.Kind, error) {
	out := tfrecord.None
	var all []met
	for k := tfrecord.Bytes; k <= tfrecord.Ints; k++ {
		if s.kinds[k].set {
			out = k
			all = append(all, s.kinds[k])
		}
	}
	if len(all) < 2 {
		return out, nil
	}
	slices.SortFunc(all, func(a, b met) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.record, b.record)) })
	of := func(m met) tfrecord.Kind { return tfrecord.Kind(slices.Index(s.kinds[:], m)) }
	return out, shardify.Mismatch("feature %s is %s in %s, and %s in %s", name, of(all[0]), all[0], of(all[1]), all[1])
}
