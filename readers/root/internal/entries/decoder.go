package entries

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// Decoder turns the baskets of one branch into the columns of one span. It is
// used again for the next span.
type Decoder struct {
	Reading *Reading
	// Entries [lo, hi) are wanted; next is the first that is missing.
	lo, hi, next int64
	m            machine
	offs         []int32
	lengths      Lengths
	ratio        float64 // bytes of all baskets to those of the first
	wanted       int
}

// Lengths are the numbers of elements of entries, from the branch that counts
// them.
type Lengths struct {
	// Lists are the offsets of the span's entries, from 0. Columns use them as they
	// are.
	Lists []int64
	// Before has the counts of entries from At up to the span: a basket without
	// offsets that begins there needs them.
	Before []int64
	At     int64
	// Each has the number of values of every element of the span's entries, for a
	// reading with Each.
	Each []int64
}

// NewDecoder makes a decoder.
func NewDecoder(r *Reading) *Decoder {
	d := &Decoder{Reading: r}
	d.m.outs = make([]output, len(r.Columns))
	d.m.want = make([]bool, len(r.Columns))
	d.m.counts = make([][]int32, r.slots)
	return d
}

// Begin starts a span of entries [lo, hi). want says which columns are wanted. ratio is by
// how much what the span needs of all baskets is larger than what it needs of the first, a
// guess. A reading with Counts needs its lengths.
func (d *Decoder) Begin(lo, hi int64, want []bool, ratio float64, lengths Lengths, mem *shardify.Arena) {
	d.lo, d.hi, d.next = lo, hi, lo
	d.lengths = lengths
	d.ratio = ratio
	copy(d.m.want, want)
	d.wanted = 0
	for i := range d.m.want {
		if want[i] {
			d.wanted++
			d.m.outs[i].start(&d.Reading.Columns[i], int(hi-lo), lengths.Lists, mem)
		}
	}
}

// count of an entry, -1 if it is not known.
func (d *Decoder) count(entry int64) int64 {
	if entry >= d.lo {
		if i := entry - d.lo; i+1 < int64(len(d.lengths.Lists)) {
			return d.lengths.Lists[i+1] - d.lengths.Lists[i]
		}
		return -1
	}
	if i := entry - d.lengths.At; i >= 0 && i < int64(len(d.lengths.Before)) {
		return d.lengths.Before[i]
	}
	return -1
}

// open begins an entry's lists in columns that do not share those of the counts.
func (d *Decoder) open(reps int) {
	for i := range d.m.outs {
		if o := &d.m.outs[i]; o.deep && d.m.want[i] {
			o.list(0, reps)
		}
	}
}

// counts sets the numbers of values of an entry's elements; false if they are not known.
func (d *Decoder) counts(entry int64) bool {
	i := entry - d.lo
	if i < 0 || i+1 >= int64(len(d.lengths.Lists)) || d.lengths.Lists[i+1] > int64(len(d.lengths.Each)) {
		return false
	}
	kept := d.m.counts[0][:0]
	for _, n := range d.lengths.Each[d.lengths.Lists[i]:d.lengths.Lists[i+1]] {
		kept = append(kept, int32(min(n, 1<<31-1)))
	}
	d.m.counts[0] = kept
	return true
}

// hint passes to the wanted outputs how many bytes to expect, when the first basket has n
// bytes of them.
func (d *Decoder) hint(n int) {
	each := float64(n)
	if d.ratio > 1 {
		// Sizes of baskets that were not read yet are claims: no more than some times
		// what is known.
		each = min(each*d.ratio*1.07, float64(16*each)+1<<20)
	}
	for i := range d.m.outs {
		if o := &d.m.outs[i]; d.m.want[i] && o.hint == 0 {
			o.hint = int(each) / d.wanted
		}
	}
}

