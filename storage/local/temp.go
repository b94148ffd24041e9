package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shardify/shardify/storage"
)

// TempAge is the age from which a temporary file counts as a leftover, of any process.
const TempAge = 24 * time.Hour

// owner is the process that makes temporary files. Their names contain it:
//
//	<name>.<job>.<restart>.<host>.<pid>.<random>
//
// The parts after the name have no dots. Processes on other hosts, or in other containers
// of one host, may have the same pid, so the host includes the number of the container's
// pid namespace.
type owner struct {
	job, restart, host string
	pid                int
}

func thisProcess() owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	host = part(host)
	// The first namespace of every kernel has the same number.
	const first = "pid:[4026531836]"
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil && ns != first {
		host += "-" + part(strings.Trim(ns, "pid:[]"))
	}
	return owner{job: "0", restart: "0", host: host, pid: os.Getpid()}
}

// part makes a string fit to be a part of a temporary name.
func part(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 64)]
}

// SetJob says of which batch job temporary files are, and how often it was started
// again. Call it before the first file.
func (d *Dir) SetJob(job, restart string) {
	d.owner.job, d.owner.restart = cmp.Or(part(job), "0"), cmp.Or(part(restart), "0")
}

// temp makes a new file in the temporary folder, or in that of scratch files.
func (d *Dir) temp(base string) (*os.File, error) {
	if err := d.mkdir(tempDir); err != nil {
		return nil, err
	}
	f, err := d.owner.create(d.path(tempDir), base)
	return f, d.failed(d.path(tempDir), err)
}

func (o *owner) create(dir, base string) (*os.File, error) {
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s.%s.%s.%s.%d.%08x", base, o.job, o.restart, o.host, o.pid, rand.Uint32())
		// os.OpenFile adds O_CLOEXEC.
		f, err := os.OpenFile(dir+"/"+name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || try > 100 {
			return f, err
		}
	}
}

// Temps lists the temporary files.
func (d *Dir) Temps() ([]storage.Temp, error) { return d.owner.temps(d.path(tempDir), "") }

// temps lists those of a folder whose names begin so.
func (o *owner) temps(dir, prefix string) ([]storage.Temp, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []storage.Temp
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() {
			continue // gone meanwhile, or none of ours
		}
		t := storage.Temp{Name: e.Name(), Bytes: st.Size(), Age: time.Since(st.ModTime())}
		if p := strings.Split(t.Name, "."); len(p) >= 6 {
			p = p[len(p)-5:]
			t.Job, t.Restart, t.Host = p[0], p[1], p[2]
			t.PID, _ = strconv.Atoi(p[3])
			t.Gone = t.Host == o.host && t.PID > 0 && errors.Is(syscall.Kill(t.PID, 0), syscall.ESRCH)
		}
		out = append(out, t)
	}
	return out, nil
}

// RemoveTemp removes a temporary file; a missing one is no error.
func (d *Dir) RemoveTemp(name string) error { return d.Remove(tempDir + "/" + name) }

// Clean removes temporary files whose process is gone: it was one of this host, or
// they are old. Files of other users, that may not be removed, stay.
func (d *Dir) Clean() error { return d.owner.clean(d.path(tempDir), "") }

func (o *owner) clean(dir, prefix string) error {
	list, err := o.temps(dir, prefix)
	for _, t := range list {
		if !t.Gone && t.Age <= TempAge || prefix != "" && (t.PID <= 0 || strings.Count(t.Name[len(prefix):], ".") != 4) {
			continue // in a folder of others a file may begin like ours
		}
		if e := os.Remove(dir + "/" + t.Name); e != nil && !errors.Is(e, fs.ErrNotExist) && !errors.Is(e, fs.ErrPermission) {
			err = errors.Join(err, e)
		}
	}
	return err
}
