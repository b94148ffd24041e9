package xrootd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/remote"
	"github.com/shardify/shardify/tests/netfault"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/tests/servertest"
)

var bg = context.Background()

// server is XRootD's own, which serves Dir as /pub.
type server struct {
	*servertest.XRootD
	t       *testing.T
	address string
}

func start(t *testing.T) *server {
	t.Helper()
	s := servertest.NewXRootD(t)
	return &server{s, t, "root://" + s.Host + "//pub/"}
}

func (s *server) put(name string, b []byte) {
	s.t.Helper()
	p := filepath.Join(s.Dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o777), os.WriteFile(p, b, 0o644)); err != nil {
		s.t.Fatal(err)
	}
}

func content(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{2}).Read(b)
	return b
}

// TestReadsEqualTheFile, of any size and place, from a server of the distribution.
func TestReadsEqualTheFile(t *testing.T) {
	s := start(t)
	want := content(12_345_678)
	s.put("x.bin", want)
	f := New(32 << 20)
	x, err := f.Open(bg, s.address+"x.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if x.Size() != int64(len(want)) || x.Stamp().ModTime == 0 {
		t.Fatal(x.Stamp())
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		n, off := 1<<r.IntN(23), r.Int64N(x.Size()+100)
		b := make([]byte, n)
		m, err := x.ReadAt(b, off)
		part := want[min(off, x.Size()):min(off+int64(n), x.Size())]
		if m != len(part) || !bytes.Equal(b[:m], part) || (err == io.EOF) != (m < n) || err != nil && err != io.EOF {
			t.Fatalf("%d bytes at %d: %d, %v", n, off, m, err)
		}
	}
}

// TestFoldersAndErrors: what is there, what it is, and what is not.
func TestFoldersAndErrors(t *testing.T) {
	s := start(t)
	s.put("a b+c%41é.root", []byte("x"))
	s.put("sub/y.bin", []byte("yy"))
	s.put("empty", nil)
	f := New(1 << 20)
	got := map[string]storage.Entry{}
	for e, err := range f.List(bg, s.address) {
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name] = e
	}
	if len(got) != 3 || got["sub"].Type != storage.Folder || got["a b+c%41é.root"].Size != 1 || got["empty"].Size != 0 {
		t.Error(got)
	}
	for name := range got {
		if info, err := f.Stat(bg, storage.Join(s.address, name)); err != nil || info.Type != got[name].Type {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if _, err := f.Open(bg, s.address+"none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := f.Open(bg, s.address+"sub"); !errors.Is(err, storage.ErrNotFile) {
		t.Error(err)
	}
	if _, err := f.Stat(bg, s.address+"../../etc/passwd"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	x, err := f.Open(bg, s.address+"empty")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n, err := x.ReadAt(make([]byte, 3), 0); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
}

// TestALostServerIsAskedAgain, and a file that was replaced meanwhile is an error.
func TestALostServerIsAskedAgain(t *testing.T) {
	s := start(t)
	want := content(6 << 20)
	s.put("x.bin", want)
	f := New(1 << 20)
	x, err := f.Open(bg, s.address+"x.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	read := func(off int64) error {
		b := make([]byte, 1000)
		_, err := x.ReadAt(b, off)
		if err == nil && !bytes.Equal(b, want[off:off+1000]) {
			t.Errorf("other bytes at %d", off)
		}
		return err
	}
	if err := read(1 << 20); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	running := make(chan struct{})
	go func() {
		time.Sleep(200 * time.Millisecond)
		s.Run()
		close(running)
	}()
	if err := read(3 << 20); err != nil {
		t.Fatal(err)
	}
	<-running
	s.Kill()
	s.put("x.bin", content(6<<20+1))
	s.Run()
	if err := read(5 << 20); !errors.Is(err, shardify.ErrChanged) {
		t.Error(err)
	}
}

// TestPagesWithWrongChecksums are errors that are worth another try.
func TestPagesWithWrongChecksums(t *testing.T) {
	file := content(20_000)
	for _, off := range []int64{0, 1, 4095, 4096, 5000} {
		var data []byte
		for at := off; at < 15_000; {
			k := min(pageBytes-at%pageBytes, 15_000-at)
			page := file[at : at+k]
			sum := make([]byte, 4)
			u32(sum, int(checksum(page)))
			data = append(append(data, sum...), page...)
			at += k
		}
		b := make([]byte, 15_000-off)
		if n, err := pages(b, data, off); n != len(b) || err != nil || !bytes.Equal(b, file[off:15_000]) {
			t.Errorf("%d: %d, %v", off, n, err)
		}
		for range 50 {
			bad := slices.Clone(data)
			bad[rand.IntN(len(bad))] ^= 1 << rand.IntN(8)
			if _, err := pages(b, bad, off); err == nil {
				t.Error("a flipped bit is not found")
			}
		}
		if _, err := pages(b[:len(b)-1], data, off); err == nil {
			t.Error("more bytes than room")
		}
	}
}

func TestAddresses(t *testing.T) {
	for name, want := range map[string]string{
		"root://h//data/x.root":       "h:1094 /data/x.root",
		"root://h:5000/data/x.root":   "h:5000 /data/x.root",
		"roots://me@h//a//b?tried=x":  "h:1094 /a/b?tried=x",
		"root://[::1]:99//a":          "[::1]:99 /a",
		"root://[::1]//a b+c%41é.bin": "[::1]:1094 /a b+c%41é.bin",
	} {
		p, file, err := parse(name)
		if got := p.host + " " + file; err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if _, _, err := parse("root:///x"); err == nil {
		t.Error("no server is no error")
	}
}

// FuzzAnswers: no answer leads to a panic, or takes memory on its word.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4})
	f.Add([]byte{0, 1, 0x0f, 0xa7, 0, 0, 0, 24})
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := readFrame(bytes.NewReader(b), func(uint16) int { return 1 << 20 })
		if err != nil {
			return
		}
		_, _ = pages(make([]byte, 1<<16), x.data, 5)
		_ = refused(x.body)
		_ = redirect(x.body, place{})
		_, _ = entries(cString(x.body))
		_, _ = parseInfo(cString(x.body))
	})
}

