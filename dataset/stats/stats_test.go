package stats

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
)

// TestQuantilesAreWithinTheirBound against the sorted values, for distributions that
// sketches find hard: far from zero, over many powers of ten, both signs.
func TestQuantilesAreWithinTheirBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"normal":      r.NormFloat64,
		"exponential": func() float64 { return math.Exp(10 * r.NormFloat64()) },
		"time stamps": func() float64 { return 1.6e9 + 1e6*r.Float64() },
		"narrow":      func() float64 { return 1e6 + 0.01*r.NormFloat64() },
		"constant":    func() float64 { return 42 },
		"mostly zero": func() float64 { return float64(max(r.IntN(100)-98, 0)) * r.NormFloat64() },
	} {
		n := newNumbers(shardify.F64)
		var all []float64
		for range 20000 {
			x := draw()
			all = append(all, x)
			n.add(x)
		}
		pivot := all[0]
		mean, sq := 0.0, 0.0
		for _, x := range all {
			mean += x / float64(len(all))
		}
		for _, x := range all {
			sq += (x - mean) * (x - mean) / float64(len(all))
		}
		slices.Sort(all)
		if n.Min != all[0] || n.Max != all[len(all)-1] || math.Abs(n.Mean()-mean) > 1e-9*(1+math.Abs(mean)) || math.Abs(n.Std()-math.Sqrt(sq)) > 1e-6*math.Sqrt(sq)+1e-9 {
			t.Errorf("%s: min %v max %v mean %v std %v, want %v %v %v %v", name, n.Min, n.Max, n.Mean(), n.Std(), all[0], all[len(all)-1], mean, math.Sqrt(sq))
		}
		for _, q := range quantiles {
			want := all[int(q*float64(len(all)-1))]
			if got := n.Quantile(q); math.Abs(got-want) > 0.009*math.Abs(want-pivot)+1e-12 {
				t.Errorf("%s: quantile %v is %v, want %v", name, q, got, want)
			}
		}
		h := n.Histogram(50)
		sum := h.Below + h.Above
		for _, c := range h.Counts {
			sum += c
		}
		if math.Abs(sum-20000) > 1e-6 {
			t.Errorf("%s: the histogram holds %v of 20000", name, sum)
		}
	}
}

// TestSmallWholeNumbersAreCountedExactly: quantiles and bins of counts are exact, so
// that a length to pad to can be chosen.
func TestSmallWholeNumbersAreCountedExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n := newNumbers(shardify.I64)
	counts := make([]float64, 41)
	var all []float64
	for range 50000 {
		x := r.IntN(7) * r.IntN(7)
		counts[min(x, 40)]++
		all = append(all, float64(x))
		n.add(float64(x))
	}
	slices.Sort(all)
	for _, q := range quantiles {
		if got, want := n.Quantile(q), all[int(q*float64(len(all)-1))]; got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	h := n.Histogram(60)
	for k, c := range h.Counts {
		x := h.Lo + (float64(k)+0.5)*(h.Hi-h.Lo)/float64(len(h.Counts))
		if x != math.Trunc(x) || c != counts[int(x)] {
			t.Errorf("bin %d at %v holds %v, want %v", k, x, c, counts[int(max(x, 0))])
		}
	}
}

// TestAnOutlierAtTheBeginning, such as a -999 for "none", does not blur the rest.
func TestAnOutlierAtTheBeginning(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	v := make([]float64, 20_000)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	v[0] = -999
	n := newNumbers(shardify.F64)
	n.column(shardify.Bytes(v))
	if q := n.Quantile(0.5); math.Abs(q) > 0.05 {
		t.Errorf("median %v", q)
	}
	if q := n.Quantile(0.25); math.Abs(q+0.674) > 0.05 {
		t.Errorf("first quartile %v", q)
	}
}

// TestNaNAndInfinitiesAreCountedApart and do not spoil the rest.
func TestNaNAndInfinitiesAreCountedApart(t *testing.T) {
	v := []float32{float32(math.NaN()), 1, 3, float32(math.Inf(1)), float32(math.Inf(-1)), 0}
	n := newNumbers(shardify.F32)
	n.column(shardify.Bytes(v))
	if n.NaN != 1 || n.Inf != 2 || n.Zeros != 1 || n.Count != 3 || n.Min != 0 || n.Max != 3 || math.Abs(n.Mean()-4./3) > 1e-12 {
		t.Errorf("%+v, mean %v", n, n.Mean())
	}
}

// TestExtremesOf64BitsAreExact: a float64 does not hold them.
func TestExtremesOf64BitsAreExact(t *testing.T) {
	n := newNumbers(shardify.I64)
	n.column(shardify.Bytes([]int64{math.MaxInt64 - 1, math.MinInt64 + 1, 5}))
	if s := n.summary(); s.Min != "-9223372036854775807" || s.Max != "9223372036854775806" {
		t.Errorf("%s to %s", s.Min, s.Max)
	}
	u := newNumbers(shardify.U64)
	u.column(shardify.Bytes([]uint64{math.MaxUint64 - 1, 7}))
	if s := u.summary(); s.Min != "7" || s.Max != "18446744073709551614" {
		t.Errorf("%s to %s", s.Min, s.Max)
	}
}

