package rows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/memory"
)

// row is a row of the table that tests group.
type row struct {
	key  int64
	text string
	x    float64
	list []int16
	once float32
}

// rowsOf is a source of rows in memory.
type rowsOf struct {
	inputs [][]row
	step   int64 // rows of a span
	run    uint32
	reads  func(sp shardify.Span)
}

// ranged is one whose readers read any rows.
type ranged struct{ rowsOf }

func (*ranged) ReadsRanges() {}

var fieldsOfRows = []shardify.Field{
	{Name: "key", DType: shardify.I64}, {Name: "text", DType: shardify.U8, Levels: 1, Media: "txt"},
	{Name: "x", DType: shardify.F64, Nullable: true}, {Name: "list", DType: shardify.I16, Levels: 1}, {Name: "once", DType: shardify.F32},
}

func (t *rowsOf) Schema() []shardify.Field { return fieldsOfRows }
func (t *rowsOf) Close() error             { return nil }

func (t *rowsOf) Spans(context.Context, int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i, rows := range t.inputs {
			for lo := int64(0); lo < int64(len(rows)); lo += t.step {
				hi := min(lo+t.step, int64(len(rows)))
				run := t.run
				if run > 0 {
					run += uint32(i)
				}
				if !yield(shardify.Span{Input: uint32(i), Run: run, Lo: lo, Hi: hi, Bytes: 64 * (hi - lo)}, nil) {
					return
				}
			}
		}
	}
}

type rowsReader struct {
	t    *rowsOf
	run  uint32
	next int64
}

func (t *rowsOf) Reader(run uint32) (shardify.Reader, error) { return &rowsReader{t: t, run: run}, nil }
func (r *rowsReader) Close() error                           { return nil }

func (r *rowsReader) Read(_ context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.t.reads != nil {
		r.t.reads(sp)
	}
	if sp.Run != r.run || sp.Run > 0 && sp.Lo < r.next {
		return nil, fmt.Errorf("run %d at %d: span %v", r.run, r.next, sp)
	}
	r.next = sp.Hi
	rows := r.t.inputs[sp.Input][sp.Lo:sp.Hi]
	b := mem.Batch(len(fieldsOfRows))
	b.Samples, b.First = len(rows), shardify.ID{Input: sp.Input, Sample: sp.Lo}
	var key, text, x, list, once []byte
	ends, items := []int64{0}, []int64{0}
	for _, w := range rows {
		key = binary.LittleEndian.AppendUint64(key, uint64(w.key))
		text = append(text, w.text...)
		x = binary.LittleEndian.AppendUint64(x, math.Float64bits(w.x))
		for _, v := range w.list {
			list = binary.LittleEndian.AppendUint16(list, uint16(v))
		}
		once = binary.LittleEndian.AppendUint32(once, math.Float32bits(w.once))
		ends, items = append(ends, int64(len(text))), append(items, int64(len(list)/2))
	}
	for i, data := range [][]byte{key, text, x, list, once} {
		c := shardify.Column{Field: fieldsOfRows[i], Data: mem.Alloc(len(data))}
		copy(c.Data, data)
		switch i {
		case 1:
			c.Offsets = [][]int64{ends}
		case 3:
			c.Offsets = [][]int64{items}
		}
		b.Columns = append(b.Columns, c)
	}
	return b, nil
}

// groups is what the samples of a table are: an implementation of its own.
func groups(t *rowsOf, o plan.Grouping, gather bool) (out [][]row) {
	type name struct {
		input  int
		values [2]string
	}
	nameOf := func(input int, w row) (n name) {
		if o.PerFile {
			n.input = input
		}
		for i, k := range o.Keys {
			if n.values[i] = w.text; k == "key" {
				n.values[i] = fmt.Sprintf("%020d", uint64(w.key)^1<<63)
			}
		}
		return n
	}
	at := map[name]int{}
	var names []name
	for i, rows := range t.inputs {
		for _, w := range rows {
			n := nameOf(i, w)
			k, ok := at[n]
			if !ok {
				k, at[n] = len(out), len(out)
				out, names = append(out, nil), append(names, n)
			}
			out[k] = append(out[k], w)
		}
	}
	if gather {
		order := slices.SortedFunc(slices.Values(names), func(a, b name) int {
			return cmp.Or(a.input-b.input, strings.Compare(a.values[0], b.values[0]), strings.Compare(a.values[1], b.values[1]))
		})
		sorted := make([][]row, len(out))
		for i, n := range order {
			sorted[i] = out[at[n]]
		}
		out = sorted
	}
	return out
}

