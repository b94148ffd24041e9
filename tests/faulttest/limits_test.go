//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// limit is one of the limits that a shell can set.
type limit struct {
	name, flag string
	values     []int // the last one is enough
	says       []string
	// runtime: it is the Go runtime that gives up, in its own words, of which nothing is
	// asked.
	runtime bool
}

var limitTable = []limit{
	{name: "file size", flag: "-f", says: []string{"file too large"}},
	{name: "open files", flag: "-n", says: []string{"too many open files"}},
	{name: "data segment", flag: "-d", runtime: true},
}

// limits: a conversion under a resource limit that is too low fails with words, leaves
// nothing wrong, and is completed without the limit.
func limits(t *testing.T) {
	names := []string{"files-wds"}
	if Long() {
		names = []string{"files-wds", "npz-mmap", "hdf5-mmap", "root-mmap", "npz-mmap-global-split"}
	}
	all := Cases(t)
	for _, l := range limitTable {
		switch l.flag {
		case "-f": // blocks of 512 bytes
			l.values = append(upto(0, 24, 1), upto(24, 400, 8)...)
		case "-n":
			// With less than 8 the Go runtime does not start.
			l.values = append(upto(8, 40, 1), 72)
		case "-d":
			// KiB; with less than 36 MB the Go runtime does not start.
			l.values = append(upto(36_000, 160_000, 2_000), 1_000_000)
		}
		s := &limitTally{limit: l}
		if !Long() {
			v := l.values
			s.values = []int{v[2], v[4], v[len(v)/4], v[len(v)/2], v[len(v)-1]}
		}
		for _, n := range names {
			c := Find(t, all, n)
			want := c.Want(t)
			dir := Fast(t)
			for _, v := range s.values {
				s.under(t, &c, filepath.Join(dir, fmt.Sprint(v)), v, want)
			}
		}
		t.Logf("limits: %s: %d values: %d conversions failed, %d succeeded, %d torn, %d lost, %d with other bytes without the limit",
			l.name, s.points, s.failed, s.succeeded, s.torn, s.lost, s.others)
		if s.failed == 0 || s.succeeded == 0 {
			t.Errorf("control: %s: %d failed, %d succeeded: the limit is not felt, or always", l.name, s.failed, s.succeeded)
		}
	}
}

func upto(lo, hi, step int) (list []int) {
	for v := lo; v < hi; v += step {
		list = append(list, v)
	}
	return list
}

type limitTally struct {
	tally
	limit
	failed, succeeded int
}

func (s *limitTally) under(t *testing.T, c *Case, out string, v int, want Files) {
	args := c.Convert(out)
	shell := fmt.Sprintf(`ulimit -S %s %d && ulimit -H %s %d && exec "$@"`, s.flag, v, s.flag, v)
	code, text := Run(t, append([]string{"/bin/sh", "-c", shell, "sh", Program("shardify")}, args...)...)
	where := fmt.Sprintf("%s, %s %d", c.Name, s.name, v)
	s.points++
	s.judge(t, where, Judge(t, want, out, nil))
	if code == 0 {
		s.succeeded++
		if d := Differs(t, want, out); d != "" {
			s.fault(t, "%s: exit 0, but %s", where, d)
		}
		os.RemoveAll(out)
		return
	}
	s.failed++
	said := false
	for _, w := range s.says {
		said = said || strings.Contains(strings.ToLower(text), w)
	}
	if !s.runtime && (!said || crashed(code, text)) {
		s.fault(t, "%s: exit %d: %.2000s", where, code, text)
	}
	s.resume(t, where, want, out, append([]string{"shardify"}, args...)...)
	os.RemoveAll(out)
}
