package tfrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/protowire"
)

// all are the values of a feature as bytes.
func all(t testing.TB, v *Value) []byte {
	t.Helper()
	switch v.Kind {
	case Floats:
		b := make([]byte, 4*v.Count)
		v.PutFloats(b)
		return b
	case Ints:
		b := make([]byte, 8*v.Count)
		v.PutInts(b)
		return b
	}
	var b []byte
	n, size := 0, 0
	v.Each(func(x []byte) {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
		n, size = n+1, size+len(x)
	})
	if n != v.Count || size != v.Size {
		t.Fatalf("%d values of %d bytes, Count is %d and Size %d", n, size, v.Count, v.Size)
	}
	return b
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32()) >> rng.IntN(8)
	}
	return b
}

func TestWhatIsEncodedIsRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var want [][3][]byte
	var e Encoder
	for range 200 {
		floats, ints, ends := random(rng, 4*rng.IntN(40)), make([]byte, 8*rng.IntN(40)), []int64{0}
		for i := 0; i < len(ints); i += 8 {
			binary.LittleEndian.PutUint64(ints[i:], rng.Uint64()>>rng.IntN(64))
		}
		texts, list := random(rng, rng.IntN(500)), []byte(nil)
		for range rng.IntN(4) {
			ends = append(ends, ends[len(ends)-1]+int64(rng.IntN(len(texts)/4+1)))
			list = append(binary.AppendUvarint(list, uint64(ends[len(ends)-1]-ends[len(ends)-2])), texts[ends[len(ends)-2]:ends[len(ends)-1]]...)
		}
		e.Begin()
		e.Bytes("a", texts, ends)
		e.Floats("b", floats)
		e.Ints("c", ints)
		file = append(file, AppendRecord(nil, e.Example())...)
		want = append(want, [3][]byte{list, floats, ints})
	}
	s := NewScanner(bytes.NewReader(file), 0, int64(len(file)))
	var x Example
	var v Value
	for i := 0; ; i++ {
		b, err := s.Next()
		if err == io.EOF {
			if i != len(want) {
				t.Errorf("%d records, want %d", i, len(want))
			}
			return
		}
		if err == nil {
			err = x.Parse(b)
		}
		if err != nil || len(x.Features) != 3 {
			t.Fatal(i, len(x.Features), err)
		}
		for k := range want[i] {
			if err := v.Parse(x.Features[k].Value); err != nil || v.Kind != Kind(k+1) || !bytes.Equal(all(t, &v), want[i][k]) {
				t.Errorf("record %d, feature %s: %v of %s", i, x.Features[k].Key, err, v.Kind)
			}
		}
	}
}

// TestTheQuickFormIsTheLongForm: an unknown field behind a feature sends it the long way.
func TestTheQuickFormIsTheLongForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	same := 0
	for i := range 20000 {
		list := random(rng, rng.IntN(40))
		if i%2 == 0 {
			list = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(list))), list...)
		}
		b := append(binary.AppendUvarint([]byte{byte(1+rng.IntN(3))<<3 | 2}, uint64(len(list))), list...)
		var quick, long Value
		err, longErr := quick.Parse(b), long.Parse(append(b[:len(b):len(b)], 0x78, 1))
		if (err == nil) != (longErr == nil) {
			t.Fatalf("%x: %v, the long way %v", b, err, longErr)
		}
		if err != nil {
			continue
		}
		same++
		if quick.Kind != long.Kind || quick.Count != long.Count || !bytes.Equal(all(t, &quick), all(t, &long)) {
			t.Fatalf("%x: %d values of %s, the long way %d of %s", b, quick.Count, quick.Kind, long.Count, long.Kind)
		}
	}
	if same < 5000 {
		t.Errorf("%d features are whole", same)
	}
}

func FuzzExample(f *testing.F) {
	var e Encoder
	e.Begin()
	e.Ints("a", make([]byte, 24))
	e.Floats("b", make([]byte, 8))
	e.Bytes("c", []byte("text"), []int64{0, 1, 4})
	b := AppendRecord(nil, e.Example())
	f.Add(b[HeadBytes : len(b)-TailBytes])
	f.Fuzz(func(t *testing.T, b []byte) {
		var x Example
		var table Table
		if x.Parse(b) != nil || table.Take(x.Features) != nil {
			return
		}
		var v Value
		for _, e := range x.Features {
			if v.Parse(e.Value) == nil {
				all(t, &v)
			}
		}
		for _, e := range x.Lists {
			_ = Steps(e.Value, func(b []byte) error {
				if v.Parse(b) == nil {
					all(t, &v)
				}
				return nil
			})
		}
	})
}

