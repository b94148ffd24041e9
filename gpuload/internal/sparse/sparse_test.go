package sparse

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/elementary"
	"github.com/shardify/shardify/tests/race"
)

var indexTypes = []shardify.DType{shardify.U8, shardify.I8, shardify.U16, shardify.I16, shardify.U32, shardify.I32, shardify.U64, shardify.I64}

// bytesOf stores numbers as a type.
func bytesOf(kind shardify.DType, values []float64) []byte {
	var b []byte
	for _, v := range values {
		switch kind {
		case shardify.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case shardify.F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		default:
			b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))[:kind.Size()]...)
		}
	}
	return b
}

func numbersOf(kind shardify.DType, b []byte) (out []float64) {
	if kind == shardify.Bool {
		kind = shardify.U8
	}
	for ; len(b) > 0; b = b[kind.Size():] {
		switch kind {
		case shardify.F32:
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case shardify.F64:
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		default:
			n, _ := number(b, kind, 0)
			out = append(out, float64(n))
		}
	}
	return out
}

// stored is a random batch: rows of values that have sums in every type.
type stored struct {
	rows    [][]float64 // columns and values in turn
	columns []float64
	values  []float64
	offsets []int64
}

func random(r *rand.Rand, rows, width int, mixed bool) (s stored) {
	s.offsets = []int64{0}
	for range rows {
		var row []float64
		for range r.IntN(min(width, 9) + 1) {
			row = append(row, float64(r.IntN(width)))
		}
		if !mixed {
			slices.Sort(row)
			row = slices.Compact(row)
		}
		pairs := []float64{}
		for _, c := range row {
			v := float64(r.IntN(2))
			pairs = append(pairs, c, v)
			s.columns, s.values = append(s.columns, c), append(s.values, v)
		}
		s.rows, s.offsets = append(s.rows, pairs), append(s.offsets, int64(len(s.values)))
	}
	return s
}

