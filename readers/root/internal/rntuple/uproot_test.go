package rntuple

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// show writes element i of a column as text: lists in brackets, missing as none.
func show(c *shardify.Column, i int) string {
	if c.Valid != nil && c.Valid[i] == 0 {
		return "none"
	}
	return showList(c, 0, i)
}

func showList(c *shardify.Column, level, i int) string {
	if level == c.Levels {
		var s []string
		for k := range c.Elem() {
			s = append(s, showValue(c, i*c.Elem()+k))
		}
		return strings.Join(s, " ")
	}
	o := c.Offsets[level]
	if c.Media == "txt" && level == c.Levels-1 {
		return string(c.Data[o[i]:o[i+1]])
	}
	var s []string
	for k := o[i]; k < o[i+1]; k++ {
		s = append(s, showList(c, level+1, int(k)))
	}
	return "[" + strings.Join(s, " ") + "]"
}

func showValue(c *shardify.Column, i int) string {
	b := c.Data[i*c.DType.Size():][:c.DType.Size()]
	switch c.DType {
	case shardify.Bool:
		return strconv.FormatBool(b[0] == 1)
	case shardify.I8:
		return fmt.Sprint(int8(b[0]))
	case shardify.U8:
		return fmt.Sprint(b[0])
	case shardify.I16:
		return fmt.Sprint(shardify.View[int16](b)[0])
	case shardify.U16:
		return fmt.Sprint(shardify.View[uint16](b)[0])
	case shardify.I32:
		return fmt.Sprint(shardify.View[int32](b)[0])
	case shardify.U32:
		return fmt.Sprint(shardify.View[uint32](b)[0])
	case shardify.I64:
		return fmt.Sprint(shardify.View[int64](b)[0])
	case shardify.U64:
		return fmt.Sprint(shardify.View[uint64](b)[0])
	case shardify.F32:
		return fmt.Sprint(shardify.View[float32](b)[0])
	}
	return fmt.Sprint(shardify.View[float64](b)[0])
}

func listed(n int, f func(k int) string) string {
	s := make([]string, n)
	for k := range s {
		s[k] = f(k)
	}
	return "[" + strings.Join(s, " ") + "]"
}

// uprootWrote is what testdata/uproot.py writes, entry by entry.
var uprootWrote = map[string]func(i int) string{
	"i64": func(i int) string { return fmt.Sprint(i*i - 50) }, "i32": func(i int) string { return fmt.Sprint(-i) },
	"i16": strconv.Itoa, "i8": strconv.Itoa, "u32": strconv.Itoa, "u16": strconv.Itoa, "u8": strconv.Itoa,
	"u64": func(i int) string { return fmt.Sprint(1<<63 + uint64(i)) },
	"f32": func(i int) string { return fmt.Sprint(float32(i) / 8) }, "f64": func(i int) string { return fmt.Sprint(float64(i) / 3) },
	"b": func(i int) string { return strconv.FormatBool(i%3 == 0) },
	"s": func(i int) string { return strings.Repeat("x", i%4) + strconv.Itoa(i) },
	"v": func(i int) string { return listed(i%5, strconv.Itoa) },
	"vv": func(i int) string {
		return listed(i%4, func(j int) string { return listed(j, func(k int) string { return strconv.Itoa(k + 10*j) }) })
	},
	"vs":      func(i int) string { return listed(i%3, func(k int) string { return strings.Repeat("a", k) }) },
	"jets.pt": func(i int) string { return listed(i%4, func(k int) string { return strconv.Itoa(i + k) }) },
	"jets.n":  func(i int) string { return listed(i%4, strconv.Itoa) },
	"p.x":     strconv.Itoa, "p.y": func(i int) string { return listed(i%2, func(int) string { return strconv.Itoa(i) }) },
	"fix": func(i int) string {
		s := listed(6, func(k int) string { return strconv.Itoa(6*i + k) })
		return s[1 : len(s)-1]
	},
	"o": func(i int) string {
		if i%3 == 1 {
			return "none"
		}
		return strconv.Itoa(i)
	},
	"u._0": func(i int) string {
		if i%2 == 1 {
			return "none"
		}
		return fmt.Sprintf("s%d", i)
	},
	"u._1": func(i int) string {
		if i%2 == 0 {
			return "none"
		}
		return strconv.Itoa(i)
	},
}

// TestUprootFiles reads what another writer makes: two clusters of each kind of
// field, compressed and not.
func TestUprootFiles(t *testing.T) {
	for _, name := range []string{"uproot_zstd", "uproot_none"} {
		b, err := os.ReadFile("testdata/" + name + ".root")
		if err != nil {
			t.Fatal(err)
		}
		n := openAll(t, b)["nt"]
		checkCuts(t, name, n)
		cols, err := readAll(n, every(n), []int64{0, n.Entries}, 2)
		if err != nil || n.Entries != 37 || len(cols) != len(uprootWrote) {
			t.Fatalf("%s: %d entries, %d columns, %v, left out %v", name, n.Entries, len(cols), err, n.Unreadable)
		}
		checkCounters(t, cols)
		for k := range cols {
			c := &cols[k]
			for i := range 37 {
				if got, want := show(c, i), uprootWrote[c.Name](i); got != want {
					t.Errorf("%s %s entry %d: %s, want %s", name, c.Name, i, got, want)
					break
				}
			}
		}
		if i := slices.IndexFunc(cols, func(c shardify.Column) bool { return c.Name == "jets.pt" }); cols[i].Counter != "jets" || cols[i].Levels != 1 {
			t.Errorf("jets.pt has counter %q", cols[i].Counter)
		}
		if i := slices.IndexFunc(cols, func(c shardify.Column) bool { return c.Name == "fix" }); !slices.Equal(cols[i].Shape, []int{2, 3}) {
			t.Errorf("fix has shape %v", cols[i].Shape)
		}
	}
}
