package labels

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// valuesOf are those of all samples.
func valuesOf(t testing.TB, j *Joined) []shardify.Column {
	v := j.Values
	cols, err := (&Cursor{Values: v}).Batch(0, v.ends[len(v.ends)-1], every(v), shardify.NewPool(1).Overdraft())
	if err != nil {
		t.Fatal(err)
	}
	return cols
}

func every(v *Values) (list []int) {
	for i := range v.Fields {
		list = append(list, i)
	}
	return list
}

// lists is a table of lists for samples 0, 1, ..., some of which have none, joined.
func lists(t *testing.T, samples, rows, words int) (*Joined, [][]string) {
	rng := rand.New(rand.NewPCG(1, 2))
	want := make([][]string, samples)
	var text strings.Builder
	text.WriteString("k,x,s\n")
	for i := range rows {
		k := rng.IntN(samples)
		word := strings.Repeat("w", rng.IntN(words))
		fmt.Fprintf(&text, "%d,%d,%s\n", k, i, word)
		want[k] = append(want[k], fmt.Sprint(i, word))
	}
	tab, err := readOne(write(t, "l.csv", text.String())+" on=k rows=many", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	names := func(k int, _ By, do func([]byte)) { do(fmt.Append(nil, k)) }
	j, err := JoinAll([]*Table{tab}, samples, names, "fill", nil)
	if err != nil {
		t.Fatal(err)
	}
	return j, want
}

// TestValuesAreInPages: what is read does not depend on where pages end, and is what plans keep.
func TestValuesAreInPages(t *testing.T) {
	const samples = 2000
	j, want := lists(t, samples, 20000, 60)
	defer j.Values.Close()
	v := j.Values
	if v.Pages() < 3 {
		t.Fatalf("%d pages", v.Pages())
	}
	again, rest, err := ReadPages(append(v.AppendPages(nil), 7), v.Fields, samples, v.Page)
	if err != nil || len(rest) != 1 || !reflect.DeepEqual(again.ends, v.ends) {
		t.Fatal(again, rest, err)
	}
	at := Cursor{Values: again}
	for k := range int64(samples) {
		n, err := at.Bytes(k, every(v))
		if err != nil {
			t.Fatal(err)
		}
		one, err := at.Batch(k, k+1, every(v), shardify.NewPool(1).Overdraft())
		if err != nil {
			t.Fatal(err)
		}
		if m, err := (&Cursor{Values: v}).Bytes(k, every(v)); err != nil || m != n {
			t.Fatalf("sample %d: %d bytes in a plan that is made, %d in one that is read, %v", k, m, n, err)
		}
		const ends = 3 * 8 // that begin offsets
		if want := one[0].Bytes() + one[1].Bytes() - ends; n != want {
			t.Fatalf("sample %d: %d bytes, want %d", k, n, want)
		}
	}
	for _, step := range []int64{1, 7, 500, samples} {
		for lo := int64(0); lo < samples; lo += step {
			hi := min(lo+step, samples)
			cols, err := at.Batch(lo, hi, []int{1, 0}, shardify.NewPool(1).Overdraft())
			if err != nil {
				t.Fatal(err)
			}
			s, x := &cols[0], &cols[1]
			for k := lo; k < hi; k++ {
				var got []string
				for i := x.Offsets[0][k-lo]; i < x.Offsets[0][k-lo+1]; i++ {
					got = append(got, fmt.Sprint(shardify.View[int64](x.Data)[i], string(s.Data[s.Offsets[1][i]:s.Offsets[1][i+1]])))
				}
				if !reflect.DeepEqual(got, want[k]) {
					t.Fatalf("%d at a time, sample %d: %q, want %q", step, k, got, want[k])
				}
			}
		}
	}
	for n := range v.AppendPages(nil) {
		if _, _, err := ReadPages(v.AppendPages(nil)[:n], v.Fields, samples, v.Page); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%d bytes of pages: %v", n, err)
		}
	}
	if _, _, err := ReadPages(v.AppendPages(nil), v.Fields, samples+1, v.Page); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error("pages of another number of samples:", err)
	}
	long := *again
	long.read = func(i int) ([]byte, error) { b, err := v.Page(i); return append(b, 0), err }
	if _, err := (&Cursor{Values: &long}).Batch(0, 1, []int{0}, shardify.NewPool(1).Overdraft()); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error("a page that is too long:", err)
	}
}

// TestLargePagesAreOnDisk: they are what is in memory of small ones.
func TestLargePagesAreOnDisk(t *testing.T) {
	j, _ := lists(t, 100, 3000, 300)
	before := maxHeld
	defer func() { maxHeld = before }()
	maxHeld = 1000
	k, _ := lists(t, 100, 3000, 300)
	if j.Values.spill != nil || k.Values.spill == nil || j.Values.Pages() != k.Values.Pages() {
		t.Fatal("both are in the same place")
	}
	for i := range j.Values.Pages() {
		a, err := j.Values.Page(i)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := k.Values.Page(i); err != nil || string(a) != string(b) {
			t.Errorf("page %d differs: %v", i, err)
		}
	}
	for range 2 {
		if err := k.Values.Close(); err != nil {
			t.Error(err)
		}
	}
}