// load reads all samples, in spans that are cut at random.
func load(t *testing.T, s *Source, rng *rand.Rand) (out [][]row) {
	t.Helper()
	ctx := t.Context()
	pool := shardify.NewPool(1 << 20)
	var spans []shardify.Span
	for sp, err := range s.Spans(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, sp)
	}
	if err := s.Collect(ctx, spans, pool, 2, memory.New()); err != nil {
		t.Fatal(err)
	}
	readers := map[uint32]shardify.Reader{}
	for _, sp := range spans {
		for lo := sp.Lo; lo < sp.Hi; {
			hi := sp.Hi
			if sp.Run == 0 && rng.IntN(3) == 0 {
				hi = lo + 1 + rng.Int64N(sp.Hi-lo)
			}
			r := readers[sp.Run]
			if r == nil {
				var err error
				if r, err = s.Reader(sp.Run); err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				readers[sp.Run] = r
			}
			mem, err := pool.Grant(ctx, sp.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			b, err := r.Read(ctx, plan.Sub(sp, lo, hi), mem)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Match(s.Schema()); err != nil {
				t.Fatal(err)
			}
			if int64(b.Samples) != hi-lo {
				t.Fatalf("%d samples for [%d, %d)", b.Samples, lo, hi)
			}
			_, n, ok := s.Items(plan.Sub(sp, lo, hi))
			if have := find(b, "x").Offsets[0][b.Samples]; ok != (s.parts == nil && s.keys.listed == nil && !s.opts.DropNulls && hi-lo == sp.Samples()) || ok && n != have {
				t.Fatalf("%d items of [%d, %d), %v, want %d", n, lo, hi, ok, have)
			}
			out = append(out, samples(b)...)
			mem.Release()
			lo = hi
		}
	}
	return out
}

// samples is those of a batch as rows.
func samples(b *shardify.Batch) (out [][]row) {
	col := func(name string) *shardify.Column { return find(b, name) }
	x, list := col("x"), col("list")
	o := x.Offsets[0]
	for i := range b.Samples {
		var rows []row
		for k := o[i]; k < o[i+1]; k++ {
			w := row{x: shardify.View[float64](x.Data)[k]}
			for j := list.Offsets[1][k]; j < list.Offsets[1][k+1]; j++ {
				w.list = append(w.list, shardify.View[int16](list.Data)[j])
			}
			at := func(c *shardify.Column) int64 {
				if c.Counter == "" {
					return int64(i)
				}
				return k
			}
			w.key = shardify.View[int64](col("key").Data)[at(col("key"))]
			w.once = shardify.View[float32](col("once").Data)[at(col("once"))]
			c := col("text")
			ends := c.Offsets[c.Levels-1]
			w.text = string(c.Data[ends[at(c)]:ends[at(c)+1]])
			rows = append(rows, w)
		}
		out = append(out, rows)
	}
	return out
}

func equal(a, b [][]row) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d samples, want %d", len(a), len(b))
	}
	for i := range a {
		if !slices.EqualFunc(a[i], b[i], func(x, y row) bool {
			return x.key == y.key && x.text == y.text && x.x == y.x && x.once == y.once && slices.Equal(x.list, y.list)
		}) {
			return fmt.Errorf("sample %d is\n%v, want\n%v", i, a[i], b[i])
		}
	}
	return nil
}