// TestAnnouncedRangesComeAtOnce: nothing between them is fetched, and one round trip is enough,
// with checksums where the server has them, as a vector where it has not.
func TestAnnouncedRangesComeAtOnce(t *testing.T) {
	s := start(t)
	want := content(30 << 20)
	s.put("x.bin", want)
	p, _, _ := parse(s.address)
	for _, pages := range []bool{true, false} {
		link, address := netfault.NewLink(t, p.host)
		f := New(64 << 20)
		x, err := f.Open(bg, "root://"+address+"//pub/x.bin")
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if !pages {
			for _, d := range f.conns {
				d.c.flags &^= hasPgread
			}
		}
		var all []storage.Range
		wanted := int64(0)
		r := rand.New(rand.NewPCG(1, 1))
		for off := int64(100); off < 10<<20; off += 5_000 + r.Int64N(20_000) {
			all = append(all, storage.Range{Off: off, Len: 1 + r.Int64N(5000)})
			wanted += all[len(all)-1].Len
		}
		all = append(all, storage.Range{Off: 20 << 20, Len: 5<<20 + 7}) // larger than a range of a vector
		wanted += 5<<20 + 7
		requests, down := f.hosts.Requests(), link.Down.Load()
		storage.Announce(x, slices.Values(all))
		for _, a := range all {
			b := make([]byte, a.Len)
			if n, err := x.ReadAt(b, a.Off); n != len(b) || err != nil || !bytes.Equal(b, want[a.Off:a.Off+a.Len]) {
				t.Fatalf("%d bytes at %d: %d, %v", len(b), a.Off, n, err)
			}
		}
		if n := f.hosts.Requests() - requests; n > 3 {
			t.Errorf("pages %v: %d requests", pages, n)
		}
		if n := link.Down.Load() - down; n > wanted*102/100 {
			t.Errorf("pages %v: %d bytes for %d", pages, n, wanted)
		}
		t.Logf("pages %v: %d ranges, %d bytes, %d came by %d requests", pages, len(all), wanted, link.Down.Load()-down, f.hosts.Requests()-requests)
	}
}

