package tables

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// ints is a column of integers.
func ints(name string, values ...int64) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: name, DType: shardify.I64}}
	for _, v := range values {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(v))
	}
	return c
}

// words is a column of texts.
func words(name string, values ...string) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: "txt"}, Offsets: [][]int64{{0}}}
	for _, v := range values {
		c.Data = append(c.Data, v...)
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	return c
}

// aligned copies a column into an arena.
func aligned(c shardify.Column, mem *shardify.Arena) shardify.Column {
	data := mem.Alloc(len(c.Data))
	copy(data, c.Data)
	c.Data = data
	return c
}

func tableOfKeys(t *testing.T, keys ...int64) *key.Table {
	t.Helper()
	var v []int64
	var w []string
	for _, k := range keys {
		v, w = append(v, 10*k), append(w, fmt.Sprint("w", k))
	}
	table, err := key.NewTable([]shardify.Column{ints("k", keys...)}, []shardify.Column{ints("v", v...), words("w", w...)}, len(keys))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// scratch is a file in memory.
type scratch struct{ bytes.Buffer }

func (s *scratch) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(s.Bytes()).ReadAt(b, at)
}

// inFile is a table in a file, of the same rows: they come by key.
func inFile(t *testing.T, by shardify.Column, cols []shardify.Column, texts []string) *key.Table {
	t.Helper()
	var file scratch
	mem := transformtest.Arena(t)
	b := &shardify.Batch{Samples: len(texts), Columns: append(slices.Clone(cols), by)}
	order := make([]int32, b.Samples)
	for i := range order {
		order[i] = int32(i)
	}
	if nums := shardify.View[int64](by.Data); by.Levels == 0 {
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(nums[a], nums[b]) })
	} else {
		slices.SortFunc(order, func(a, b int32) int { return strings.Compare(texts[a], texts[b]) })
	}
	w := key.NewWriter([]string{by.Name}, &file, &file)
	for rest := order; len(rest) > 0; {
		n := min(len(rest), 7)
		part, err := b.Take(rest[:n], mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(part, func(i int) int64 { return int64(rest[i]) }); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	table, err := w.Table()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestJoinsFromAFileAreThoseInMemory: the same samples, counts and digest, of rows of any size.
func TestJoinsFromAFileAreThoseInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		rows := 1 + rng.IntN(3000)
		wide := strings.Repeat("w", []int{1, 40, 3000}[rng.IntN(3)])
		var keys, v []int64
		var texts, w []string
		for k := range rows {
			key := int64(k)*int64(1+rng.IntN(2)) - 50
			keys, v = append(keys, key), append(v, 3*key)
			texts, w = append(texts, fmt.Sprintf("k%d", key)), append(w, wide[:rng.IntN(len(wide)+1)])
		}
		keys, texts = slices.Compact(keys), slices.Compact(texts)
		rows = len(keys)
		v, w = v[:rows], w[:rows]
		for k := range rows {
			at := rng.IntN(k + 1)
			keys[k], keys[at], texts[k], texts[at] = keys[at], keys[k], texts[at], texts[k]
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		if len(keys) != rows {
			continue
		}
		rng.Shuffle(rows, func(a, b int) { keys[a], keys[b] = keys[b], keys[a] })
		for k := range rows {
			texts[k] = fmt.Sprintf("k%d", keys[k])
		}
		mem := transformtest.Arena(t)
		by, have := ints("k", keys...), []int64{}
		for range rng.IntN(60) {
			have = append(have, rng.Int64N(3*int64(rows))-60)
		}
		on := aligned(ints("k", have...), mem)
		if rng.IntN(2) == 0 {
			var list []string
			for _, k := range have {
				list = append(list, fmt.Sprintf("k%d", k))
			}
			by, on = words("k", texts...), words("k", list...)
		}
		cols := func() []shardify.Column {
			x := ints("v", v...)
			x.Data = aligned(x, mem).Data
			if rng.IntN(2) == 0 || i%2 == 0 {
				x.Valid = make([]byte, rows)
				for k := range x.Valid {
					x.Valid[k] = byte(min(k%9, 1))
				}
			}
			return []shardify.Column{x, words("w", w...)}
		}()
		file := inFile(t, by, cols, texts)
		table, err := key.NewTable([]shardify.Column{by}, slices.Clone(cols), rows)
		if err != nil {
			t.Fatal(err)
		}
		if table.Digest != file.Digest || table.Rows != file.Rows {
			t.Fatalf("digests %s and %s of %d and %d rows", table.Digest, file.Digest, table.Rows, file.Rows)
		}
		text := "t=table on=k take=v,w missing=" + []string{Drop, Fill}[rng.IntN(2)]
		b := &shardify.Batch{Samples: len(have), Columns: []shardify.Column{on}}
		var outs [2]*shardify.Batch
		var schemas [2]string
		for n, table := range []*key.Table{table, file} {
			j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, text))
			fields, err := j.Schema(transformtest.SchemaOf(b))
			if err != nil {
				t.Fatal(err)
			}
			schemas[n] = fmt.Sprint(fields)
			if outs[n], err = j.Apply(b, 0, mem); err != nil {
				t.Fatal(err)
			}
			if err := outs[n].Match(fields); err != nil {
				t.Fatal(err)
			}
		}
		a, c := transformtest.NewOutcome(), transformtest.NewOutcome()
		a.Add(outs[0])
		c.Add(outs[1])
		if d := a.Diff(c); d != "" || schemas[0] != schemas[1] {
			t.Fatalf("case %d: %s %s %s", i, d, schemas[0], schemas[1])
		}
		last := func(b *shardify.Batch) string {
			x, err := b.Counts[len(b.Counts)-1].Used.MarshalText()
			return fmt.Sprint(string(x), err)
		}
		if last(outs[0]) != last(outs[1]) {
			t.Fatalf("case %d: other rows were used", i)
		}
	}
}