// Basket decodes what the span needs of a basket. Baskets come in order.
func (d *Decoder) Basket(b *ttree.Basket) error {
	lo, hi := max(b.First, d.lo), min(b.First+int64(b.Entries), d.hi)
	if lo >= hi {
		return nil
	}
	if lo != d.next {
		return d.at(shardify.Corrupt(-1, "no basket has this entry"), d.next)
	}
	d.next = hi
	from, to := int(lo-b.First), int(hi-b.First)
	switch d.Reading.layout {
	case layoutFlat:
		return d.at(d.flat(b, from, to), lo)
	case layoutJagged:
		return d.at(d.jagged(b, from, to), lo)
	default:
		return d.at(d.program(b, from, to), lo)
	}
}

// at puts the entry into an error that has none.
func (d *Decoder) at(err error, entry int64) error {
	if err == nil {
		return nil
	}
	e := shardify.Annotate(err, "read", "", d.Reading.Branch.Tree.Path).(*shardify.Error)
	if e.Field == "" {
		e.Field = d.Reading.Branch.Path
	}
	if e.Sample < 0 {
		e.Sample = entry
	}
	return e
}

// Finish hands column i over.
func (d *Decoder) Finish(i int, to *shardify.Column) error {
	if d.next != d.hi {
		return d.at(shardify.Corrupt(-1, "no basket has this entry"), d.next)
	}
	return d.at(d.m.outs[i].finish(to, int(d.hi-d.lo)), d.lo)
}

func (d *Decoder) flat(b *ttree.Basket, from, to int) error {
	w := d.Reading.width
	if len(b.Data) != b.Entries*w {
		return shardify.Corrupt(-1, "%d bytes for %d entries of %d", len(b.Data), b.Entries, w)
	}
	src := b.Data[from*w : to*w]
	for i := range d.Reading.fields {
		if !d.m.want[i] {
			continue
		}
		f := &d.Reading.fields[i]
		f.wire.Strided(d.m.outs[i].room(to-from), src[f.at:], w, f.per, to-from)
	}
	return nil
}

func (d *Decoder) jagged(b *ttree.Basket, from, to int) error {
	if d.counted(b, from, to) {
		return nil
	}
	offs, err := d.ends(b, from, to)
	if err != nil {
		return err
	}
	f := &d.Reading.fields[0]
	out := &d.m.outs[0]
	var list []int64
	if d.lengths.Lists != nil {
		at := b.First + int64(from) - d.lo
		list = d.lengths.Lists[at : at+int64(to-from)+1]
		err = d.agree(b, offs, list, from)
	} else {
		list = d.ownLists(to - from)
		err = d.measure(b, offs, list, from)
	}
	if err != nil || !d.m.want[0] {
		return err
	}
	n := int(list[len(list)-1] - list[0])
	d.hint(n * out.elem)
	if d.Reading.head == 0 {
		f.wire.Decode(out.room(n), b.Data[offs[0]:offs[len(offs)-1]])
		return nil
	}
	return d.headed(b, offs, list, from)
}

// ownLists is where the ends of the next n entries go, behind the end of the last.
func (d *Decoder) ownLists(n int) []int64 {
	if !d.m.want[0] { // the bytes are only tried
		return make([]int64, n+1)
	}
	out := &d.m.outs[0]
	out.n[0] += n
	return out.offs[0][out.n[0]-n-1 : out.n[0]]
}

// measure fills list with the lengths that the bytes have.
func (d *Decoder) measure(b *ttree.Basket, offs []int32, list []int64, from int) error {
	size := int32(d.Reading.fields[0].wire.Size * d.Reading.fields[0].per)
	head := int32(d.Reading.head)
	sum, prev := list[0], offs[0]
	for i, end := range offs[1:] {
		n := end - prev - head
		k := n / size
		if n < 0 || k*size != n {
			return d.at(shardify.Corrupt(-1, "entry of %d bytes is not an array of values of %d", end-prev, size), b.First+int64(from+i))
		}
		sum += int64(k)
		list[i+1] = sum
		prev = end
	}
	return nil
}

