package labels

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// row is one of a random table.
type row struct {
	name, text string
	number     int64
}

// TestRandomTables: what is joined is what a map of names to rows says, or is refused where that has
// several rows; rows and samples without each other are counted.
func TestRandomTables(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		ext := []string{"", ".jpg"}[r.IntN(2)]
		samples := make([]string, 1+r.IntN(12))
		for k := range samples {
			samples[k] = fmt.Sprintf([]string{"%d", "a b %d", "x,%d", "é%d", "q\"%d", "s/%d"}[r.IntN(6)], k)
		}
		repeat := r.IntN(3) > 0
		var rows []row
		of, strange := map[string][]row{}, map[string]bool{}
		for n := 1 + r.IntN(30); len(rows) < n; {
			x := row{text: []string{"x", "two words", "a,b", "\"q\"", "line\nend", "ü"}[r.IntN(6)], number: r.Int64N(2000) - 1000}
			if x.name = samples[r.IntN(len(samples))]; r.IntN(8) == 0 {
				x.name = fmt.Sprintf("other%d", r.IntN(4))
				strange[x.name] = true
			}
			if n--; len(of[x.name]) == 0 || repeat {
				rows, of[x.name] = append(rows, x), append(of[x.name], x)
			}
		}
		file := tableOf(t, filepath.Join(dir, fmt.Sprint(seed)), rows, ext, r.IntN(2) == 0)
		mode := []string{rowsOne, rowsFirst, rowsMany}[r.IntN(3)]
		twice := slices.ContainsFunc(rows, func(x row) bool { return len(of[x.name]) > 1 })
		tab, err := readOne(file+" on=k rows="+mode, "", 1)
		if mode == rowsOne && twice {
			if err == nil || !strings.Contains(err.Error(), "must have one row") {
				t.Errorf("seed %d: several rows of a name: %v", seed, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		names := func(k int, by By, do func([]byte)) {
			name := samples[k]
			if by == ByBase || by == ByBaseStem {
				name = name[strings.LastIndexByte(name, '/')+1:]
			}
			if by == ByPath || by == ByBase {
				name += ".jpg"
			}
			do([]byte(name))
		}
		j, err := JoinAll([]*Table{tab}, len(samples), names, "fill", nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var lost int64
		for _, l := range j.Left {
			if strings.Contains(l.Reason, "for no sample") {
				lost = l.Count
			}
		}
		none := 0
		for k, s := range samples {
			want := of[s]
			if len(want) == 0 {
				none++
			}
			if mode == rowsFirst && len(want) > 0 {
				want = want[:1]
			}
			if got := rowsOf(valuesOf(t, j), k, mode == rowsMany); !slices.EqualFunc(got, want, func(a, b row) bool { return a.text == b.text && a.number == b.number }) {
				t.Errorf("seed %d: sample %q has %v, want %v", seed, s, got, want)
			}
		}
		if none == len(samples) {
			continue // no name is found by any kind: all are strange
		}
		want := len(strange)
		if mode == rowsMany {
			want = 0
			for name := range strange {
				want += len(of[name])
			}
		}
		if lost != int64(want) {
			t.Errorf("seed %d: %d rows of no sample, want %d", seed, lost, want)
		}
	}
}

// tableOf writes a table as CSV or JSON lines.
func tableOf(t *testing.T, name string, rows []row, ext string, lines bool) string {
	t.Helper()
	name += map[bool]string{true: ".jsonl", false: ".csv"}[lines]
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if lines {
		for _, x := range rows {
			if err := json.NewEncoder(f).Encode(map[string]any{"k": x.name + ext, "text": x.text, "number": x.number}); err != nil {
				t.Fatal(err)
			}
		}
		return name
	}
	w := csv.NewWriter(f)
	w.Write([]string{"number", "k", "text"})
	for _, x := range rows {
		w.Write([]string{fmt.Sprint(x.number), x.name + ext, x.text})
	}
	w.Flush()
	return name
}

// rowsOf are the rows that sample k has in the columns.
func rowsOf(cols []shardify.Column, k int, many bool) (out []row) {
	number := cols[slices.IndexFunc(cols, func(c shardify.Column) bool { return c.Name == "number" })]
	text := cols[slices.IndexFunc(cols, func(c shardify.Column) bool { return c.Name == "text" })]
	lo, hi := int64(k), int64(k)+1
	ends := text.Offsets[0]
	if many {
		lo, hi, ends = number.Offsets[0][k], number.Offsets[0][k+1], text.Offsets[1]
	}
	for i := lo; i < hi; i++ {
		if number.Valid == nil || number.Valid[i] == 1 {
			out = append(out, row{text: string(text.Data[ends[i]:ends[i+1]]), number: shardify.View[int64](number.Data)[i]})
		}
	}
	return out
}
