package root

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/entries"
)

// alikeEntries is how many counts the survey looks at where they are compressed; there the
// sizes of all baskets show the rest. Where they are not compressed it looks at all counts.
var alikeEntries int64 = 16 << 10

// equalLists says, for wanted fields whose branch has a counter of its own, what their lengths
// are like: equal texts mean equal lengths. uproot writes a counter for each branch, although
// all branches of a collection (Jet_pt, Jet_eta: the name up to the underscore or dot) are
// equally long. It knows for certain where the counts are few or not compressed; reading
// compares all of them.
func (x *tree) equalLists(want []int) map[int]string {
	users := map[*entries.Reading]int{}
	for _, r := range x.readings {
		if r.Counts != nil {
			users[r.Counts]++
		}
	}
	groups := map[string][]int{}
	for _, i := range want {
		r := x.columns[i].reading
		if r.Counts == nil || users[r.Counts] > 1 || len(r.Columns) > 1 || x.list[i].Levels == 0 {
			continue
		}
		if k := strings.IndexAny(x.list[i].Name, "_."); k > 0 {
			groups[x.list[i].Name[:k]] = append(groups[x.list[i].Name[:k]], i)
		}
	}
	says := map[int]string{}
	for name, fields := range groups {
		if len(fields) < 2 {
			continue
		}
		for _, i := range fields {
			if d := x.countsDigest(x.columns[i].reading); d != "" {
				says[i] = name + d
			}
		}
	}
	return says
}

// countsDigest is equal for branches whose counts are equal, "" if they cannot be read: that
// comes out later.
func (x *tree) countsDigest(r *entries.Reading) string {
	b := r.Counts.Branch
	hash := sha256.New()
	var word [8]byte
	put := func(v int64) {
		binary.LittleEndian.PutUint64(word[:], uint64(v))
		hash.Write(word[:])
	}
	n := min(x.t.Entries, alikeEntries)
	if b.ZipBytes >= b.TotBytes {
		n = x.t.Entries
	}
	put(x.t.Entries)
	for i := range b.Baskets.Len() {
		put(b.Baskets.First[i])
		if !b.Baskets.IsEmbedded(i) {
			put(int64(b.Baskets.Bytes[i]) - int64(len(b.Name))) // the name is part of each record
		}
	}
	for lo := int64(0); lo < n; lo += alikeEntries {
		counts, err := r.CountsOf(x.f, lo, min(lo+alikeEntries, n))
		if err != nil {
			return ""
		}
		hash.Write(shardify.Bytes(counts))
	}
	return fmt.Sprintf(" %x", hash.Sum(nil))
}

// sharing lists, for columns that share a counter with one before, that one; -1 for others.
func sharing(cols []shardify.Column) []int {
	first := map[string]int{}
	lead := make([]int, len(cols))
	for i := range cols {
		lead[i] = -1
		if cols[i].Levels == 0 || cols[i].Counter == "" {
			continue
		}
		if k, ok := first[cols[i].Counter]; ok {
			lead[i] = k
		} else {
			first[cols[i].Counter] = i
		}
	}
	return lead
}

// share makes columns of one counter share its offsets, which are compared where they were
// read from counters of their own.
func share(b *shardify.Batch, lead []int) error {
	for i, k := range lead {
		if k < 0 || b.Columns[i].Offsets == nil || b.Columns[k].Offsets == nil {
			continue
		}
		x, y := &b.Columns[k], &b.Columns[i]
		p, q := x.Offsets[0], y.Offsets[0]
		if len(p) == 0 || len(q) == 0 || &p[0] == &q[0] {
			continue
		}
		if !slices.Equal(p, q) {
			return unlike(b, x, y)
		}
		y.Offsets[0] = p
	}
	return nil
}

// unlike is the error about lists that differ in a place at which the survey did not look.
func unlike(b *shardify.Batch, x, y *shardify.Column) error {
	p, q := x.Offsets[0], y.Offsets[0]
	at := 0
	for p[at+1] == q[at+1] {
		at++
	}
	e := shardify.Mismatch("it has %d elements, %s has %d, though they were equally many wherever the plan looked: --counters own keeps separate lengths",
		q[at+1]-q[at], x.Name, p[at+1]-p[at])
	e.Field, e.Sample = y.Name, b.ID(at).Sample
	return e
}
