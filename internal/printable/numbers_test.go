package printable

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/shardify/shardify"
)

// TestNumbersLookTheSameInBothLanguages: python/tests/test_amounts.py reads the same table.
func TestNumbersLookTheSameInBothLanguages(t *testing.T) {
	b, err := os.ReadFile("testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table map[string][][2]any
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	functions := map[string]func(float64) string{
		"count":   func(x float64) string { return Count(int64(x)) },
		"size":    func(x float64) string { return shardify.FormatSize(int64(x)) },
		"value":   Value,
		"percent": Percent,
		"seconds": Seconds,
		"about":   About,
	}
	for name, rows := range table {
		for _, row := range rows {
			if got := functions[name](row[0].(float64)); got != row[1] {
				t.Errorf("%s(%v): %q, want %q", name, row[0], got, row[1])
			}
		}
	}
	if len(table) != len(functions) {
		t.Errorf("%d functions, the table has %d", len(functions), len(table))
	}
}

func TestWhatIsNoNumberSaysSo(t *testing.T) {
	if got := Value(math.NaN()) + " " + Value(math.Inf(-1)); got != "NaN -Inf" {
		t.Error(got)
	}
}

func TestFixedHasSeparators(t *testing.T) {
	if got := Fixed(-36938.5, 1) + " " + Fixed(0.5, 2) + " " + Fixed(1600000000, 0); got != "-36,938.5 0.50 1,600,000,000" {
		t.Error(got)
	}
}
