package cf

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func number(t shardify.DType, v float64) Attribute {
	return Attribute{Numbers: []Value{{t, v, int64(v)}}}
}

func lookup(m map[string]Attribute) func(string) (Attribute, bool) {
	return func(name string) (Attribute, bool) { a, ok := m[name]; return a, ok }
}

// decode32 decodes integers of 4 bytes.
func decode32(t *testing.T, m map[string]Attribute, codes ...int32) (*Decoder, []byte, error) {
	t.Helper()
	d, err := New(shardify.I32, lookup(m))
	if err != nil || d == nil {
		t.Fatalf("%v: %v, %v", m, d, err)
	}
	out := shardify.Bytes(make([]int64, len(codes)))[:len(codes)*d.To.Size()]
	return d, out, d.Decode(out, shardify.Bytes(codes))
}

// What python's cftime makes of dates, in seconds since 1970-01-01 of each calendar.
func TestCalendarsCountAsCFTime(t *testing.T) {
	for _, c := range []struct {
		units, calendar string
		codes           []int32
		want            []int64
		name            string
	}{
		{"hours since 1900-01-01 00:00:00.0", "gregorian", []int32{1043136, 1043142}, []int64{1546300800, 1546322400}, ""},
		{"days since 1-1-1 00:00:00", "", []int32{0, 59}, []int64{-62135769600, -62130672000}, ""},
		{"days since 1582-10-01", "standard", []int32{0, 1, 31}, []int64{-12219638400, -12219552000, -12216960000}, ""},
		{"days since 1500-02-28", "proleptic_gregorian", []int32{0, 1}, []int64{-14826758400, -14826672000}, ""},
		{"days since 2500-01-01", "standard", []int32{0, 59}, []int64{16725225600, 16730323200}, ""},
		{"days since 1900-02-28", "julian", []int32{0, 1}, []int64{-2204064000, -2203977600}, "julian"},
		{"days since 1999-12-31", "noleap", []int32{0, 59}, []int64{945993600, 951091200}, "noleap"},
		{"days since 0000-01-01", "365_day", []int32{0}, []int64{-62125920000}, "noleap"},
		{"hours since 2001-02-28", "366_day", []int32{0, 1416}, []int64{985305600, 990403200}, "all_leap"},
		{"months since 2000-01-30", "360_day", []int32{0, 3}, []int64{935625600, 943401600}, "360_day"},
		{"common_years since 2000-01-01", "noleap", []int32{3}, []int64{1040688000}, "noleap"},
		{"hours since 2020-01-01 00:00:00 +02:00", "", []int32{0}, []int64{1577829600}, ""},
		{"hours since 2020-01-01 00:00 -0600", "", []int32{0}, []int64{1577858400}, ""},
		{"h since 2020-01-01T00:00:00Z", "", []int32{1}, []int64{1577840400}, ""},
	} {
		m := map[string]Attribute{"units": {Text: c.units}, "calendar": {Text: c.calendar}}
		d, out, err := decode32(t, m, c.codes...)
		name, ok := d.Time()
		if got := shardify.View[int64](out); err != nil || !ok || name != c.name || d.Into() != Seconds || !slices.Equal(got, c.want) {
			t.Errorf("%s in %s: %v %q %v, want %v", c.units, c.calendar, got, name, err, c.want)
		}
	}
}

func TestUnitsThatAreNoTimesStayNumbers(t *testing.T) {
	for _, units := range []string{"K", "days", "hours since yesterday", "fortnights since 2000-01-01", "months since 2000-01-01", "days since 2000-02-30",
		"days since 1582-10-10", "days since 0000-01-01", "days since 2000-13-01", "days since 20000000-01-01", "days since 2000-01-01 25:00", "days since 2000-01-01T", "days since 2000-01-01 00:00 +2:00:00"} {
		d, err := New(shardify.I32, lookup(map[string]Attribute{"units": {Text: units}}))
		if err != nil || d != nil && !d.Plain() || d == nil && strings.Contains(units, "since") {
			t.Errorf("%s: %+v, %v", units, d, err)
		}
	}
}