// agree compares the lengths that the bytes have with the counts.
func (d *Decoder) agree(b *ttree.Basket, offs []int32, list []int64, from int) error {
	size := int64(d.Reading.fields[0].wire.Size * d.Reading.fields[0].per)
	head := int32(d.Reading.head)
	prev := offs[0]
	for i, end := range offs[1:] {
		if n := list[i+1] - list[i]; int64(end-prev-head) != n*size {
			return d.at(shardify.Corrupt(-1, "length: the entry has %d bytes for %d elements of %d, says %s", end-prev-head, n, size, d.Reading.Counts.Branch.Path), b.First+int64(from+i))
		}
		prev = end
	}
	return nil
}

// headed decodes entries with bytes before their values.
func (d *Decoder) headed(b *ttree.Basket, offs []int32, list []int64, from int) error {
	f := &d.Reading.fields[0]
	out := &d.m.outs[0]
	dst := out.room(int(list[len(list)-1] - list[0]))
	step := f.wire.Bytes() * f.per
	at := 0
	for i := range len(offs) - 1 {
		e := b.Data[offs[i]:offs[i+1]]
		n := int(list[i+1] - list[i])
		if d.Reading.head == vectorHead {
			bc, count := binary.BigEndian.Uint32(e), binary.BigEndian.Uint32(e[6:])
			if int(count) != n || bc != hasByteCount|uint32(len(e)-4) || e[4]&(memberwise>>8) != 0 {
				return d.at(shardify.Corrupt(-1, "vector of %d values with byte count %#x in an entry of %d bytes", count, bc, len(e)), b.First+int64(from+i))
			}
		} else if e[0] == 0 && n > 0 {
			return d.at(shardify.Corrupt(-1, "array marked empty in an entry of %d bytes", len(e)), b.First+int64(from+i))
		}
		src := e[d.Reading.head:]
		if f.wire.Kind == wire.Bytes4 && n*f.per <= 16 {
			for ; len(src) >= 4; src = src[4:] {
				binary.LittleEndian.PutUint32(dst[at:], binary.BigEndian.Uint32(src))
				at += 4
			}
			continue
		}
		f.wire.Decode(dst[at:at+n*step], src)
		at += n * step
	}
	return nil
}

func (d *Decoder) program(b *ttree.Basket, from, to int) error {
	offs, err := d.ends(b, from, to)
	if err != nil {
		return err
	}
	m := &d.m
	d.hint(int(offs[len(offs)-1] - offs[0]))
	for i := range to - from {
		entry := b.First + int64(from+i)
		reps := 1
		if d.Reading.Counts != nil {
			n := d.count(entry)
			if n < 0 {
				return d.at(shardify.Corrupt(-1, "its counts are missing"), entry)
			}
			reps = int(n)
			d.open(reps)
		}
		m.buf, m.pos, m.bad = b.Data[offs[i]:offs[i+1]], 0, nil
		if d.Reading.Each != nil && !d.counts(entry) {
			return d.at(shardify.Corrupt(-1, "the counts of its elements are missing"), entry)
		}
		switch {
		case reps == 0: // a column of nothing may have a frame, or not
			continue
		case reps > len(m.buf)+1<<16:
			m.fail("%d elements in %d bytes", reps, len(m.buf))
		case len(m.buf) == 0 && !d.Reading.bare:
			m.refuse("the entry has no bytes: its writer stored no value")
		case d.Reading.bare && len(m.buf) == 0:
			s := &d.Reading.steps[0]
			if m.want[s.cols[0]] {
				m.outs[s.cols[0]].text(s.level, nil)
			}
		default:
			m.run(d.Reading.steps, reps)
		}
		if m.bad == nil && m.pos != len(m.buf) {
			m.fail("entry of %d bytes, of which %d are explained by its type", len(m.buf), m.pos)
		}
		if m.bad != nil {
			return d.at(m.bad, entry)
		}
	}
	return nil
}
