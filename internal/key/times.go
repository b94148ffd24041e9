package key

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
)

// Clock is how a field counts times since 1970.
type Clock struct {
	unit  int64 // nanoseconds
	zoned bool  // the times are of a known zone, as their counts are of UTC
	utc   bool  // what has no zone is of UTC
}

var timeUnits = map[string]int64{"D": 86400e9, "h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}

// ClockOf is the clock of a field; false if it has no times that texts could mean. utc: what has no
// time zone is of UTC.
func ClockOf(f *shardify.Field, utc bool) (c Clock, ok bool) {
	if c.unit = timeUnits[f.Attrs["time"]]; c.unit == 0 || f.Attrs["delta"] != "" || !f.DType.IsInt() {
		return c, false
	}
	if !slices.Contains([]string{"", "standard", "gregorian", "proleptic_gregorian"}, f.Attrs["calendar"]) {
		return c, false
	}
	c.zoned, c.utc = f.Attrs["timezone"] != "", utc || f.Attrs["timezone"] == "UTC"
	return c, true
}

// layouts of times, as ISO 8601 has them.
var layouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// Parse is the count of a text.
func (c *Clock) Parse(b []byte) (int64, error) {
	text := strings.TrimSpace(string(b))
	wrong := func(why string) error { return shardify.Mismatch("%.40q %s", text, why) }
	if len(text) < len("2006-01-02") || len(text) > len("2006-01-02T15:04:05.999999999+00:00") {
		return 0, wrong("is not a time")
	}
	plain, offset, zone := text, 0, false
	if at := strings.LastIndexAny(text[10:], "Zz+-"); at >= 0 {
		plain = text[:10+at]
		rest, ok := text[10+at:], false
		if offset, ok = offsetOf(rest); !ok || len(plain) == 10 {
			return 0, wrong("is not a time")
		}
		zone = true
	}
	t, err := time.Time{}, error(nil)
	for _, l := range layouts {
		if t, err = time.Parse(l, strings.TrimRight(plain, " ")); err == nil {
			break
		}
	}
	if err != nil {
		return 0, wrong("is not a time")
	}
	const cure = "; tz=utc takes what has no time zone as UTC"
	switch {
	case zone && offset != 0 && !c.zoned && !c.utc:
		return 0, wrong("has a time zone, and the times that it is joined with have none" + cure)
	case !zone && c.zoned && !c.utc:
		return 0, wrong("has no time zone, and the times that it is joined with have one" + cure)
	}
	v, ok := c.count(t.Unix()-int64(offset), int64(t.Nanosecond()))
	if !ok {
		return 0, wrong("has no count in the unit of the other times, which is " + time.Duration(c.unit).String())
	}
	return v, nil
}

// offsetOf reads Z, +02:00, +0200 or +02, in seconds.
func offsetOf(s string) (int, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	for _, l := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(l, s); err == nil {
			_, offset := t.Zone()
			return offset, true
		}
	}
	return 0, false
}

// count is a moment in the clock's unit; false if it is between two, or beyond 64 bits.
func (c *Clock) count(sec, ns int64) (int64, bool) {
	if c.unit >= 1e9 {
		each := c.unit / 1e9
		return sec / each, ns == 0 && sec%each == 0
	}
	each := 1e9 / c.unit
	if sec > math.MaxInt64/each-1 || sec < math.MinInt64/each+1 {
		return 0, false
	}
	return sec*each + ns/c.unit, ns%c.unit == 0
}

// from is a count of another clock in this one's unit; false as for count.
func (c *Clock) from(o *Clock, v int64) (int64, bool) {
	if o.unit >= c.unit {
		each := o.unit / c.unit
		return v * each, v <= math.MaxInt64/each && v >= math.MinInt64/each
	}
	each := c.unit / o.unit
	return v / each, v%each == 0
}

// Texts makes keys of texts.
func (c *Clock) Texts(data []byte, ends []int64, nums []uint64, bad func(i int, err error) error) error {
	for i := range nums {
		v, err := c.Parse(data[ends[i]:ends[i+1]])
		if err != nil {
			if err = bad(i, err); err != nil {
				return err
			}
			continue
		}
		nums[i] = uint64(v)
	}
	return nil
}

// OnClock is the table with key p as a count of the clock: of its texts, or of its times in another
// unit. It is the table itself where nothing is to be done.
func (t *Table) OnClock(p int, c Clock) (*Table, error) {
	f := &t.keys[p]
	own, isTime := ClockOf(f, c.utc)
	if !IsText(f) && (!isTime || own.unit == c.unit) {
		return t, nil
	}
	if t.file != nil {
		return nil, shardify.Hint(shardify.Unsupported("%s is joined as times, which is done within --memory alone", f.Name), "give it more: --memory, or take fewer columns: take=COLUMN,...")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := clocked{p, c}
	if x := t.clocks[at]; x != nil {
		return x, nil
	}
	from := &t.by[p]
	to := shardify.Column{Field: shardify.Field{Name: f.Name, DType: shardify.I64}}
	nums := make([]uint64, t.Rows)
	if IsText(f) {
		err := c.Texts(from.Data, from.Offsets[0], nums, func(i int, err error) error {
			return shardify.Mismatch("row %d, %s: %v", i, f.Name, shardify.Plain(err))
		})
		if err != nil {
			return nil, err
		}
	} else {
		if _, err := Numbers(nums, from, func(int, float64) error { return nil }); err != nil {
			return nil, err
		}
		for i, n := range nums {
			v, ok := c.from(&own, int64(n))
			if !ok {
				return nil, shardify.Mismatch("row %d, %s: %d %s has no count in the unit of the samples, which is %v", i, f.Name, int64(n), f.Attrs["time"], time.Duration(c.unit))
			}
			nums[i] = uint64(v)
		}
	}
	to.Data = shardify.Bytes(nums)
	x := &Table{Digest: t.Digest, Rows: t.Rows, Fields: t.Fields, Cols: t.Cols, bytes: t.bytes, by: slices.Clone(t.by)}
	x.by[p] = to
	keys, err := x.keysOf(x.by, x.Rows, func(i int) int64 { return int64(i) })
	if err != nil {
		return nil, err
	}
	if x.index, err = NewIndex(keys, x.Rows); err != nil {
		return nil, shardify.Mismatch("%s %v", namesOf(t.by), err)
	}
	if t.clocks == nil {
		t.clocks = map[clocked]*Table{}
	}
	t.clocks[at] = x
	return x, nil
}

// Key is key p of the table.
func (t *Table) Key(p int) *shardify.Field { return &t.keys[p] }

type clocked struct {
	p int
	c Clock
}