// reference is the dense row that is wanted, by the words of Form.
func reference(f *Form, pairs []float64) []float64 {
	sums := make([]float64, f.Kept)
	for i := 0; i < len(pairs); i += 2 {
		c := int(pairs[i])
		if f.Columns != nil {
			c = int(f.Columns[c])
		}
		if c >= 0 {
			sums[c] += pairs[i+1]
		}
	}
	if f.Values == shardify.Bool {
		for i := range sums {
			sums[i] = min(sums[i], 1)
		}
	}
	total := 0.0
	for _, v := range sums {
		total += v
	}
	for i, v := range sums {
		if f.Normalize != 0 && total != 0 {
			v *= f.Normalize / total
		}
		if f.Log1p {
			v = elementary.Log1p(v)
		}
		sums[i] = v
	}
	return sums
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

func checkDense(t *testing.T, f *Form, got []byte, s *stored) {
	t.Helper()
	v := numbersOf(f.made(), got)
	for r, pairs := range s.rows {
		want := reference(f, pairs)
		if !slices.EqualFunc(v[r*f.Kept:(r+1)*f.Kept], want, near) {
			t.Fatalf("%+v: row %d of %v: %v, want %v", f, r, pairs, v[r*f.Kept:(r+1)*f.Kept], want)
		}
	}
}

// dense makes a dense array of a result of rows, whose columns must rise.
func dense(t *testing.T, f *Form, out Result, rows int) []byte {
	t.Helper()
	kind, size := shardify.I32, f.made().Size()
	if f.Wide {
		kind = shardify.I64
	}
	starts, columns := numbersOf(kind, out.Starts), numbersOf(kind, out.Columns)
	made := make([]byte, rows*f.Kept*size)
	for r := range rows {
		last := -1
		for i := int(starts[r]); i < int(starts[r+1]); i++ {
			c := int(columns[i])
			if c <= last {
				t.Fatalf("%+v: column %d behind %d", f, c, last)
			}
			last = c
			copy(made[(r*f.Kept+c)*size:], out.Values[i*size:(i+1)*size])
		}
	}
	return made
}

func TestRowsAreThoseOfTheWords(t *testing.T) {
	race.Sequential(t)
	r := rand.New(rand.NewPCG(3, 5))
	for values := range makers {
		for _, indices := range indexTypes {
			for trial := range 24 {
				width := 1 + r.IntN(40)
				f := &Form{Values: values, Indices: indices, Width: width, Kept: width, Log1p: trial&1 != 0, Wide: trial&2 != 0}
				if trial%3 == 0 {
					f.Normalize = 1e4
				}
				if trial%4 == 3 {
					f.Kept, f.Columns = 0, make([]int32, width)
					for _, c := range r.Perm(width) {
						if f.Columns[c] = -1; r.IntN(2) == 0 {
							f.Columns[c], f.Kept = int32(f.Kept), f.Kept+1
						}
					}
				}
				rows := r.IntN(6)
				s := random(r, rows, width, trial%5 < 2)
				in := Rows{Values: bytesOf(values, s.values), Indices: bytesOf(indices, s.columns), Offsets: s.offsets}
				size, n := f.made().Size(), len(s.values)
				out := Result{Values: make([]byte, n*size), Columns: make([]byte, n*8), Starts: make([]byte, (rows+1)*8)}
				if !f.Wide {
					out.Columns, out.Starts = out.Columns[:n*4], out.Starts[:(rows+1)*4]
				}
				found, err := f.Make(in, out)
				if err != nil || found.Bad != nil {
					t.Fatal(err, found.Bad)
				}
				checkDense(t, f, dense(t, f, out, rows), &s)
				f.Dense = true
				made := Result{Values: slices.Repeat([]byte{0xaa}, rows*f.Kept*size)}
				if _, err := f.Make(in, made); err != nil {
					t.Fatal(err)
				}
				checkDense(t, f, made.Values, &s)
			}
		}
	}
}

// TestLargeResultsAreThoseOfTheirRows: rows that are stored past the caches are those that are made one at a time.
func TestLargeResultsAreThoseOfTheirRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 5))
	for _, f := range []*Form{{Values: shardify.F32}, {Values: shardify.Bool}, {Values: shardify.F64, Log1p: true, Normalize: 1e4}, {Values: shardify.U16}} {
		f.Indices, f.Dense = shardify.I32, true
		size := f.made().Size()
		f.Width = pastRow/size + 3
		f.Kept = f.Width
		rows := pastResult/(f.Kept*size) + 1
		s := random(r, rows, f.Width, true)
		in := Rows{Values: bytesOf(f.Values, s.values), Indices: bytesOf(f.Indices, s.columns), Offsets: s.offsets}
		all, one := slices.Repeat([]byte{0xaa}, rows*f.Kept*size), make([]byte, f.Kept*size)
		if _, err := f.Make(in, Result{Values: all}); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if _, err := f.Make(Rows{Values: in.Values, Indices: in.Indices, Offsets: in.Offsets[i : i+2]}, Result{Values: one}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(all[i*len(one):(i+1)*len(one)], one) {
				t.Fatalf("%s: row %d of %d is another one", f.Values, i, rows)
			}
		}
		for _, row := range []int{rows - 1, rows / 2} { // the first that is wrong is found, whichever thread comes to it first
			at := s.offsets[row]
			for s.offsets[row+1] == at {
				row--
				at = s.offsets[row]
			}
			copy(in.Indices[at*4:], []byte{255, 255, 255, 127})
			found, err := f.Make(in, Result{Values: all})
			if want := (Bad{Row: row, Column: math.MaxInt32}); err != nil || found.Bad == nil || *found.Bad != want {
				t.Fatalf("%s: found %+v, %v; want %+v", f.Values, found.Bad, err, want)
			}
		}
	}
}

