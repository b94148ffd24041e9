package index

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// kinds has a field of every kind, named so that data order differs from schema
// order.
func kinds() []shardify.Field {
	return []shardify.Field{
		{Name: "b", DType: shardify.U8, Shape: []int{3}},
		{Name: "Jet_pt", DType: shardify.F32, Levels: 1, Counter: "Jet", Attrs: map[string]string{"unit": "\"GeV\"\n\\ é"}},
		{Name: "a", DType: shardify.F64},
		{Name: "Jet_id", DType: shardify.I16, Levels: 1, Counter: "Jet", Nullable: true},
		{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt"},
		{Name: "ü\"\\", DType: shardify.Bool},
	}
}

// shardBytes builds a shard of kinds() by hand: 2 samples.
func shardBytes(t testing.TB) (*Layout, []byte) {
	t.Helper()
	l, err := NewLayout(kinds(), true)
	if err != nil {
		t.Fatal(err)
	}
	i64 := func(v ...int64) []byte { return shardify.Bytes(v) }
	data := map[string][]byte{
		"b": {1, 2, 3, 4, 5, 6}, "a": shardify.Bytes([]float64{1.5, -2}),
		"Jet#offsets": i64(0, 1, 3), "Jet_pt#values": shardify.Bytes([]float32{1, 2, 3}),
		"Jet_id#values": shardify.Bytes([]int16{-1, 0, 1}), "Jet_id#valid": {1, 0},
		"words#offsets": i64(0, 2, 2), "words#offsets1": i64(0, 2, 5), "words#values": []byte("hishe"),
		"ü\"\\": {0, 1}, "__key__#offsets": i64(0, 2, 3), "__key__#values": []byte("s0t"),
	}
	var counts []int64
	var crcs []uint32
	var all []byte
	for i := range l.Tensors {
		spec := &l.Tensors[i]
		b, ok := data[spec.Name]
		if !ok {
			t.Fatalf("no data for tensor %s", spec.Name)
		}
		counts, crcs = append(counts, int64(len(b))/spec.Row), append(crcs, CRC32C(0, b))
		all = append(all, b...)
	}
	if len(data) != len(l.Tensors) {
		t.Fatalf("%d tensors, want %d", len(l.Tensors), len(data))
	}
	head, err := l.Header(2, counts, crcs)
	if err != nil {
		t.Fatal(err)
	}
	return l, append(head, all...)
}

func parse(b []byte) (*MmapShard, error) { return ParseShard(bytes.NewReader(b), int64(len(b))) }

func TestTensorsFallInItemSizeThenRiseInName(t *testing.T) {
	l, b := shardBytes(t)
	var names []string
	at := int64(0)
	s, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, spec := range l.Tensors {
		names = append(names, spec.Name)
		if p := s.Places[i]; p.Lo%int64(spec.DType.Size()) != 0 || p.Lo < at {
			t.Errorf("tensor %s at %d is not aligned to %d bytes", p.Name, p.Lo, spec.DType.Size())
		} else {
			at = p.Hi
		}
	}
	want := "Jet#offsets __key__#offsets a words#offsets words#offsets1 Jet_pt#values Jet_id#values Jet_id#valid __key__#values b words#values ü\"\\"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("order %s\nwant  %s", got, want)
	}
}

func TestHeaderIsCanonicalJSONPaddedToAPage(t *testing.T) {
	l, b := shardBytes(t)
	n := binary.LittleEndian.Uint64(b)
	text := bytes.TrimRight(b[8:8+n], " ")
	if (8+n)%4096 != 0 || int64(8+n) != l.HeaderBytes {
		t.Errorf("8+n is %d", 8+n)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil || !bytes.Equal(compact.Bytes(), text) {
		t.Errorf("header is not JSON without white space (%v): %s", err, text)
	}
	if !bytes.HasPrefix(text, []byte(`{"__metadata__":{"shardify":"1","shardify.samples":"2","shardify.schema":"[{\"name\":\"b\",\"dtype\":\"u8\",\"shape\":[3]},`)) {
		t.Errorf("header begins %.150s", text)
	}
	if !bytes.Contains(text, []byte(`,"a":{"dtype":"F64","shape":[2],"data_offsets":[48,64]},`)) {
		t.Errorf("tensor a is not as documented: %s", text)
	}
	s, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(s.Schema) != fmt.Sprint(kinds()) || !s.Keyed || s.Samples != 2 {
		t.Errorf("parsed %+v", s.Schema)
	}
}

// The size of the header must not depend on the data, since the data are written
// before their sizes are known.
func TestHeaderSizeDependsOnTheSchemaAlone(t *testing.T) {
	for n := 1; n < 400; n += 7 {
		var schema []shardify.Field
		for i := range n {
			schema = append(schema, shardify.Field{Name: fmt.Sprintf("field_%d", i), DType: shardify.U8, Levels: 1})
		}
		l, err := NewLayout(schema, false)
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int64, len(l.Tensors))
		for i := range counts {
			counts[i] = math.MaxInt64 / int64(20*n) // near the largest offsets there are
		}
		sums := make([]uint32, len(counts))
		big, err := l.Header(math.MaxInt64/16, counts, sums)
		if err != nil {
			t.Fatal(err)
		}
		small, _ := l.Header(0, make([]int64, len(counts)), sums)
		if len(big) != len(small) || int64(len(big)) != l.HeaderBytes {
			t.Fatalf("%d fields: headers of %d and %d bytes, layout says %d", n, len(big), len(small), l.HeaderBytes)
		}
		pad := len(big) - len(bytes.TrimRight(big, " "))
		if pad > 4096+len(counts)*60 {
			t.Errorf("%d fields: %d bytes of padding", n, pad)
		}
	}
}

