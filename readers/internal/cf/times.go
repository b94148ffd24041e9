package cf

import (
	"math"
	"math/bits"
	"strings"

	"github.com/shardify/shardify"
)

// NaT is a time that is missing.
const NaT = math.MinInt64

// Unit is what decoded times count.
type Unit int64

// The units of decoded times, in nanoseconds.
const (
	Seconds     Unit = 1e9
	Nanoseconds Unit = 1
)

// Name is that of the attribute "time": "s" or "ns".
func (u Unit) Name() string {
	if u == Seconds {
		return "s"
	}
	return "ns"
}

func (u Unit) text() string {
	if u == Seconds {
		return "seconds"
	}
	return "nanoseconds"
}

// clock decodes "UNIT since DATE".
type clock struct {
	unit   int64 // nanoseconds, where it is not more than a second
	secs   int64 // seconds, where it is
	origin moment
	into   Unit
}

// moment is a time since 1970 in the calendar; ns is from 0 to below 1e9.
type moment struct{ sec, ns int64 }

// units are those of udunits that xarray knows, in nanoseconds.
var units = map[string]int64{
	"nanosecond": 1, "nanoseconds": 1,
	"microsecond": 1e3, "microseconds": 1e3,
	"millisecond": 1e6, "milliseconds": 1e6,
	"second": 1e9, "seconds": 1e9, "sec": 1e9, "secs": 1e9, "s": 1e9,
	"minute": 60e9, "minutes": 60e9, "min": 60e9, "mins": 60e9,
	"hour": 3600e9, "hours": 3600e9, "hr": 3600e9, "hrs": 3600e9, "h": 3600e9,
	"day": 86400e9, "days": 86400e9, "d": 86400e9,
}

// times finds out whether values are times. Units that are not times, or that no one can
// count in, stay numbers.
func (d *Decoder) times(get func(string) (Attribute, bool)) {
	a, ok := get("units")
	if !ok {
		return
	}
	unit, since, ok := strings.Cut(strings.ToLower(strings.TrimSpace(a.Text)), " since ")
	if !ok {
		return
	}
	calendar := ""
	if c, ok := get("calendar"); ok {
		calendar = strings.ToLower(strings.TrimSpace(c.Text))
	}
	kind, ok := calendars[calendar]
	if !ok {
		d.note("units %.60q of calendar %.40q are not decoded: no convention defines it", a.Text, calendar)
		return
	}
	unit = strings.TrimSpace(unit)
	ns, ok := units[unit]
	switch {
	case ok:
	case kind == days360 && (unit == "month" || unit == "months"):
		ns = 30 * units["day"]
	case kind == noLeap && (unit == "common_year" || unit == "common_years"):
		ns = 365 * units["day"]
	default:
		d.note("units %.60q are not decoded: no such units exist, or their length is not defined", a.Text)
		return
	}
	origin, ok := parseDate(since, kind)
	if !ok {
		d.note("units %.60q are not decoded: no date", a.Text)
		return
	}
	if !strings.Contains(a.Text, " since ") {
		d.note("units %.60q are taken for times", a.Text)
	}
	c := &clock{unit: ns, origin: origin, into: Nanoseconds}
	if ns >= 1e9 {
		c.secs = ns / 1e9
	}
	if d.stored.IsInt() && c.secs > 0 && origin.ns == 0 {
		c.into = Seconds
	}
	d.clock, d.calendar = c, kind.name
	d.apply("units")
	if calendar != "" {
		d.apply("calendar")
	}
}

// In is the same decoder with times in another unit.
func (d *Decoder) In(u Unit) *Decoder {
	e, c := *d, *d.clock
	c.into, e.clock = u, &c
	return &e
}

// Into is the unit of decoded times. Of integers that can only be whole seconds it is
// Seconds, else Nanoseconds; In chooses another.
func (d *Decoder) Into() Unit { return d.clock.into }

// Whole reports whether all values are whole seconds; those that are not times do not count.
func (d *Decoder) Whole(src []byte) bool {
	whole := true
	d.eachTime(src, func(_ int, m moment, ok bool) bool {
		whole = !ok || m.ns == 0 && m != beyond
		return whole
	})
	return whole
}

func (d *Decoder) decodeTimes(dst []int64, src []byte) (err error) {
	c := d.clock
	d.eachTime(src, func(i int, m moment, ok bool) bool {
		switch {
		case !ok:
			dst[i] = NaT
		case m == beyond:
			err = shardify.Unsupported("a time that no i64 holds; --cf off keeps the stored values")
		case c.into == Seconds:
			if m.ns != 0 {
				err = shardify.Mismatch("a time of %d.%09d s since 1970, where the times of the first input are whole seconds; --cf off keeps the stored values", m.sec, m.ns)
			}
			dst[i] = m.sec
		default:
			if dst[i], ok = m.nanoseconds(); !ok {
				err = shardify.Unsupported("a time of %d s since 1970, which no i64 holds in nanoseconds; --cf off keeps the stored values", m.sec)
			}
		}
		return err == nil
	})
	return err
}

