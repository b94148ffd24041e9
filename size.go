package shardify

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var units = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// ParseSize reads "512MiB", "1.5GB", "4096" (bytes). K, M, G, T are binary.
func ParseSize(s string) (int64, error) {
	num, mul := strings.TrimSpace(s), 1.0
	for _, u := range units {
		if n := len(num) - len(u.name); n > 0 && strings.EqualFold(num[n:], u.name) {
			num, mul = strings.TrimSpace(num[:n]), u.size
			break
		}
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f < 0 || math.IsNaN(f) || f*mul >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q: want a number of bytes with an optional unit, such as 512MiB", s)
	}
	return int64(f * mul), nil
}

// FormatSize writes bytes for people: "512 MiB", "1.4 GiB", "37 B".
func FormatSize(n int64) string {
	f, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	if unit == "B" || f >= 100 || f == math.Trunc(f) {
		return fmt.Sprintf("%.0f %s", f, unit)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
