// Package naming knows the names of objects in an HDF5 file: their paths, their numbers
// and their order.
package naming

import (
	"cmp"
	"path"
	"strings"
)

// Group is the group that a data set is in, without a final slash: "" is the root.
func Group(p string) string { return strings.TrimSuffix(path.Dir(p), "/") }

// Rooted is the path of a group as Group writes it, "/" for the root.
func Rooted(group string) string { return cmp.Or(group, "/") }

// Join puts a slash between two names, unless one is empty.
func Join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "/" + b
}

// Ways are the forms in which users may write the name of a field.
func Ways(p, leaf string) []string {
	n := strings.TrimPrefix(p, "/")
	if leaf == "" {
		return []string{n, p}
	}
	return []string{Join(n, leaf), Join(p, leaf), n, p, leaf}
}

// Stem cuts the digits off the end of a name, and reports whether there are any. A name of several
// parts must have them in each: batch_0/item_3 has the stem batch_/item_.
func Stem(name string) (stem string, numbered bool) {
	numbered = true
	for part := range strings.SplitSeq(name, "/") {
		s := strings.TrimRight(part, "0123456789")
		numbered = numbered && len(s) < len(part)
		stem += s + "/"
	}
	return stem[:len(stem)-1], numbered
}

// Cut cuts a path behind a name that has as many parts as its stem.
func Cut(p, stem string) (name, below string) {
	at := 0
	for range strings.Count(stem, "/") + 1 {
		k := strings.IndexByte(p[at:], '/')
		if k < 0 {
			return p, ""
		}
		at += k + 1
	}
	return p[:at-1], p[at:]
}

// Natural compares names by the numbers in them: demo_9 before demo_10.
func Natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		p, q := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if len(p) != len(q) {
			return len(p) - len(q)
		}
		if c := strings.Compare(p, q); c != 0 {
			return c
		}
		if x != y {
			return y - x // 01 before 1
		}
		a, b = a[x:], b[y:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
