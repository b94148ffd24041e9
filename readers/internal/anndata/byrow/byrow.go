// Package byrow brings the values of a sparse matrix together by rows: one that is stored by columns, or
// in any order. They go once through a scratch file, in bands of neighbouring rows; a band is sorted
// when it is read.
//
//	m, err := byrow.New(rows, values, 4, store)
//	err = m.Add(row, column, value) // for each
//	err = m.Flush()
//	err = m.Read(lo, hi, &view)     // by any number of goroutines, a view each
//
// Within a row values keep the order in which they were added.
package byrow

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

const (
	bandBytes  = 4 << 20 // about, of a band
	mostBands  = 1 << 10
	blockBytes = 8 << 10 // of a band that are written together
	head       = 8       // bytes of a row and a column
)

// Bytes is what values of some bytes take in a scratch file.
func Bytes(values int64, size int) int64 { return values * int64(head+size) }

// Band is how many rows are read together.
func Band(rows, values int64, size int) int64 {
	bands := max(min(Bytes(values, size)/bandBytes, mostBands), 1, rows>>20)
	return max((rows+bands-1)/bands, 1)
}

// Matrix is the values of a matrix.
type Matrix struct {
	rows, most, added, width int64
	entry                    int
	file                     *local.Spill
	bands                    []band
}

type band struct {
	pending []byte
	blocks  []int64 // where they are; all but the last are full
	last    int     // bytes of the last
	values  int64
}

// New makes a matrix of some rows and at most some values of size bytes. The store has room for the
// scratch file; nil is the system's folder.
func New(rows, values int64, size int, store storage.Store) (*Matrix, error) {
	if rows > math.MaxInt32 || values > 1<<48 {
		return nil, shardify.Unsupported("%d values in %d rows", values, rows)
	}
	m := &Matrix{rows: rows, most: values, width: Band(rows, values, size), entry: head + size}
	m.bands = make([]band, (rows+m.width-1)/m.width)
	var err error
	m.file, err = local.NewSpill(store)
	return m, err
}

// Close frees the scratch file.
func (m *Matrix) Close() error { return m.file.Close() }

// Add adds a value, whose row and column are checked by the caller.
func (m *Matrix) Add(row, column int64, value []byte) error {
	if m.added++; m.added > m.most || row < 0 || row >= m.rows || column < 0 || column > math.MaxUint32 {
		return shardify.Corrupt(-1, "value %d of %d at row %d of %d, column %d", m.added, m.most, row, m.rows, column)
	}
	b := &m.bands[row/m.width]
	if b.values++; len(b.pending)+m.entry > blockBytes {
		if err := m.write(b); err != nil {
			return err
		}
	}
	if row %= m.width; b.pending == nil {
		b.pending = make([]byte, 0, min(blockBytes, int64(m.entry)*min(m.most, 1<<20)))
	}
	b.pending = binary.LittleEndian.AppendUint32(b.pending, uint32(row))
	b.pending = binary.LittleEndian.AppendUint32(b.pending, uint32(column))
	b.pending = append(b.pending, value...)
	return nil
}

func (m *Matrix) write(b *band) error {
	b.blocks, b.last = append(b.blocks, m.file.Size()), len(b.pending)
	_, err := m.file.Write(b.pending)
	b.pending = b.pending[:0]
	return err
}

// Flush is called behind the last value.
func (m *Matrix) Flush() error {
	for i := range m.bands {
		if b := &m.bands[i]; len(b.pending) > 0 {
			if err := m.write(b); err != nil {
				return err
			}
		}
		m.bands[i].pending = nil
	}
	return nil
}

// Values is how many there are.
func (m *Matrix) Values() int64 { return m.added }

// View is a band that was read last. The zero View is one.
type View struct {
	m       *Matrix
	band    int64
	ends    []int64 // of rows, from 0
	columns []uint32
	values  []byte
	block   []byte
}

// Bytes is what it holds.
func (v *View) Bytes() int64 {
	return int64(8*cap(v.ends) + 4*cap(v.columns) + cap(v.values) + cap(v.block))
}

// Holds is what a View holds after rows [lo, hi) were read, at most.
func (m *Matrix) Holds(lo, hi int64) int64 {
	most := int64(0)
	for k := lo / m.width; k*m.width < hi; k++ {
		most = max(most, m.bands[k].values)
	}
	return 8*(m.width+1) + most*int64(m.entry-head+4) + blockBytes
}

// Read gives each of rows [lo, hi), in order, to a function: its columns and its values, which are
// valid inside.
func (m *Matrix) Read(lo, hi int64, v *View, row func(columns []uint32, values []byte)) error {
	size := int64(m.entry - head)
	for r := lo; r < hi; r++ {
		if k := r / m.width; v.m != m || v.band != k {
			v.m = nil
			if err := m.load(k, v); err != nil {
				return err
			}
			v.m, v.band = m, k
		}
		a, b := v.ends[r%m.width], v.ends[r%m.width+1]
		row(v.columns[a:b], v.values[a*size:b*size])
	}
	return nil
}

// load reads a band in two passes: rows are counted, then values are put where they belong.
func (m *Matrix) load(k int64, v *View) error {
	b, size := &m.bands[k], m.entry-head
	v.ends = resize(v.ends, int(m.width)+1)
	clear(v.ends)
	v.columns, v.values = resize(v.columns, int(b.values)), resize(v.values, int(b.values)*size)
	if err := m.each(b, v, func(e []byte) { v.ends[binary.LittleEndian.Uint32(e)+1]++ }); err != nil {
		return err
	}
	for i := 1; i < len(v.ends); i++ {
		v.ends[i] += v.ends[i-1]
	}
	if err := m.each(b, v, func(e []byte) {
		row := binary.LittleEndian.Uint32(e)
		at := int(v.ends[row])
		v.ends[row]++
		v.columns[at] = binary.LittleEndian.Uint32(e[4:])
		copy(v.values[at*size:(at+1)*size], e[head:])
	}); err != nil {
		return err
	}
	copy(v.ends[1:], v.ends[:len(v.ends)-1]) // each is now where its row ends
	v.ends[0] = 0
	return nil
}

func (m *Matrix) each(b *band, v *View, f func(entry []byte)) error {
	full := blockBytes / m.entry * m.entry
	for i, at := range b.blocks {
		n := full
		if i == len(b.blocks)-1 {
			n = b.last
		}
		v.block = resize(v.block, n)
		if got, err := m.file.ReadAt(v.block, at); got < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		for e := v.block; len(e) >= m.entry; e = e[m.entry:] {
			f(e)
		}
	}
	return nil
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
