package labels

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// A page is the values of consecutive samples: as many as take pageBytes, and no more than pageSamples.
const (
	pageBytes   = 256 << 10
	pageSamples = 4096
)

// maxHeld is how many bytes of pages are held in memory.
var maxHeld int64 = 16 << 20

// Values are those of all tables, in the order of the samples. They are in pages: while a plan is made in
// memory, or in a scratch file if they are many, and in the plan then.
type Values struct {
	Fields []shardify.Field
	ends   []int64 // the sample behind each page
	read   func(page int) ([]byte, error)
	spill  *local.Spill // nil of few values, and of a plan that was made before
	held   []byte       // the pages, if there is no spill
	at     []int64      // where they end
	sizes  []uint32     // what the values of each sample take in a batch; nil if that is not known
}

// gather makes pages of what the samples have in tables.
func gather(all []*joined, samples int, scratch storage.Store) (v *Values, err error) {
	v = &Values{at: []int64{0}, sizes: make([]uint32, 0, samples)}
	var cols [][]shardify.Column
	for _, j := range all {
		have := slices.Clone(j.table.rows.Cols)
		for i := range have {
			c := &have[i]
			if j.table.spec.rows == rowsMany {
				c.Valid = nil // no rows are an empty list
			}
			c.Nullable = c.Valid != nil && slices.ContainsFunc(j.order, func(row int32) bool { return c.Valid[row] == 0 })
			if !c.Nullable {
				c.Valid = nil
			}
			v.Fields = append(v.Fields, c.Field)
		}
		cols = append(cols, have)
	}
	v.read = v.made
	pool := shardify.NewPool(1)
	var page []byte
	for lo, hi := 0, 0; lo < samples; lo = hi {
		for size := int64(0); hi < samples && hi-lo < pageSamples; hi++ {
			n := int64(0)
			for t, j := range all {
				for i := range cols[t] {
					n += sizeOf(&cols[t][i], int64(j.order[hi]))
				}
			}
			if size += n; size > pageBytes && hi > lo {
				break
			}
			v.sizes = append(v.sizes, uint32(min(n, math.MaxUint32)))
		}
		mem := pool.Overdraft()
		var taken []shardify.Column
		for t, j := range all {
			b := shardify.Batch{Samples: j.table.rows.Rows + 1, Columns: cols[t]}
			some, err := b.TakeColumns(j.order[lo:hi], mem)
			if err != nil {
				mem.Release()
				return nil, err
			}
			taken = append(taken, some...)
		}
		page = appendState(page[:0], taken, hi-lo)
		mem.Release()
		if err := v.add(page, scratch); err != nil {
			v.Close()
			return nil, err
		}
		v.ends = append(v.ends, int64(hi))
	}
	return v, nil
}

// add adds a page: to the scratch file, if there are many bytes.
func (v *Values) add(page []byte, scratch storage.Store) (err error) {
	end := v.at[len(v.at)-1] + int64(len(page))
	v.at = append(v.at, end)
	if v.spill == nil && end <= maxHeld {
		v.held = append(v.held, page...)
		return nil
	}
	if v.spill == nil {
		if v.spill, err = local.NewSpill(scratch); err != nil {
			return err
		}
		if _, err := v.spill.Write(v.held); err != nil {
			return err
		}
		v.held = nil
	}
	_, err = v.spill.Write(page)
	return err
}

// made reads a page.
func (v *Values) made(page int) ([]byte, error) {
	if v.spill == nil {
		if v.at[page+1] > int64(len(v.held)) {
			return nil, os.ErrClosed
		}
		return v.held[v.at[page]:v.at[page+1]], nil
	}
	b := make([]byte, v.at[page+1]-v.at[page])
	if n, err := v.spill.ReadAt(b, v.at[page]); n < len(b) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return b, nil
}

// Close ends the use of the scratch file.
func (v *Values) Close() error {
	if v == nil || v.spill == nil {
		return nil
	}
	s := v.spill
	v.spill = nil
	return s.Close()
}

// Pages is how many there are. A nil *Values has none.
func (v *Values) Pages() int {
	if v == nil {
		return 0
	}
	return len(v.ends)
}

// Page is what a plan keeps of page i.
func (v *Values) Page(i int) ([]byte, error) { return v.read(i) }

// AppendPages encodes how many samples each page has.
func (v *Values) AppendPages(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(v.ends)))
	for i := range v.ends {
		b = binary.AppendUvarint(b, uint64(v.ends[i]-v.first(i)))
	}
	return b
}

