package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs the program on a terminal of so many columns and returns what it wrote there.
func onTerminal(t *testing.T, columns int, env []string, args ...string) string {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	defer ours.Close()
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	its, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	cmd := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify"}, args...), Stdout: its, Stderr: its, Env: append(os.Environ(), append(env, "GORACE="+quickExit)...)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	its.Close()
	var out strings.Builder
	b := make([]byte, 1<<16)
	for {
		k, err := ours.Read(b)
		out.Write(b[:k])
		if err != nil { // EIO: no process has the other end
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// TestTerminal: the plan fits the width of the terminal and loses no word; the bar counts
// the shards that the plan names, in the plan's units; there are no colours.
func TestTerminal(t *testing.T) {
	dir := t.TempDir()
	args := []string{
		"convert", "--from", "synth", "--samples", "400000", "--schema", "a_field_with_a_long_name:f32[8],another_field_with_a_long_name:f64,y:i64", "--split", "train=0.8,val=0.1,test=0.1",
		"--shuffle", "global", "--seed", "1", "--shard-size", "4MiB",
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, columns := range []int{40, 80, 100, 300} {
		out := filepath.Join(dir, fmt.Sprint(columns))
		text := onTerminal(t, columns, []string{"TERM=xterm"}, append(args, "-o", out)...)
		if m := regexp.MustCompile("\x1b\\[[0-9;]*m").FindString(text); m != "" {
			t.Errorf("%d columns: colours: %q", columns, m)
		}
		all := regexp.MustCompile(`about \S+ \S+ in (\d+) shards`).FindStringSubmatch(words(text))
		if all == nil {
			t.Fatalf("no plan: %q", text)
		}
		if !strings.Contains(text, "\rreading 0/") { // of the first stage; a quick run shows no more
			t.Errorf("no bar: %q", text)
		}
		for _, m := range regexp.MustCompile(`(\d+)/(\d+) shards`).FindAllStringSubmatch(text, -1) {
			if m[2] != all[1] || len(m[1]) > len(m[2]) || len(m[1]) == len(m[2]) && m[1] > m[2] {
				t.Errorf("the bar shows %s, the plan has %s shards", m[0], all[1])
			}
		}
		if m := regexp.MustCompile(`[0-9] ?[kM]B`).FindString(text); m != "" {
			t.Errorf("the bar has units of its own: %q", m)
		}
		lines, width := strings.Split(text, "\r\n"), min(max(columns, 80), 200)
		folded := false
		for i, line := range lines {
			line = line[strings.LastIndex(line, "\r")+1:] // behind the bar
			if strings.HasPrefix(line, "done: ") {
				break
			}
			if len(line) > width {
				t.Errorf("%d columns: line %d has %d: %q", columns, i, len(line), line)
			}
			folded = folded || strings.HasPrefix(line, "         ")
		}
		if folded == (width == 200) {
			t.Errorf("%d columns: lines are broken: %v\n%s", columns, folded, text)
		}
		if want := "global: uniform over all samples (seed 1); about"; !strings.Contains(words(text), want) {
			t.Errorf("%d columns: %q is lost in %q", columns, want, text)
		}
	}
	// A terminal that can do nothing has no bar.
	if text := onTerminal(t, 80, []string{"TERM=dumb"}, append(args, "-o", filepath.Join(dir, "dumb"))...); strings.Contains(text, "/15 shards") {
		t.Errorf("a bar on a dumb terminal: %q", text)
	}
}