// invent makes a table: sorted by key or not, in inputs and spans of any size.
func invent(rng *rand.Rand, order int) *rowsOf {
	t := &rowsOf{step: 1 + rng.Int64N(9), run: uint32(rng.IntN(2))}
	n := 1 + rng.IntN(60)
	var rows []row
	for range n {
		w := row{key: rng.Int64N(12) - 4, x: rng.Float64()}
		w.text = []string{"", "a", "a\x00", "\x00", "b", "ä"}[rng.IntN(6)]
		w.once = float32(w.key)
		for range rng.IntN(3) {
			w.list = append(w.list, int16(rng.IntN(100)))
		}
		rows = append(rows, w)
	}
	switch order {
	case 1: // rising
		slices.SortStableFunc(rows, func(a, b row) int { return int(a.key - b.key) })
	case 2: // together, in no order
		slices.SortStableFunc(rows, func(a, b row) int { return int((a.key+4)*5%12 - (b.key+4)*5%12) })
	}
	for len(rows) > 0 {
		k := 1 + rng.IntN(len(rows))
		t.inputs = append(t.inputs, rows[:k])
		rows = rows[k:]
		if rng.IntN(4) == 0 {
			t.inputs = append(t.inputs, nil)
		}
	}
	return t
}

func tableOf(t *rowsOf) *format.Table {
	table := &format.Table{Roots: []string{"in"}}
	for i := range t.inputs {
		table.Append(0, fmt.Sprintf("%d", i), 0, 0)
	}
	return table
}

func TestSamplesAreThoseOfAnotherImplementation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	cases := 240
	if testing.Short() {
		cases = 60
	}
	gathered := 0
	for i := range cases {
		rows := invent(rng, i%3)
		o := plan.Grouping{Name: "rows", Keys: [][]string{{"key"}, {"text"}, {"key", "text"}, {"text", "key"}}[rng.IntN(4)], PerFile: rng.IntN(3) == 0, Order: plan.OrderAuto}
		if slices.Contains(o.Keys, "key") && rng.IntN(2) == 0 {
			o.Once = []string{"once"}
		}
		src := shardify.Source(rows)
		if rows.run == 0 && rng.IntN(2) == 0 {
			src = &ranged{*rows}
		}
		env := Env{Keys: src, Pool: shardify.NewPool(1 << 20), Jobs: 1 + rng.IntN(3)}
		s, err := New(t.Context(), src, tableOf(rows), o, false, nil, env)
		if err != nil {
			t.Fatal(err)
		}
		if s.parts != nil {
			gathered++
		}
		want := groups(rows, o, s.parts != nil)
		if err := equal(load(t, s, rng), want); err != nil {
			t.Fatalf("case %d, %+v, gathered %v: %v", i, o, s.parts != nil, err)
		}
		state, err := s.State()
		if err != nil {
			t.Fatal(err)
		}
		again, err := New(t.Context(), src, tableOf(rows), o, false, state, Env{})
		if err != nil {
			t.Fatal(err)
		}
		if err := equal(load(t, again, rng), want); err != nil {
			t.Fatalf("case %d, from its state: %v", i, err)
		}
		for n := 0; n < len(state) && i%40 == 0; n++ { // damaged states are refused or make no sense; they do not panic
			bad := bytes.Clone(state)
			bad[n] ^= byte(1 + rng.IntN(255))
			New(t.Context(), src, tableOf(rows), o, false, bad, Env{})
			New(t.Context(), src, tableOf(rows), o, false, state[:n], Env{})
		}
		s.Close()
		again.Close()
	}
	if gathered == 0 || gathered == cases {
		t.Errorf("%d of %d cases were gathered", gathered, cases)
	}
}

