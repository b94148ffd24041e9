//go:build linux && amd64

package faulttest

import (
	"bytes"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proc is one of our programs at work.
type proc struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	killed bool
	done   chan struct{}
}

// start runs a command of shardify. It ends with the test, even if it is stopped, before
// the folders that it writes into are removed.
func start(t *testing.T, args ...string) *proc {
	t.Helper()
	p := &proc{cmd: exec.Command(Program("shardify"), args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code says it all
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// signal reports whether the process was still there.
func (p *proc) signal(s syscall.Signal) bool {
	select {
	case <-p.done:
		return false
	default:
		return p.cmd.Process.Signal(s) == nil
	}
}

// killAfter kills the process unless it ends before.
func (p *proc) killAfter(d time.Duration) {
	select {
	case <-p.done:
	case <-time.After(d):
		p.killed = p.signal(syscall.SIGKILL)
	}
}

// wait returns the exit code, -1 for a killed process.
func (p *proc) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
		t.Errorf("%v: hangs\n%s", p.cmd.Args, p.out.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// upTo is a random time.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// timed is how long a command takes, program first.
func timed(t *testing.T, args ...string) time.Duration {
	t.Helper()
	begin := time.Now()
	Must(t, args...)
	return time.Since(begin)
}

// command reports whether the program has a command of this name.
func command(t *testing.T, name string) bool {
	t.Helper()
	code, out := Run(t, "shardify", name, "--help")
	return code == 0 && strings.Contains(out, "shardify "+name)
}
