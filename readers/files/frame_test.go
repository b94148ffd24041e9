package files

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestFramesHoldWhatColumnsHold: the same values, marks and offsets, each value in
// its place of the frame; a frame that is not made for the fields is ignored.
func TestFramesHoldWhatColumnsHold(t *testing.T) {
	dir := folder(t, "a/1.jpg", "a/1.txt="+strings.Repeat("x", 70), "a/2.png=", "b/3.jpg="+strings.Repeat("y", 64), "b/3.txt", "b/4.jpg")
	src := openTable(t, listing(t, dir), opts("missing", "fill"))
	var values []int
	for i, f := range src.Schema() {
		if f.Media != "" {
			values = append(values, i)
		}
	}
	if len(values) != 2 {
		t.Fatalf("schema %+v", src.Schema())
	}
	frame := &shardify.Frame{Lead: 128, Block: 64, After: 192, Values: []shardify.FrameValue{{Field: values[1], Before: 64}, {Field: values[0], Before: 128}}}
	span := shardify.Span{Hi: 4}
	plain := readSpan(t, src, span)
	span.Frame = frame
	framed := readSpan(t, src, span)
	if err := framed.Match(src.Schema()); err != nil || framed.Frame != frame {
		t.Fatalf("frame %v, %v", framed.Frame, err)
	}
	pos := int64(frame.Lead)
	for i := range 4 {
		for _, v := range frame.Values {
			c := &plain.Columns[v.Field]
			from, to := c.Range(i, i+1)
			pos += int64(v.Before)
			n := int64(to - from)
			if got, want := string(framed.Framed[pos:pos+n]), string(c.Data[from:to]); got != want {
				t.Errorf("sample %d, %s: %q, want %q", i, c.Name, got, want)
			}
			pos += frame.End(0, n)
		}
		pos += int64(frame.After)
	}
	for i := range plain.Columns {
		a, b := &plain.Columns[i], &framed.Columns[i]
		if a.Levels > 0 && !slices.Equal(a.Offsets[0], b.Offsets[0]) || !slices.Equal(a.Valid, b.Valid) || a.Levels == 0 && !slices.Equal(a.Data, b.Data) {
			t.Errorf("%s: %+v, want %+v", a.Name, b, a)
		}
	}
	for _, other := range [][]shardify.FrameValue{frame.Values[:1], {frame.Values[0], frame.Values[0]}, {frame.Values[0], {Field: 0}}, {frame.Values[0], {Field: 99}}} {
		f := *frame
		f.Values = other
		span.Frame = &f
		if b := readSpan(t, src, span); b.Frame != nil {
			t.Errorf("took the frame %v", other)
		}
	}
}

func readSpan(t *testing.T, src shardify.Source, s shardify.Span) *shardify.Batch {
	t.Helper()
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	mem, err := shardify.NewPool(1<<20).Grant(context.Background(), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Read(context.Background(), s, mem)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
