package transform

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/zeebo/xxh3"
)

// JoinTable is a table in memory that rows are found in by their key.
type JoinTable struct {
	Digest string // of all values
	rows   int
	cols   []shardify.Column // and a row more, of zeros and marks of missing values

	text   bool
	signed bool
	nums   []uint64 // keys that are numbers
	data   []byte   // or texts
	ends   []int64
	dense  []int32 // rows by key, from low on: row+1, or 0
	low    int64
	slots  []int32 // or by hash
}

// NewJoinTable makes a table of columns that have so many rows. It takes their memory over.
func NewJoinTable(key shardify.Column, cols []shardify.Column, rows int) (*JoinTable, error) {
	if rows >= math.MaxInt32 {
		return nil, shardify.Unsupported("a table of %d rows; at most %d are joined", rows, math.MaxInt32-1)
	}
	t := &JoinTable{rows: rows, cols: cols}
	if key.Valid != nil {
		if i := bytes.IndexByte(key.Valid, 0); i >= 0 {
			return nil, shardify.Mismatch("row %d has no %s", i, key.Name)
		}
	}
	var d index.Digest
	for _, c := range append([]shardify.Column{key}, cols...) {
		fmt.Fprintf(&d, "%s %s %v %d %d\n", c.Name, c.DType, c.Shape, len(c.Data), len(c.Valid))
		d.Write(c.Data)
		d.Write(c.Valid)
		for _, o := range c.Offsets {
			d.Write(shardify.Bytes(o))
		}
	}
	t.Digest = d.String()
	var err error
	if t.text, err = joinable(&key.Field); err != nil {
		return nil, err
	}
	if t.text {
		t.data, t.ends = key.Data, key.Offsets[0]
	} else {
		t.nums = make([]uint64, rows)
		var bad int
		if t.signed, bad = whole(t.nums, &key); bad >= 0 {
			return nil, shardify.Mismatch("row %d: %s is no whole number, and no key", bad, key.Name)
		}
	}
	for i := range t.cols {
		addMissing(&t.cols[i], rows)
	}
	return t, t.index(key.Name)
}

// joinable tells whether a key is text.
func joinable(f *shardify.Field) (text bool, err error) {
	switch {
	case f.Levels == 1 && f.DType == shardify.U8 && f.Media != "" && f.Media != "image":
		return true, nil
	case f.Levels > 0 || len(f.Shape) > 0:
		return false, fmt.Errorf("%s is a list, and no key", f.Name)
	}
	return false, nil
}

// whole takes whole numbers, and tells the first that is none, or -1.
func whole(dst []uint64, c *shardify.Column) (signed bool, bad int) {
	from, to := c.DType, shardify.I64
	switch {
	case from == shardify.Bool:
		from, to = shardify.U8, shardify.U64
	case from.IsFloat():
		to = shardify.F64
	case from >= shardify.U8:
		to = shardify.U64
	}
	numeric.Convert(shardify.Bytes(dst), to, c.Data, from)
	bad = -1
	if to == shardify.F64 {
		for i, u := range dst {
			f := math.Float64frombits(u)
			if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
				if f = 0; bad < 0 {
					bad = i
				}
			}
			dst[i] = uint64(int64(f))
		}
	}
	return to != shardify.U64, bad
}

// addMissing adds a row without a value.
func addMissing(c *shardify.Column, rows int) {
	if c.Valid == nil {
		c.Valid = bytes.Repeat([]byte{1}, rows)
	}
	c.Valid = append(c.Valid, 0)
	if c.Levels == 0 {
		c.Data = append(c.Data, make([]byte, c.ElemBytes())...)
		return
	}
	c.Offsets[0] = append(c.Offsets[0], c.Offsets[0][rows])
}