func (m moment) nanoseconds() (int64, bool) {
	hi, lo := bits.Mul64(uint64(abs(m.sec)), 1e9)
	if hi != 0 || lo > math.MaxInt64-2e9 {
		return 0, false
	}
	n := int64(lo)
	if m.sec < 0 {
		n = -n
	}
	return n + m.ns, true
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// beyond marks a time that is beyond all calendars.
var beyond = moment{sec: math.MaxInt64}

// eachTime calls f for each value: ok is false for one that is missing. It ends when f
// returns false.
func (d *Decoder) eachTime(src []byte, f func(i int, m moment, ok bool) bool) {
	if d.float != shardify.Invalid {
		size := d.stored.Size()
		var buf [512]float64
		wide := *d
		wide.float = shardify.F64
		for at := 0; at < len(src); at += size * len(buf) {
			part := src[at:min(at+size*len(buf), len(src))]
			out := buf[:len(part)/size]
			if d.float == shardify.F32 { // rounded to f32 first
				var small [512]float32
				toFloats(small[:len(out)], part, d)
				for i, v := range small[:len(out)] {
					out[i] = float64(v)
				}
			} else {
				toFloats(out, part, &wide)
			}
			for i, v := range out {
				m, ok := d.clock.fromFloat(v)
				if !f(at/size+i, m, ok) {
					return
				}
			}
		}
		return
	}
	get := integersOf(src, d.stored)
	for i := range len(src) / d.stored.Size() {
		v, ok, fits := get(i)
		for _, fill := range d.fills {
			if fill.DType.IsInt() && fill.Int == v || fill.DType.IsFloat() && fill.Float == float64(v) {
				ok = false
			}
		}
		m := beyond
		if ok && fits {
			m = d.clock.fromInt(v)
		}
		if !f(i, m, ok) {
			return
		}
	}
}

// integersOf reads integers of a type; ok is false for NaT itself, fits for those that no
// i64 holds.
func integersOf(src []byte, t shardify.DType) func(i int) (v int64, ok, fits bool) {
	switch t {
	case shardify.I8:
		return integerOf(shardify.View[int8](src))
	case shardify.I16:
		return integerOf(shardify.View[int16](src))
	case shardify.I32:
		return integerOf(shardify.View[int32](src))
	case shardify.I64:
		return integerOf(shardify.View[int64](src))
	case shardify.U8:
		return integerOf(shardify.View[uint8](src))
	case shardify.U16:
		return integerOf(shardify.View[uint16](src))
	case shardify.U32:
		return integerOf(shardify.View[uint32](src))
	}
	return integerOf(shardify.View[uint64](src))
}

func integerOf[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](src []T) func(int) (int64, bool, bool) {
	var zero T
	unsigned := zero-1 > zero
	return func(i int) (int64, bool, bool) {
		v := int64(src[i])
		return v, unsigned || v != NaT, v >= 0 || !unsigned
	}
}

// fromInt is the time of a stored integer.
func (c *clock) fromInt(v int64) moment {
	if c.secs > 0 {
		hi, lo := bits.Mul64(uint64(abs(v)), uint64(c.secs))
		if hi != 0 || lo > maxSeconds {
			return beyond
		}
		s := int64(lo)
		if v < 0 {
			s = -s
		}
		return c.origin.plus(s, 0)
	}
	per := 1e9 / c.unit
	s, part := v/per, v%per
	if part < 0 {
		s, part = s-1, part+per
	}
	return c.origin.plus(s, part*c.unit)
}

// fromFloat is the time of a stored number: nanoseconds that are cut off, as xarray does.
func (c *clock) fromFloat(v float64) (moment, bool) {
	ns := v * float64(c.unit)
	switch {
	case math.IsNaN(ns):
		return moment{}, false
	case math.Abs(ns) < 1<<63:
		n := int64(ns)
		s, part := n/1e9, n%1e9
		if part < 0 {
			s, part = s-1, part+1e9
		}
		return c.origin.plus(s, part), true
	}
	s := math.Floor(v * float64(c.unit) / 1e9) // in centuries far from the origin
	if math.Abs(s) > maxSeconds {
		return beyond, true
	}
	return c.origin.plus(int64(s), 0), true
}

// maxSeconds bounds what is added to an origin.
const maxSeconds = 1 << 62

// plus adds a time; ns is from 0 to below 1e9.
func (m moment) plus(sec, ns int64) moment {
	if m.ns += ns; m.ns >= 1e9 {
		m.ns -= 1e9
		m.sec++
	}
	m.sec += sec
	return m
}

// Period is the times that a date names in a calendar: all of a year, a month, a day, an hour,
// a minute or a second. lo and hi are the first and the last of them, counted in a unit since
// 1970; ok is false for what is not a date.
func Period(text, name string, u Unit) (lo, hi int64, ok bool) {
	c, ok := calendars[name]
	if !ok {
		return 0, 0, false
	}
	from, to, ok := parsePeriod(text, c)
	if !ok {
		return 0, 0, false
	}
	if to.ns--; to.ns < 0 { // the last nanosecond
		to.sec, to.ns = to.sec-1, to.ns+1e9
	}
	if u == Seconds {
		if from.ns > 0 {
			from.sec++
		}
		return from.sec, to.sec, true
	}
	return from.clamped(), to.clamped(), true
}

// clamped is the nanoseconds, or the first or last that there are.
func (m moment) clamped() int64 {
	if n, ok := m.nanoseconds(); ok {
		return n
	}
	if m.sec < 0 {
		return NaT + 1
	}
	return math.MaxInt64
}
