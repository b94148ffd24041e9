package anndata

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
	entryHead  = 8       // bytes of a row and a column
)

// A matrix that is stored by columns, or in any order, goes once through a scratch file, in bands of
// neighbouring rows; a band is sorted when it is read. Within a row values keep the order in which they
// were added.

// spoolBytes is what values of some bytes take in a scratch file.
func spoolBytes(values int64, size int) int64 { return values * int64(entryHead+size) }

// bandRows is how many rows are read together.
func bandRows(rows, values int64, size int) int64 {
	bands := max(min(spoolBytes(values, size)/bandBytes, mostBands), 1, rows>>20)
	return max((rows+bands-1)/bands, 1)
}

// spool is the values of a matrix.
type spool struct {
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

// newSpool makes a matrix of some rows and at most some values of size bytes. The store has room for the
// scratch file; nil is the system's folder.
func newSpool(rows, values int64, size int, store storage.Store) (*spool, error) {
	if rows > math.MaxInt32 || values > 1<<48 {
		return nil, shardify.Unsupported("%d values in %d rows", values, rows)
	}
	m := &spool{rows: rows, most: values, width: bandRows(rows, values, size), entry: entryHead + size}
	m.bands = make([]band, (rows+m.width-1)/m.width)
	var err error
	m.file, err = local.NewSpill(store)
	return m, err
}

// close frees the scratch file.
func (m *spool) close() error { return m.file.Close() }

// add adds a value, whose row and column are checked by the caller.
func (m *spool) add(row, column int64, value []byte) error {
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

func (m *spool) write(b *band) error {
	b.blocks, b.last = append(b.blocks, m.file.Size()), len(b.pending)
	_, err := m.file.Write(b.pending)
	b.pending = b.pending[:0]
	return err
}

// flush is called behind the last value.
func (m *spool) flush() error {
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

// values is how many there are.
func (m *spool) values() int64 { return m.added }

// bandView is a band that was read last. The zero bandView is one.
type bandView struct {
	m       *spool
	band    int64
	ends    []int64 // of rows, from 0
	columns []uint32
	values  []byte
	block   []byte
}

// bytes is what it holds.
func (v *bandView) bytes() int64 {
	return int64(8*cap(v.ends) + 4*cap(v.columns) + cap(v.values) + cap(v.block))
}

// holds is what a bandView holds after rows [lo, hi) were read, at most.
func (m *spool) holds(lo, hi int64) int64 {
	most := int64(0)
	for k := lo / m.width; k*m.width < hi; k++ {
		most = max(most, m.bands[k].values)
	}
	return 8*(m.width+1) + most*int64(m.entry-entryHead+4) + blockBytes
}

// read gives each of rows [lo, hi), in order, to a function: its columns and its values, which are
// valid inside.
func (m *spool) read(lo, hi int64, v *bandView, row func(columns []uint32, values []byte)) error {
	size := int64(m.entry - entryHead)
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
func (m *spool) load(k int64, v *bandView) error {
	b, size := &m.bands[k], m.entry-entryHead
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
		copy(v.values[at*size:(at+1)*size], e[entryHead:])
	}); err != nil {
		return err
	}
	copy(v.ends[1:], v.ends[:len(v.ends)-1]) // each is now where its row ends
	v.ends[0] = 0
	return nil
}

func (m *spool) each(b *band, v *bandView, f func(entry []byte)) error {
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