// index finds rows by key, and refuses two of one.
func (t *JoinTable) index(name string) error {
	twice := func(a, b int) error {
		return shardify.Mismatch("%s %s stands in rows %d and %d: a key must have one row", name, t.shown(b), a, b)
	}
	if !t.text && t.rows > 0 {
		low, high := int64(t.nums[0]), int64(t.nums[0])
		for _, x := range t.nums {
			low, high = min(low, int64(x)), max(high, int64(x))
		}
		if span := uint64(high) - uint64(low); (t.signed || low >= 0) && span/8 < uint64(t.rows) {
			t.low, t.dense = low, make([]int32, span+1)
			for i, x := range t.nums {
				at := &t.dense[int64(x)-low]
				if *at > 0 {
					return twice(int(*at)-1, i)
				}
				*at = int32(i) + 1
			}
			return nil
		}
	}
	n := 16
	for n < 2*t.rows {
		n *= 2
	}
	t.slots = make([]int32, n)
	for i := range t.rows {
		at := t.hash(i) & uint64(n-1)
		for t.slots[at] > 0 {
			if k := int(t.slots[at]) - 1; t.same(k, i) {
				return twice(k, i)
			}
			at = (at + 1) & uint64(n-1)
		}
		t.slots[at] = int32(i) + 1
	}
	return nil
}

func (t *JoinTable) hash(i int) uint64 {
	if t.text {
		return xxh3.Hash(t.data[t.ends[i]:t.ends[i+1]])
	}
	return shardify.Mix(t.nums[i])
}

func (t *JoinTable) same(i, k int) bool {
	if t.text {
		return bytes.Equal(t.data[t.ends[i]:t.ends[i+1]], t.data[t.ends[k]:t.ends[k+1]])
	}
	return t.nums[i] == t.nums[k]
}

func (t *JoinTable) shown(i int) string {
	switch {
	case t.text:
		return strconv.Quote(string(t.data[t.ends[i]:t.ends[i+1]]))
	case t.signed:
		return strconv.FormatInt(int64(t.nums[i]), 10)
	}
	return strconv.FormatUint(t.nums[i], 10)
}

// find sets the row of each of n keys: t.rows for those that have none.
func (t *JoinTable) find(rows []int32, key *shardify.Column, mem *shardify.Arena) (missing int) {
	none := int32(t.rows)
	if t.text {
		o := key.Offsets[key.Levels-1]
		for i := range rows {
			x := key.Data[o[i]:o[i+1]]
			rows[i] = none
			for at := xxh3.Hash(x) & uint64(len(t.slots)-1); t.slots[at] > 0; at = (at + 1) & uint64(len(t.slots)-1) {
				if k := t.slots[at] - 1; bytes.Equal(t.data[t.ends[k]:t.ends[k+1]], x) {
					rows[i] = k
					break
				}
			}
		}
	} else {
		nums := shardify.View[uint64](mem.Alloc(8 * len(rows)))
		signed, bad := whole(nums, key)
		for i, x := range nums {
			rows[i] = t.number(x, none)
			if signed != t.signed && int64(x) < 0 {
				rows[i] = none
			}
		}
		if bad >= 0 { // numbers that are not whole have no row
			exact := shardify.View[float64](mem.Alloc(8 * len(rows)))
			numeric.Convert(shardify.Bytes(exact), shardify.F64, key.Data, key.DType)
			for i, f := range exact {
				if f != float64(int64(nums[i])) {
					rows[i] = none
				}
			}
		}
	}
	if key.Valid != nil && key.Levels == btoi(t.text) {
		for i, ok := range key.Valid {
			if ok == 0 {
				rows[i] = none
			}
		}
	}
	for _, r := range rows {
		if r == none {
			missing++
		}
	}
	return missing
}

func (t *JoinTable) number(x uint64, none int32) int32 {
	if t.dense != nil {
		if at := uint64(int64(x) - t.low); at < uint64(len(t.dense)) && t.dense[at] > 0 && int64(x) >= t.low {
			return t.dense[at] - 1
		}
		return none
	}
	for at := shardify.Mix(x) & uint64(len(t.slots)-1); t.slots[at] > 0; at = (at + 1) & uint64(len(t.slots)-1) {
		if k := t.slots[at] - 1; t.nums[k] == x {
			return k
		}
	}
	return none
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
