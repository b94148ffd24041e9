package samples

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// texts is a batch of one text field; "" with missing marks is a missing value.
func texts(first int64, values []string) *shardify.Batch {
	c := shardify.Column{Field: shardify.Field{Name: "t", DType: shardify.U8, Levels: 1, Media: "txt", Nullable: true}, Offsets: [][]int64{{0}}}
	for _, v := range values {
		c.Valid = append(c.Valid, op.Mark(v != "missing"))
		c.Data = append(c.Data, v...)
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	return &shardify.Batch{Samples: len(values), First: shardify.ID{Input: uint32(first % 3), Sample: first}, Columns: []shardify.Column{c}}
}

// TestDropDuplicates compares with a map: whatever the parts are that are looked at, and the order
// in which they begin, in memory and in a file; the first in the order of the inputs stays.
func TestDropDuplicates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var batches []*shardify.Batch
	seen, want, n := map[string]bool{}, map[shardify.ID]bool{}, 0
	for k := range 60 {
		var values []string
		for range 1 + r.IntN(200) {
			v := fmt.Sprint(r.IntN(4000))
			if r.IntN(50) == 0 {
				v = "missing"
			}
			values = append(values, v)
		}
		b := texts(int64(k*1000), values)
		for i, v := range values {
			if seen[v] && v != "missing" {
				want[b.ID(i)] = true
			}
			seen[v] = true
			n++
		}
		batches = append(batches, b)
	}
	defer func(old int) { seenKept = old }(seenKept)
	for _, kept := range []int{32 << 20, 1000} {
		seenKept = kept
		var result string
		for _, size := range []int{1, 7, 60} {
			d, err := newDropDuplicates(&op.Env{}, "t")
			if err != nil {
				t.Fatal(err)
			}
			schema := transformtest.SchemaOf(batches[0])
			if _, err := d.Schema(schema); err != nil {
				t.Fatal(err)
			}
			sum := d.NewSurvey()
			var parts []shardify.Survey
			for range (len(batches) + size - 1) / size {
				parts = append(parts, d.NewSurvey())
			}
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			for _, k := range r.Perm(len(parts)) {
				for _, b := range batches[k*size : min((k+1)*size, len(batches))] {
					if err := parts[k].Add(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, p := range parts {
				if err := sum.Merge(p); err != nil {
					t.Fatal(err)
				}
			}
			text, err := sum.Result()
			if err != nil {
				t.Fatal(err)
			}
			if result != "" && string(text) != result {
				t.Fatal("another result from other parts")
			}
			result = string(text)
			if err := d.Learn(text); err != nil {
				t.Fatal(err)
			}
			dropped := 0
			for _, b := range batches {
				mem := transformtest.Arena(t)
				out, err := d.Apply(b, 0, mem)
				if err != nil {
					t.Fatal(err)
				}
				at := 0
				for i := range b.Samples {
					if want[b.ID(i)] {
						dropped++
						continue
					}
					if at >= out.Samples || out.ID(at) != b.ID(i) {
						t.Fatalf("sample %v is not there", b.ID(i))
					}
					at++
				}
				if at != out.Samples {
					t.Fatalf("%d samples, want %d", out.Samples, at)
				}
			}
			if !strings.HasPrefix(result, fmt.Sprintf("%d of %d samples\n", dropped, n)) || dropped != len(want) {
				t.Errorf("%.40q, %d dropped, want %d", result, dropped, len(want))
			}
		}
	}
}

// TestDuplicatesOfAnyField: lists are equal if they are so at all levels.
func TestDuplicatesOfAnyField(t *testing.T) {
	conformLearned := func(names string) {
		mem := transformtest.Arena(t)
		b := transformtest.Invent(t, transformtest.Wide, 97, mem)
		d, err := newDropDuplicates(&op.Env{}, names)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Schema(transformtest.SchemaOf(b)); err != nil {
			t.Fatal(err)
		}
		s := d.NewSurvey()
		if err := s.Add(b); err != nil {
			t.Fatal(err)
		}
		text, err := s.Result()
		if err != nil || d.Learn(text) != nil {
			t.Fatal(err)
		}
		transformtest.Conform(t, d, b, mem)
	}
	for _, names := range []string{"id", "nJet", "tags,deep", "flag,x,m", "nmiss"} {
		conformLearned(names)
	}
	a := &shardify.Column{Field: shardify.Field{DType: shardify.U8, Levels: 2}, Data: []byte("abcd"), Offsets: [][]int64{{0, 2, 4}, {0, 1, 2, 4, 4}}}
	u := &duplicates{hash: sha256.New()}
	var sums []string
	for i := range 2 {
		u.hash.Reset()
		u.value(a, i)
		sums = append(sums, string(u.hash.Sum(nil)))
	}
	if sums[0] == sums[1] {
		t.Error("[a b] and [cd ''] are equal")
	}
}

// TestListOfDuplicates: what was written comes back, and damage is reported.
func TestListOfDuplicates(t *testing.T) {
	var s sampleSet
	s.add(0, math.MinInt64)
	s.add(0, 5)
	s.add(7, 3)
	s.add(math.MaxUint32, math.MaxInt64)
	b := s.encode()
	o, err := decodeSamples(b)
	if err != nil || fmt.Sprint(o) != fmt.Sprint(s) {
		t.Fatalf("%v, %v", o, err)
	}
	for i := range b {
		if _, err := decodeSamples(b[:i]); err == nil && i > 0 {
			if o, _ := decodeSamples(b[:i]); o.len() >= s.len() {
				t.Errorf("%d bytes of %d are a whole list", i, len(b))
			}
		}
		for x := range 256 {
			c := append([]byte(nil), b...)
			c[i] = byte(x)
			decodeSamples(c) // may be another list, but ends
		}
	}
	if err := (&dropDuplicates{}).Learn([]byte("3 of 4 samples")); err == nil {
		t.Error("a result without the list is learned")
	}
}
