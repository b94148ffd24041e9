//go:build linux && amd64

package faulttest

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// thread is what is known of a thread between the two stops of a call.
type thread struct {
	name   string // of a counted call that it is in
	number int
	files  []string
	fail   bool
	length uint64 // of the write that is not done
	skip   bool
}

type tracer struct {
	calls counted
	skip  counted
	n     int
	from  bool
	what  string
	errno int // 0: not an errno
	fs    int // descriptor of the file system whose power is cut
	pid   int
	th    map[int]*thread
	by    map[string]int
	count int
	// running: the program has started.
	running bool
	hit     bool
	status  string
	log     *bufio.Writer
}

// crashat runs a program under ptrace and breaks it at its N-th counted system
// call, over all its threads (strace counts per thread).
//
//	crashat [-n N] [-what kill|before|ERRNO|lie|down1|down2] [-on LIST] [-under DIRS] [-skip LIST] [-log FILE] PROG ARG...
//
// kill ends the program just after the N-th call took effect, before just ahead of
// it, an errno's name or number makes that one call fail (-from: and all later ones).
// lie reports a write as done that was not.  down1 and down2 cut the power of
// the file system -fs just after the call: without the data that was not synced, or
// without the tail of the journal too; the program is killed.  -n 0 only counts.
//
// Counted are the calls that change state; -on all counts those that read as well,
// -under only what is done to files below the given folders.  -skip names calls that
// are answered with 0 and never done, as if the program left them out.  The log has a
// line for each counted call: number, name, result, files, between tabs.  The last line
// on stderr is "crashat: COUNT hit|nohit STATUS".  Linux on amd64.
func crashat() {
	if len(os.Args) > 3 && os.Args[1] == childWord {
		fmt.Fprintln(os.Stderr, "crashat:", child(os.Args[2:]))
		os.Exit(127)
	}
	t := &tracer{th: map[int]*thread{}, by: map[string]int{}, status: "?"}
	flag.IntVar(&t.n, "n", 0, "which call")
	flag.StringVar(&t.what, "what", "kill", "kill, before, lie, down1, down2, or an errno")
	on := flag.String("on", "changing", "system calls, all, or changing; creat stands for openat with O_CREAT")
	under := flag.String("under", "", "count calls on files below these folders, separated by commas")
	flag.BoolVar(&t.from, "from", false, "fail every call from the n-th on")
	skip := flag.String("skip", "", "system calls that are not done")
	logf := flag.String("log", "", "write the counted calls here")
	fs := flag.String("fs", "", "mount point of the file system for down1 and down2")
	flag.Parse()
	if err := t.setup(*on, *under, *skip, *logf, *fs); err != nil {
		fmt.Fprintln(os.Stderr, "crashat:", err)
		os.Exit(2)
	}
	runtime.LockOSThread()
	if err := t.start(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "crashat:", err)
		os.Exit(127)
	}
	t.loop()
	t.report()
}

func (t *tracer) setup(on, under, skip, logf, fs string) (err error) {
	if skip != "" {
		if t.skip, err = parseCalls(skip, under); err != nil {
			return err
		}
	}
	if t.calls, err = parseCalls(on, under); err != nil {
		return err
	}
	t.errno = errnoOf[t.what]
	if v, e := strconv.Atoi(t.what); e == nil {
		t.errno = v
	}
	switch t.what {
	case "kill", "before", "lie":
	case "down1", "down2":
		if t.fs, err = unix.Open(fs, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("-fs %s: %w", fs, err)
		}
	default:
		if t.errno == 0 {
			return fmt.Errorf("unknown -what %s", t.what)
		}
	}
	if logf == "" {
		return nil
	}
	f, err := os.Create(logf)
	t.log = bufio.NewWriter(f)
	return err
}

func (t *tracer) start(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no program")
	}
	c, err := t.command(args)
	if err != nil {
		return err
	}
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := c.Start(); err != nil {
		return err
	}
	t.pid = c.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(t.pid, &ws, 0, nil); err != nil {
		return err
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return err
	}
	return syscall.PtraceCont(t.pid, 0)
}

