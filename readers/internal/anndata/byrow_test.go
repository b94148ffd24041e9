package anndata

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify/storage/memory"
)

// TestRowsHaveTheirValuesInOrder adds values in any order and reads them by rows, in any spans.
func TestRowsHaveTheirValuesInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ rows, values, size int }{{1, 0, 4}, {5, 30, 1}, {700, 5000, 8}, {200_000, 900_000, 4}} {
		m, err := newSpool(int64(c.rows), int64(c.values), c.size, memory.New())
		if err != nil {
			t.Fatal(err)
		}
		want := make([][]string, c.rows)
		for i := range c.values {
			row, column, v := rng.IntN(c.rows), rng.IntN(1000), binary.LittleEndian.AppendUint64(nil, uint64(i))[:c.size]
			if err := m.add(int64(row), int64(column), v); err != nil {
				t.Fatal(err)
			}
			want[row] = append(want[row], fmt.Sprint(column, v))
		}
		if err := m.flush(); err != nil {
			t.Fatal(err)
		}
		if err := m.add(0, 0, make([]byte, c.size)); err == nil {
			t.Error("more values than there are to be")
		}
		var v bandView
		for lo := 0; lo < c.rows; {
			hi := min(lo+1+rng.IntN(c.rows), c.rows)
			at := lo
			if err := m.read(int64(lo), int64(hi), &v, func(columns []uint32, values []byte) {
				var have []string
				for k, x := range columns {
					have = append(have, fmt.Sprint(x, values[k*c.size:(k+1)*c.size]))
				}
				if !slices.Equal(have, want[at]) {
					t.Fatalf("row %d: %v, want %v", at, have, want[at])
				}
				at++
			}); err != nil {
				t.Fatal(err)
			}
			if at != hi {
				t.Errorf("%d rows of [%d, %d)", at-lo, lo, hi)
			}
			if v.bytes() > m.holds(0, int64(c.rows)) {
				t.Errorf("a view of %d bytes, %d were announced", v.bytes(), m.holds(0, int64(c.rows)))
			}
			lo = hi
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
	}
}
