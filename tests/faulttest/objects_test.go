//go:build linux && amd64

package faulttest

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/tests/servertest"
)

// objects: data sets in an object store. Programs are killed at each request that changes
// something, before and after it is done, and writers compete. The control is a server that
// makes an object although there is one, which the program must refuse.
func objects(t *testing.T) {
	servertest.Alone(t)
	t.Setenv("TMPDIR", t.TempDir())
	srv := s3test.Start(t)
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	s := &store{srv: srv, step: 41, rounds: 4, r: rand.New(rand.NewPCG(1, 2))}
	if Long() {
		s.step, s.rounds = 1, 1000
	}
	all := Cases(t)
	var cases []Case
	for _, name := range []string{"files-wds", "npz-mmap", "npz-mmap-global-split", "root-mmap"} {
		cases = append(cases, Find(t, all, name))
	}
	large := func(format string) Case { // of three parts
		return Case{Name: "large-" + format, In: []string{"--from", "synth"}, Flags: []string{"--samples", "1800", "--schema", "x:f32[6000]", "--format", format}}
	}
	var wants []Files
	for _, c := range cases {
		want := c.Want(t)
		wants = append(wants, want)
		s.sweep(t, c.Name, want, append([]string{"shardify"}, c.Convert(set)...))
		s.sweep(t, c.Name+" in tasks", want, append([]string{"shardify"}, c.Plan(set)...),
			[]string{"shardify", "work", set, "--task", "0", "--tasks", "2", "--quiet"}, []string{"shardify", "work", set, "--task", "1", "--tasks", "2", "--quiet"},
			[]string{"shardify", "work", set, "--quiet"}, []string{"shardify", "merge", set, "--quiet"})
	}
	larges := []Case{large("mmap"), large("wds"), large("mds")}
	if !Long() {
		larges = larges[:1]
	}
	for _, c := range larges {
		s.sweep(t, c.Name, c.Want(t), append([]string{"shardify"}, c.Convert(set)...))
	}
	t.Logf("objects: %v, %d uploads dropped by gc", &s.tally, s.uploads)
	for i := range s.rounds {
		k := i % len(cases)
		s.writers(t, i, &cases[k], wants[k])
	}
	t.Logf("objects: %d rounds of writers, %d processes (%d killed), %d answers lost, %d failed otherwise", s.rounds, s.procs, s.killed, s.lost, s.failed)

	srv.Clear()
	srv.Unconditional = true
	if code, text := Run(t, append([]string{"shardify"}, cases[0].Convert(set)...)...); code != 1 || !strings.Contains(text, "If-None-Match") {
		t.Errorf("control: a server without conditions: exit %d\n%s", code, text)
	}
}

// set is where the data sets of this suite are.
const set = "s3://bucket/set"

type store struct {
	tally
	srv                         *s3test.Server
	r                           *rand.Rand
	step, rounds                int
	uploads                     int
	procs, killed, failed, lost int
}

// files is what readers see.
func (s *store) files() Files {
	out := Files{}
	for name, b := range s.srv.Objects("/bucket/set/") {
		if !strings.HasPrefix(name, private) {
			out[name] = File{Bytes: int64(len(b)), Sum: sha256.Sum256([]byte(b))}
		}
	}
	return out
}

// sweep kills commands that follow each other at each request that changes something.
func (s *store) sweep(t *testing.T, name string, want Files, commands ...[]string) {
	for _, fault := range []s3test.Fault{s3test.Die, s3test.Last} {
		for n := 1 + s.points%s.step; ; n += s.step {
			s.srv.Clear()
			var mu sync.Mutex
			var running *proc
			s.srv.SetFault(func(k int, _ *http.Request) s3test.Fault {
				if k != n {
					return s3test.None
				}
				mu.Lock()
				defer mu.Unlock()
				_ = running.cmd.Process.Kill()
				return fault
			})
			at := -1 // the command that was killed
			for i, c := range commands {
				mu.Lock()
				running = start(t, c[1:]...)
				mu.Unlock()
				if code := running.wait(t); code < 0 {
					at = i
					break
				} else if waits := strings.Contains(running.out.String(), "first stage"); code != 0 && !waits {
					s.fault(t, "%s: %v exits %d\n%s", name, c, code, running.out.String())
				}
			}
			where := fmt.Sprintf("%s, fault %d at request %d", name, fault, n)
			s.srv.SetFault(nil)
			if at < 0 {
				break
			}
			s.points++
			s.torn += s.judgeObjects(t, where, want)
			if s.points%7 == 0 {
				if code, text := Run(t, "shardify", "status", set); code != 3 && code != 0 && !(code == 1 && len(s.srv.Objects("/bucket/set/")) == 0) || crashed(code, text) {
					s.fault(t, "%s: status exits %d\n%s", where, code, text)
				}
			}
			if s.points%3 == 0 { // uploads go before they are made again, too
				s.gc(t, where)
			}
			for _, c := range commands[at:] {
				if code, text := Run(t, c...); code != 0 && !strings.Contains(text, "first stage") {
					s.others++
					s.fault(t, "%s: the next run %v exits %d\n%s", where, c, code, text)
				}
			}
			if d := differ(want, s.files()); d != "" {
				s.others++
				s.fault(t, "%s: after the next run: %s", where, d)
			}
			s.gc(t, where)
		}
	}
}

