package expr

import (
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestTimesCompareWithTexts, in any unit; NaT is at no side.
func TestTimesCompareWithTexts(t *testing.T) {
	day := func(unit int64) []int64 {
		return []int64{17897 * 86400 / unit, 17896 * 86400 / unit, math.MinInt64, 17898 * 86400 / unit}
	} // 2019-01-01 and beside it
	b := &shardify.Batch{Samples: 4}
	for name, unit := range map[string]int64{"D": 86400, "h": 3600, "s": 1} {
		b.Columns = append(b.Columns, shardify.Column{Field: shardify.Field{Name: name, DType: shardify.I64, Attrs: map[string]string{"time": name}}, Data: shardify.Bytes(day(unit))})
	}
	for text, want := range map[string]string{
		`X < "2019-01-01"`: "0100", `X <= "2019-01-01"`: "1100", `X == "2019-01-01"`: "1000", `X != "2019-01-01"`: "0111", `"2019-01-01" <= X`: "1001", `"2018-12-31" < X < "2019-01-02"`: "1000",
		`X >= "2019-01-01T02:00+02:00"`: "1001", `X > "2018-12-31" && X < "2019-01-02T00:00Z"`: "1000", `X < "2019-01"`: "!is not a time", `X + 1 < "2019-01-01"`: "!do not go together",
	} {
		for _, name := range []string{"D", "h", "s"} {
			text := strings.ReplaceAll(text, "X", name)
			got, err := kept(b, text)
			if strings.HasPrefix(want, "!") && (err == nil || !strings.Contains(err.Error(), want[1:])) || want[0] != '!' && (err != nil || got != want) {
				t.Errorf("%s: %s %v, want %s", text, got, err, want)
			}
		}
	}
	if _, err := kept(b, `D < "2019-01-01T06:00"`); err == nil || !strings.Contains(err.Error(), "has no count in the unit") {
		t.Errorf("a moment between two days: %v", err)
	}
}

// kept has a digit for each sample.
func kept(b *shardify.Batch, text string) (string, error) {
	e, err := Parse(text)
	if err != nil {
		return "", err
	}
	p, err := e.Bind(schema(b), nil)
	if err != nil {
		return "", err
	}
	keep := make([]byte, b.Samples)
	err = p.Keep(b, keep)
	for i := range keep {
		keep[i] += '0'
	}
	return string(keep), err
}
