package hdf5

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

var asItems = format.Options{"sample": "dataset"}

// keysOf reads the names of all samples in small spans.
func keysOf(t *testing.T, names ...string) (out []string) {
	t.Helper()
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf(names...), Options: asItems})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if !src.(format.Keyer).Keyed() {
		t.Error("samples have no names")
	}
	ctx, pool := context.Background(), shardify.NewPool(1<<30)
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for sp, err := range src.Spans(ctx, 100) {
		if err != nil {
			t.Fatal(err)
		}
		mem, err := pool.Grant(ctx, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		for i := range b.Samples {
			out = append(out, string(b.Key(i)))
		}
		mem.Release()
	}
	n := 0
	if err := src.(format.Keyer).CheckKeys(0, func([]byte) error { n++; return nil }); err != nil || n != len(out) {
		t.Errorf("%d names checked of %d: %v", n, len(out), err)
	}
	return out
}

func TestDataSetsAreSamples(t *testing.T) {
	s := mustLoad(t, []string{"items.h5"}, nil, asItems)
	if got := strings.Join(s.order, " "); s.samples != 12 || got != "about images masks masks.shape labels scale" {
		t.Fatalf("%d samples of %s; left out %v", s.samples, got, s.left)
	}
	masks := s.cols["masks"]
	for i := range 12 {
		if v := values(s.cols["images"])[12*i:][:12]; v[0] != float64(100*i) || v[11] != float64(100*i+11) {
			t.Errorf("image %d is %v", i, v)
		}
		if n := masks.Offsets[0][i+1] - masks.Offsets[0][i]; n != int64(2*(2+i%3)) {
			t.Errorf("mask %d has %d values", i, n)
		}
		if x := textsOf(s.cols["about"])[i]; x != fmt.Sprintf("text %d", i) {
			t.Errorf("text %d is %q", i, x)
		}
	}
	counts(t, s, "labels", 12)
	if s.left["classes"] != "its first dimension is 2, the samples are 12" {
		t.Errorf("left out: %v", s.left)
	}
	for i, k := range keysOf(t, "items.h5") {
		if k != fmt.Sprintf("img_%d", i) {
			t.Errorf("sample %d is %s", i, k)
		}
	}
	for i, k := range keysOf(t, "items.h5", "items.h5") {
		want := fmt.Sprintf("items/img_%d", i)
		if i >= 12 {
			want = fmt.Sprintf("items-2/img_%d", i-12)
		}
		if k != want {
			t.Errorf("sample %d of two files is %s", i, k)
		}
	}
	if s := mustLoad(t, []string{"items.h5"}, []string{"labels", "masks"}, asItems); s.samples != 12 || len(s.order) != 3 {
		t.Errorf("chosen columns: %d samples of %q", s.samples, s.order)
	}
	if s := mustLoad(t, []string{"items.h5"}, []string{"labels"}, asItems); s.samples != 12 || len(s.order) != 1 {
		t.Errorf("labels alone: %d samples of %q", s.samples, s.order)
	}
}

func TestListOfNamesOrdersSamples(t *testing.T) {
	s := mustLoad(t, []string{"items_ids.h5"}, nil, asItems)
	if got := strings.Join(s.order, " "); s.samples != 5 || got != "data ids labels" {
		t.Fatalf("%d samples of %s", s.samples, got)
	}
	counts(t, s, "labels", 5)
	for i, want := range []string{"Q9", "P12", "A0B1", "P2", "Q10"} {
		if got := textsOf(s.cols["ids"])[i]; got != want || keysOf(t, "items_ids.h5")[i] != want {
			t.Errorf("sample %d is %s, want %s", i, got, want)
		}
		if v := values(s.cols["data"])[6*i]; v != float64(10*i) {
			t.Errorf("values of %s begin with %v", want, v)
		}
	}
}