func TestSchemasThatNoHeaderCarries(t *testing.T) {
	for what, s := range map[string][]shardify.Field{
		"no fields":       nil,
		"two of one name": {{Name: "x", DType: shardify.U8}, {Name: "x", DType: shardify.U8}},
		"no values":       {{Name: "x", DType: shardify.U8, Shape: []int{0}}},
		"attribute bytes": {{Name: "x", DType: shardify.U8, Attrs: map[string]string{"a": "\xff"}}},
	} {
		if _, err := NewLayout(s, false); !errors.Is(err, shardify.ErrSchema) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	l, _ := NewLayout(kinds(), true)
	counts := slices.Repeat([]int64{math.MaxInt64 / 8}, len(l.Tensors))
	if _, err := l.Header(1, counts, make([]uint32, len(counts))); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("offsets beyond 63 bits: %v", err)
	}
}

func TestCheckTensorFindsEveryChangedByte(t *testing.T) {
	_, b := shardBytes(t)
	s, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16) // so that tensors take several reads
	for i := range s.Places {
		if err := s.CheckTensor(bytes.NewReader(b), i, buf); err != nil {
			t.Errorf("undamaged: %v", err)
		}
		for at := s.Places[i].Lo; at < s.Places[i].Hi; at++ {
			b[at] ^= 4
			if err := s.CheckTensor(bytes.NewReader(b), i, buf); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("tensor %s byte %d changed: %v", s.Places[i].Name, at, err)
			}
			b[at] ^= 4
		}
	}
}

// With a right checksum, values that break their promise are still found.
func TestCheckTensorFindsValuesThatCannotBe(t *testing.T) {
	for what, c := range map[string]struct {
		tensor string
		at     int64
		value  byte
	}{
		"first offset not 0": {"Jet#offsets", 0, 1}, "offset falls": {"Jet#offsets", 8, 9}, "end": {"words#offsets1", 16, 4},
		"end of lists": {"words#offsets", 16, 1}, "end of keys": {"__key__#offsets", 16, 9}, "bool": {"ü\"\\", 1, 2}, "valid": {"Jet_id#valid", 0, 3},
	} {
		_, b := shardBytes(t)
		s, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Places, func(p Tensor) bool { return p.Name == c.tensor })
		p := &s.Places[i]
		b[p.Lo+c.at] = c.value
		s.CRC32C[i] = CRC32C(0, b[p.Lo:p.Hi])
		err = s.CheckTensor(bytes.NewReader(b), i, make([]byte, 16))
		var e *shardify.Error
		if !errors.As(err, &e) || !errors.Is(err, shardify.ErrCorrupt) || e.Offset < p.Lo || e.Offset > p.Hi || e.Object != c.tensor {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFieldsOfOneCounterMustHaveEqualCounts(t *testing.T) {
	l, b := shardBytes(t)
	s, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(name string, counts []int64, i int){
		"elements": func(name string, counts []int64, i int) {
			if name == "Jet_id#values" {
				counts[i]++
			}
		},
		"items without samples": func(name string, counts []int64, i int) {
			if l.Known(i) {
				counts[i] = l.Count(i, 0)
			}
		},
	} {
		counts, size := slices.Clone(s.Counts), l.HeaderBytes
		for i := range counts {
			change(l.Tensors[i].Name, counts, i)
			size += counts[i] * l.Tensors[i].Row
		}
		samples := counts[slices.IndexFunc(l.Tensors, func(t TensorSpec) bool { return t.Name == "a" })]
		head, err := l.Header(samples, counts, s.CRC32C)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseShard(bytes.NewReader(head), size); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