// TestKeysBeyondThoseOfAFile: an unsigned key that signed keys of a file cannot have is named as it is.
func TestKeysBeyondThoseOfAFile(t *testing.T) {
	table := inFile(t, ints("k", -1, 3), []shardify.Column{ints("v", 1, 2)}, []string{"", ""})
	on := ints("k", 3, -1)
	on.DType = shardify.U64
	b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{aligned(on, transformtest.Arena(t))}}
	j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=k"))
	if _, err := j.Schema(transformtest.SchemaOf(b)); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Apply(b, 0, transformtest.Arena(t)); err == nil || !strings.Contains(err.Error(), "k 18446744073709551615 has no row") {
		t.Error(err)
	}
}

// TestJoinsFindWhatAMapFinds: dense and sparse keys, one for a sample and lists of them.
func TestJoinsFindWhatAMapFinds(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		wide := []int64{20, 1 << 62}[rng.IntN(2)]
		draw := func() int64 { return rng.Int64N(wide)%(int64(1)<<uint(4+rng.IntN(58))) - 8 }
		rows := map[int64]int{}
		var keys []int64
		for range rng.IntN(30) {
			if k := draw(); rows[k] == 0 {
				keys = append(keys, k)
				rows[k] = len(keys)
			}
		}
		table := tableOfKeys(t, keys...)
		var have []int64
		for range 1 + rng.IntN(40) {
			if len(keys) > 0 && rng.IntN(3) > 0 {
				have = append(have, keys[rng.IntN(len(keys))])
			} else {
				have = append(have, draw())
			}
		}
		mem := transformtest.Arena(t)
		missing := []string{Drop, Fill}[rng.IntN(2)]
		tj := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=k take=v,w missing="+missing))
		b := &shardify.Batch{Samples: len(have), Columns: []shardify.Column{aligned(ints("k", have...), mem)}}
		if _, err := tj.Schema(transformtest.SchemaOf(b)); err != nil {
			t.Fatal(err)
		}
		out, err := tj.Apply(b, 0, mem)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, k := range have {
			row := rows[k]
			if row == 0 && missing == Drop {
				continue
			}
			want, valid, text := 10*k, byte(1), fmt.Sprint("w", k)
			if row == 0 {
				want, valid, text = 0, 0, ""
			}
			v, w := &out.Columns[1], &out.Columns[2]
			from, to := w.Range(i, i+1)
			ok := v.Valid == nil || v.Valid[i] == valid
			if shardify.View[int64](v.Data)[i] != want || string(w.Data[from:to]) != text || !ok {
				t.Fatalf("key %d: %d %q, want %d %q", k, shardify.View[int64](v.Data)[i], w.Data[from:to], want, text)
			}
			i++
		}
		if i != out.Samples {
			t.Fatalf("%d samples, want %d", out.Samples, i)
		}
	}
}

