package hdf5

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// stackOf is channels, each with n samples, sample by sample.
func stackOf(n int, channels ...[]float64) (out []float64) {
	for i := range n {
		for _, c := range channels {
			if per := len(c) / n; len(c)%n == 0 && per > 0 {
				out = append(out, c[i*per:(i+1)*per]...)
			}
		}
	}
	return out
}

// TestChannelsAreStackedInOrder: fields of one grid, places of a dimension more, and what all
// samples have in common.
func TestChannelsAreStackedInOrder(t *testing.T) {
	all := gridLengths(40)
	some := map[string][]int{"time": upTo(3, 9), "longitude": {11, 0, 1}}
	at := func(name string, places map[string][]int, level ...int) []float64 {
		p := map[string][]int{"level": level}
		for k, v := range places {
			p[k] = v
		}
		if level == nil {
			delete(p, "level")
		}
		return selected(name, all, p)
	}
	lsm := func(n int, places map[string][]int) (out []float64) {
		for range n {
			for lat := range 7 {
				for _, lon := range places["longitude"] {
					out = append(out, float64(12*lat+lon))
				}
			}
		}
		return out
	}
	globe := map[string][]int{"longitude": upTo(0, 12)}
	for _, c := range []struct {
		channels, sel, columns, fields string
		dtype                          shardify.DType
		want                           []float64
	}{
		{"x=step,plain,packed", "", "", "x time", shardify.F32, stackOf(40, at("step", nil), at("plain", nil), at("packed", nil))},
		{"x=plain,deep@500,deep@1000,lsm", "time=[3:9],longitude=-30..30", "", "x time", shardify.F64,
			stackOf(6, at("plain", some), at("deep", some, 2), at("deep", some, 0), lsm(6, some))},
		{"x=lsm,plain_deep@850", "", "series,kinds", "x kinds series", shardify.F64, stackOf(40, lsm(40, globe), at("plain_deep", nil, 1))},
		{"x=plain,last@500,last@1000", "", "", "x time", shardify.F64, stackOf(40, at("plain", nil), at("last", nil, 2), at("last", nil, 0))},
		{"x=deep@*", "level=500,850", "", "x time", shardify.F64, stackOf(40, at("deep", nil, 2, 1))},
		{"x=deep@850,y=deep@500,step", "level=1000", "time,y", "x y time", shardify.F64, stackOf(40, at("deep", nil, 1))},
	} {
		o := format.Options{"channels": c.channels, "sel": c.sel}
		var columns []string
		if c.columns != "" {
			columns = strings.Split(c.columns, ",")
		}
		ctx := context.Background()
		src, err := Format.Open(ctx, format.OpenArgs{Table: tableOf("grid_a.nc"), Columns: columns, Options: o})
		if err != nil {
			t.Errorf("--channels %s: %v", c.channels, err)
			continue
		}
		state, err := src.(format.Stater).State()
		src.Close()
		if err == nil { // as tasks open it
			src, err = Format.Open(ctx, format.OpenArgs{Table: tableOf("grid_a.nc"), Columns: columns, Options: o, State: state})
		}
		if err != nil {
			t.Errorf("--channels %s: %v", c.channels, err)
			continue
		}
		s, err := readertest.Load(src, 500)
		src.Close()
		if err != nil {
			t.Errorf("--channels %s: %v", c.channels, err)
			continue
		}
		if got := strings.Join(s.Order, " "); got != c.fields {
			t.Errorf("--channels %s: fields %s, want %s", c.channels, got, c.fields)
		}
		x := s.ByName["x"]
		if x == nil || x.DType != c.dtype || !slices.Equal(values(x), c.want) {
			t.Errorf("--channels %s: x %v %v has %.0f, want %.0f", c.channels, x.DType, x.Shape, head(values(x)), head(c.want))
		}
		if got, _, _ := strings.Cut(strings.TrimPrefix(c.channels, "x="), ",y="); x != nil && got != "deep@*" && x.Attrs["channels"] != got {
			t.Errorf("--channels %s: the channels are called %s", c.channels, x.Attrs["channels"])
		}
	}
}

func TestChannelsThatDoNotFit(t *testing.T) {
	for channels, want := range map[string]string{
		"x=plain,wind":        "no field wind",
		"x=plain,holes":       "plain has the grid [7 12], holes has [7]",
		"x=plain,deep":        "plain has the grid [7 12], deep has [3 7 12]",
		"x=plain,deep@700":    "its values are 1000, 850, 500",
		"x=series@1":          "no dimension of which @ could take a place",
		"plain":               "is not NAME=FIELD",
		"x=plain,plain":       "plain is there twice",
		"x=deep@*,deep@500":   "do not go together",
		"x=plain,x=step":      "x is made twice",
		"time=plain":          "time",
		"x=plain,deep@":       "names no field, or no value",
		"x=plain,latitude@30": "no dimension of which @ could take a place",
	} {
		if _, err := load([]string{"grid_a.nc"}, nil, format.Options{"channels": channels}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--channels %s: %v", channels, err)
		}
	}
}
