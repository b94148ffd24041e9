package rows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/tests/race"
)

func integers(name string, values []int64) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: name, DType: shardify.I64}}
	for _, v := range values {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(v))
	}
	return c
}

func textColumn(name string, values []string) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: "txt"}, Offsets: [][]int64{{0}}}
	for _, v := range values {
		c.Data = append(c.Data, v...)
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	return c
}

// listing is a table of samples for random rows: some of their keys and others, in some order.
func listingOf(rng *rand.Rand, t *rowsOf, keys []string) (l Listing, want [][]row, unused int) {
	type name struct {
		key  int64
		text string
	}
	nameOf := func(w row) (n name) {
		if slices.Contains(keys, "key") {
			n.key = w.key
		}
		if slices.Contains(keys, "text") {
			n.text = w.text
		}
		return n
	}
	at := map[name]int{}
	var names []name
	add := func(n name) {
		if _, ok := at[n]; !ok {
			at[n] = len(names)
			names = append(names, n)
		}
	}
	for _, rows := range t.inputs {
		for _, w := range rows {
			if rng.IntN(8) > 0 {
				add(nameOf(w))
			}
		}
	}
	for range rng.IntN(6) {
		add(nameOf(row{key: 100 + rng.Int64N(9), text: "zz"}))
	}
	if rng.IntN(2) == 0 {
		rng.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	} else {
		slices.SortFunc(names, func(a, b name) int { return int(a.key - b.key) })
	}
	want = make([][]row, len(names))
	var nums, marks []int64
	var texts []string
	for i, n := range names {
		at[n], nums, texts, marks = i, append(nums, n.key), append(texts, n.text), append(marks, int64(i)*7)
	}
	for _, rows := range t.inputs {
		for _, w := range rows {
			if i, ok := at[nameOf(w)]; ok {
				want[i] = append(want[i], w)
			} else {
				unused++
			}
		}
	}
	for _, k := range keys {
		if k == "key" {
			l.Keys = append(l.Keys, integers("k", nums))
		} else {
			l.Keys = append(l.Keys, textColumn("t", texts))
		}
	}
	l.Cols, l.Rows = []shardify.Column{integers("mark", marks)}, len(names)
	return l, want, unused
}

// ranges is a table of samples for random rows: which of them each has.
func rangesOf(rng *rand.Rand, t *rowsOf, o *plan.From) (l Listing, want [][]row, unused int) {
	var all []row
	for _, rows := range t.inputs {
		all = append(all, rows...)
	}
	type span struct{ lo, hi int }
	var list []span
	for lo := 0; lo < len(all); {
		hi := min(lo+rng.IntN(7), len(all))
		if o.Ends != "" && rng.IntN(5) == 0 {
			unused += hi - lo
		} else {
			list = append(list, span{lo, hi})
		}
		lo = hi
	}
	if o.Ends != "" && rng.IntN(2) == 0 {
		rng.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	}
	var firsts, seconds, marks []int64
	for i, s := range list {
		firsts, marks = append(firsts, int64(s.lo)), append(marks, int64(i)*7)
		seconds = append(seconds, int64(map[string]int{plan.EndsLast: s.hi - 1, plan.EndsEnd: s.hi, plan.EndsCount: s.hi - s.lo}[o.Ends]))
		want = append(want, all[s.lo:s.hi])
	}
	l.Rows = len(list)
	if l.Keys = []shardify.Column{integers("first", firsts), integers("second", seconds)}; o.Ends == "" {
		firsts, marks = append(firsts, int64(len(all))), append(marks, 0)
		l.Keys, l.Rows = []shardify.Column{integers("first", firsts)}, l.Rows+1
	}
	l.Cols = []shardify.Column{integers("mark", marks)}
	return l, want, unused
}