// ReadPages is the inverse of AppendPages; it returns what follows. read reads a page of the plan.
func ReadPages(b []byte, fields []shardify.Field, samples int, read func(page int) ([]byte, error)) (*Values, []byte, error) {
	r := varint.Reader{B: b}
	v := &Values{Fields: fields, read: read, ends: make([]int64, r.Count(1))}
	at := int64(0)
	for i := range v.ends {
		n := r.U()
		r.Bad = r.Bad || n < 1 || n > uint64(int64(samples)-at)
		if r.Bad {
			break
		}
		at += int64(n)
		v.ends[i] = at
	}
	if r.Bad || at != int64(samples) || read == nil {
		return nil, nil, shardify.Corrupt(-1, "the pages of labels in the plan")
	}
	for i := range fields {
		if err := fields[i].Validate(); err != nil {
			return nil, nil, err
		}
	}
	return v, r.B, nil
}

// first is the first sample of page i.
func (v *Values) first(i int) int64 {
	if i == 0 {
		return 0
	}
	return v.ends[i-1]
}

// Cursor reads values of samples, best in their order. It is for one goroutine.
type Cursor struct {
	*Values
	pages []page // in memory: those of the last samples
}

// page is one in memory.
type page struct {
	number int
	cols   []shardify.Column
}

// load has the pages of samples [lo, hi) in memory, and no others.
func (c *Cursor) load(lo, hi int64) error {
	k, _ := slices.BinarySearch(c.ends, lo+1)
	var list []page
	for ; k < len(c.ends) && c.first(k) < hi; k++ {
		if i := slices.IndexFunc(c.pages, func(p page) bool { return p.number == k }); i >= 0 {
			list = append(list, c.pages[i])
			continue
		}
		b, err := c.read(k)
		if err != nil {
			return err
		}
		cols, rest, err := readState(b, c.Fields, int(c.ends[k]-c.first(k)))
		if err == nil && len(rest) > 0 {
			err = shardify.Corrupt(-1, "a page of labels in the plan is longer than it says")
		}
		if err != nil {
			return err
		}
		list = append(list, page{k, cols})
	}
	c.pages = list
	return nil
}

// Bytes is what sample k of some columns takes in a batch.
func (c *Cursor) Bytes(k int64, columns []int) (n int64, err error) {
	if c.sizes != nil && len(columns) == len(c.Fields) && c.sizes[k] < math.MaxUint32 {
		return int64(c.sizes[k]), nil
	}
	if err := c.load(k, k+1); err != nil {
		return 0, err
	}
	p := &c.pages[0]
	for _, i := range columns {
		n += sizeOf(&p.cols[i], k-c.first(p.number))
		if c.Fields[i].Nullable && p.cols[i].Valid == nil {
			n++
		}
	}
	return n, nil
}

// Batch is samples [lo, hi) of some columns.
func (c *Cursor) Batch(lo, hi int64, columns []int, mem *shardify.Arena) ([]shardify.Column, error) {
	if err := c.load(lo, hi); err != nil {
		return nil, err
	}
	out := make([]shardify.Column, len(columns))
	parts := make([]part, len(c.pages))
	for x, i := range columns {
		for k := range c.pages {
			first := c.first(c.pages[k].number)
			parts[k] = part{&c.pages[k].cols[i], max(lo-first, 0), min(hi, c.ends[c.pages[k].number]) - first}
		}
		out[x] = concat(c.Fields[i], parts, mem)
	}
	return out, nil
}

// part is samples [lo, hi) of a column.
type part struct {
	*shardify.Column
	lo, hi int64
}

// concat makes one column of parts.
func concat(f shardify.Field, parts []part, mem *shardify.Arena) shardify.Column {
	out := shardify.Column{Field: f}
	n, size := int64(0), 0
	for _, p := range parts {
		n += p.hi - p.lo
		from, to := p.Range(int(p.lo), int(p.hi))
		size += to - from
	}
	out.Data = mem.Alloc(size)[:0]
	if f.Nullable {
		out.Valid = mem.Alloc(int(n))[:0]
	}
	for _, p := range parts {
		from, to := p.Range(int(p.lo), int(p.hi))
		out.Data = append(out.Data, p.Data[from:to]...)
		for k := p.lo; f.Nullable && k < p.hi; k++ {
			valid := byte(1)
			if p.Valid != nil {
				valid = p.Valid[k]
			}
			out.Valid = append(out.Valid, valid)
		}
	}
	for l := range f.Levels {
		offsets, at := mem.Int64s(int(n)+1), 0
		offsets[0] = 0
		for i := range parts {
			p := &parts[i]
			o, base := p.Offsets[l], offsets[at]
			for k := p.lo; k < p.hi; k++ {
				at++
				offsets[at] = base + o[k+1] - o[p.lo]
			}
			p.lo, p.hi = o[p.lo], o[p.hi]
		}
		out.Offsets, n = append(out.Offsets, offsets), offsets[at]
	}
	return out
}

// sizeOf is what row k of a column takes in a batch.
func sizeOf(c *shardify.Column, k int64) int64 {
	from, to := c.Range(int(k), int(k)+1)
	n := int64(to - from)
	lo, hi := k, k+1
	for _, o := range c.Offsets {
		n += 8 * (hi - lo)
		lo, hi = o[lo], o[hi]
	}
	if c.Valid != nil {
		n++
	}
	return n
}
