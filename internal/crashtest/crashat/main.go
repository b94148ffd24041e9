//go:build linux && amd64

// crashat runs a program under ptrace and breaks it at its N-th state-changing
// system call, counted over all its threads (strace counts per thread).
//
//	crashat [-n N] [-what kill|before|ERRNO] [-on LIST] [-log FILE] PROG ARG...
//
// kill ends the program just after the N-th call took effect, before just ahead
// of it, an errno name or number makes that one call fail.  -n 0 only counts.
// -from makes the error hold from the N-th call on.  The last line on stderr is
// "crashat: COUNT hit|nohit STATUS".  Linux on amd64.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

var nums = map[string]uint64{
	"write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328,
	"fsync": 74, "fdatasync": 75, "sync_file_range": 277, "syncfs": 306, "msync": 26,
	"ftruncate": 77, "fallocate": 285, "rename": 82, "renameat": 264, "renameat2": 316,
	"link": 86, "linkat": 265, "symlinkat": 266, "unlink": 87, "unlinkat": 263,
	"mkdir": 83, "mkdirat": 258, "openat": 257, "close": 3, "fchmod": 91, "utimensat": 280,
	"copy_file_range": 326, "sendfile": 40, "splice": 275, "read": 0, "pread64": 17, "flock": 73,
}
var errnos = map[string]int{"EIO": 5, "ENOSPC": 28, "EDQUOT": 122, "EINTR": 4, "EROFS": 30,
	"EXDEV": 18, "ENOLCK": 37, "ESTALE": 116, "EMFILE": 24, "EACCES": 13, "EOPNOTSUPP": 95, "ENOSYS": 38, "EAGAIN": 11}

const changing = "write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,creat,copy_file_range,sendfile,splice,msync"

type thread struct{ inside, fail bool }

func main() {
	n := flag.Int("n", 0, "which call")
	what := flag.String("what", "kill", "kill, before, or an errno")
	on := flag.String("on", changing, "system calls; creat stands for openat with O_CREAT")
	from := flag.Bool("from", false, "fail every call from the n-th on")
	logf := flag.String("log", "", "write the counted calls here")
	flag.Parse()
	want, creat := map[uint64]string{}, false
	for _, s := range strings.Split(*on, ",") {
		if s == "creat" {
			creat = true
		} else if v, ok := nums[s]; ok {
			want[v] = s
		} else {
			fmt.Fprintln(os.Stderr, "crashat: unknown call", s)
			os.Exit(2)
		}
	}
	eno, isErr := errnos[*what]
	if v, e := strconv.Atoi(*what); e == nil {
		eno, isErr = v, true
	}
	if !isErr && *what != "kill" && *what != "before" {
		fmt.Fprintln(os.Stderr, "crashat: unknown -what")
		os.Exit(2)
	}
	var log *os.File
	if *logf != "" {
		log, _ = os.Create(*logf)
	}

	runtime.LockOSThread()
	c := exec.Command(flag.Arg(0), flag.Args()[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if e := c.Start(); e != nil {
		fmt.Fprintln(os.Stderr, "crashat:", e)
		os.Exit(127)
	}
	pid := c.Process.Pid
	var ws syscall.WaitStatus
	syscall.Wait4(pid, &ws, 0, nil)
	// TRACESYSGOOD | TRACEFORK | TRACEVFORK | TRACECLONE | TRACEEXEC | EXITKILL
	syscall.PtraceSetOptions(pid, 1|2|4|8|16|1<<20)
	th := map[int]*thread{pid: {}}
	by := map[string]int{}
	count, hit, status := 0, false, "?"
	kill := func() { syscall.Kill(pid, syscall.SIGKILL) }
	syscall.PtraceSyscall(pid, 0)
	for {
		t, e := syscall.Wait4(-1, &ws, syscall.WALL, nil)
		if e == syscall.EINTR {
			continue
		}
		if e != nil {
			break
		}
		if ws.Exited() || ws.Signaled() {
			if t == pid {
				status = fmt.Sprintf("exit=%d", ws.ExitStatus())
				if ws.Signaled() {
					status = "signal=" + ws.Signal().String()
				}
			}
			delete(th, t)
			continue
		}
		s := th[t]
		if s == nil {
			s = &thread{}
			th[t] = s
		}
		sig := 0
		switch {
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			var r syscall.PtraceRegs
			if syscall.PtraceGetRegs(t, &r) != nil {
				break
			}
			if !s.inside { // entry
				s.inside = true
				name, ok := want[r.Orig_rax]
				if !ok && creat && r.Orig_rax == 257 && r.Rdx&0o100 != 0 {
					name, ok = "creat", true
				}
				if (r.Orig_rax == 1 || r.Orig_rax == 20) && r.Rdi <= 2 {
					ok = false // messages do not count
				}
				if ok {
					count++
					by[name]++
					if log != nil {
						fmt.Fprintf(log, "%d %d %s %d\n", count, t, name, int64(r.Rdi))
					}
					if *n > 0 && (count == *n || *from && count > *n) {
						hit = true
						switch {
						case *what == "before":
							kill()
						case isErr:
							r.Orig_rax = ^uint64(0) // no such call
							syscall.PtraceSetRegs(t, &r)
							s.fail = true
						default:
							s.fail = true // kill at exit
						}
					}
				}
			} else { // exit
				s.inside = false
				if s.fail {
					s.fail = false
					if isErr {
						r.Rax = uint64(-int64(eno))
						syscall.PtraceSetRegs(t, &r)
					} else {
						kill()
					}
				}
			}
		case ws.StopSignal() == syscall.SIGTRAP && ws.TrapCause() > 0: // clone, fork, exec
		case ws.StopSignal() == syscall.SIGSTOP && !s.inside: // a new thread's first stop
		case ws.StopSignal() == syscall.SIGTRAP:
		default:
			sig = int(ws.StopSignal())
		}
		syscall.PtraceSyscall(t, sig)
	}
	var l []string
	for k, v := range by {
		l = append(l, fmt.Sprintf("%s=%d", k, v))
	}
	sort.Strings(l)
	h := "nohit"
	if hit {
		h = "hit"
	}
	fmt.Fprintf(os.Stderr, "crashat: %s\ncrashat: %d %s %s\n", strings.Join(l, " "), count, h, status)
}
