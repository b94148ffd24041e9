//go:build linux && !portable

package dirfd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Portable: package os does the work.
const Portable = false

// Dir is an open directory. The zero Dir is not valid.
type Dir struct {
	fd    int
	local bool
}

// Handle is an open file.
type Handle struct {
	fd   int
	keep bool
}

const (
	// O_NONBLOCK: a file that became a pipe since it was listed must not hang us.
	fileFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	dirFlags  = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY | unix.O_NONBLOCK
	// pathMax is the longest path that one call takes.
	pathMax = 4095
)

// Open opens a directory. Paths beyond the kernel's limit are opened in pieces.
func Open(path string) (Dir, error) {
	at := unix.AT_FDCWD
	for rest := path; ; {
		piece := rest
		if len(rest) > pathMax {
			cut := strings.LastIndexByte(rest[:pathMax], '/')
			if cut <= 0 {
				return Dir{}, &fs.PathError{Op: "open", Path: path, Err: unix.ENAMETOOLONG}
			}
			piece = rest[:cut]
		}
		fd, err := openDir(at, piece)
		if at != unix.AT_FDCWD {
			unix.Close(at)
		}
		if err != nil {
			return Dir{}, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		if rest = strings.TrimLeft(rest[len(piece):], "/"); rest == "" {
			return Dir{fd, local(fd)}, nil
		}
		at = fd
	}
}

func openDir(at int, path string) (int, error) {
	for {
		fd, err := unix.Openat(at, path, dirFlags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// localTypes are file systems whose calls end in this machine.
var localTypes = []uint32{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	0x2fc12fc1, // ZFS
}

func local(fd int) bool { return isLocal(fsType(fd)) }

func isLocal(t uint32) bool { return slices.Contains(localTypes, t) }

// fsType is the kind of file system that a file is on; 0 if unknown.
func fsType(fd int) uint32 {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return 0
	}
	return uint32(st.Type)
}

// Local reports whether the directory is on a file system of this machine.
func (d Dir) Local() bool { return d.local }

// Close closes the directory.
func (d Dir) Close() { unix.Close(d.fd) }

func fstat(fd int) (st unix.Stat_t, err error) {
	for {
		if err = unix.Fstat(fd, &st); err != unix.EINTR {
			return st, err
		}
	}
}

// Info stats the directory itself.
func (d Dir) Info() (Info, error) {
	st, err := fstat(d.fd)
	return info(&st), err
}

// Stat stats an entry, or a slash path below the directory, following links. keep
// is for a call that keeps its processor, see Pace.
func (d Dir) Stat(n *Name, keep bool) (Info, error) {
	var st unix.Stat_t
	for {
		var e unix.Errno
		if keep {
			_, _, e = unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(d.fd), uintptr(unsafe.Pointer(&n.buf[0])), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		} else {
			_, _, e = unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(d.fd), uintptr(unsafe.Pointer(&n.buf[0])), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		}
		switch e {
		case 0:
			return info(&st), nil
		case unix.EINTR:
		default:
			return Info{}, e
		}
	}
}

func info(st *unix.Stat_t) Info {
	i := Info{Size: st.Size, ModTime: st.Mtim.Nano(), Dev: uint64(st.Dev), Ino: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		i.Type = File
	case unix.S_IFDIR:
		i.Type = Folder
	case unix.S_IFLNK:
		i.Type = Link
	default:
		i.Type = Other
	}
	return i
}

// direntHeader is inode 8, offset 8, record length 2, type 1; then the name,
// ended by a zero byte.
const direntHeader = 19

// List calls each for every entry but . and .., in the directory's own order.
// buf is scratch of at least 4 KiB; name is valid during the call.
func (d Dir) List(buf []byte, each func(name []byte, t Type) error) error {
	for {
		n, err := unix.Getdents(d.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("getdents", err)
		}
		if n <= 0 {
			return nil
		}
		for rest := buf[:n]; len(rest) > direntHeader; {
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			if size <= direntHeader || size > len(rest) {
				return os.NewSyscallError("getdents", unix.EIO)
			}
			name := rest[direntHeader:size]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			t := direntType(rest[18])
			rest = rest[size:]
			if string(name) == "." || string(name) == ".." {
				continue
			}
			if err := each(name, t); err != nil {
				return err
			}
		}
	}
}

func direntType(t byte) Type {
	switch t {
	case unix.DT_REG:
		return File
	case unix.DT_DIR:
		return Folder
	case unix.DT_LNK:
		return Link
	case unix.DT_UNKNOWN:
		return Unknown
	}
	return Other
}

// OpenFile opens an entry for reading and never blocks on a pipe. noatime asks
// the kernel not to touch the access time; it is refused with EPERM (see
// Refused) for files of other owners. With keep this call, and those of the
// handle, keep their processor.
func (d Dir) OpenFile(n *Name, noatime, keep bool) (Handle, error) {
	flags := uintptr(fileFlags)
	if noatime {
		flags |= unix.O_NOATIME
	}
	for {
		var fd uintptr
		var e unix.Errno
		if keep {
			fd, _, e = unix.RawSyscall6(unix.SYS_OPENAT, uintptr(d.fd), uintptr(unsafe.Pointer(&n.buf[0])), flags, 0, 0, 0)
		} else {
			fd, _, e = unix.Syscall6(unix.SYS_OPENAT, uintptr(d.fd), uintptr(unsafe.Pointer(&n.buf[0])), flags, 0, 0, 0)
		}
		switch e {
		case 0:
			return Handle{int(fd), keep}, nil
		case unix.EINTR:
		default:
			return Handle{}, e
		}
	}
}

// Refused reports that OpenFile may work without noatime.
func Refused(err error) bool { return err == unix.EPERM }

// Transient reports an error that network file systems give for a moment.
func Transient(err error) bool {
	return err == unix.ESTALE || err == unix.EIO || err == unix.ETIMEDOUT || err == unix.EAGAIN
}

// Read reads at the current position; 0 bytes and no error is the end.
func (h Handle) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		var n uintptr
		var e unix.Errno
		if h.keep {
			n, _, e = unix.RawSyscall(unix.SYS_READ, uintptr(h.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		} else {
			n, _, e = unix.Syscall(unix.SYS_READ, uintptr(h.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		}
		switch e {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, e
		}
	}
}

// Info stats the open file.
func (h Handle) Info() (Info, error) {
	st, err := fstat(h.fd)
	return info(&st), err
}

// Close closes the file.
func (h Handle) Close() {
	if h.keep {
		unix.RawSyscall(unix.SYS_CLOSE, uintptr(h.fd), 0, 0)
		return
	}
	unix.Syscall(unix.SYS_CLOSE, uintptr(h.fd), 0, 0)
}

// maxWrite bounds one write: the kernel takes no more than 2 GiB.
const maxWrite = 1 << 30

func write(fd uintptr, b []byte, keep bool) (int, error) {
	n, err := whole(b, func(p []byte, _ int) (n uintptr, e unix.Errno) {
		if keep {
			n, _, e = unix.RawSyscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		} else {
			n, _, e = unix.Syscall(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		}
		return n, e
	})
	if err == errNothing {
		err = io.ErrShortWrite
	}
	return n, err
}

// errNothing: a call did nothing, and no error.
var errNothing = errors.New("0 bytes")

// whole makes calls for parts of b until all is done.
func whole(b []byte, call func(p []byte, done int) (uintptr, unix.Errno)) (done int, err error) {
	for done < len(b) {
		n, e := call(b[done:min(len(b), done+maxWrite)], done)
		switch {
		case e == unix.EINTR:
		case e != 0:
			return done, e
		case n == 0:
			return done, errNothing
		default:
			done += int(n)
		}
	}
	return done, nil
}

// at is pread64 or pwrite64, on a machine whose registers hold an offset.
func at(call, fd uintptr, p []byte, off int64, keep bool) (n uintptr, e unix.Errno) {
	if keep {
		n, _, e = unix.RawSyscall6(call, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(off), 0, 0)
	} else {
		n, _, e = unix.Syscall6(call, fd, uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)), uintptr(off), 0, 0)
	}
	return n, e
}
