package dicom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(o format.Options, columns []string, names ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(names...), Options: o, Columns: columns, Jobs: 2})
}

func load(t testing.TB, o format.Options, columns []string, names ...string) *readertest.Columns {
	t.Helper()
	src, err := openFiles(o, columns, names...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func data(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		o     format.Options
		names []string
	}{
		{nil, []string{"IM0001", "IM0002", "IM0003", "IM0004", "IM0005"}},
		{asSeries, []string{"IM0001", "IM0002", "IM0003", "IM0004", "IM0005"}},
		{format.Options{"sample": "frame"}, []string{"three_frames.dcm", "rle_u16_2frames_no_bot.dcm"}},
		{format.Options{"scaled": "yes"}, []string{"ct_rescale.dcm", "ct_rescale.dcm"}},
	} {
		var files []string
		for _, name := range c.names {
			files = append(files, readertest.Put(t, name, string(data(t, name))))
		}
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, State: state, Options: c.o, Jobs: 2})
		})
	}
}

func TestValues(t *testing.T) {
	raw := load(t, nil, []string{"image", "RescaleIntercept", "RescaleSlope"}, "testdata/ct_rescale.dcm")
	hu := load(t, format.Options{"scaled": "yes"}, nil, "testdata/ct_rescale.dcm").ByName["image"]
	slope, inter := shardify.View[float64](raw.ByName["RescaleSlope"].Data)[0], shardify.View[float64](raw.ByName["RescaleIntercept"].Data)[0]
	for i, v := range shardify.View[uint16](raw.ByName["image"].Data) {
		if got, want := shardify.View[float64](hu.Data)[i], float64(float64(v)*slope)+inter; got != want {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
	whole := load(t, nil, nil, "testdata/three_frames.dcm").ByName["image"]
	frames := load(t, format.Options{"sample": "frame"}, nil, "testdata/three_frames.dcm")
	if got := fmt.Sprint(whole.Shape, frames.Samples, frames.ByName["image"].Shape); got != "[3 4 6] 3 [4 6]" || !bytes.Equal(frames.ByName["image"].Data, whole.Data) {
		t.Errorf("%s", got)
	}
	series := load(t, nil, []string{"image.location", "InstanceNumber"}, "testdata/IM0001", "testdata/IM0002", "testdata/IM0003", "testdata/IM0004", "testdata/IM0005")
	if got := fmt.Sprint(shardify.View[float64](series.ByName["image.location"].Data), shardify.View[int64](series.ByName["InstanceNumber"].Data)); got != "[7.5 -2.5 2.5 0 5] [1 2 3 4 5]" {
		t.Errorf("places and numbers %s", got)
	}
}

// TestNoPerson: nothing that leads to a person is in what a source gives, unless it was named, and then it is said.
func TestNoPerson(t *testing.T) {
	file := "testdata/with_patient_tags.dcm"
	words := []string{"Synthetic", "ID-0000", "19000101"}
	for _, w := range words {
		if !bytes.Contains(data(t, "with_patient_tags.dcm"), []byte(w)) {
			t.Fatalf("the file has no %s", w)
		}
	}
	all := func(columns ...string) string {
		src, err := openFiles(nil, columns, file)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		state, err := src.(format.Stater).State()
		if err != nil {
			t.Fatal(err)
		}
		out := string(state) + fmt.Sprint(src.Schema()) + strings.Join(src.(format.Describer).Describe(), "\n") + strings.Join(src.(format.Noter).Notes(), "\n")
		c, err := readertest.Load(src, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.ByName {
			out += string(f.Data)
		}
		return out
	}
	for _, columns := range [][]string{nil, {"*"}, {"image", "Modality", "PixelSpacing"}} {
		for _, w := range words {
			if strings.Contains(all(columns...), w) {
				t.Errorf("--columns %v: %s goes out", columns, w)
			}
		}
	}
	if got := all("image", "PatientID"); !strings.Contains(got, "ID-0000") || !strings.Contains(got, "about a person, or lead to one, go into the set (PatientID)") {
		t.Errorf("a number of a patient that was asked for: %q", got)
	}
}

func TestMutants(t *testing.T) {
	race.Sequential(t)
	names := []string{"ct_rescale.dcm", "three_frames.dcm", "rle_u16_2frames_no_bot.dcm", "deflated_u16.dcm", "jpeg_baseline.dcm"}
	m := readertest.Mutants{Format: "dcm", Quick: 300, Seeds: len(names),
		Kind: func(err error) bool {
			return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
		},
		Make: func(rng *rand.Rand) readertest.Mutant {
			b := slices.Clone(data(t, names[rng.IntN(len(names))]))
			at := 132 + rng.IntN(len(b)-140)
			switch rng.IntN(8) {
			case 0:
				b = b[:at]
			case 1:
				copy(b[at&^1:], []byte{0xff, 0xff, 0xff, 0xff})
			case 2:
				b[at] = byte(readertest.Interesting[rng.IntN(len(readertest.Interesting))])
			default:
				b[at] ^= 1 << rng.IntN(8)
			}
			return readertest.Mutant{Seed: "seed.dcm", Data: b, Read: func(name string) (readertest.Walked, error) {
				return readertest.Walk(func(ctx context.Context) (shardify.Source, error) { return openFiles(nil, nil, name) }, 4096, nil)
			}}
		}}
	m.Run(t)
}

// TestWildcards: an element is read by its full name alone, and what a wildcard would have taken is named.
func TestWildcards(t *testing.T) {
	for columns, want := range map[string]string{"image,Patient*": "PatientID", "Modal*,image": "Modality"} {
		src, err := openFiles(nil, strings.Split(columns, ","), "testdata/with_patient_tags.dcm")
		if err != nil {
			t.Errorf("%s: %v", columns, err)
			continue
		}
		left := src.(format.Reporter).Leftovers()
		if !slices.ContainsFunc(left, func(l format.Leftover) bool { return l.Name == want && strings.Contains(l.Reason, "full name") }) {
			t.Errorf("%s: left out %v, and not %s", columns, left, want)
		}
		if shardify.FieldIndex(src.Schema(), want) >= 0 || len(src.Schema()) != 1 {
			t.Errorf("%s: fields %v", columns, src.Schema())
		}
		src.Close()
	}
	if _, err := openFiles(nil, []string{"Modal*"}, "testdata/with_patient_tags.dcm"); err == nil || !strings.Contains(err.Error(), "Modality: --columns takes it by its full name") {
		t.Errorf("an element by a wildcard alone: %v", err)
	}
}

// TestFramesThatAreNotCounted: pixels of more frames than NumberOfFrames says are refused, not cut.
func TestFramesThatAreNotCounted(t *testing.T) {
	frames, other := []byte("\x28\x00\x08\x00IS\x02\x00"), []byte("\x28\x00\x07\x00IS\x02\x00")
	jpegs := data(t, "jpeg_baseline.dcm")
	at, end := bytes.LastIndex(jpegs, []byte("\xfe\xff\x00\xe0")), bytes.LastIndex(jpegs, []byte("\xfe\xff\xdd\xe0"))
	if at < 0 || end < at {
		t.Fatal("the file has no fragment")
	}
	for name, b := range map[string][]byte{
		"2 frames more are there":   bytes.Replace(data(t, "three_frames.dcm"), frames, other, 1),
		"2 fragments":               bytes.Replace(data(t, "rle_u16_2frames_no_bot.dcm"), frames, other, 1),
		"fragment 2 of the frame b": slices.Concat(jpegs[:end], jpegs[at:]),
	} {
		src, err := openFiles(nil, nil, readertest.Put(t, "a.dcm", string(b)))
		if err == nil {
			_, err = readertest.Load(src, 100)
			src.Close()
		}
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}