func TestPartsAreOfOneSizeAndCollectedAlone(t *testing.T) {
	old := partBytes
	partBytes = 64 << 10
	defer func() { partBytes = old }()
	rng := rand.New(rand.NewPCG(3, 4))
	rows := &ranged{rowsOf{step: 100, inputs: [][]row{nil, nil}}}
	for i := range 20000 {
		rows.inputs[i%2] = append(rows.inputs[i%2], row{key: rng.Int64N(1000), x: float64(i)})
	}
	o := plan.Grouping{Name: "rows", Keys: []string{"key"}, Order: plan.OrderAuto}
	s := grouped(t, rows, o)
	want := groups(&rows.rowsOf, o, true)
	if err := equal(load(t, s, rng), want); err != nil {
		t.Fatal(err)
	}
	var spans []shardify.Span
	for sp := range s.Spans(t.Context(), 0) {
		if spans = append(spans, sp); sp.Bytes > 2*partBytes {
			t.Errorf("a part of %d bytes", sp.Bytes)
		}
	}
	if len(spans) < 15 {
		t.Fatalf("%d parts", len(spans))
	}
	s.Close()
	pool := shardify.NewPool(1 << 20)
	store := memory.New()
	if err := s.Collect(t.Context(), spans[3:5], pool, 2, store); err != nil {
		t.Fatal(err)
	}
	r, _ := s.Reader(0)
	var have [][]row
	for _, sp := range spans[3:5] {
		mem, _ := pool.Grant(t.Context(), sp.Bytes)
		b, err := r.Read(t.Context(), sp, mem)
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, samples(b)...)
	}
	if err := equal(have, want[spans[3].Lo:spans[4].Hi]); err != nil {
		t.Error(err)
	}
	s.Close()
	for f := range store.List("") {
		t.Errorf("scratch file %s stays", f.Name)
	}
}