// TestFaultsOfAConnection: with ends and silence of connections, and flipped bits in what has
// checksums, every read has its bytes.
func TestFaultsOfAConnection(t *testing.T) {
	s := start(t)
	want := content(8 << 20)
	s.put("x.bin", want)
	p, _, _ := parse(s.address)
	least := int64(10)
	if os.Getenv("SHARDIFY_LONG") != "" {
		least = 3000
	}
	for kind, chances := range map[string]netfault.Chances{"reset": {Reset: 0.05}, "stall": {Stall: 0.02}, "flip": {Flip: 0.02}} {
		t.Run(kind, func(t *testing.T) {
			link, address := netfault.NewLink(t, p.host)
			f := New(1 << 20)
			f.stall = 200 * time.Millisecond
			f.hosts.Pause = func(ctx context.Context, d time.Duration) error { return ctx.Err() }
			x, err := f.Open(bg, "root://"+address+"//pub/x.bin")
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			link.Fail(chances)
			r := rand.New(rand.NewPCG(1, 3))
			reads := 0
			for ; link.Faults.Load() < least; reads++ {
				b := make([]byte, 1+r.IntN(100_000))
				off := r.Int64N(x.Size() - int64(len(b)))
				if reads%10 == 0 {
					storage.Announce(x, slices.Values([]storage.Range{{Off: off, Len: int64(len(b)) / 3}, {Off: off + int64(len(b))/2, Len: int64(len(b)) / 3}}))
				}
				if _, err := x.ReadAt(b, off); err != nil {
					t.Fatalf("after %d faults: %v", link.Faults.Load(), err)
				}
				if !bytes.Equal(b, want[off:off+int64(len(b))]) {
					t.Fatalf("other bytes at %d after %d faults", off, link.Faults.Load())
				}
			}
			t.Logf("%d faults in %d reads, %d connections", link.Faults.Load(), reads, link.Connections.Load())
		})
	}
}

// cluster runs a redirector and two data servers, which have their own folders.
func cluster(t *testing.T) (address string, dirs [2]string, kill func(server int)) {
	t.Helper()
	for _, name := range []string{"xrootd", "cmsd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s (Debian: xrootd-server)", name)
		}
	}
	top, err := os.MkdirTemp("", "xrootd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	var ports [4]int // of the redirector, its cmsd, and the servers
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	running := map[string][]*exec.Cmd{}
	t.Cleanup(func() {
		for _, list := range running {
			for _, cmd := range list {
				cmd.Process.Kill()
				cmd.Wait()
			}
		}
	})
	for i, name := range []string{"rdr", "ds0", "ds1"} {
		dir := filepath.Join(top, name)
		role := "all.role manager\ncms.delay startup 2 lookup 1\n"
		port := ports[0]
		if i > 0 {
			dirs[i-1] = filepath.Join(dir, "data/pub")
			role, port = "all.role server\noss.localroot "+dir+"/data\n", ports[i+1]
		}
		text := fmt.Sprintf("all.export /pub r/o\nall.adminpath %[1]s/adm\nall.pidpath %[1]s/adm\nxrd.network nodnr\n%[2]sall.manager localhost:%[3]d\nif exec xrootd\nxrd.port %[4]d\nfi\n", dir, role, ports[1], port)
		for _, d := range []string{top, dir, filepath.Join(dir, "adm"), filepath.Join(dir, "data"), filepath.Join(dir, "data/pub")} {
			os.MkdirAll(d, 0o777)
			os.Chmod(d, 0o777)
		}
		config := filepath.Join(dir, "x.cfg")
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			defer func() {
				for _, name := range []string{"rdr", "ds0", "ds1"} {
					for _, program := range []string{"cmsd", "xrootd"} {
						d := filepath.Join(top, name)
						args := []string{program, "-n", name, "-c", filepath.Join(d, "x.cfg"), "-l", filepath.Join(d, program+".log")}
						if os.Getuid() == 0 {
							args = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args...)
						}
						cmd := exec.Command(args[0], args[1:]...)
						cmd.Dir = filepath.Join(d, "adm")
						if err := cmd.Start(); err != nil {
							t.Skipf("%s does not start: %v", program, err)
						}
						running[name] = append(running[name], cmd)
					}
				}
			}()
		}
	}
	return fmt.Sprintf("root://127.0.0.1:%d//pub/", ports[0]), dirs, func(server int) {
		for _, cmd := range running[fmt.Sprint("ds", server)] {
			cmd.Process.Kill()
		}
	}
}

