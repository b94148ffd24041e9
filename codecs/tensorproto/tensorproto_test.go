package tensorproto

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

// cases are what TensorFlow 2.21 writes, and the values that it parses of it.
var cases = []struct {
	name, message string
	dtype         shardify.DType
	values        string
	shape         []int
}{
	{"serialize_tensor float32", "080112081202080112020803220c000000000000803f00004040", shardify.F32, "000000000000803f00004040", []int{1, 3}},
	{"make_tensor_proto float32", "0801120812020802120208022a040000803f", shardify.F32, "0000803f0000803f0000803f0000803f", []int{2, 2}},
	{"serialize_tensor float64", "08021208120208011202080322180000000000000000000000000000f03f0000000000000840", shardify.F64, "0000000000000000000000000000f03f0000000000000840", []int{1, 3}},
	{"make_tensor_proto float64", "0802120812020802120208023208000000000000f03f", shardify.F64, "000000000000f03f000000000000f03f000000000000f03f000000000000f03f", []int{2, 2}},
	{"serialize_tensor int32", "080312081202080112020803220c000000000100000003000000", shardify.I32, "000000000100000003000000", []int{1, 3}},
	{"make_tensor_proto int32", "0803120812020802120208023a0101", shardify.I32, "01000000010000000100000001000000", []int{2, 2}},
	{"serialize_tensor uint8", "0804120812020801120208032203000103", shardify.U8, "000103", []int{1, 3}},
	{"make_tensor_proto uint8", "0804120812020802120208023a0101", shardify.U8, "01010101", []int{2, 2}},
	{"serialize_tensor int16", "0805120812020801120208032206000001000300", shardify.I16, "000001000300", []int{1, 3}},
	{"make_tensor_proto int16", "0805120812020802120208023a0101", shardify.I16, "0100010001000100", []int{2, 2}},
	{"serialize_tensor int8", "0806120812020801120208032203000103", shardify.I8, "000103", []int{1, 3}},
	{"make_tensor_proto int8", "0806120812020802120208023a0101", shardify.I8, "01010101", []int{2, 2}},
	{"serialize_tensor int64", "0809120812020801120208032218000000000000000001000000000000000300000000000000", shardify.I64, "000000000000000001000000000000000300000000000000", []int{1, 3}},
	{"make_tensor_proto int64", "080912081202080212020802520101", shardify.I64, "0100000000000000010000000000000001000000000000000100000000000000", []int{2, 2}},
	{"serialize_tensor bool", "080a120812020801120208032203010001", shardify.U8, "010001", []int{1, 3}},
	{"make_tensor_proto bool", "080a120812020802120208025a0101", shardify.U8, "01010101", []int{2, 2}},
	{"serialize_tensor bfloat16", "080e1208120208011202080322060000803f4040", shardify.BF16, "0000803f4040", []int{1, 3}},
	{"make_tensor_proto bfloat16", "080e120812020802120208026a02807f", shardify.BF16, "803f803f803f803f", []int{2, 2}},
	{"serialize_tensor uint16", "0811120812020801120208032206000001000300", shardify.U16, "000001000300", []int{1, 3}},
	{"make_tensor_proto uint16", "0811120812020802120208023a0101", shardify.U16, "0100010001000100", []int{2, 2}},
	{"serialize_tensor float16", "08131208120208011202080322060000003c0042", shardify.F16, "0000003c0042", []int{1, 3}},
	{"make_tensor_proto float16", "0813120812020802120208026a028078", shardify.F16, "003c003c003c003c", []int{2, 2}},
	{"serialize_tensor uint32", "081612081202080112020803220c000000000100000003000000", shardify.U32, "000000000100000003000000", []int{1, 3}},
	{"make_tensor_proto uint32", "08161208120208021202080282010101", shardify.U32, "01000000010000000100000001000000", []int{2, 2}},
	{"serialize_tensor uint64", "0817120812020801120208032218000000000000000001000000000000000300000000000000", shardify.U64, "000000000000000001000000000000000300000000000000", []int{1, 3}},
	{"make_tensor_proto uint64", "0817120812020802120208028a010101", shardify.U64, "0100000000000000010000000000000001000000000000000100000000000000", []int{2, 2}},
	{"negative", "08051204120208013a0affffffffffffffffff01", shardify.I16, "ffff", []int{1}},
	{"empty", "08011206120208021200", shardify.F32, "", []int{2, 0}},
}

func message(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMessagesOfTensorFlow(t *testing.T) {
	for _, c := range cases {
		x, err := Open(message(t, c.message))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := x.Append([]byte("ab"))
		if err != nil || x.DType() != c.dtype || !slices.Equal(x.Shape(), c.shape) || hex.EncodeToString(got[2:]) != c.values {
			t.Errorf("%s: %v %v %x, %v; want %v %v %s", c.name, x.DType(), x.Shape(), got, err, c.dtype, c.shape, c.values)
		}
	}
}

func TestDamage(t *testing.T) {
	for name, text := range map[string]string{
		"a byte too few":        "080412041202080322020102",
		"a byte too many":       "0804120412020803220401020304",
		"300 as u8":             "08041204120208023a02ac02",
		"-200 as i8":            "08061204120208013a0ab8feffffffffffffff01",
		"too many numbers":      "08041204120208013a020101",
		"no numbers":            "0804120412020801",
		"a bool of 2":           "080a120412020801220102",
		"a bool of 2 in a list": "080a1204120208015802",
		"a negative dimension":  "0804120d120b08ffffffffffffffffff01",
		"a shape of 2^80":       "080412121207088080808080201207088080808080203801",
		"floats of three bytes": "08011204120208012a03000000",
		"a number that is cut":  "08031204120208013a0180",
		"a message that is cut": "0804120412020803220301",
		"a number as bytes":     "08011204120208012801",
	} {
		if _, err := Open(message(t, text)); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"texts":           "0807120412020801420161",
		"an unknown rank": "080112021801",
	} {
		if _, err := Open(message(t, text)); !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFewBytesForMany: one number may stand for some, not for more than memory has.
func TestFewBytesForMany(t *testing.T) {
	for text, want := range map[string]int{"080412061204088080403801": 1 << 20, "0804120812060880808080203801": 0} {
		x, err := Open(message(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := x.Append(nil); len(b) != want || (want == 0) != errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, c := range cases {
		f.Add(message(f, c.message))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Open(b)
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		n := x.DType().Size()
		for _, d := range x.Shape() {
			n *= d
		}
		if n > 1<<20 {
			return
		}
		if v, err := x.Append(nil); err != nil || len(v) != n {
			t.Fatalf("%d bytes of shape %v, %v", len(v), x.Shape(), err)
		}
	})
}
