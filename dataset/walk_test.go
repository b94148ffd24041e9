package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

var tarSchema = []shardify.Field{
	{Name: "x", DType: shardify.F32, Shape: []int{2}},
	{Name: "flag", DType: shardify.Bool},
	{Name: "hits", DType: shardify.U16, Levels: 1},
	{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt", Nullable: true},
}

// makeTar is a tar of samples with those members, and where each sample begins.
func makeTar(t *testing.T, samples ...[][2]string) ([]byte, []int64) {
	t.Helper()
	var b []byte
	offsets := []int64{0}
	for i, members := range samples {
		for _, m := range members {
			h := make([]byte, tar.Block)
			tar.PutHeader(h, fmt.Appendf(nil, "000000-%09d.%s", i, m[0]), int64(len(m[1])))
			b = append(append(b, h...), m[1]...)
			b = append(b, make([]byte, tar.Pad(int64(len(m[1]))))...)
		}
		offsets = append(offsets, int64(len(b)))
	}
	return append(b, make([]byte, tar.End)...), offsets
}

func array(d shardify.DType, data string, dims ...int64) string {
	return string(npy.AppendHeader(nil, d, dims)) + data
}

func goodSample(flag string) [][2]string {
	return [][2]string{
		{"flag.npy", array(shardify.Bool, flag)}, {"hits.npy", array(shardify.U16, "abcdef", 3)},
		{"words.json", `["one","","three"]`}, {"x.npy", array(shardify.F32, "12345678", 2)},
	}
}

func tarOf(t *testing.T) *Tar {
	t.Helper()
	names, err := tar.MemberNames(tarSchema)
	if err != nil {
		t.Fatal(err)
	}
	tar, err := NewTar(tarSchema, names, false)
	if err != nil {
		t.Fatal(err)
	}
	return tar
}

// values is all that a walk finds, as text.
func values(w *Walk, shard *Tar, offsets []int64) (string, error) {
	var out strings.Builder
	for i := range len(offsets) - 1 {
		w.Sample(offsets[i], offsets[i+1])
		for {
			k, e, _, err := w.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				return "", err
			}
			m := &shard.Members[k]
			c, err := w.Measure(m, e, nil)
			if err != nil {
				return "", err
			}
			to := make([]byte, c.Bytes)
			if m.Kind == tar.MemberTexts {
				to, _, err = w.Texts(to[:0], nil, m, e, c.N)
			} else {
				err = w.Fill(to, m, e)
			}
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "%s %s %d %v %q\n", w.Key, m.Of.Name, c.N, c.Valid, to)
		}
	}
	return out.String(), nil
}

func TestWindowAndMemoryReadAlike(t *testing.T) {
	shard := tarOf(t)
	none := goodSample("\x01")
	none[2][1] = tar.NoTexts
	b, offsets := makeTar(t, goodSample("\x00"), none)
	file, memory := NewWalk(shard), NewWalk(shard)
	file.Reset(bytes.NewReader(b), int64(len(b)), make([]byte, 4<<10))
	memory.Hold(b[:offsets[2]], 0)
	want, err := values(file, shard, offsets)
	if err != nil {
		t.Fatal(err)
	}
	got, err := values(memory, shard, offsets)
	if err != nil || got != want {
		t.Fatalf("%v\n%s\nwant\n%s", err, got, want)
	}
	for _, line := range []string{`000000-000000000 hits 3 true "abcdef"`, `000000-000000000 words 3 true "onethree"`, `000000-000000001 words 0 false ""`} {
		if !strings.Contains(want, line+"\n") {
			t.Errorf("no %s in\n%s", line, want)
		}
	}
	// The second sample alone, as the tar has it.
	memory.Hold(b[offsets[1]:offsets[2]], offsets[1])
	if got, err := values(memory, shard, offsets[1:]); err != nil || !strings.HasSuffix(want, got) || got == "" {
		t.Errorf("second sample: %v\n%s", err, got)
	}
}

func TestDamagedMembersAreRefused(t *testing.T) {
	tar := tarOf(t)
	change := func(i int, name, data string) [][2]string {
		s := goodSample("\x00")
		s[i] = [2]string{name, data}
		return s
	}
	for what, s := range map[string][][2]string{
		"bool with value 2":    goodSample("\x02"),
		"has 3 members, want":  goodSample("\x00")[:3],
		"elements of [2]":      change(3, "x.npy", array(shardify.F32, "1234", 1)),
		"array of 2 dim":       change(1, "hits.npy", array(shardify.U16, "ab", 1, 1)),
		"list of texts is":     change(2, "words.json", `{"a":1}`),
		"expected here: one":   change(0, "else.npy", ""),
		"array of [4] u16":     change(1, "hits.npy", array(shardify.U16, "ab", 4)),
		"not a NumPy file":     change(1, "hits.npy", "hello, this is text"),
		"is not a JSON string": change(2, "words.json", `["a" ]`),
	} {
		b, offsets := makeTar(t, s)
		w := NewWalk(tar)
		w.Hold(b[:offsets[1]], 0)
		if _, err := values(w, tar, offsets); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzWalk: any bytes are samples or damage.
func FuzzWalk(f *testing.F) {
	names, _ := tar.MemberNames(tarSchema)
	shard, err := NewTar(tarSchema, names, false)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b)&^(tar.Block-1)]
		w := NewWalk(shard)
		w.Hold(b, 0)
		if _, err := values(w, shard, []int64{0, int64(len(b))}); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatal(err)
		}
	})
}

func TestOffsetsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o           []int64
		first, last bool
		bad         int
	}{
		{[]int64{0, 0, 3, 5}, true, true, -1},
		{[]int64{2, 3, 5}, false, false, -1},
		{[]int64{1, 3, 5}, true, true, 0},
		{[]int64{-1, 3, 5}, false, false, 0},
		{[]int64{0, 3, 2, 5}, true, true, 2},
		{[]int64{0, 3, 4}, true, true, 2},
		{[]int64{0, 3, 6}, true, false, 2},
		{[]int64{0, 3}, true, false, -1},
	} {
		if bad := badOffset(c.o, 5, c.first, c.last); bad != c.bad {
			t.Errorf("%v: %d, want %d", c.o, bad, c.bad)
		}
	}
}
