package star

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// mrcs is a stack of sections [2, 3] of f32: section k has the values 100*id + 10*k + 0..5.
func mrcs(t testing.TB, dir, name string, id, n int) {
	t.Helper()
	b := make([]byte, 1024)
	for i, v := range []uint32{3, 2, uint32(n), 2} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	for i := range 3 {
		binary.LittleEndian.PutUint32(b[64+4*i:], uint32(i+1))
	}
	copy(b[208:], "MAP \x44\x44\x00\x00")
	for k := 1; k <= n; k++ {
		for i := range 6 {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(100*id+10*k+i)))
		}
	}
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

const picked = "data_particles\n\nloop_\n_rlnImageName #1\n_rlnDefocusU #2\n"

// TestSections: rows are samples in their order, with the sections that they name.
func TestSections(t *testing.T) {
	dir := t.TempDir()
	text, want := picked, []string{}
	for i := range 40 { // more than a reader keeps open
		mrcs(t, dir, fmt.Sprintf("Extract/s%02d.mrcs", i), i, 5)
	}
	for i := range 300 {
		id, k := i*7%40, 1+i*3%5
		text += fmt.Sprintf("%06d@Extract/s%02d.mrcs %d.5\n", k, id, i)
		want = append(want, fmt.Sprint(100*id+10*k))
	}
	star := readertest.Put(t, "p.star", text)
	o := format.Options{"stacks": dir}
	for columns, fields := range map[string]string{"": "rlnImageName rlnDefocusU image", "image": "image", "image,rlnDefocusU": "rlnDefocusU image", "!rlnImageName": "rlnDefocusU image", "rlnDefocusU": "rlnDefocusU"} {
		var list []string
		if columns != "" {
			list = strings.Split(columns, ",")
		}
		src, err := openFile(star, nil, list, o)
		if err != nil {
			t.Fatalf("--columns %s: %v", columns, err)
		}
		c, err := readertest.Load(src, 200)
		if src.Close(); err != nil {
			t.Fatalf("--columns %s: %v", columns, err)
		}
		if got := strings.Join(c.Order, " "); got != fields {
			t.Errorf("--columns %s: %s, want %s", columns, got, fields)
		}
		if x := c.ByName["image"]; x != nil {
			v := shardify.View[float32](x.Data)
			for i := range want {
				if got := fmt.Sprint(v[6*i]); got != want[i] || v[6*i+5] != v[6*i]+5 {
					t.Fatalf("--columns %s: the image of row %d begins with %s, want %s", columns, i, got, want[i])
				}
			}
		}
	}
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return openFile(star, state, columns, o)
	})
}

// TestNote: rows that name sections, without them, come with a note.
func TestNote(t *testing.T) {
	for text, want := range map[string]bool{picked + "1@a.mrcs 1\n": true, "data_\nloop_\n_a\n_b\n1 2\n": false} {
		src, err := openFile(readertest.Put(t, "p.star", text), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if got := strings.Contains(strings.Join(src.(format.Noter).Notes(), ""), "--stacks FOLDER"); got != want {
			t.Errorf("%q: a note is there: %v", text, got)
		}
	}
}

// TestNoSections: errors name the row, or the stack.
func TestNoSections(t *testing.T) {
	dir := t.TempDir()
	mrcs(t, dir, "a.mrcs", 1, 2)
	mrcs(t, dir, "cut.mrcs", 1, 2)
	if err := os.Truncate(filepath.Join(dir, "cut.mrcs"), 1024+24+20); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "a.mrcs"))
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b, 2)
	binary.LittleEndian.PutUint32(b[4:], 3)
	for name, data := range map[string][]byte{"turned.mrcs": b, "packed.mrcs": readertest.Gzip(b)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for rows, want := range map[string]string{
		"1@a.mrcs 1\n3@a.mrcs 1\n":      "section 3, and there are 2",
		"1@a.mrcs 1\na.mrcs 1\n":        "want the number of a section",
		"0@a.mrcs 1\n":                  "want the number of a section",
		"99999999999999999999@a.mrcs 1": "want the number of a section",
		"1@b.mrcs 1\n":                  "b.mrcs",
		"1@../a.mrcs 1\n":               "leaves the folder of --stacks",
		"1@x/../../a.mrcs 1\n":          "leaves the folder of --stacks",
		"1@cut.mrcs 1\n2@cut.mrcs 1\n":  "section 2 ends at byte 1072, and the file has 1068",
		"1@a.mrcs 1\n1@turned.mrcs 1\n": "sections of a.mrcs are f32 [2 3], those of turned.mrcs f32 [3 2]",
		"1@packed.mrcs 1\n":             "gunzip",
	} {
		src, err := openFile(readertest.Put(t, "p.star", picked+rows), nil, nil, format.Options{"stacks": dir})
		if err == nil {
			src.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", rows, err, want)
		}
	}
	if _, err := openFile(readertest.Put(t, "p.star", "data_\nloop_\n_a\n_b\n1 2\n"), nil, nil, format.Options{"stacks": dir}); err == nil || !strings.Contains(err.Error(), "no column rlnImageName") {
		t.Errorf("no names: %v", err)
	}
}

// TestChangedStack: a stack that has another size than in the plan, or another time, is an error.
func TestChangedStack(t *testing.T) {
	for _, sections := range []int{2, 3} {
		changedStack(t, sections)
	}
}

func changedStack(t *testing.T, sections int) {
	dir := t.TempDir()
	mrcs(t, dir, "a.mrcs", 1, 2)
	star, o := readertest.Put(t, "p.star", picked+"1@a.mrcs 1\n2@a.mrcs 2\n"), format.Options{"stacks": dir}
	src, err := openFile(star, nil, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	state, err := src.(format.Stater).State()
	if src.Close(); err != nil {
		t.Fatal(err)
	}
	mrcs(t, dir, "a.mrcs", 2, sections)
	later := time.Now().Add(time.Hour) // clocks of file systems are coarse
	if err := os.Chtimes(filepath.Join(dir, "a.mrcs"), later, later); err != nil {
		t.Fatal(err)
	}
	if src, err = openFile(star, state, nil, o); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err = readertest.Load(src, 200); !errors.Is(err, shardify.ErrChanged) || !strings.Contains(err.Error(), filepath.Join(dir, "a.mrcs")) {
		t.Errorf("%v, want that a.mrcs has changed", err)
	}
}

// FuzzSectionsState opens damaged states.
func FuzzSectionsState(f *testing.F) {
	dir := f.TempDir()
	mrcs(f, dir, "a.mrcs", 1, 2)
	star := readertest.Put(f, "p.star", picked+"1@a.mrcs 1\n2@a.mrcs 2\n")
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(star), Options: format.Options{"stacks": dir}, State: state, Jobs: 1})
	})
}