func TestANumberThatIsNoColumnIsFound(t *testing.T) {
	for _, c := range []struct {
		kind shardify.DType
		bad  []byte
		want Bad
	}{
		{shardify.I32, []byte{9, 0, 0, 0}, Bad{Row: 1, Element: 1, Column: 9}},
		{shardify.I32, []byte{255, 255, 255, 255}, Bad{Row: 1, Element: 1, Column: -1}},
		{shardify.I64, []byte{0, 0, 0, 0, 1, 0, 0, 0}, Bad{Row: 1, Element: 1, Column: 1 << 32}},
		{shardify.U64, slices.Repeat([]byte{255}, 8), Bad{Row: 1, Element: 1, Column: -1, Huge: true}},
		{shardify.U8, []byte{255}, Bad{Row: 1, Element: 1, Column: 255}},
		{shardify.I8, []byte{128}, Bad{Row: 1, Element: 1, Column: -128}},
	} {
		f := &Form{Values: shardify.F32, Indices: c.kind, Width: 9, Kept: 9, Dense: true}
		in := Rows{Values: make([]byte, 4*4), Indices: bytesOf(c.kind, []float64{0, 8, 1, 0}), Offsets: []int64{0, 2, 4}}
		copy(in.Indices[3*c.kind.Size():], c.bad)
		found, err := f.Make(in, Result{Values: make([]byte, 2*9*4)})
		if err != nil || found.Bad == nil || *found.Bad != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.kind, found.Bad, err, c.want)
		}
	}
}

func TestMixedRowsAreCounted(t *testing.T) {
	f := &Form{Values: shardify.F32, Indices: shardify.I32, Width: 9, Kept: 9}
	in := Rows{Values: make([]byte, 4*6), Indices: bytesOf(shardify.I32, []float64{0, 8, 3, 1, 4, 4}), Offsets: []int64{0, 2, 4, 6}}
	if found, err := f.Make(in, Result{}); err != nil || found.Mixed != 2 || found.Elements != 6 {
		t.Fatal(found, err)
	}
}

func TestLengthsAreChecked(t *testing.T) {
	f := Form{Values: shardify.F32, Indices: shardify.I32, Width: 4, Kept: 4, Dense: true}
	room := Result{Values: make([]byte, 64), Columns: make([]byte, 64), Starts: make([]byte, 64)}
	good := func() Rows { return Rows{Values: make([]byte, 8), Indices: make([]byte, 8), Offsets: []int64{0, 2}} }
	for name, bad := range map[string]func(f *Form, in *Rows, out *Result){
		"fewer values":     func(f *Form, in *Rows, out *Result) { in.Values = in.Values[:4] },
		"offsets fall":     func(f *Form, in *Rows, out *Result) { in.Offsets = []int64{2, 1} },
		"offset below 0":   func(f *Form, in *Rows, out *Result) { in.Offsets[0] = -1 },
		"offset behind":    func(f *Form, in *Rows, out *Result) { in.Offsets[1] = 3 },
		"no offsets":       func(f *Form, in *Rows, out *Result) { in.Offsets = nil },
		"no room":          func(f *Form, in *Rows, out *Result) { out.Values = out.Values[:15] },
		"no room for csr":  func(f *Form, in *Rows, out *Result) { f.Dense, out.Starts = false, out.Starts[:7] },
		"no room of width": func(f *Form, in *Rows, out *Result) { f.Dense, f.Wide, out.Columns = false, true, out.Columns[:15] },
		"width":            func(f *Form, in *Rows, out *Result) { f.Width, f.Kept = 1<<40, 1<<40 },
		"width of choice":  func(f *Form, in *Rows, out *Result) { f.Columns = []int32{0, 1} },
		"choice":           func(f *Form, in *Rows, out *Result) { f.Columns = []int32{0, 1, 2, 4} },
		"kept":             func(f *Form, in *Rows, out *Result) { f.Kept = 3 },
		"values":           func(f *Form, in *Rows, out *Result) { f.Values, in.Values = shardify.F16, in.Values[:4] },
		"columns":          func(f *Form, in *Rows, out *Result) { f.Indices = shardify.F32 },
	} {
		how, in, out := f, good(), room
		bad(&how, &in, &out)
		if _, err := how.Make(in, out); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := f.Make(good(), room); err != nil {
		t.Fatal(err)
	}
}

func log1p(x float32) float32 {
	one := []float32{x}
	logarithms(one)
	return one[0]
}

func TestLogarithmsAreRoundedOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	off, n := 0, 200_000
	for range n {
		x := math.Float32frombits(r.Uint32() &^ (1 << 31))
		got, want := log1p(x), float32(elementary.Log1p(float64(x)))
		if got != want && !(got != got && want != want) {
			if off++; math.Abs(float64(got)-float64(want)) > 1.2e-7*float64(want) {
				t.Fatalf("log1p(%g) = %g, want %g", x, got, want)
			}
		}
	}
	if off > n/10_000 {
		t.Errorf("%d of %d are the number beside", off, n)
	}
	for _, x := range []float64{0, -0.5, -1, -2, math.Inf(1), math.NaN(), 0x1p-13, math.SmallestNonzeroFloat32, math.MaxFloat32} {
		got, want := log1p(float32(x)), float32(elementary.Log1p(x))
		if got != want && !(got != got && want != want) {
			t.Errorf("log1p(%g) = %g, want %g", x, got, want)
		}
	}
}

