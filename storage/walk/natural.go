package walk

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// natural orders names as people count: digit runs compare as numbers, all else
// by bytes, so that img2 comes before img10. Runs of equal value compare by
// bytes (01 before 1) at once, not at the end of the name: so all names that
// share a stem stay together.
func natural(a, b []byte) int {
	n := min(len(a), len(b))
	i := firstDifference(a[:n], b[:n])
	start := i // of the digit run that the difference is in or after, if any
	for start > 0 && digit(a[start-1]) {
		start--
	}
	// Runs of equal length compare as their bytes do.
	if da, db := run(a[start:]), run(b[start:]); da != db && da > 0 && db > 0 {
		return compareNumbers(a[start:start+da], b[start:start+db])
	}
	if i == n {
		return len(a) - len(b)
	}
	return int(a[i]) - int(b[i])
}

// firstDifference is the length of the common prefix of slices of equal length.
func firstDifference(a, b []byte) int {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		if d := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); d != 0 {
			return i + bits.TrailingZeros64(d)/8
		}
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i
}

func digit(c byte) bool { return c-'0' < 10 }

func run(s []byte) int {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return n
}

// compareNumbers compares digit runs of different length by value, then by
// bytes.
func compareNumbers(a, b []byte) int {
	x, y := bytes.TrimLeft(a, "0"), bytes.TrimLeft(b, "0")
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	if c := bytes.Compare(x, y); c != 0 {
		return c
	}
	return bytes.Compare(a, b)
}

// ComparePaths orders slash paths as Walk lists them.
func ComparePaths(a, b []byte) int {
	for {
		x, restA, moreA := bytes.Cut(a, slash)
		y, restB, moreB := bytes.Cut(b, slash)
		if c := natural(x, y); c != 0 {
			return c
		}
		switch {
		case !moreA && !moreB:
			return 0
		case !moreA:
			return -1
		case !moreB:
			return 1
		}
		a, b = restA, restB
	}
}

var slash = []byte{'/'}

// naturalPath compares slash paths component by component.
func naturalPath(a, b string) int { return ComparePaths([]byte(a), []byte(b)) }