// TestListOfNamesInAFileOfShortAddresses: addresses and lengths of 4 bytes, which the global
// heap pads to 8; with --text bytes the names are read, too.
func TestListOfNamesInAFileOfShortAddresses(t *testing.T) {
	for _, text := range []string{"utf8", "bytes"} {
		o := format.Options{"sample": "dataset", "text": text}
		s := mustLoad(t, []string{"items_short.h5"}, nil, o)
		if got := strings.Join(s.order, " "); s.samples != 5 || got != "data ids" {
			t.Fatalf("text %q: %d samples of %s", text, s.samples, got)
		}
		for i, want := range []string{"Q9", "P12", "A0B1", "P2", "Q10"} {
			c := s.cols["ids"]
			if got := string(c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]]); got != want {
				t.Errorf("text %q: sample %d is %s, want %s", text, i, got, want)
			}
			if v := values(s.cols["data"])[6*i]; v != float64(10*i) {
				t.Errorf("text %q: values of %s begin with %v", text, want, v)
			}
		}
	}
}

func TestEncodedImagesAreBytes(t *testing.T) {
	s := mustLoad(t, []string{"items_void.h5"}, nil, asItems)
	for _, name := range []string{"images", "raw"} {
		c := s.cols[name]
		if c == nil || c.Media != "png" || c.Levels != 1 {
			t.Fatalf("%s: %+v", name, s.order)
		}
		size := c.Offsets[0][1]
		for i := range 5 {
			one := c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]]
			if int64(len(one)) != size+int64(i) || string(one[1:4]) != "PNG" {
				t.Errorf("%s %d has %d bytes", name, i, len(one))
			}
		}
	}
}

// TestDoubtAboutDataSetsIsAnError: data sets that may be samples are not transposed.
func TestDoubtAboutDataSetsIsAnError(t *testing.T) {
	for _, c := range []struct{ file, sample, object, want string }{
		{"items.h5", "auto", "", "--sample dataset makes 12 samples whose keys are the names"},
		{"items.h5", "auto", "/images", "with numbers as names"},
		{"items.h5", "axis", "/images", ""},
		{"items_void.h5", "auto", "", "--sample dataset"},
		{"items_ids.h5", "auto", "", "--sample dataset makes a sample of each of 5 data sets"},
		{"items_order.h5", "dataset", "", "which row of /labels belongs to which data set"},
		{"items_order.h5", "dataset", "/x", ""},
		{"items_kinds.h5", "dataset", "", "2 kinds, img_, mask_"},
		{"items_kinds.h5", "dataset", "/img_*", ""},
		{"items_columns.h5", "auto", "", ""},
		{"items.h5 items.h5", "auto", "", "--sample dataset"},
		{"rows_a.h5", "dataset", "/gzip", "no group holds data sets of one type"},
	} {
		_, err := load(strings.Fields(c.file), nil, format.Options{"sample": c.sample, "object": c.object})
		if got := fmt.Sprint(err); (err != nil) != (c.want != "") || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %v", c.file, c.sample, c.object, err)
		}
	}
}

// TestDamagedItemsAreSamples: what is damaged keeps its place, so that the rows of labels
// stay with their data sets.
func TestDamagedItemsAreSamples(t *testing.T) {
	bad := flipped(t, "items.h5", "/images/img_7", 6)
	if _, err := load([]string{bad}, nil, asItems); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "images/img_7") {
		t.Errorf("a damaged sample: %v", err)
	}
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf(bad), Options: asItems, SkipDamaged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range int64(12) {
		mem := shardify.NewPool(1 << 20).Overdraft()
		b, err := r.Read(context.Background(), shardify.Span{Lo: i, Hi: i + 1}, mem)
		switch {
		case i == 7 && !errors.Is(err, shardify.ErrCorrupt), i != 7 && err != nil:
			t.Errorf("sample %d: %v", i, err)
		case err == nil:
			for k := range b.Columns {
				if c := &b.Columns[k]; c.Name == "labels" && values(c)[0] != float64(i) {
					t.Errorf("sample %d has label %v", i, values(c)[0])
				}
			}
		}
		mem.Release()
	}
}