// FuzzMake has rows of any bytes: an error or a result, and never memory that is not there.
func FuzzMake(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, []byte{0, 0, 0, 0, 1, 0, 0, 0}, int64(1), int64(2), uint8(6), uint8(9), 4, true)
	f.Fuzz(func(t *testing.T, values, indices []byte, a, b int64, index, value uint8, width int, dense bool) {
		kinds := []shardify.DType{shardify.Bool, shardify.U8, shardify.I8, shardify.U16, shardify.I16, shardify.U32, shardify.I32, shardify.U64, shardify.I64, shardify.F32, shardify.F64}
		form := Form{Values: kinds[int(value)%len(kinds)], Indices: kinds[int(index)%len(kinds)], Width: width, Kept: width, Dense: dense, Normalize: 10, Log1p: width%2 == 0}
		out := Result{Values: make([]byte, 256), Columns: make([]byte, 256), Starts: make([]byte, 256)}
		_, _ = form.Make(Rows{Values: slices.Clone(values), Indices: slices.Clone(indices), Offsets: []int64{0, a, b}}, out)
	})
}

func batchOfCells() (f Form, in Rows) {
	r := rand.New(rand.NewPCG(7, 7))
	f = Form{Values: shardify.F32, Indices: shardify.I32, Width: 20_000, Kept: 20_000}
	in.Offsets = []int64{0}
	var columns, values []float64
	for range 1024 {
		row := r.Perm(20_000)[:608]
		slices.Sort(row)
		for _, c := range row {
			columns, values = append(columns, float64(c)), append(values, float64(1+r.IntN(30)))
		}
		in.Offsets = append(in.Offsets, int64(len(columns)))
	}
	in.Values, in.Indices = bytesOf(f.Values, values), bytesOf(f.Indices, columns)
	return f, in
}

// BenchmarkMake has 1,024 cells of 608 of 20,000 genes.
func BenchmarkMake(b *testing.B) {
	f, in := batchOfCells()
	dense := Result{Values: make([]byte, 1024*20_000*4)}
	rows := Result{Values: make([]byte, len(in.Values)), Columns: make([]byte, len(in.Indices)), Starts: make([]byte, 4*1025)}
	for _, c := range []struct {
		name string
		set  func(f *Form)
		out  Result
	}{
		{"check", func(f *Form) {}, Result{}},
		{"csr", func(f *Form) {}, rows},
		{"csr, normalize, log1p", func(f *Form) { f.Normalize, f.Log1p = 1e4, true }, rows},
		{"dense", func(f *Form) { f.Dense = true }, dense},
		{"dense, normalize, log1p", func(f *Form) { f.Dense, f.Normalize, f.Log1p = true, 1e4, true }, dense},
	} {
		b.Run(c.name, func(b *testing.B) {
			form := f
			c.set(&form)
			for b.Loop() {
				if _, err := form.Make(in, c.out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