func TestTimesThatDoNotFitAreErrors(t *testing.T) {
	units := func(s string) map[string]Attribute { return map[string]Attribute{"units": {Text: s}} }
	d, _, err := decode32(t, units("milliseconds since 1970-01-01"), 1500)
	if err != nil || d.Into() != Nanoseconds || d.Whole(shardify.Bytes([]int32{1500})) || !d.Whole(shardify.Bytes([]int32{-3000})) {
		t.Errorf("milliseconds: %v %v", d.Into(), err)
	}
	out := make([]int64, 1)
	if err := d.In(Seconds).Decode(shardify.Bytes(out), shardify.Bytes([]int32{1500})); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("half a second in seconds: %v", err)
	}
	if _, _, err := decode32(t, units("nanoseconds since 2500-01-01"), 1); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("nanoseconds in 2500: %v", err)
	}
	wide, err := New(shardify.U64, lookup(units("days since 1970-01-01")))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []uint64{1 << 63, 1<<64 - 1, 1 << 62} {
		if err := wide.Decode(shardify.Bytes(out), shardify.Bytes([]uint64{v})); !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%d days: %v", v, err)
		}
	}
	f, err := New(shardify.F64, lookup(units("days since 1970-01-01")))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Decode(shardify.Bytes(out), shardify.Bytes([]float64{math.Inf(1)})); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("infinite days: %v", err)
	}
	if err := f.Decode(shardify.Bytes(out), shardify.Bytes([]float64{math.NaN()})); err != nil || out[0] != NaT {
		t.Errorf("NaN days: %d, %v", out[0], err)
	}
}

// Fill values are compared before values are scaled, and times have them, too.
func TestFillValues(t *testing.T) {
	m := map[string]Attribute{"_FillValue": number(shardify.I32, -9), "missing_value": {Numbers: []Value{{shardify.F64, 7, 0}, {shardify.F64, math.NaN(), 0}}},
		"scale_factor": number(shardify.F32, 0.5)}
	_, out, err := decode32(t, m, 1, -9, 7, 4)
	if v := shardify.View[float32](out); err != nil || v[0] != 0.5 || v[1] == v[1] || v[2] == v[2] || v[3] != 2 {
		t.Errorf("%v %v", v, err)
	}
	_, out, err = decode32(t, map[string]Attribute{"_FillValue": number(shardify.I32, -9), "units": {Text: "days since 1970-01-01"}}, 1, -9)
	if v := shardify.View[int64](out); err != nil || v[0] != 86400 || v[1] != NaT {
		t.Errorf("%v %v", v, err)
	}
}

func FuzzTimes(f *testing.F) {
	f.Add("hours since 1900-01-01 00:00:00.0", "gregorian", int64(1043136), 0.25)
	f.Add("days since 1582-10-04T1:2:3.5 -6:00", "standard", int64(-1), math.Inf(1))
	f.Add("months since 0000-02-30", "360_day", int64(math.MinInt64), 1e300)
	f.Fuzz(func(t *testing.T, units, calendar string, v int64, x float64) {
		m := lookup(map[string]Attribute{"units": {Text: units}, "calendar": {Text: calendar}, "_FillValue": number(shardify.F64, x)})
		out := make([]int64, 1)
		for _, in := range []struct {
			t shardify.DType
			b []byte
		}{{shardify.I64, shardify.Bytes([]int64{v})}, {shardify.U64, shardify.Bytes([]int64{v})}, {shardify.F64, shardify.Bytes([]float64{x})}} {
			d, err := New(in.t, m)
			if err != nil || d == nil {
				continue
			}
			d.Decode(shardify.Bytes(out), in.b)
			if _, ok := d.Time(); ok && d.In(Seconds).Decode(shardify.Bytes(out), in.b) == nil && d.Whole(in.b) != (d.In(Seconds).Decode(shardify.Bytes(out), in.b) == nil) {
				t.Errorf("%q %d: whole seconds, and not", units, v)
			}
		}
	})
}