// TestAClusterGoesOnWithoutOneServer: the server that has the file is killed while it is read, and
// the redirector leads to the other. A file that is nowhere else is an error that names it.
func TestAClusterGoesOnWithoutOneServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes seconds to begin")
	}
	address, dirs, kill := cluster(t)
	want := content(6 << 20)
	put := func(dir, name string) {
		t.Helper()
		p, now := filepath.Join(dir, name), time.Unix(1_700_000_000, 0)
		if err := errors.Join(os.WriteFile(p, want, 0o644), os.Chtimes(p, now, now)); err != nil {
			t.Fatal(err)
		}
	}
	put(dirs[0], "one.bin")
	put(dirs[1], "one.bin")
	put(dirs[0], "only0.bin")
	put(dirs[1], "only1.bin")
	f := New(1 << 20)
	f.stall = 2 * time.Second
	ctx, cancel := context.WithTimeout(bg, time.Minute)
	defer cancel()
	var x storage.File
	var err error
	for { // the cluster finds itself
		if x, err = f.Open(ctx, address+"one.bin"); err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Skipf("the cluster does not come up: %v", err)
		}
		time.Sleep(300 * time.Millisecond)
	}
	defer x.Close()
	var only [2]storage.File
	for i := range only {
		if only[i], err = f.Open(ctx, address+fmt.Sprintf("only%d.bin", i)); err != nil {
			t.Fatal(err)
		}
		defer only[i].Close()
	}
	read := func(x storage.File, off int64) error {
		b := make([]byte, 1000)
		_, err := storage.File(x).(storage.ContextReader).ReadContext(ctx, b, off)
		if err == nil && !bytes.Equal(b, want[off:off+1000]) {
			t.Errorf("other bytes at %d", off)
		}
		return err
	}
	if err := read(x, 1<<20); err != nil {
		t.Fatal(err)
	}
	dead := 0
	if at := x.(*remote.File).Object().(*object).conn.host; at == only[1].(*remote.File).Object().(*object).conn.host {
		dead = 1
	}
	kill(dead)
	began := time.Now()
	if err := read(x, 3<<20); err != nil {
		t.Error(err)
	}
	t.Logf("the other server answers after %v", time.Since(began))
	ctx, cancel = context.WithTimeout(bg, 2*time.Second) // the redirector asks to wait, for five minutes in all
	defer cancel()
	err = read(only[dead], 3<<20)
	if name := fmt.Sprintf("only%d.bin", dead); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "bytes 3145728 to") {
		t.Errorf("a file whose server is gone: %v", err)
	}
	t.Log(err)
}

// TestServersThatWantCertificates: gsi alone is an error that names the other door.
func TestServersThatWantCertificates(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		answer := func(stream, status int, body []byte) {
			b := make([]byte, 8)
			u16(b, stream)
			u16(b[2:], status)
			u32(b[4:], len(body))
			c.Write(append(b, body...))
		}
		io.ReadFull(c, make([]byte, 20+24))
		answer(0, stOK, []byte{0, 0, 5, 0x11, 0, 0, 0, 1})
		answer(1, stOK, []byte{0, 0, 5, 0x11, 0, 0, 0, 1})
		io.ReadFull(c, make([]byte, 24))
		answer(1, stOK, append(make([]byte, 16), "&P=gsi,v:10400,c:ssl,ca:5168735f.0\x00"...))
		io.Copy(io.Discard, c)
	}()
	_, err = New(1<<20).Open(bg, "root://"+l.Addr().String()+"//store/x.root")
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "gsi") || !strings.Contains(err.Error(), "https://") || !strings.Contains(err.Error(), "//store/x.root") {
		t.Error(err)
	}
}

// asked is a context that reports when a call waits for its end.
type asked struct {
	context.Context
	waits chan<- struct{}
}

func (a asked) Done() <-chan struct{} {
	select {
	case a.waits <- struct{}{}:
	default: // no one counts any more
	}
	return nil
}

// TestAServerThatDoesNotAnswerIsDialledOnce: all that wait for a connection share the error, unless
// the one who dials gave up.
func TestAServerThatDoesNotAnswerIsDialledOnce(t *testing.T) {
	p := place{host: "127.0.0.1:1"}
	late := broken(fmt.Errorf("dial: %w", context.DeadlineExceeded))
	for _, ended := range []bool{false, true} {
		f := New(1 << 20)
		d := &dialed{done: make(chan struct{})}
		f.conns[p] = d
		const others = 8
		waits, got := make(chan struct{}, others), make(chan error, others)
		for range others {
			go func() {
				_, err := f.conn(asked{bg, waits}, p)
				got <- err
			}()
		}
		for range others {
			<-waits
		}
		d.err, d.ended = late, ended
		close(d.done)
		for range others {
			if err := <-got; (err == late) == ended {
				t.Errorf("gave up: %t, error %v", ended, err)
			}
		}
	}
}
