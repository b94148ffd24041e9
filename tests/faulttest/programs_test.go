//go:build linux && amd64

package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/programs"
)

var (
	folder   string
	built    sync.Once
	buildErr error
)

// TestMain is also crashat, and the first process of the container that Slurm runs in.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "crashat" || len(os.Args) > 1 && os.Args[1] == childWord {
		crashat()
		os.Exit(0)
	}
	if dir := os.Getenv(initVariable); dir != "" {
		if err := beInit(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	config, err := os.MkdirTemp("", "faulttest-config-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CONFIG_HOME", config) // no site's or user's defaults
	code := runTests(m)
	stopShared()
	os.RemoveAll(config)
	os.Exit(code)
}

// runTests runs the tests with a folder for the programs. Root's run has a view of the
// mounted file systems of its own.
func runTests(m *testing.M) int {
	if code, done := inOwnView(); done {
		return code
	}
	dir, err := os.MkdirTemp("", "shardify-faults-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	folder = dir
	return m.Run()
}

// insideWord is set for the process that has its own view of what is mounted.
const insideWord = "SHARDIFY_FAULTS_INSIDE"

// inOwnView runs this program again with its own view of the mounted file systems, if that
// is permitted. What is mounted there ends with the process, and no other process that
// makes such a view can take a copy along: a file system that is in use elsewhere does
// not end when it is unmounted, and cannot come back as after a power cut.
func inOwnView() (code int, done bool) {
	if os.Geteuid() != 0 || os.Getenv(insideWord) != "" {
		return 0, false
	}
	runtime.LockOSThread() // the child dies with this thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideWord+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, false
	}
	_ = cmd.Wait() // the exit code says it all
	return cmd.ProcessState.ExitCode(), true
}

// Build makes the programs, once.
func Build(t testing.TB) {
	t.Helper()
	built.Do(func() {
		static := []string{"CGO_ENABLED=0"}
		parts := filepath.Join(folder, "parts")
		if buildErr = programs.Build(Root(t), parts, static, "-tags=smallparts", "./cmd/shardify"); buildErr != nil {
			return
		}
		if buildErr = os.Rename(filepath.Join(parts, "shardify"), Program("shardify-parts")); buildErr != nil {
			return
		}
		self, err := os.Executable()
		if err == nil {
			err = os.Symlink(self, Program("crashat")) // see TestMain
		}
		if buildErr = err; err == nil {
			buildErr = programs.Build(Root(t), folder, static, "./cmd/shardify", "./cmd/verify")
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
}

// Root is the repository's root folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Program is the path of a program of ours.
func Program(name string) string { return filepath.Join(folder, name) }

// Long reports whether the long forms of the suites are enabled.
func Long() bool { return os.Getenv("SHARDIFY_LONG") != "" }

// NeedsTrace skips where one process may not trace another.
func NeedsTrace(t testing.TB) {
	t.Helper()
	Build(t)
	if code, out := Run(t, "crashat", "-n", "0", "true"); code != 0 {
		t.Skipf("skipped: tracing is not permitted here: %s", out)
	}
}

// hang is the time after which a run is taken to hang.
const hang = 2 * time.Minute

// Run returns the exit code of a program and its combined output. One that hangs
// ends the test.
func Run(t testing.TB, args ...string) (int, string) {
	t.Helper()
	return RunEnv(t, nil, args...)
}

// RunEnv is Run with further environment variables. Our names mean our
// programs.
func RunEnv(t testing.TB, env []string, args ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if ours := Program(args[0]); !strings.ContainsRune(args[0], filepath.Separator) && exists(ours) {
		cmd = exec.CommandContext(ctx, ours, args[1:]...)
	}
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var e *exec.ExitError
	if ctx.Err() != nil {
		t.Fatalf("%v: hangs\n%s", args, out.String())
	}
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("%v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// Must runs a program that has to succeed.
func Must(t testing.TB, args ...string) string {
	t.Helper()
	code, out := Run(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s", args, code, out)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
