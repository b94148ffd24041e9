package host

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Quota is what a user, group or project may still write where a folder is.
type Quota struct {
	Of     string // "user 1001", "group 100", "project 7"
	Bytes  int64  // left; -1 means no limit, less than 0 never otherwise
	Inodes int64
}

// quotaPatience is how long a command about quotas may take: where the server of a
// network file system is away, it would never end.
var quotaPatience = 3 * time.Second

// bookkeeper is the command that knows the quotas of a file system.
type bookkeeper int

const (
	nobody bookkeeper = iota
	lfsCommand
	quotaCommand
)

// Quotas asks the commands that know: lfs on Lustre, quota on other file systems that
// have quotas. Users without a limit are left out. Where no command answers, nothing is known.
func Quotas(dir string) []Quota {
	st, ok := statfs(dir)
	if !ok {
		return nil
	}
	return quotas(existing(dir), bookkeeperOf(st))
}

func quotas(dir string, by bookkeeper) (out []Quota) {
	uid, gid := os.Getuid(), groupOf(dir)
	switch by {
	case lfsCommand:
		for _, q := range []struct {
			flag, of string
			id       int
		}{{"-u", "user", uid}, {"-g", "group", gid}, {"-p", "project", projectOf(dir)}} {
			if q.id > 0 || q.flag != "-p" {
				id := strconv.Itoa(q.id)
				out = append(out, parseQuotas(ask("lfs", "quota", "-q", q.flag, id, dir), q.of+" "+id, "", 0)...)
			}
		}
	case quotaCommand:
		device := deviceOf(dir)
		out = append(parseQuotas(ask("quota", "-w", "-p", "-u"), fmt.Sprintf("user %d", uid), device, uid),
			parseQuotas(ask("quota", "-w", "-p", "-g"), fmt.Sprintf("group %d", gid), device, gid)...)
	}
	return slices.DeleteFunc(out, func(q Quota) bool { return q.Bytes < 0 && q.Inodes < 0 })
}

// ask runs a command and returns what it prints to its output, whatever its exit code; nothing if
// it takes too long. A command that hangs in the kernel is not waited for.
func ask(name string, args ...string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	c := exec.Command(path, args...)
	c.Stdout = &out
	c.Env = append(os.Environ(), "LC_ALL=C")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = time.Second
	if c.Start() != nil {
		return ""
	}
	done := make(chan string, 1)
	go func() { c.Wait(); done <- out.String() }()
	select {
	case s := <-done:
		return s
	case <-time.After(quotaPatience):
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		return ""
	}
}

// parseQuotas reads the table that lfs and quota print. A row is the file system, then
// twice: used, quota, limit, grace; first in KiB, then in inodes. The file system has a
// line of its own if its name is long. A * marks what is over its limit, and lfs puts
// what it is not sure of into brackets. Other lines are not rows.
//
// Only rows of the device count, unless it is "", below the heading of the id.
func parseQuotas(text, of, device string, id int) (out []Quota) {
	name, mine := "", true
	for line := range strings.Lines(text) {
		if _, who, ok := strings.Cut(line, "id "); ok && strings.HasPrefix(line, "Disk quotas for") {
			who, _, _ = strings.Cut(who, ")")
			mine, name = device == "" || who == strconv.Itoa(id), ""
			continue
		}
		f := strings.Fields(line)
		if len(f) == 1 {
			name = f[0]
			continue
		}
		if len(f) > 8 {
			name = strings.Join(f[:len(f)-8], " ")
			f = f[len(f)-8:]
		}
		if len(f) < 8 || name == "" {
			continue
		}
		bytes, ok1 := left(f[0], f[1], f[2], 1<<10)
		inodes, ok2 := left(f[4], f[5], f[6], 1)
		if ok1 && ok2 && mine && (device == "" || name == device) {
			out = append(out, Quota{of, bytes, inodes})
		}
		name = ""
	}
	return out
}

// left is what a limit leaves; -1 is everything. Without a hard limit the soft one
// counts: it becomes one when its time of grace is over.
func left(used, soft, hard string, unit int64) (int64, bool) {
	u, ok1 := amount(used)
	s, ok2 := amount(soft)
	h, ok3 := amount(hard)
	if !ok1 || !ok2 || !ok3 {
		return 0, false
	}
	if limit := cmp.Or(h, s); limit > 0 {
		return max(limit-u, 0) * unit, true
	}
	return -1, true
}

func amount(s string) (int64, bool) {
	s = strings.Trim(s, "[]*")
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n < 1<<50
}

// groupOf is the group that new files in a folder belong to.
func groupOf(dir string) int {
	st, err := os.Stat(dir)
	if err != nil || st.Mode()&os.ModeSetgid == 0 {
		return os.Getegid()
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(sys.Gid)
	}
	return os.Getegid()
}

// projectOf is the Lustre project of a folder; 0 without one.
func projectOf(dir string) int {
	f := strings.Fields(ask("lfs", "project", "-d", dir))
	if len(f) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(f[0], 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// deviceOf is the source of the mount that a folder is on, as tables of mounts have it.
func deviceOf(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	best, device := "", "?"
	for line := range strings.Lines(string(mounts)) {
		left, right, _ := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 2 {
			continue
		}
		at := strings.TrimSuffix(l[4], "/")
		if len(at) >= len(best) && (real == at || strings.HasPrefix(real, at+"/")) {
			best, device = at, r[1]
		}
	}
	return device
}
