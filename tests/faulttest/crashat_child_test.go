//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A program that stops at every system call is slow. So that only those which may count
// stop, this program starts itself, as the child installs a seccomp filter that names
// them, and becomes the program to be broken.

// childWord is the first argument of the child, in the place of flags.
const childWord = "child-of-crashat"

// child installs the filter and runs the program; it returns only after an error.
func child(args []string) error {
	runtime.LockOSThread()
	var stop []uint32
	for _, s := range strings.Split(args[0], ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		stop = append(stop, uint32(n))
	}
	path, err := exec.LookPath(args[1])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	code := filter(stop)
	prog := &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, reflect.ValueOf(prog).Pointer(), 0, 0); err != nil {
		return err
	}
	runtime.KeepAlive(prog)
	return syscall.Exec(path, args[1:], os.Environ())
}

// filter stops at the given calls and lets all others pass.
func filter(stop []uint32) []unix.SockFilter {
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the call's number
	for _, n := range stop {
		code = append(code,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: n, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE})
	}
	return append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// command is the child's, for a program and its arguments.
func (t *tracer) command(args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var stop []string
	for n := range t.calls.name {
		stop = append(stop, fmt.Sprint(n))
	}
	for n := range t.skip.name {
		if _, counted := t.calls.name[n]; !counted {
			stop = append(stop, fmt.Sprint(n))
		}
	}
	if _, counted := t.calls.name[sysOpenat]; t.calls.creat && !counted {
		stop = append(stop, fmt.Sprint(sysOpenat))
	}
	return exec.Command(self, append([]string{childWord, strings.Join(stop, ",")}, args...)...), nil
}