func (t *tracer) loop() {
	var ws syscall.WaitStatus
	for {
		id, err := syscall.Wait4(-1, &ws, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		if ws.Exited() || ws.Signaled() {
			if id == t.pid {
				t.status = fmt.Sprintf("exit=%d", ws.ExitStatus())
				if ws.Signaled() {
					t.status = "signal=" + ws.Signal().String()
				}
			}
			delete(t.th, id)
			continue
		}
		s := t.th[id]
		if s == nil {
			s = &thread{}
			t.th[id] = s
		}
		// It may be gone by the time it should continue.
		switch {
		case ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
			t.running = true // what came before was ours
			_ = syscall.PtraceCont(id, 0)
		case ws.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
			t.entry(id, s)
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			t.exit(id, s)
			_ = syscall.PtraceCont(id, 0)
		case ws.StopSignal() == syscall.SIGTRAP: // clone, fork
			_ = syscall.PtraceCont(id, 0)
		case ws.StopSignal() == syscall.SIGSTOP: // a new thread's first stop
			_ = syscall.PtraceCont(id, 0)
		default:
			_ = syscall.PtraceCont(id, int(ws.StopSignal()))
		}
	}
}

// entry is the beginning of a call that may count. The thread stops again at its end
// if there is something to do then.
func (t *tracer) entry(id int, s *thread) {
	var r syscall.PtraceRegs
	if syscall.PtraceGetRegs(id, &r) != nil {
		return
	}
	s.name, s.fail, s.skip = "", false, false
	if t.running {
		t.begin(id, s, &r)
	}
	if s.name == "" && !s.skip {
		_ = syscall.PtraceCont(id, 0)
		return
	}
	_ = syscall.PtraceSyscall(id, 0)
}

// begin counts a call, and spoils it if it is the one.
func (t *tracer) begin(id int, s *thread, r *syscall.PtraceRegs) {
	name, files, ok := t.calls.is(id, r)
	if _, _, skip := t.skip.is(id, r); skip {
		s.skip = true
		defer func() {
			r.Orig_rax = ^uint64(0)
			_ = syscall.PtraceSetRegs(id, r)
		}()
	}
	if !ok {
		return
	}
	t.count++
	t.by[name]++
	s.name, s.number, s.files = name, t.count, files
	if t.n == 0 || t.count != t.n && !(t.from && t.count > t.n) {
		return
	}
	t.hit, s.fail = true, true
	switch {
	case t.what == "before":
		t.kill()
	case t.errno != 0, t.what == "lie":
		s.length = r.Rdx
		if r.Orig_rax == sysClose {
			return // it fails, and is done: as Linux has it
		}
		r.Orig_rax = ^uint64(0) // no such call
		_ = syscall.PtraceSetRegs(id, r)
	}
}

// exit is the end of a call.
func (t *tracer) exit(id int, s *thread) {
	var regs syscall.PtraceRegs
	r := &regs
	if syscall.PtraceGetRegs(id, r) != nil {
		return
	}
	if s.skip {
		r.Rax = 0
		_ = syscall.PtraceSetRegs(id, r)
	}
	if s.name == "" {
		return
	}
	if s.fail && (t.errno != 0 || t.what == "lie") {
		r.Rax = s.length
		if t.errno != 0 {
			r.Rax = uint64(-int64(t.errno))
		}
		_ = syscall.PtraceSetRegs(id, r)
	}
	if t.log != nil {
		fmt.Fprintf(t.log, "%d\t%s\t%d\t%s\n", s.number, s.name, int64(r.Rax), strings.Join(s.files, "\t"))
	}
	if !s.fail {
		return
	}
	switch t.what {
	case "down1", "down2":
		// FS_IOC_SHUTDOWN: 2 drops the log as it is in memory, 1 writes it first.
		if err := unix.IoctlSetPointerInt(t.fs, 0x8004587d, map[string]int{"down1": 1, "down2": 2}[t.what]); err != nil {
			fmt.Fprintln(os.Stderr, "crashat: shutdown:", err)
			os.Exit(2) // and with it the program
		}
		t.kill()
	case "kill":
		t.kill()
	}
}

func (t *tracer) kill() { _ = syscall.Kill(t.pid, syscall.SIGKILL) }

func (t *tracer) report() {
	if t.log != nil {
		if err := t.log.Flush(); err != nil {
			fmt.Fprintln(os.Stderr, "crashat:", err)
		}
	}
	var l []string
	for k, v := range t.by {
		l = append(l, fmt.Sprintf("%s=%d", k, v))
	}
	sort.Strings(l)
	h := "nohit"
	if t.hit {
		h = "hit"
	}
	fmt.Fprintf(os.Stderr, "crashat: %s\ncrashat: %d %s %s\n", strings.Join(l, " "), t.count, h, t.status)
}
