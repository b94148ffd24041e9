package lists

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// picked applies a pick to lists x of 0, 1, ... and flags that every third element has.
func picked(t *testing.T, text string, lengths ...int64) (lists [][]float32, flags int, b *shardify.Batch) {
	t.Helper()
	mem := transformtest.Arena(t)
	o := []int64{0}
	for _, n := range lengths {
		o = append(o, o[len(o)-1]+n)
	}
	x := shardify.View[float32](mem.Alloc(int(o[len(o)-1]) * 4))
	flag := mem.Alloc(len(x))
	for i := range lengths {
		for k := o[i]; k < o[i+1]; k++ {
			x[k], flag[k] = float32(k-o[i]), 0
			if (k-o[i])%3 == 0 {
				flag[k] = 1
			}
		}
	}
	b = &shardify.Batch{Samples: len(lengths), Columns: []shardify.Column{
		{Field: shardify.Field{Name: "x", DType: shardify.F32, Levels: 1, Counter: "hits"}, Data: shardify.Bytes(x), Offsets: [][]int64{o}},
		{Field: shardify.Field{Name: "flag", DType: shardify.Bool, Levels: 1, Counter: "hits"}, Data: flag, Offsets: [][]int64{o}},
	}}
	p := transformtest.Made[*pickLists](t)(newPick(&op.Env{}, text))
	if _, err := p.Schema(transformtest.SchemaOf(b)); err != nil {
		t.Fatal(err)
	}
	out, err := p.Apply(b, 7, mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(transformtest.SchemaOf(b)); err != nil {
		t.Fatal(err)
	}
	ends := out.Columns[0].Offsets[0]
	for i := range lengths {
		lists = append(lists, slices.Clone(shardify.View[float32](out.Columns[0].Data)[ends[i]:ends[i+1]]))
	}
	for _, f := range out.Columns[1].Data {
		flags += int(f)
	}
	return lists, flags, out
}

func TestPick(t *testing.T) {
	lists, flags, b := picked(t, "hits=4,prefer=flag", 9, 2, 30)
	if len(lists[0]) != 4 || len(lists[1]) != 2 || len(lists[2]) != 4 || flags != 3+1+4 {
		t.Errorf("%v with %d flags", lists, flags)
	}
	if len(b.Counts) != 2 || b.Counts[0].N != 2 || b.Counts[1].N != 5+26 {
		t.Errorf("counts %v", b.Counts)
	}
	for _, l := range lists {
		if !slices.IsSorted(l) {
			t.Errorf("%v is out of order", l)
		}
	}
	if _, flags, _ := picked(t, "x=5,prefer=!flag", 9, 2, 30); flags != 0+1+0 {
		t.Errorf("%d flags with the others preferred", flags)
	}
	more, _, _ := picked(t, "hits=8", 100)
	fewer, _, _ := picked(t, "hits=5", 100)
	if len(more[0]) != 8 || len(fewer[0]) != 5 {
		t.Errorf("%v, %v", more, fewer)
	}
	for _, x := range fewer[0] {
		if !slices.Contains(more[0], x) {
			t.Errorf("%v is not among %v", fewer[0], more[0])
		}
	}
	for text, want := range map[string][]float32{"x=3,first": {0, 1, 2}, "x=3,last": {6, 7, 8}, "x=2,top=-x": {7, 8}, "x=2,top=x": {0, 1}, "x=4,prefer=flag,last": {0, 3, 6, 8}} {
		if lists, _, _ := picked(t, text, 9); !slices.Equal(lists[0], want) {
			t.Errorf("%s: %v, want %v", text, lists[0], want)
		}
	}
}

func TestPicksThatAreRefused(t *testing.T) {
	in := []shardify.Field{{Name: "x", DType: shardify.F32, Levels: 1, Counter: "hits"}, {Name: "n", DType: shardify.I64}, {Name: "s", DType: shardify.U8, Levels: 1, Media: "txt"}, {Name: "y", DType: shardify.F32, Levels: 1}}
	for text, want := range map[string]string{
		"hits": "want NAME=K", "hits=0": "want NAME=K", "hits=3,best": "want NAME=K", "hits=3,first,last": "want NAME=K", "hits=3,prefer=": "want NAME=K",
		"n=3": "no lists", "hit=3": "hit", "s=3": "no elements", "hits=3,prefer=y": "not one of the lists", "hits=3,top=n": "not one of the lists",
	} {
		p, err := newPick(&op.Env{}, text)
		if err == nil {
			_, err = p.Schema(in)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