// TestJoinsByTwoKeys finds what a map finds: numbers and texts, of samples and of lists, in tables
// in memory and in files.
func TestJoinsByTwoKeys(t *testing.T) {
	race.Sequential(t)
	rng := rand.New(rand.NewPCG(5, 6))
	type pair struct {
		run int64
		id  string
	}
	for i := range 200 {
		draw := func() pair {
			return pair{rng.Int64N(7) - 3, []string{"", "a", "a\x00", "a\x00b", "\xff", "b"}[rng.IntN(6)]}
		}
		var table []pair
		rows := map[pair]int64{}
		for range rng.IntN(40) {
			if p := draw(); rows[p] == 0 {
				table = append(table, p)
				rows[p] = int64(len(table))
			}
		}
		slices.SortFunc(table, func(a, b pair) int { return cmp.Or(cmp.Compare(a.run, b.run), strings.Compare(a.id, b.id)) })
		var runs, v []int64
		var ids []string
		for _, p := range table {
			runs, ids, v = append(runs, p.run), append(ids, p.id), append(v, 10*rows[p])
		}
		by := []shardify.Column{ints("r", runs...), words("i", ids...)}
		memory, err := key.NewTable(by, []shardify.Column{ints("v", v...)}, len(table))
		if err != nil {
			t.Fatal(err)
		}
		var file scratch
		w := key.NewWriter([]string{"r", "i"}, &file, &file)
		if err := w.Add(&shardify.Batch{Samples: len(table), Columns: append(by, ints("v", v...))}, func(i int) int64 { return int64(i) }); err != nil {
			t.Fatal(err)
		}
		sorted, err := w.Table()
		if err != nil {
			t.Fatal(err)
		}
		if sorted.Digest != memory.Digest {
			t.Fatal("digests differ")
		}
		mem := transformtest.Arena(t)
		n := 1 + rng.IntN(30)
		owner := make([]int64, n) // of each element, where the ids are a list
		o, list := []int64{0}, i%3 > 0
		b := &shardify.Batch{Samples: n}
		if list {
			for at := 0; at < n; {
				m := rng.IntN(min(4, n-at) + 1)
				for k := range m {
					owner[at+k] = int64(len(o)) - 1
				}
				at += m
				o = append(o, int64(at))
			}
			b.Samples = len(o) - 1
		}
		var have []pair
		runs, ids = nil, nil
		for k := range n {
			p := draw()
			if list && i%3 == 1 && k > 0 && owner[k] == owner[k-1] {
				p.run = have[k-1].run
			}
			have, ids = append(have, p), append(ids, p.id)
		}
		switch i % 3 {
		case 1: // a run for each sample
			runs = make([]int64, b.Samples)
			for k, p := range have {
				runs[owner[k]] = p.run
			}
		default:
			for _, p := range have {
				runs = append(runs, p.run)
			}
		}
		r, id := aligned(ints("run", runs...), mem), words("id", ids...)
		if list {
			id.Levels, id.Offsets, id.Counter = 2, [][]int64{o, id.Offsets[0]}, "hits"
		}
		if i%3 == 2 {
			r.Levels, r.Offsets, r.Counter = 1, [][]int64{o}, "hits"
		}
		b.Columns = []shardify.Column{r, id}
		for _, table := range []*key.Table{memory, sorted} {
			j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=run=r,id=i take=v missing=drop"))
			fields, err := j.Schema(transformtest.SchemaOf(b))
			if err != nil {
				t.Fatal(err)
			}
			out, err := j.Apply(b, 0, mem)
			if err != nil {
				t.Fatal(err)
			}
			if err := out.Match(fields); err != nil {
				t.Fatal(err)
			}
			var want []int64
			for _, p := range have {
				if rows[p] > 0 {
					want = append(want, 10*rows[p])
				}
			}
			if got := shardify.View[int64](out.Columns[2].Data); !slices.Equal(got, want) {
				t.Fatalf("case %d: %v, want %v", i, got, want)
			}
			if len(want) == len(have) {
				continue
			}
			j = transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=run=r,id=i take=v"))
			if _, err := j.Schema(transformtest.SchemaOf(b)); err != nil {
				t.Fatal(err)
			}
			first := have[slices.IndexFunc(have, func(p pair) bool { return rows[p] == 0 })]
			if _, err := j.Apply(b, 0, mem); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("run,id %d, %q has no row", first.run, first.id)) {
				t.Fatalf("case %d: %v", i, err)
			}
		}
	}
	x := &shardify.Batch{Samples: 1, Columns: []shardify.Column{ints("a", 1, 2), ints("b", 3, 4)}}
	for i := range x.Columns {
		x.Columns[i].Levels, x.Columns[i].Offsets = 1, [][]int64{{0, 2}}
	}
	table, err := key.NewTable([]shardify.Column{ints("a", 1, 1, 2), ints("b", 1, 2, 1)}, []shardify.Column{ints("v", 1, 2, 3)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	j := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "t=table on=a,b take=v"))
	if _, err := j.Schema(transformtest.SchemaOf(x)); err == nil || !strings.Contains(err.Error(), "no counter in common") {
		t.Error(err)
	}
	if _, err := key.NewTable([]shardify.Column{ints("a", 1, 1, 1), ints("b", 1, 2, 1)}, nil, 3); err == nil || !strings.Contains(err.Error(), "a,b 1, 1 is in rows 0 and 2") {
		t.Error(err)
	}
}