func grouped(t *testing.T, rows *ranged, o plan.Grouping) *Source {
	t.Helper()
	s, err := New(t.Context(), rows, tableOf(&rows.rowsOf), o, false, nil, Env{Keys: rows, Pool: shardify.NewPool(1 << 20), Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestASampleIsWhoItsKeySays(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	one := &ranged{*invent(rng, 1)}
	one.inputs = [][]row{nil, {{key: 1}, {key: 2}}, {{key: 2}, {key: 5}}}
	var all []row
	for _, in := range one.inputs {
		all = append(all, in...)
	}
	other := &ranged{rowsOf{step: 7, inputs: [][]row{all}}} // the same rows in one file
	identities := func(src *ranged, perFile bool) (out []uint64) {
		s := grouped(t, src, plan.Grouping{Name: "rows", Keys: []string{"key"}, PerFile: perFile, Order: plan.OrderAuto})
		r, err := s.Reader(one.run)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for sp := range s.Spans(t.Context(), 0) {
			mem, _ := shardify.NewPool(1<<20).Grant(t.Context(), 1<<10)
			b, err := r.Read(t.Context(), sp, mem)
			if err != nil {
				t.Fatal(err)
			}
			out = s.table.Identity(out, b)
		}
		return out
	}
	one.run = 0
	if a, b := identities(one, false), identities(other, false); !slices.Equal(a, b) {
		t.Errorf("identities depend on files: %v, %v", a, b)
	}
	if a, b := identities(one, true), identities(other, true); slices.Equal(a, b) {
		t.Error("with keys that count in a file, identities do not depend on files")
	}
}

func TestRefusals(t *testing.T) {
	table := func(rows ...row) *ranged { return &ranged{rowsOf{step: 2, inputs: [][]row{rows}}} }
	for _, c := range []struct {
		rows *ranged
		o    plan.Grouping
		want string
	}{
		{table(row{key: 1}, row{key: 2}, row{key: 1}), plan.Grouping{Keys: []string{"key"}, Order: plan.OrderAdjacent}, "row 2 has the key 1 of row 0 again"},
		{table(row{text: "a"}, row{text: "b"}, row{text: "a"}), plan.Grouping{Keys: []string{"text"}, Order: plan.OrderAdjacent}, `row 2 has the key "a" of row 0 again`},
		{&ranged{rowsOf{step: 2, inputs: [][]row{{{key: 1}, {key: 2}}, {{key: 1}}}}}, plan.Grouping{Keys: []string{"key"}, Order: plan.OrderAdjacent}, "row 0 has the key 1 of row 0 of "},
		{&ranged{rowsOf{step: 2, inputs: [][]row{{{key: 1}}, {{key: 1}, {key: 2}}, {{key: 1}}}}}, plan.Grouping{Keys: []string{"key"}, Order: plan.OrderAdjacent}, "row 0 has the key 1 of row 0 of "},
		{table(row{x: 1.5}), plan.Grouping{Keys: []string{"x"}}, "1.5 is not a key"},
		{table(row{x: math.NaN()}), plan.Grouping{Keys: []string{"x"}}, "missing"},
		{table(row{}), plan.Grouping{Keys: []string{"list"}}, "is a list"},
		{table(row{}), plan.Grouping{Keys: []string{"keys"}}, "no field keys"},
		{table(row{}), plan.Grouping{Keys: []string{"key"}, Once: []string{"one"}}, "no field one"},
	} {
		c.o.Name = "rows"
		_, err := New(t.Context(), c.rows, tableOf(&c.rows.rowsOf), c.o, false, nil, Env{Keys: c.rows, Pool: shardify.NewPool(1 << 20), Jobs: 1})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestChangesSinceThePlanAreErrors(t *testing.T) {
	for name, change := range map[string]func(rows []row){
		"another key":        func(rows []row) { rows[1].key = 7 },
		"a key that is gone": func(rows []row) { rows[2].key = 1 },
		"once":               func(rows []row) { rows[1].once = 3 },
	} {
		for _, shuffled := range []bool{false, true} {
			in := []row{{key: 1}, {key: 1}, {key: 2}, {key: 3}, {key: 3}}
			if shuffled {
				in = append(in, row{key: 1})
			}
			rows := &ranged{rowsOf{step: 2, inputs: [][]row{in}}}
			s := grouped(t, rows, plan.Grouping{Name: "rows", Keys: []string{"key"}, Once: []string{"once"}, Order: plan.OrderAuto})
			change(in)
			var spans []shardify.Span
			for sp := range s.Spans(t.Context(), 0) {
				spans = append(spans, sp)
			}
			pool := shardify.NewPool(1 << 20)
			err := s.Collect(t.Context(), spans, pool, 1, nil)
			r, _ := s.Reader(0)
			for _, sp := range spans {
				if err == nil {
					mem, _ := pool.Grant(t.Context(), 1<<10)
					_, err = r.Read(t.Context(), sp, mem)
				}
			}
			if !errors.Is(err, shardify.ErrChanged) && !errors.Is(err, shardify.ErrSchema) {
				t.Errorf("%s, shuffled %v: %v", name, shuffled, err)
			}
		}
	}
}

// TestEncodedKeysHaveTheOrderOfKeys: texts may hold zero bytes, and numbers are of either sign.
func TestEncodedKeysHaveTheOrderOfKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var rows []row
	for range 200 {
		w := row{key: rng.Int64N(5) - 2}
		for range rng.IntN(4) {
			w.text += string([]byte{[]byte{0, 1, 0xfe, 0xff, 'a'}[rng.IntN(5)]})
		}
		rows = append(rows, w)
	}
	table := &rowsOf{inputs: [][]row{rows}, step: 200}
	r, _ := table.Reader(0)
	mem, _ := shardify.NewPool(1<<20).Grant(t.Context(), 1<<12)
	b, err := r.Read(t.Context(), shardify.Span{Hi: 200}, mem)
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{"text", "key"}, {"key", "text"}} {
		var v view
		if _, err := (&keys{names: names}).look(&v, b, mem); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			for k := range rows {
				if have, want := bytes.Compare(v.encode(nil, i), v.encode(nil, k)), v.compare(i, k); have != want {
					t.Fatalf("%v: %q and %q: order %d, encoded %d", names, rows[i].text, rows[k].text, want, have)
				}
			}
		}
	}
}
