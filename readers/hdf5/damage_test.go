package hdf5

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// addressOf is where an object of a file begins.
func addressOf(t *testing.T, name, object string) int64 {
	t.Helper()
	f, err := openPath(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := f.H5.Lookup(object)
	if err != nil {
		t.Fatal(err)
	}
	return found.Addr
}

// flipped is a copy of a file with one byte changed, at a place of an object.
func flipped(t *testing.T, name, object string, at int64) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	b[addressOf(t, name, object)+at] ^= 0x40
	return written(t, b)
}

// openSkipping opens files and reads what can be read; damaged samples are listed.
func openSkipping(t *testing.T, columns []string, names ...string) string {
	t.Helper()
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf(names...), Columns: columns, SkipDamaged: true})
	if err != nil {
		return err.Error()
	}
	defer src.Close()
	var out []string
	for _, f := range src.Schema() {
		out = append(out, f.Name)
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	good, bad := 0, ""
	pool := shardify.NewPool(1 << 20)
	for sp, err := range src.Spans(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		for i := sp.Lo; i < sp.Hi; i++ {
			one := sp
			one.Lo, one.Hi = i, i+1
			mem := pool.Overdraft()
			_, err := r.Read(context.Background(), one, mem)
			mem.Release()
			if errors.Is(err, shardify.ErrCorrupt) {
				bad += fmt.Sprintf(" %d", i)
			} else if err != nil {
				t.Fatal(err)
			} else {
				good++
			}
		}
	}
	var skipped []string
	for _, s := range src.(format.Skipper).Skipped() {
		skipped = append(skipped, fmt.Sprintf("%s [%d, %d)", s.Object, s.Lo, s.Hi))
	}
	return fmt.Sprintf("%s: %d samples, damaged%s, skipped %s", strings.Join(out, " "), good, bad, strings.Join(skipped, " "))
}

// TestDamageIsNeverLeftOut: a byte of metadata that is changed ends the survey with the
// object's name, whatever else could be read; what is excluded may be damaged.
func TestDamageIsNeverLeftOut(t *testing.T) {
	race.Sequential(t)
	for _, version := range []string{"earliest", "latest"} {
		rows, groups := "damage_"+version+".h5", "damage_groups_"+version+".h5"
		for _, c := range []struct {
			file, object string
			at           int64
			want         string // skipping
			without      string // columns
			left         string // with them
		}{
			{rows, "/label", 0, "Info/run label x: 6 samples, damaged, skipped /label [0, 6)", "!label", "Info/run x"},
			{rows, "/label", 9, "Info/run label x: 6 samples, damaged, skipped /label [0, 6)", "!label", "Info/run x"},
			{rows, "/Info", 0, "Info/run label x: 6 samples, damaged, skipped /Info [0, 6)", "!Info/*", "label x"},
			{rows, "/Info/run", 0, "Info/run label x: 6 samples, damaged, skipped /Info/run [0, 6)", "x", "x"},
			{groups, "/data/demo_9", 0, "actions obs/state: 9 samples, damaged 3, skipped ", "!data/demo_9", "actions obs/state"},
			{groups, "/data/demo_0", 0, "actions obs/state: 9 samples, damaged 0, skipped ", "!data/demo_0", "actions obs/state"},
			{groups, "/data/demo_10/obs", 0, "actions obs/state: 9 samples, damaged 4, skipped ", "!data/demo_10", "actions obs/state"},
			{groups, "/data/demo_2/actions", 0, "actions obs/state: 9 samples, damaged 2, skipped ", "!data/demo_2", "actions obs/state"},
		} {
			bad := flipped(t, c.file, c.object, c.at)
			what := fmt.Sprintf("%s %s+%d", c.file, c.object, c.at)
			var some *format.Skippable
			_, err := load([]string{c.file, bad, c.file}, nil, nil)
			if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(bad)) || !strings.Contains(err.Error(), c.object) || !errors.As(err, &some) {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := load([]string{bad}, nil, nil); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.object) || errors.As(err, &some) != (c.file == groups) {
				t.Errorf("%s alone: %v", what, err)
			}
			if got := openSkipping(t, nil, c.file, bad); got != c.want {
				t.Errorf("%s, skipped: %s, want %s", what, got, c.want)
			}
			s, err := load([]string{bad}, []string{c.without}, nil)
			if err != nil || strings.Join(s.order, " ") != c.left {
				t.Errorf("%s with %s: %v", what, c.without, err)
			}
		}
	}
}

// TestTypesThatAreNotRead are left out where no input has another, else refused.
func TestTypesThatAreNotRead(t *testing.T) {
	s := mustLoad(t, []string{"longdouble.h5"}, nil, nil)
	if got := strings.Join(s.order, " "); got != "Info/run x" || s.left["label"] == "" {
		t.Errorf("%s, left out %v", got, s.left)
	}
	_, err := load([]string{"damage_latest.h5", "longdouble.h5"}, nil, nil)
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "field label is in the other inputs, not in 1 input (testdata/longdouble.h5) of 2") ||
		!strings.Contains(err.Error(), "--columns '!label'") {
		t.Errorf("in one of two: %v", err)
	}
	if s := mustLoad(t, []string{"damage_latest.h5", "longdouble.h5"}, []string{"!label"}, nil); s.samples != 12 {
		t.Errorf("%d samples", s.samples)
	}
}
