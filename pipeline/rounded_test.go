package pipeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/verify"
)

// TestCastsJoinTypesThatNoneHolds: files with i64 and f64 are one field where a cast converts it to floats, also by tasks, which
// read the plan; the source still compares equal. Without such a cast the error names it.
func TestCastsJoinTypesThatNoneHolds(t *testing.T) {
	numbers := func(float bool) (b []byte) {
		for _, v := range []int64{-3, 1<<53 + 1} {
			u := uint64(v)
			if float {
				u = math.Float64bits(0.5)
			}
			b = binary.LittleEndian.AppendUint64(b, u)
		}
		return b
	}
	for _, c := range []struct {
		ext, field string
		file       func(float bool) []byte
	}{
		{".npy", "part", func(float bool) []byte {
			kind := map[bool]string{false: "i8", true: "f8"}[float]
			head := "{'descr': '<" + kind + "', 'fortran_order': False, 'shape': (2,), }"
			head += strings.Repeat(" ", 117-len(head)) + "\n"
			return append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), numbers(float)...)
		}},
		{".nii", "image", func(float bool) []byte {
			b := make([]byte, 352)
			le := binary.LittleEndian
			le.PutUint32(b, 348)
			copy(b[40:], []byte{1, 0, 2, 0})
			le.PutUint16(b[70:], map[bool]uint16{false: 1024, true: 64}[float])
			le.PutUint16(b[72:], 64)
			le.PutUint32(b[108:], math.Float32bits(352))
			copy(b[344:], "n+1")
			return append(b, numbers(float)...)
		}},
	} {
		in := t.TempDir()
		for i := range 4 {
			if err := os.WriteFile(filepath.Join(in, fmt.Sprint("part-", i, c.ext)), c.file(i%2 == 1), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		settings := func(cast string) Settings {
			return Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Cast: []string{cast}}
		}
		for _, cast := range []string{"=i64", "=i64,*" + c.field + "=f32"} { // the name goes before the pattern
			if _, err := Convert(t.Context(), settings(c.field+cast)); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "--cast '"+c.field+"=f64' rounds them") {
				t.Errorf("%s, a cast to integers, %s: %v", c.ext, cast, err)
			}
		}
		s := settings(c.field + "=f64")
		p, err := Plan(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		for i := range 2 {
			if _, err := Work(t.Context(), s.Output, Task{Task: i, Tasks: 2}, Settings{Jobs: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Merge(t.Context(), s.Output, Settings{}); err != nil {
			t.Fatal(err)
		}
		m, _ := manifestOf(t, s.Output)
		if f := m.Schema[0]; f.Name != c.field || f.DType != shardify.F64 {
			t.Errorf("%s: field %v", c.ext, f)
		}
		b, err := os.ReadFile(filepath.Join(s.Output, "shard-000000.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{-3, 1 << 53, 0.5, 0.5, -3, 1 << 53, 0.5, 0.5}
		if got := string(shardify.Bytes(want)); !strings.Contains(string(b), got) {
			t.Errorf("%s: the shard does not hold %v", c.ext, want)
		}
		moved := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(in, moved); err != nil {
			t.Fatal(err)
		}
		r, err := Verify(t.Context(), []string{s.Output}, verify.Options{Against: true, Inputs: []string{moved}}, Hooks{})
		if err != nil || r.Err() != nil || r.Counts.Compared != int64(8/m.Schema[0].Elem()) {
			t.Errorf("%s: %+v, %v", c.ext, r, err)
		}
	}
}
