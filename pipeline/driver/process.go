package driver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
)

// patience is how long a task has to stop: the program takes five seconds at most.
const patience = 15 * time.Second

// Here carries out a plan as processes of this program. Fields that are zero follow from the machine.
func (j Job) Here(ctx context.Context) (*Done, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	j.Run = Process(name)
	cores, _ := host.This().Jobs(0)
	all, _ := host.This().Budget(0)
	j.AtOnce = cmp.Or(j.AtOnce, cores)
	j.Tasks = cmp.Or(j.Tasks, 4*j.AtOnce)
	j.Jobs = cmp.Or(j.Jobs, max(cores/j.AtOnce, 1))
	j.Memory = cmp.Or(j.Memory, max(all/int64(j.AtOnce), leastMemory))
	j.Tries = cmp.Or(j.Tries, 5)
	j.Backoff = cmp.Or(j.Backoff, time.Second)
	j.Said("%s, %d at a time; each %s and %s", printable.Of(int64(j.Tasks), "task"), j.AtOnce, printable.Of(int64(j.Jobs), "core"), shardify.FormatSize(j.Memory))
	return j.Carry(ctx)
}

const leastMemory = 64 << 20 // of a task

// Process runs a program as a process of this machine.
func Process(program string) func(ctx context.Context, words []string) Outcome {
	return func(ctx context.Context, words []string) Outcome {
		var out, said bytes.Buffer
		c := exec.CommandContext(ctx, program, append(words, "--json", "--quiet")...)
		c.Stdout, c.Stderr = &out, &said
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		c.WaitDelay = patience
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches the driver, which asks each task once
		err := c.Run()
		if x := (*exec.ExitError)(nil); errors.As(err, &x) {
			o := Outcome{Code: x.ExitCode(), Text: message(out.Bytes(), said.String())}
			if w, ok := x.Sys().(syscall.WaitStatus); ok && w.Signaled() {
				o.Code = 128 + int(w.Signal())
			}
			return o
		}
		switch {
		case err == nil:
			return Outcome{}
		case ctx.Err() != nil:
			return Outcome{Code: 75, Text: err.Error()}
		default:
			return Outcome{Code: 127, Text: err.Error()}
		}
	}
}

// message is the error of a process: its last object, else the end of what it wrote.
func message(out []byte, said string) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var e struct {
		Type, Message string
		Hints         []string
	}
	if json.Unmarshal(lines[len(lines)-1], &e) == nil && e.Type == "error" {
		return strings.Join(append([]string{e.Message}, e.Hints...), "\nhint: ")
	}
	return strings.TrimSpace(said[max(0, len(said)-shown):])
}

const shown = 4000 // bytes of what a process wrote
