//go:build linux && amd64

package faulttest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// nums are the system calls that can be counted, and where their arguments are.
var nums = map[string]uint64{
	"write": 1, "pwrite64": 18, "writev": 20, "pwritev": 296, "pwritev2": 328,
	"fsync": 74, "fdatasync": 75, "sync_file_range": 277, "syncfs": 306, "msync": 26,
	"ftruncate": 77, "fallocate": 285, "rename": 82, "renameat": 264, "renameat2": 316,
	"link": 86, "linkat": 265, "symlinkat": 266, "unlink": 87, "unlinkat": 263,
	"mkdir": 83, "mkdirat": 258, "openat": 257, "close": 3, "fchmod": 91, "utimensat": 280,
	"copy_file_range": 326, "sendfile": 40, "splice": 275, "read": 0, "pread64": 17, "flock": 73,
	"getdents64": 217, "newfstatat": 262, "fstat": 5, "statfs": 137, "fstatfs": 138,
}

var errnoOf = map[string]int{"EPERM": 1, "EIO": 5, "ENOSPC": 28, "EDQUOT": 122, "EINTR": 4, "EROFS": 30, "EFBIG": 27, "ETIMEDOUT": 110,
	"EXDEV": 18, "ENOLCK": 37, "ESTALE": 116, "EMFILE": 24, "EACCES": 13, "EOPNOTSUPP": 95, "ENOSYS": 38, "EAGAIN": 11, "EINVAL": 22}

const (
	changing = "write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,creat,copy_file_range,sendfile,splice,msync"
	// all is what may fail on its way to a file, or make a wrong one.
	all = "write,pwrite64,writev,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,openat,copy_file_range,sendfile,splice,msync,syncfs,read,pread64,getdents64,newfstatat,fstat,close"
)

const (
	sysWrite, sysWritev, sysOpenat = 1, 20, 257
	sysClose                       = 3
)

// counted is the set of calls that count.
type counted struct {
	name  map[uint64]string
	creat bool     // openat with O_CREAT, where openat itself does not count
	under []string // only files below these folders
}

func parseCalls(list, under string) (counted, error) {
	c := counted{name: map[uint64]string{}}
	switch list {
	case "changing":
		list = changing
	case "all":
		list = all
	}
	for _, s := range strings.Split(list, ",") {
		v, ok := nums[s]
		switch {
		case s == "creat":
			c.creat = true
		case ok:
			c.name[v] = s
		default:
			return c, fmt.Errorf("unknown call %s", s)
		}
	}
	for _, d := range strings.Split(under, ",") {
		if d != "" {
			c.under = append(c.under, filepath.Clean(d))
		}
	}
	return c, nil
}

// is reports whether a call counts, its name, and the files it is about: the one that it creates or
// changes is last.
func (c *counted) is(pid int, r *syscall.PtraceRegs) (name string, files []string, ok bool) {
	name, ok = c.name[r.Orig_rax]
	if !ok && c.creat && r.Orig_rax == sysOpenat && r.Rdx&syscall.O_CREAT != 0 {
		name, ok = "creat", true
	}
	if (r.Orig_rax == sysWrite || r.Orig_rax == sysWritev) && r.Rdi <= 2 {
		ok = false // messages do not count
	}
	if !ok {
		return "", nil, false
	}
	files = paths(pid, name, r)
	if len(c.under) == 0 {
		return name, files, true
	}
	for _, f := range files {
		for _, d := range c.under {
			if f == d || strings.HasPrefix(f, d+"/") {
				return name, files, true
			}
		}
	}
	return "", nil, false
}

func paths(pid int, name string, r *syscall.PtraceRegs) []string {
	switch name {
	case "creat", "openat", "newfstatat", "mkdirat", "unlinkat", "utimensat":
		return []string{at(pid, r.Rdi, r.Rsi)}
	case "linkat", "renameat", "renameat2":
		return []string{at(pid, r.Rdi, r.Rsi), at(pid, r.Rdx, r.R10)}
	case "symlinkat":
		return []string{at(pid, r.Rsi, r.Rdx)}
	case "mkdir", "unlink", "statfs":
		return []string{text(pid, r.Rdi)}
	case "link", "rename":
		return []string{text(pid, r.Rdi), text(pid, r.Rsi)}
	case "copy_file_range":
		return []string{fileOfPid(pid, r.Rdi), fileOfPid(pid, r.Rdx)}
	}
	return []string{fileOfPid(pid, r.Rdi)}
}

func fileOfPid(pid int, fd uint64) string {
	p, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, int32(fd)))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(p, " (deleted)")
}

func at(pid int, dir, name uint64) string {
	p := text(pid, name)
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	base := fileOfPid(pid, dir)
	if int32(dir) == -100 { // AT_FDCWD
		base, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	}
	return filepath.Join(base, p)
}

// text is the string at an address of the stopped process.
func text(pid int, addr uint64) string {
	var out []byte
	var word [8]byte
	for len(out) < 4096 {
		if n, err := syscall.PtracePeekData(pid, uintptr(addr), word[:]); err != nil || n == 0 {
			break
		}
		if i := bytes.IndexByte(word[:], 0); i >= 0 {
			return string(append(out, word[:i]...))
		}
		out, addr = append(out, word[:]...), addr+8
	}
	return string(out)
}