// gc must leave no upload.
func (s *store) gc(t *testing.T, where string) {
	s.uploads += len(s.srv.Uploads())
	code, text := Run(t, "shardify", "gc", set, "--yes")
	if len(s.srv.Objects("/bucket/set/")) == 0 {
		return // nothing was published
	}
	if left := s.srv.Uploads(); code != 0 || len(left) > 0 {
		s.fault(t, "%s: gc exits %d, %v is left\n%s", where, code, left, text)
	}
}

// judgeObjects is 1 if a file has its name and other bytes, or a manifest lists a file that does
// not exist.
func (s *store) judgeObjects(t *testing.T, where string, want Files) int {
	got := s.files()
	if _, done := got[manifest]; done {
		if d := differ(want, got); d != "" {
			s.fault(t, "%s: with a manifest: %s", where, d)
			return 1
		}
	}
	for name, f := range got {
		if want[name] != f {
			s.fault(t, "%s: %s is torn", where, name)
			return 1
		}
	}
	return 0
}

// differ names a file that differs.
func differ(want, got Files) string {
	for name, f := range want {
		if g, ok := got[name]; !ok || f != g {
			return fmt.Sprintf("%s has %d bytes, want %d", name, g.Bytes, f.Bytes)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return name + " is there"
		}
	}
	return ""
}

// writers: two to four processes make one set while answers are lost; some are killed, and all
// others succeed.
func (s *store) writers(t *testing.T, round int, c *Case, want Files) {
	s.srv.Clear()
	faults := rand.New(rand.NewPCG(uint64(round), 3))
	s.srv.SetFault(func(int, *http.Request) s3test.Fault { // one at a time
		if faults.IntN(20) > 0 {
			return s3test.None
		}
		s.lost++
		return s3test.Lose
	})
	commands := [][]string{c.Convert(set)}
	if round/4%2 == 1 {
		if code, text := Run(t, append([]string{"shardify"}, c.Plan(set)...)...); code != 0 {
			s.failed++
			s.fault(t, "round %d: plan exits %d\n%s", round, code, text)
		}
		commands = [][]string{{"work", set, "--jobs", "2", "--quiet"}, {"merge", set, "--quiet"}}
	}
	for _, command := range commands {
		var list []*proc
		for range 2 + s.r.IntN(3) {
			list = append(list, start(t, command...))
		}
		for i, p := range list {
			s.procs++
			if i > 0 && s.r.IntN(3) == 0 {
				p.killAfter(upTo(s.r, 100e6))
			}
		}
		for _, p := range list {
			code := p.wait(t)
			if p.killed && code < 0 {
				s.killed++
			} else if code != 0 {
				s.failed++
				s.fault(t, "round %d, %s: %v exits %d\n%s", round, c.Name, p.cmd.Args, code, p.out.String())
			}
		}
	}
	s.srv.SetFault(nil)
	where := fmt.Sprintf("round %d, %s", round, c.Name)
	if d := differ(want, s.files()); d != "" {
		s.failed++
		s.fault(t, "%s: %s", where, d)
	}
	if round%10 == 0 {
		if code, text := Run(t, "shardify", "verify", set); code != 0 {
			s.failed++
			s.fault(t, "%s: verify exits %d\n%s", where, code, text)
		}
	}
	s.gc(t, where)
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 200 {
		t.Fatalf("%s: %d files are left in the temporary folder", where, len(left))
	}
}
