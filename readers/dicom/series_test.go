package dicom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

var asSeries = format.Options{"sample": "series"}

// changed puts a copy of a file of the series, with some bytes replaced.
func changed(t *testing.T, name string, changes ...string) string {
	t.Helper()
	b := data(t, name)
	for i := 0; i < len(changes); i += 2 {
		if !bytes.Contains(b, []byte(changes[i])) || len(changes[i]) != len(changes[i+1]) {
			t.Fatalf("%s has no %q", name, changes[i])
		}
		b = bytes.ReplaceAll(b, []byte(changes[i]), []byte(changes[i+1]))
	}
	return readertest.Put(t, name, string(b))
}

var inOrder = []string{"testdata/IM0002", "testdata/IM0004", "testdata/IM0003", "testdata/IM0005", "testdata/IM0001"}

// TestSeries compares with the slices by themselves, in the order of their positions, which pydicom says, and with the spacing
// and affine that numpy makes of their elements (python/tests/peers/peer_series.py has random ones).
func TestSeries(t *testing.T) {
	names := []string{"testdata/IM0001", "testdata/IM0002", "testdata/IM0003", "testdata/IM0004", "testdata/IM0005"}
	c := load(t, asSeries, []string{"image", "image.spacing", "image.affine", "Modality"}, names...)
	var want []byte
	for _, name := range inOrder {
		want = append(want, load(t, nil, nil, name).ByName["image"].Data...)
	}
	if im := c.ByName["image"]; c.Samples != 1 || fmt.Sprint(im.Shape) != "[5 4 6]" || !bytes.Equal(im.Data, want) {
		t.Errorf("%d samples of %v", c.Samples, im.Shape)
	}
	if got := fmt.Sprint(shardify.View[float64](c.ByName["image.spacing"].Data), shardify.View[float64](c.ByName["image.affine"].Data)); got != "[2.5 0.5 0.75] [0 0 0.75 0 0 0.5 0 0 2.5 0 0 -2.5 0 0 0 1]" {
		t.Error(got)
	}
	if _, err := openFiles(asSeries, []string{"image", "InstanceNumber"}, names...); !errors.Is(err, shardify.ErrUsage) {
		t.Errorf("an element in which slices differ: %v", err)
	}
	other := changed(t, "IM0002", "498.9", "498.8")
	if c := load(t, asSeries, nil, append(names[2:], other)...); c.Samples != 2 || fmt.Sprint(c.ByName["image.shape"].Data[0], c.ByName["image.shape"].Data[24]) != "3 1" {
		t.Errorf("two series: %d samples", c.Samples)
	}
	var bare []string
	for i, name := range []string{"IM0001", "IM0002", "IM0003"} {
		b := bytes.Replace(data(t, name), []byte("\x20\x00\x32\x00"), []byte("\x20\x00\x33\x00"), 1)
		bare = append(bare, readertest.Put(t, fmt.Sprint(i), string(b)))
	}
	src, err := openFiles(asSeries, nil, bare...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if notes := strings.Join(src.(format.Noter).Notes(), "\n"); !strings.Contains(notes, "in the order of InstanceNumber") {
		t.Errorf("without positions: %s", notes)
	}
}

// TestNoVolume: what is no volume is refused, by the names of the files; with skips it is left out.
func TestNoVolume(t *testing.T) {
	all := []string{"testdata/IM0001", "testdata/IM0002", "testdata/IM0003", "testdata/IM0004", "testdata/IM0005"}
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{all[0], all[1], all[2], all[4]}, []string{"are missing", "IM0002", "IM0003"}},
		{append(all[:5:5], changed(t, "IM0003", "498.1.3", "498.1.7")), []string{"at one place", "IM0003", "2.5 mm"}},
		{append(all[:4:4], changed(t, "IM0005", `1\0\0\0\1\0`, `0\1\0\1\0\0`)), []string{"different directions", "IM0001", "IM0005"}},
		{append(all[:4:4], changed(t, "IM0005", "\x10\x00US\x02\x00\x04", "\x10\x00US\x02\x00\x02", "\x11\x00US\x02\x00\x06", "\x11\x00US\x02\x00\x0c")), []string{"differ", "IM0001", "IM0005", "[2 12]"}},
		{append(all[:4:4], changed(t, "IM0005", "\x20\x00\x32\x00", "\x20\x00\x33\x00")), []string{"no position", "IM0005"}},
		{[]string{"testdata/three_frames.dcm"}, []string{"3 frames"}},
		{[]string{"testdata/ct_rescale.dcm", changed(t, "ct_rescale.dcm", "\x20\x00\x0e\x00", "\x20\x00\x0f\x00")}, []string{"of no series"}},
	} {
		_, err := openFiles(asSeries, nil, c.names...)
		for _, w := range c.want {
			if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), w) {
				t.Errorf("want %q: %v", w, err)
			}
		}
	}
	whole := changed(t, "IM0002", "498.9", "498.8")
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(all[0], all[1], all[2], all[4], whole), Options: asSeries, SkipDamaged: true, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if c, err := readertest.Load(src, 100); err != nil || c.Samples != 1 {
		t.Errorf("beside a series that is no volume: %v", err)
	}
	if s := src.(format.Skipper).Skipped(); len(s) != 1 || !strings.Contains(s[0].Reason, "are missing") {
		t.Errorf("skipped %v", s)
	}
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(all[0], all[1], all[2], all[4]), Options: asSeries, SkipDamaged: true, Jobs: 2}); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("nothing is left: %v", err)
	}
}
