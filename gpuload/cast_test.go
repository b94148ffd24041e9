package gpuload

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// casts of every column kind in everyKind, of a kernel and not.
var someCasts = map[string]load.Cast{
	"x": {DType: shardify.F16, Scale: []float32{0.5, 2, -1}, Shift: []float32{1}}, "y": {DType: shardify.F32}, "flag": {DType: shardify.I64},
	"half": {DType: shardify.F32, Shift: []float32{3}}, "hits": {DType: shardify.BF16, Scale: []float32{3}}, "id": {DType: shardify.I32},
	"vec": {DType: shardify.F32, Scale: []float32{2, 3}}, "trk": {DType: shardify.F32}, "maybe": {DType: shardify.BF16},
}

// sameCasts holds the rows of a batch with casts against those of one without.
func sameCasts(t testing.TB, l *Loader, have, raw *Batch) {
	t.Helper()
	for i := range l.want.Layout.Tensors {
		a, err := tensorOf(have, i)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := tensorOf(raw, i)
		k := l.want.Casts[i]
		if k == nil {
			if !bytes.Equal(a, b) {
				t.Fatalf("tensor %s, which is not cast, differs", l.want.Layout.Tensors[i].Name)
			}
			continue
		}
		want := make([]byte, len(b)/k.From.Size()*k.To.Size())
		k.Convert(want, b) // whose arithmetic has tests of its own
		if spec := &l.want.Out.Tensors[i]; spec.Lead == index.LeadSamples {
			clear(want[int64(have.Rows())*spec.Row:])
		}
		if !bytes.Equal(a, want) {
			t.Fatalf("tensor %s is not what its cast makes of it", l.want.Layout.Tensors[i].Name)
		}
	}
}

func tensorOf(b *Batch, i int) ([]byte, error) {
	s := b.slot.Load()
	if s == nil {
		return nil, ErrReleased
	}
	return s.Table.Bytes(i), nil
}

func TestCastColumnsOfEveryKindInEveryTier(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: everyKind[index.FormatMmap], samples: 61, shard: 20})
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Last = 7, Pad
		plain := mustLoader(t, d, c)
		c.Cast = someCasts
		l := mustLoader(t, d, c)
		for range 9 {
			raw, err := plain.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			sameCasts(t, l, b, raw)
			if x, err := b.Tensor("x"); err != nil || x.DType != shardify.F16 || fmt.Sprint(x.Shape) != "[7 3]" {
				t.Errorf("tensor x: %+v, %v", x, err)
			}
			raw.Release()
			b.Release()
		}
		if f := l.Schema()[shardify.FieldIndex(l.Schema(), "flag")]; f.DType != shardify.I64 {
			t.Errorf("field flag is %s", f.DType)
		}
	})
}

func TestCastsThatMakeNoSenseAreRefused(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],y:i64,img:jpg*30", samples: 9}))
	for name, c := range map[string]load.Cast{
		"z": {DType: shardify.F16}, "y": {DType: shardify.I32}, "img": {DType: shardify.F32}, "x": {DType: shardify.I32},
	} {
		if _, err := d.Loader(Config{Batch: 2, Cast: map[string]load.Cast{name: c}}); err == nil {
			t.Errorf("%s as %s: no error", name, c.DType)
		}
	}
	for _, c := range []load.Cast{
		{DType: shardify.F16, Scale: []float32{1, 2}}, {DType: shardify.F16, Scale: []float32{1, 2, 3}, Axis: 1}, {DType: shardify.F16, Shift: []float32{1, 2, 3}, Scale: []float32{1, 2}},
		{}, {DType: shardify.F64},
	} {
		if _, err := d.Loader(Config{Batch: 2, Cast: map[string]load.Cast{"x": c}}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
