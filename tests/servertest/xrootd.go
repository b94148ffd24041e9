package servertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// XRootD is XRootD's own server, which serves Dir as /pub. The test ends it.
type XRootD struct {
	Dir  string
	Host string // with its port

	t      testing.TB
	config string
	cmd    *exec.Cmd
}

// NewXRootD runs a server; without the program the test is skipped.
func NewXRootD(t testing.TB) *XRootD {
	t.Helper()
	if _, err := exec.LookPath("xrootd"); err != nil {
		t.Skip("no xrootd (Debian: xrootd-server)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	l.Close()
	top, err := os.MkdirTemp("", "xrootd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	s := &XRootD{t: t, Dir: filepath.Join(top, "data/pub"), Host: host, config: filepath.Join(top, "x.cfg")}
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(host)
	text := fmt.Sprintf("all.export /pub r/o\nall.adminpath %[1]s/adm\nall.pidpath %[1]s/adm\nxrd.network nodnr\noss.localroot %[1]s/data\nxrd.port %[2]s\n", top, port)
	if err := os.WriteFile(s.config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{top, filepath.Join(top, "data"), s.Dir} {
		os.Chmod(d, 0o777)
	}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// Run starts the program, which does not run as root.
func (s *XRootD) Run() {
	s.t.Helper()
	args := []string{"xrootd", "-c", s.config, "-l", s.config + ".log"}
	if os.Getuid() == 0 {
		args = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args...)
	}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Dir = filepath.Dir(s.config)
	if err := s.cmd.Start(); err != nil {
		s.t.Skipf("xrootd does not start: %v", err)
	}
	for range 200 {
		if c, err := net.Dial("tcp", s.Host); err == nil {
			c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ := os.ReadFile(s.config + ".log")
	s.t.Skipf("xrootd does not answer: %s", log)
}

// Kill ends the program.
func (s *XRootD) Kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}