func TestJoinsOfLists(t *testing.T) {
	mem := transformtest.Arena(t)
	o := []int64{0, 3, 3, 5}
	list := func(c shardify.Column) shardify.Column {
		c = aligned(c, mem)
		c.Levels, c.Offsets, c.Counter = 1, [][]int64{o}, "hits"
		return c
	}
	b := &shardify.Batch{Samples: 3, Columns: []shardify.Column{list(ints("k", 1, 5, 2, 2, 7)), list(ints("x", 10, 11, 12, 13, 14))}}
	table := tableOfKeys(t, 7, 2, 1)
	tj := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, "table on=k take=v,w missing=drop"))
	schema, err := tj.Schema(transformtest.SchemaOf(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := tj.Apply(b, 0, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(schema); err != nil {
		t.Fatal(err)
	}
	num := func(i int) []int64 { return shardify.View[int64](out.Columns[i].Data) }
	if !slices.Equal(num(1), []int64{10, 12, 13, 14}) || !slices.Equal(num(2), []int64{10, 20, 20, 70}) || string(out.Columns[3].Data) != "w1w2w2w7" {
		t.Errorf("%v %v %q", num(1), num(2), out.Columns[3].Data)
	}
	if !slices.Equal(out.Columns[2].Offsets[0], []int64{0, 2, 2, 4}) || out.Columns[2].Counter != "hits" {
		t.Errorf("%v", out.Columns[2])
	}
	for text, want := range map[string]string{
		"table on=k take=v,w":              "k 5 has no row in table",
		"table on=k take=v,w missing=fill": "no value for what is missing",
		"x=table on=k take=v":              "k 5 has no row",
		"table on=kk take=v":               "kk",
	} {
		tj := transformtest.Made[*tableJoin](t)(newJoin(&op.Env{Beside: table}, text))
		_, err := tj.Schema(transformtest.SchemaOf(b))
		if err == nil {
			_, err = tj.Apply(b, 0, mem)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	again := tableOfKeys(t, 7, 2, 3)
	if _, err := newJoin(&op.Env{Beside: again, Digest: table.Digest}, "table on=k take=v"); err == nil {
		t.Error("a table that has changed is taken")
	}
	if _, err := newJoin(&op.Env{Beside: table, Digest: table.Digest}, "table on=k take=v"); err != nil {
		t.Error(err)
	}
}

func TestTablesThatAreRefused(t *testing.T) {
	half := shardify.Column{Field: shardify.Field{Name: "k", DType: shardify.F64}, Data: shardify.Bytes([]float64{1, 1.5})}
	gap := ints("k", 1, 2)
	gap.Valid = []byte{1, 0}
	list := ints("k", 1, 2)
	list.Levels, list.Offsets = 1, [][]int64{{0, 1, 2}}
	for want, by := range map[string]shardify.Column{
		"k 5 is in rows 0 and 1":         ints("k", 5, 5),
		"k 1 is in rows 0 and 1":         ints("k", 1, 1),
		`k "a" is in rows 0 and 1`:       words("k", "a", "a"),
		"row 1: k is not a whole number": half,
		"row 1 has no k":                 gap,
		"k is a list":                    list,
		"k 99999999 is in rows 0 and ":   ints("k", 99999999, 99999999),
	} {
		if _, err := key.NewTable([]shardify.Column{by}, []shardify.Column{ints("v", 1, 2)}, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, text := range []string{"", "on=k", "t=", "table", "table on=k missing=never", "table on=k take=a,,b", "table on=k,", "table on=k,k", "table on=a=k,b=k"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if j, err := Parse("truth=/data/my table.parquet on=event=id take=a,b missing=drop"); err != nil || j.Table != "/data/my table.parquet" || j.Name != "truth" || j.Text() != "truth=/data/my table.parquet on=event=id take=a,b missing=drop" || len(j.Take) != 2 {
		t.Errorf("%+v %v", j, err)
	}
	for _, table := range []string{"year=2024", "a=b.parquet", "t.parquet", "/data/run=5/t.parquet"} {
		j, err := Parse((Spec{Table: table, On: []string{"e"}, Keys: []string{"e"}, Take: []string{"x"}, Missing: Fail}).Text())
		if err != nil || j.Name != "" || strings.TrimPrefix(j.Table, "./") != table {
			t.Errorf("%s: %+v, %v", table, j, err)
		}
	}
	if j, err := Parse("/data/run=5/t.parquet on=event"); err != nil || j.Table != "/data/run=5/t.parquet" || j.Keys[0] != "event" {
		t.Errorf("%+v %v", j, err)
	}
}