// TestSamplesAreThoseOfATable: by keys and by ranges, in any order, some of them without rows.
func TestSamplesAreThoseOfATable(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	cases := 400
	if testing.Short() {
		cases = 80
	}
	gathered, empty, dropped := 0, 0, 0
	for i := range cases {
		rows := invent(rng, i%3)
		o := plan.Grouping{Name: "rows", Order: plan.OrderAuto, From: &plan.From{Table: "table", DropUnused: true}}
		var l Listing
		var want [][]row
		var unused int
		if rng.IntN(2) == 0 {
			o.Keys = [][]string{{"key"}, {"text"}, {"key", "text"}, {"text", "key"}}[rng.IntN(4)]
			l, want, unused = listingOf(rng, rows, o.Keys)
		} else {
			o.From.Ends = []string{"", plan.EndsLast, plan.EndsEnd, plan.EndsCount}[rng.IntN(4)]
			l, want, unused = rangesOf(rng, rows, o.From)
		}
		src := shardify.Source(rows)
		if rows.run == 0 && rng.IntN(2) == 0 {
			src = &ranged{*rows}
		}
		env := Env{Keys: src, Pool: shardify.NewPool(1 << 20), Jobs: 1 + rng.IntN(3), Listing: &l}
		strict := o
		strict.From = &plan.From{Table: "table", Ends: o.From.Ends}
		if _, err := New(t.Context(), src, tableOf(rows), strict, false, nil, env); (err == nil) != (unused == 0) && len(slices.Concat(want...)) > 0 {
			t.Fatalf("case %d: %d rows of no sample: %v", i, unused, err)
		}
		s, err := New(t.Context(), src, tableOf(rows), o, false, nil, env)
		if len(slices.Concat(want...)) == 0 {
			if err == nil {
				t.Fatalf("case %d: no row belongs to a sample", i)
			}
			continue
		}
		if err != nil {
			t.Fatalf("case %d, %+v: %v", i, o, err)
		}
		if s.parts != nil {
			gathered++
		}
		if dropped += unused; (len(s.Leftovers()) > 0) != (unused > 0) {
			t.Fatalf("case %d: %d rows unused, reported %v", i, unused, s.Leftovers())
		}
		for k := range want {
			if len(want[k]) == 0 {
				empty++
			}
		}
		check := func(s *Source) {
			t.Helper()
			if err := equal(load(t, s, rng), want); err != nil {
				t.Fatalf("case %d, %+v, gathered %v: %v", i, o, s.parts != nil, err)
			}
		}
		check(s)
		state, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		again, err := New(t.Context(), src, tableOf(rows), o, false, state, Env{Listing: &l})
		if err != nil {
			t.Fatal(err)
		}
		check(again)
		large := inFiles(t, &l, len(o.Keys) > 0)
		again, err = New(t.Context(), src, tableOf(rows), o, false, state, Env{Listing: large})
		if err != nil {
			t.Fatal(err)
		}
		check(again)
		fresh, err := New(t.Context(), src, tableOf(rows), o, false, nil, Env{Keys: src, Pool: shardify.NewPool(1 << 20), Jobs: 2, Listing: large})
		if err != nil {
			t.Fatal(err)
		}
		if other, err := fresh.State(); err != nil || !bytes.Equal(other, state) {
			t.Fatalf("case %d: a table in files makes another plan: %v", i, err)
		}
	}
	if gathered == 0 || empty == 0 || dropped == 0 {
		t.Errorf("%d gathered, %d samples without rows, %d rows dropped", gathered, empty, dropped)
	}
}

// scratchFile is a file in memory.
type scratchFile struct{ bytes.Buffer }

func (s *scratchFile) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.Bytes()).ReadAt(b, at)
}