func batch(schema []shardify.Field, seed uint64, samples int, mem *shardify.Arena) *shardify.Batch {
	r := rand.New(rand.NewPCG(seed, 0))
	b := &shardify.Batch{Samples: samples}
	for _, f := range schema {
		c := shardify.Column{Field: f}
		n := int64(samples)
		for range f.Levels {
			o := make([]int64, n+1)
			for i := range n {
				o[i+1] = o[i] + int64(r.IntN(4))
			}
			c.Offsets, n = append(c.Offsets, o), o[n]
		}
		c.Data = mem.Alloc(int(n) * f.ElemBytes())
		for i := range c.Data {
			c.Data[i] = byte(r.IntN(2))
		}
		if f.DType == shardify.F32 {
			v := shardify.View[float32](c.Data)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
		}
		if f.Nullable {
			c.Valid = make([]byte, samples)
			for i := range c.Valid {
				c.Valid[i] = byte(r.IntN(2))
			}
		}
		b.Columns = append(b.Columns, c)
	}
	return b
}

var schema = []shardify.Field{
	{Name: "x", DType: shardify.F32, Shape: []int{3}},
	{Name: "label", DType: shardify.U8, Attrs: map[string]string{"labels": "no\nyes"}},
	{Name: "v", DType: shardify.F32, Levels: 1},
	{Name: "w", DType: shardify.I32, Levels: 2},
	{Name: "t", DType: shardify.U8, Levels: 1, Media: "txt"},
	{Name: "n", DType: shardify.F32, Nullable: true},
}

// TestPartsGiveTheFiguresOfTheWhole: however the samples are cut into batches and
// parts, counts and extremes are equal and moments nearly so.
func TestPartsGiveTheFiguresOfTheWhole(t *testing.T) {
	mem, err := shardify.NewPool(1<<30).Grant(context.Background(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Release()
	var batches []*shardify.Batch
	for i := range 10 {
		batches = append(batches, batch(schema, uint64(i), 20, mem))
	}
	o := Options{Duplicates: 1 << 20}
	want := New(schema, o)
	for _, b := range batches {
		if err := want.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	got := New(schema, o)
	if err := got.Add(batches[0]); err != nil {
		t.Fatal(err)
	}
	for lo := 1; lo < 10; lo += 3 {
		p := got.Part(int64(lo) * 20)
		for _, b := range batches[lo : lo+3] {
			if err := p.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := got.Merge(p); err != nil {
			t.Fatal(err)
		}
	}
	a, b := want.Report(), got.Report()
	for i := range a.Fields {
		for _, s := range []*Summary{a.Fields[i].Values, b.Fields[i].Values, a.Fields[i].Lengths, b.Fields[i].Lengths, a.Fields[i].Inner, b.Fields[i].Inner} {
			if s != nil && s.Mean != nil {
				*s.Mean, *s.Std = math.Round(*s.Mean*1e3), math.Round(*s.Std*1e3)
			}
		}
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("whole:\n%s\nparts:\n%s", x, y)
	}
	label := a.Fields[1].Classes
	if len(label) != 2 || label[0].Name != "no" || label[0].Count+label[1].Count != 200 {
		t.Errorf("classes %+v", label)
	}
	if n := a.Fields[5]; n.Missing == 0 || n.Missing+n.Values.Count != 200 {
		t.Errorf("%d missing and %d values of 200", n.Missing, n.Values.Count)
	}
}

// TestDuplicatesAreFoundAndNamed: only samples equal in every field count.
func TestDuplicatesAreFoundAndNamed(t *testing.T) {
	fields := []shardify.Field{{Name: "a", DType: shardify.U8, Levels: 1}, {Name: "b", DType: shardify.U8, Levels: 1}}
	s := New(fields, Options{Duplicates: 1 << 20})
	// The same bytes, cut differently between a and b, are other samples.
	b := &shardify.Batch{Samples: 4, Columns: []shardify.Column{
		{Field: fields[0], Data: []byte{1, 2, 1, 1, 2, 1, 2}, Offsets: [][]int64{{0, 2, 3, 5, 7}}},
		{Field: fields[1], Data: []byte{3, 2, 3, 3, 3}, Offsets: [][]int64{{0, 1, 3, 4, 5}}},
	}}
	if err := s.Add(b); err != nil {
		t.Fatal(err)
	}
	d := s.Report().Duplicates
	if d.Samples != 2 || d.Groups != 1 || len(d.First) != 1 || !slices.Equal(d.First[0], []int64{0, 2, 3}) {
		t.Errorf("%+v", d)
	}
	s = New(fields, Options{Duplicates: 100})
	if err := s.Add(b); err != ErrTooMany {
		t.Errorf("beyond the memory: %v", err)
	}
}

// TestImagesAreMeasured and unreadable ones counted.
func TestImagesAreMeasured(t *testing.T) {
	f := shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Media: "png"}
	var data []byte
	o := []int64{0}
	for i := range 10 {
		var w bytes.Buffer
		if i == 3 {
			w.WriteString("no image")
		} else if err := png.Encode(&w, image.NewGray(image.Rect(0, 0, 10+i, 20))); err != nil {
			t.Fatal(err)
		}
		data = append(data, w.Bytes()...)
		o = append(o, int64(len(data)))
	}
	s := New([]shardify.Field{f}, Options{Thumbnails: 5, Total: 10})
	if err := s.Add(&shardify.Batch{Samples: 10, Columns: []shardify.Column{{Field: f, Data: data, Offsets: [][]int64{o}}}}); err != nil {
		t.Fatal(err)
	}
	m := s.Report().Fields[0].Images
	if m.Types["png"] != 9 || m.Unreadable != 1 || m.Width.Max != "19" || m.Height.Min != "20" || len(m.Thumbnails) < 4 || len(m.Thumbnails) > 5 {
		t.Errorf("%+v, width %+v, %d thumbnails", m, m.Width, len(m.Thumbnails))
	}
}

func BenchmarkNumbers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	v := make([]float32, 1<<18)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	n := newNumbers(shardify.F32)
	b.SetBytes(int64(len(v)) * 4)
	for b.Loop() {
		n.column(shardify.Bytes(v))
	}
}
