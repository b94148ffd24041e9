package samples

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// grid is samples of x [rows, columns], each number unique.
func grid(samples, rows, columns int) *shardify.Batch {
	x := make([]float32, samples*rows*columns)
	for i := range x {
		x[i] = float32(i)
	}
	n := make([]int64, samples)
	for i := range n {
		n[i] = int64(i) * 10
	}
	return &shardify.Batch{Samples: samples, Columns: []shardify.Column{
		{Field: shardify.Field{Name: "n", DType: shardify.I64}, Data: shardify.Bytes(n)},
		{Field: shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{rows, columns}, Attrs: map[string]string{shardify.DimsAttr: "lat\nlon"}}, Data: shardify.Bytes(x)},
	}}
}

// patchesOf is what a text makes of two samples: the starts, and the numbers of each patch.
func patchesOf(t *testing.T, text string, b *shardify.Batch) (starts [][]int32, values [][]float32, first []int64) {
	t.Helper()
	p, err := newPatch(&op.Env{}, text)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := p.Schema(transformtest.SchemaOf(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Apply(b, 1, transformtest.Arena(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Match(schema); err != nil {
		t.Fatal(err)
	}
	if out.Samples != b.Samples*p.Multiplies() {
		t.Fatalf("%d samples of %d, %d times", out.Samples, b.Samples, p.Multiplies())
	}
	size := schema[1].Elem()
	x, at := shardify.View[float32](out.Columns[1].Data), shardify.View[int32](out.Columns[2].Data)
	axes := len(p.axes)
	for i := range out.Samples {
		if out.IDs[i].Sample != int64(i/p.Multiplies()) || int(out.IDs[i].Copy) != i%p.Multiplies() {
			t.Fatalf("sample %d is %+v", i, out.IDs[i])
		}
		starts, values = append(starts, at[i*axes:(i+1)*axes]), append(values, x[i*size:(i+1)*size])
	}
	return starts, values, shardify.View[int64](out.Columns[0].Data)
}

func TestPatchesOfGrids(t *testing.T) {
	for _, c := range []struct {
		text   string
		starts [][]int32 // of the first sample
	}{
		{"lat=4,lon=4,overlap=1", [][]int32{{0, 0}, {0, 3}, {0, 6}, {3, 0}, {3, 3}, {3, 6}}},
		{"lat=4,lon=4,overlap=1,edge=shift", [][]int32{{0, 0}, {0, 3}, {0, 6}, {0, 8}, {3, 0}, {3, 3}, {3, 6}, {3, 8}}},
		{"lat=7,lon=4,overlap=1,wrap=lon", [][]int32{{0, 0}, {0, 3}, {0, 6}, {0, 9}}},
		{"lon=4,lat=5,edge=pad", [][]int32{{0, 0}, {0, 5}, {4, 0}, {4, 5}, {8, 0}, {8, 5}}},
		{"1=12,0=1", [][]int32{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}, {0, 6}}},
		{"-1=5", [][]int32{{0}, {5}}},
		{"lat=9,edge=pad", [][]int32{{0}}},
	} {
		b := grid(2, 7, 12)
		starts, values, n := patchesOf(t, c.text, b)
		k := len(c.starts)
		if len(starts) != 2*k || !slices.EqualFunc(starts[:k], c.starts, slices.Equal) || !slices.EqualFunc(starts[k:], c.starts, slices.Equal) {
			t.Fatalf("%s: %v", c.text, starts)
		}
		p, _ := newPatch(&op.Env{}, c.text)
		if _, err := p.Schema(transformtest.SchemaOf(b)); err != nil {
			t.Fatal(err)
		}
		shape := p.cuts[0].field.Shape
		x := shardify.View[float32](b.Columns[1].Data)
		for i := range starts {
			if n[i] != int64(i/k)*10 {
				t.Fatalf("%s: sample %d has n %d", c.text, i, n[i])
			}
			at := [2]int{}
			for a, d := range p.cuts[0].dims {
				at[d] = int(starts[i][a])
			}
			for r := range shape[0] {
				for q := range shape[1] {
					row, column, want := at[0]+r, at[1]+q, float32(0)
					if strings.Contains(c.text, "wrap=lon") {
						column %= 12
					}
					if row < 7 && column < 12 {
						want = x[(i/k*7+row)*12+column]
					}
					if got := values[i][r*shape[1]+q]; got != want {
						t.Fatalf("%s: patch %d at %v, [%d, %d]: %v, want %v", c.text, i, starts[i], r, q, got, want)
					}
				}
			}
		}
	}
}

func TestPatchesOfCubes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		shape, size, start, round := make([]int, 3), make([]int, 3), make([]int, 3), make([]bool, 3)
		n := 1
		for d := range shape {
			shape[d] = 1 + r.IntN(6)
			size[d], start[d], round[d] = 1+r.IntN(shape[d]), r.IntN(shape[d]), r.IntN(2) == 0
			n *= shape[d]
		}
		from := make([]byte, n)
		for i := range from {
			from[i] = byte(i + 1)
		}
		to := make([]byte, size[0]*size[1]*size[2])
		copyBox(to, from, size, shape, start, round, 1)
		for i := range to {
			at, in := [3]int{i / size[2] / size[1], i / size[2] % size[1], i % size[2]}, true
			for d := range at {
				if at[d] += start[d]; at[d] >= shape[d] {
					at[d] -= shape[d]
					in = in && round[d]
				}
			}
			want := byte(0)
			if in {
				want = from[(at[0]*shape[1]+at[1])*shape[2]+at[2]]
			}
			if to[i] != want {
				t.Fatalf("%v of %v from %v, round %v: byte %d is %d, want %d", size, shape, start, round, i, to[i], want)
			}
		}
	}
}

func TestPatchesThatCannotBe(t *testing.T) {
	for _, text := range []string{"", "lat", "lat=0", "lat=x", "lat=4,lat=4", "lat=4,overlap=4", "lat=4,overlap=-1", "lat=4,edge=cut", "lat=4,wrap=lon", "overlap=1"} {
		if p, err := newPatch(&op.Env{}, text); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
	for _, text := range []string{"lat=8", "lon=13,wrap=lon", "height=2", "2=1", "lat=4,0=4"} {
		p, err := newPatch(&op.Env{}, text)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := p.Schema(transformtest.SchemaOf(grid(1, 7, 12))); err == nil || errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: %v", text, out)
		}
	}
}

// TestPatchesOfLongAxes: too many patches are refused before they are listed.
func TestPatchesOfLongAxes(t *testing.T) {
	p, err := newPatch(&op.Env{}, "0=1")
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = p.Schema([]shardify.Field{{Name: "x", DType: shardify.U8, Shape: []int{1 << 24}}})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(err.Error(), "more than 65536 patches") || n > 1<<20 {
		t.Errorf("%d bytes: %v", n, err)
	}
}
