//go:build linux && amd64

package faulttest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Call is a system call that was counted.
type Call struct {
	Number int
	Name   string
	Result int64
	Files  []string // the one that is to be is last
}

// Traced is what became of a program that was broken.
type Traced struct {
	Calls  []Call
	Hit    bool   // the fault came before the program's end
	Status string // exit=0, signal=killed
	Out    string
}

// Exit is the exit code, or -1 after a signal.
func (r *Traced) Exit() int {
	n, err := strconv.Atoi(strings.TrimPrefix(r.Status, "exit="))
	if err != nil {
		return -1
	}
	return n
}

// Trace runs one of our programs under crashat. One processor gives the calls the
// same order each time.
func Trace(t testing.TB, options []string, program string, args ...string) *Traced {
	t.Helper()
	log := filepath.Join(folder, "calls")
	all := append([]string{"crashat", "-log", log}, options...)
	_, out := RunEnv(t, []string{"GOMAXPROCS=1"}, append(append(all, Program(program)), args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	words := strings.Fields(lines[len(lines)-1])
	if len(words) < 4 || words[0] != "crashat:" {
		t.Fatalf("crashat: %s", out)
	}
	r := &Traced{Hit: words[2] == "hit", Status: strings.Join(words[3:], " "), Out: strings.Join(lines[:max(len(lines)-2, 0)], "\n")}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 4 {
			continue
		}
		number, _ := strconv.Atoi(f[0])
		n, _ := strconv.ParseInt(f[2], 10, 64)
		r.Calls = append(r.Calls, Call{Number: number, Name: f[1], Result: n, Files: f[3:]})
	}
	return r
}

// Call is the n-th of the calls; they are listed as they ended.
func (r *Traced) Call(n int) Call {
	for _, c := range r.Calls {
		if c.Number == n {
			return c
		}
	}
	return Call{}
}

// Published lists the files below out that had their names for good when the program
// ended. With durable set, only those whose folders were synced afterwards.
func (r *Traced) Published(out string, durable bool) []string {
	state := map[string]bool{} // by file: the folder was synced since
	var order []string
	for _, c := range r.Calls {
		if c.Result < 0 || len(c.Files) == 0 {
			continue
		}
		last := c.Files[len(c.Files)-1]
		switch c.Name {
		case "linkat", "renameat", "renameat2", "rename", "link":
			if _, known := state[last]; !known {
				order = append(order, last)
			}
			state[last] = !durable
		case "unlinkat", "unlink":
			delete(state, last)
		case "fsync", "syncfs":
			for f := range state {
				if c.Name == "syncfs" || filepath.Dir(f) == last {
					state[f] = true
				}
			}
		}
	}
	var list []string
	for _, f := range order {
		rel, err := filepath.Rel(out, f)
		if state[f] && err == nil && !strings.HasPrefix(rel, "..") && !temporary(rel) {
			list = append(list, rel)
		}
	}
	return list
}