// inFiles is a table in scratch files.
func inFiles(t *testing.T, l *Listing, keyed bool) *Listing {
	t.Helper()
	pool := shardify.NewPool(1 << 20)
	made := func(by []string, cols []shardify.Column, order []int32) *Table {
		var file scratchFile
		w := key.NewWriter(by, &file, &file)
		b, err := (&shardify.Batch{Samples: l.Rows, Columns: cols}).Take(order, pool.Overdraft())
		if err == nil {
			err = w.Add(b, func(i int) int64 { return int64(order[i]) })
		}
		if err != nil {
			t.Fatal(err)
		}
		table, err := w.Table()
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	out := &Listing{Rows: l.Rows, Cols: empty(l.Cols), Keys: l.Keys}
	var numbers []int64
	var order []int32
	for i := range l.Rows {
		numbers, order = append(numbers, int64(i)), append(order, int32(i))
	}
	rows := []shardify.Column{integers("#row", numbers)}
	if !keyed {
		out.ByRow = made([]string{"#row"}, append(rows, l.Cols...), order)
		return out
	}
	out.ByRow = made([]string{"#row"}, append(append(rows, l.Keys...), l.Cols...), order)
	var k keys
	for _, c := range l.Keys {
		k.names = append(k.names, c.Name)
	}
	var v view
	if err := k.read(&v, &shardify.Batch{Samples: l.Rows, Columns: l.Keys}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(order, func(a, b int32) int { return v.compare(int(a), int(b)) })
	out.ByKey, out.Keys = made(k.names, l.Keys, order), empty(l.Keys)
	return out
}

func empty(cols []shardify.Column) (out []shardify.Column) {
	for i := range cols {
		out = append(out, cols[i].Empty())
	}
	return out
}

// TestRowsThatAreLeftOutAreNotReadAgain: units of which no row belongs to a sample are read when
// the plan is made, and are not part of the sample before them.
func TestRowsThatAreLeftOutAreNotReadAgain(t *testing.T) {
	rows := &rowsOf{step: 9, inputs: [][]row{{{key: 1, x: 1}, {key: 1, x: 2}}}}
	for i := range 2000 {
		w := row{key: 2, x: float64(i)}
		if i == 1500 {
			w.key = 1 // after others, which are left out
		}
		rows.inputs[0] = append(rows.inputs[0], w)
	}
	o := plan.Grouping{Name: "rows", Keys: []string{"key"}, Order: plan.OrderAuto, From: &plan.From{Table: "table", DropUnused: true}}
	for _, src := range []shardify.Source{rows, &ranged{*rows}} {
		l := Listing{Keys: []shardify.Column{integers("k", []int64{1})}, Rows: 1}
		s, err := New(t.Context(), src, tableOf(rows), o, false, nil, Env{Keys: src, Pool: shardify.NewPool(1 << 20), Jobs: 2, Listing: &l})
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		if s, err = New(t.Context(), src, tableOf(rows), o, false, state, Env{Listing: &l}); err != nil {
			t.Fatal(err)
		}
		for sp, err := range s.Spans(t.Context(), 1) {
			if err != nil || sp.Bytes > 64*3*9 {
				t.Errorf("a sample of 3 rows takes %d bytes, %v", sp.Bytes, err)
			}
		}
		if err := equal(load(t, s, rand.New(rand.NewPCG(1, 2))), [][]row{{rows.inputs[0][0], rows.inputs[0][1], rows.inputs[0][1502]}}); err != nil {
			t.Error(err)
		}
	}
}

// TestSortedRefusesAKeyOfManyRows before they are read at once.
func TestSortedRefusesAKeyOfManyRows(t *testing.T) {
	race.Sequential(t)
	rows := &rowsOf{step: 100, inputs: [][]row{nil, nil}}
	for i := range int64(3 * sampled) {
		rows.inputs[i%2] = append(rows.inputs[i%2], row{key: (i * 7919) % (3 * sampled)})
	}
	sorted := func() (n int, err error) {
		src := &ranged{*rows}
		store, drop, err := temporary()
		if err != nil {
			t.Fatal(err)
		}
		defer drop()
		return n, Sorted(t.Context(), src, tableOf(rows), []string{"key"}, Env{Keys: src, Pool: shardify.NewPool(1 << 20), Jobs: 2}, store, func(b *shardify.Batch) error { n += b.Samples; return nil })
	}
	if n, err := sorted(); err != nil || n != 3*sampled {
		t.Error(n, err)
	}
	for i := range rows.inputs[1] {
		if i%100 == 0 {
			rows.inputs[1][i].key = 5
		}
	}
	if n, err := sorted(); n > 0 || !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "in many others") {
		t.Error(n, err)
	}
}
