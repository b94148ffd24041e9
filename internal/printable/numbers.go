package printable

import (
	"math"
	"strconv"
	"strings"
)

// Numbers for people look the same on the terminal, in tables and on the axes of charts:
//
//	Count     1,281,167                         all digits, in groups of three
//	Value     0.01234  12.5  26,881  4.194e7    four digits; from 1,000 to 10 million all those before the point
//	Percent   12.3 %                            one decimal place
//	Seconds   20 µs  1.5 s  2.5 min             three digits
//	About     12 s  5 min  2.5 h                a time that changes while it is read
//
// Sizes are those of shardify.FormatSize: 37 B, 1.4 GiB. The Python package has the same in
// shardify/amounts.py.

// Count writes a number for people: 1,281,167.
func Count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

// Fixed writes a number with so many decimal places.
func Fixed(x float64, places int) string {
	return grouped(strconv.FormatFloat(x, 'f', places, 64))
}

func grouped(s string) string {
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	return whole
}

// Of writes a count with its noun: "1 shard", "12 shards".
func Of(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Value writes a measured number.
func Value(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case a != 0 && (a < 1e-4 || a >= 1e7):
		return Scientific(x)
	case a >= 999.95 || a == math.Trunc(a):
		return Count(int64(math.Round(x)))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Scientific writes a number with up to four digits and an exponent: 4.194e7.
func Scientific(x float64) string {
	m, e, _ := strings.Cut(strconv.FormatFloat(x, 'e', 3, 64), "e")
	sign := ""
	if e[0] == '-' {
		sign = "-"
	}
	return trimmed(m) + "e" + sign + strings.TrimLeft(e, "+-0")
}

// Percent writes a share of 1. Nearly all is never 100.0 %, nearly nothing never 0.0 %.
func Percent(x float64) string {
	switch {
	case x > 0.9995 && x < 1:
		return strconv.FormatFloat(math.Floor(x*1e4)/100, 'f', 2, 64) + " %"
	case x < 0.0005 && x > 0:
		return Value(roundTo(x*100, 2)) + " %"
	}
	return strconv.FormatFloat(x*100, 'f', 1, 64) + " %"
}

// Seconds writes a measured time.
func Seconds(s float64) string {
	if s < 0 {
		return "-" + Seconds(-s)
	}
	each, name := TimeUnit(s)
	return Value(roundTo(s/each, 3)) + name
}

// TimeUnit is the unit in which a time of s seconds is written, and its seconds.
func TimeUnit(s float64) (each float64, name string) {
	for _, u := range []struct {
		limit, each float64
		name        string
	}{{0.9995e-6, 1e-9, " ns"}, {0.9995e-3, 1e-6, " µs"}, {0.9995, 1e-3, " ms"}, {120, 1, " s"}, {7200, 60, " min"}, {48 * 3600, 3600, " h"}} {
		if s < u.limit {
			if s == 0 {
				return 1, " s"
			}
			return u.each, u.name
		}
	}
	return 24 * 3600, " days"
}

// About writes a time that people wait for.
func About(s float64) string {
	each, name := TimeUnit(max(s, 1))
	n := s / each
	if each > 60 {
		return trimmed(strconv.FormatFloat(n, 'f', 1, 64)) + name
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + name
}

// roundTo rounds to so many digits.
func roundTo(x float64, digits int) float64 {
	if y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64); err == nil {
		return y
	}
	return x
}

// trimmed is a number without zeros at the end.
func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}