// TestBoxesHaveFourNumbers: features.json as TensorFlow Datasets 4.9.10 write it.
func TestBoxesHaveFourNumbers(t *testing.T) {
	specs, odd, err := ParseFeatures([]byte(`{"featuresDict":{"features":{"objects":{"sequence":{"length":"-1","feature":{"featuresDict":{"features":{"box":{"boundingBox":{"bboxFormat":"REL_YXYX","dtype":"float32","shape":{"dimensions":["4"]}}}}}}}}}}}`))
	if s := specs["objects/box"]; err != nil || len(odd) > 0 || s.DType != shardify.F32 || !slices.Equal(s.Shape, []int{4}) || !s.Sequence {
		t.Errorf("%+v %v %v", specs, odd, err)
	}
}

func FuzzFeatures(f *testing.F) {
	f.Add([]byte(`{"featuresDict":{"features":{"a":{"tensor":{"dtype":"int32","shape":{"dimensions":["2","-1"]}}},"s":{"sequence":{"length":"-1","feature":{"text":{}}}}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := ParseFeatures(b); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

func TestPartsOfSets(t *testing.T) {
	for base, want := range map[string][2]int{
		"train.tfrecord-00001-of-00003": {1, 3}, "a-2-of-12.tfrecord": {2, 12}, "x-of-3": {-1, 0}, "00001-of-00003": {-1, 0}, "a-1-of-": {-1, 0}, "a-0000000000000001-of-3": {-1, 0},
	} {
		_, part, of, ok := PartOf(base)
		if ok != (want[0] >= 0) || ok && (part != want[0] || of != want[1]) {
			t.Errorf("%s: part %d of %d, %v", base, part, of, ok)
		}
	}
}

// TestTheUsualFormOfAnEntryIsReadAsAnyOther: what is read at once is what the walk through the fields finds, in damaged bytes, too.
func TestTheUsualFormOfAnEntryIsReadAsAnyOther(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	field := func(n byte, b []byte) []byte {
		return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(b))), b...)
	}
	taken := 0
	for range 200_000 {
		b := field(1, append(field(1, make([]byte, rng.IntN(140))), field(2, make([]byte, rng.IntN(400)))...))
		b = append(b, make([]byte, rng.IntN(4))...)
		for range rng.IntN(3) {
			b[min(rng.IntN(len(b)), rng.IntN(1<<rng.IntN(9)))] = byte(rng.Uint32() >> rng.IntN(8))
		}
		b = b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]
		got, n := usual(b)
		if n == 0 {
			continue
		}
		taken++
		f := protowire.Fields{B: b}
		if !f.Next() || f.Num != 1 || f.Wire != protowire.Bytes || f.I != n {
			t.Fatalf("%x: %d bytes, the field has %d", b, n, f.I)
		}
		if want, err := entry(f.Val); err != nil || !bytes.Equal(got.Key, want.Key) || !bytes.Equal(got.Value, want.Value) {
			t.Fatalf("%x: %x, want %x, %v", b, got, want, err)
		}
	}
	if taken < 50_000 {
		t.Errorf("%d entries were in the usual form", taken)
	}
}

// TestALongRecordIsSummedBeforeItIsHeld: a damaged one takes no memory; a good one is the same as a short one.
func TestALongRecordIsSummedBeforeItIsHeld(t *testing.T) {
	first := AppendRecord(nil, []byte("short"))
	good := AppendRecord(nil, bytes.Repeat([]byte("0123456789abcdef"), longRecord>>4+1))
	for name, c := range map[string]struct {
		damage func(b []byte) []byte
		off    int64
		want   error
	}{
		"good": {func(b []byte) []byte { return b }, 100, nil},
		"bit":  {func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, 0, shardify.ErrCorrupt},
		"tail": {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, 0, shardify.ErrCorrupt},
		"cut":  {func(b []byte) []byte { return b[:len(b)-1] }, 0, shardify.ErrCorrupt},
	} {
		b := c.damage(slices.Concat(first, good))
		held := int64(0)
		// The file is longer than what is there, as one that is cut while it is read.
		s := NewScanner(bytes.NewReader(b), c.off, int64(len(first)+len(good)))
		s.Hold = func(n int64) error { held = max(held, n); return nil }
		if x, err := s.Next(); string(x) != "short" || err != nil {
			t.Fatal(err)
		}
		x, err := s.Next()
		if c.want == nil && (err != nil || !bytes.Equal(x, good[HeadBytes:len(good)-TailBytes]) || held > int64(len(good)+8<<20)) {
			t.Errorf("%s: %d bytes, %d held, %v", name, len(x), held, err)
		}
		if c.want != nil && (!errors.Is(err, c.want) || held > 4<<20) {
			t.Errorf("%s: %d bytes held, %v", name, held, err)
		}
	}
	var x Table
	if _, err := x.Find(bytes.Repeat([]byte("k"), maxKey+1)); !errors.Is(err, shardify.ErrUnsupported) || len(err.Error()) > 200 {
		t.Error(err)
	}
}
