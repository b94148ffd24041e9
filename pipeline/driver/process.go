package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long a task has to stop: the program takes five seconds at most.
const patience = 15 * time.Second

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
