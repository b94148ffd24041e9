//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// power: the file system is shut down right after a state-changing system call, as by
// a power cut, with what was not synced lost; mounted again, everything that has its
// name must be whole, all that was acknowledged must be there, and the same command
// completes the set. Without the syncs the same must be seen to fail.
func power(t *testing.T) {
	NeedsTrace(t)
	all := Cases(t)
	var cases []Case
	for _, n := range []string{"files-wds", "npz-mmap", "hdf5-mmap", "root-mmap", "parquet-mmap", "npz-mmap-global-split"} {
		cases = append(cases, Find(t, all, n))
	}
	cases = append(cases, CasesInParts(t)[0])
	points := 12
	if !Long() {
		cases, points = cases[:2], 2
	}
	for _, kind := range []string{"xfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			// mkfs.xfs refuses less than 300 MB; the image is sparse.
			d := Loop(t, kind, t.TempDir(), 400<<20)
			p := &cutter{Disk: d, points: points}
			for _, sync := range []string{"shard", "end"} {
				s := &tally{}
				for _, c := range cases {
					want := c.Want(t)
					for _, what := range []string{"down1", "down2"} {
						p.sweep(t, s, &c, what, want, []string{"--sync", sync}, nil)
						p.finished(t, s, &c, what, want, []string{"--sync", sync})
						p.steps(t, s, &c, what, want, []string{"--sync", sync})
					}
				}
				t.Logf("power: %s, --sync %s: %v", kind, sync, s)
			}
			for name, x := range map[string]struct{ flags, options []string }{
				"--sync none":    {flags: []string{"--sync", "none"}},
				"fsync left out": {options: []string{"-skip", "fsync,fdatasync,syncfs"}},
			} {
				p.control(t, name, cases[1], x.flags, x.options)
			}
		})
	}
}

type cutter struct {
	*Disk
	points int
	n      int
}

// sweep cuts the power at calls all over a conversion.
func (p *cutter) sweep(t *testing.T, s *tally, c *Case, what string, want Files, flags, options []string) {
	out := p.out()
	total := len(Trace(t, nil, c.Program(), c.Convert(out, flags...)...).Calls)
	os.RemoveAll(out)
	end := flags[len(flags)-1] == "end"
	step := every(total, p.points)
	for n := 1 + s.points%step; n <= total; n += step {
		out := p.out()
		args := c.Convert(out, flags...)
		r := Trace(t, append([]string{"-n", fmt.Sprint(n), "-what", what, "-fs", p.Dir}, options...), c.Program(), args...)
		p.Again(t)
		where := fmt.Sprintf("%s, %v, %s at call %d", c.Name, flags, what, n)
		s.judge(t, where, p.judge(t, want, out, r.Published(out, true), end))
		s.resume(t, where, want, out, c.Command(args...)...)
		os.RemoveAll(out)
		s.points++
	}
}

// judge of a run that syncs at the end: before it is complete nothing is promised but
// that the next run notices what is torn.
func (p *cutter) judge(t *testing.T, want Files, out string, published []string, end bool) *Found {
	if _, err := os.Stat(filepath.Join(out, "shardify.json")); end && err != nil {
		return &Found{}
	}
	return Judge(t, want, out, published)
}

// finished cuts the power after a conversion has said that it is done.
func (p *cutter) finished(t *testing.T, s *tally, c *Case, what string, want Files, flags []string) {
	out := p.out()
	Must(t, c.Command(c.Convert(out, flags...)...)...)
	p.Cut(t, what == "down2")
	p.Again(t)
	where := fmt.Sprintf("%s, %v, %s when done", c.Name, flags, what)
	s.judge(t, where, p.complete(t, want, out))
	os.RemoveAll(out)
	s.points++
}

// steps cuts the power after each of plan, work and merge has said that it is done: the
// next one finds all that it needs.
func (p *cutter) steps(t *testing.T, s *tally, c *Case, what string, want Files, flags []string) {
	out := p.out()
	for _, args := range steps(c, out) {
		if code, text := Run(t, append(c.Command(args...), flags...)...); code != 0 && code != 3 {
			s.lost++
			s.fault(t, "%s, %v, after %s of the command before: %s exits %d\n%s", c.Name, flags, what, args[0], code, text)
		}
		p.Cut(t, what == "down2")
		p.Again(t)
		s.points++
	}
	if c.Name != "npz-mmap-global-split" { // its gathering waits for both tasks
		s.judge(t, fmt.Sprintf("%s, %v, %s after each command", c.Name, flags, what), p.complete(t, want, out))
	}
	os.RemoveAll(out)
}

// complete judges what a finished conversion has left.
func (p *cutter) complete(t *testing.T, want Files, out string) *Found {
	f := Judge(t, want, out, []string{"shardify.json"})
	for name := range want {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			f.Lost = append(f.Lost, name)
		}
	}
	return f
}

// control: a conversion whose files are not synced must be seen to lose or tear some.
func (p *cutter) control(t *testing.T, name string, c Case, flags, options []string) {
	want := c.Want(t)
	n, bad := 0, 0
	for _, what := range []string{"down1", "down2"} {
		out := p.out()
		r := Trace(t, options, "shardify", c.Convert(out, flags...)...)
		p.Cut(t, what == "down2")
		p.Again(t)
		if r.Exit() != 0 {
			t.Fatalf("control: %s: %s\n%s", name, r.Status, r.Out)
		}
		if !p.complete(t, want, out).OK() {
			bad++
		}
		os.RemoveAll(out)
		n++
	}
	if bad == 0 {
		t.Errorf("control: %s: %d cuts and nothing torn or lost: this suite sees nothing", name, n)
	}
	t.Logf("power: control: %s: torn or lost at %d of %d cuts", name, bad, n)
}

func (p *cutter) out() string {
	p.n++
	return filepath.Join(p.Dir, fmt.Sprintf("set%d", p.n))
}
