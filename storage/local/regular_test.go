package local

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/storage"
)

// TestOnlyRegularFilesAreOpened, and others are refused at once.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	t.Chdir(t.TempDir()) // names of sockets are short
	os.WriteFile("file", []byte("text"), 0o666)
	os.Mkdir("folder", 0o777)
	os.Symlink("file", "link")
	os.Symlink("pipe", "pipelink")
	os.Symlink("loop", "loop")
	os.Symlink("folder", "folderlink")
	os.WriteFile(filepath.Join("folder", "file"), []byte("text"), 0o666)
	if err := syscall.Mkfifo("pipe", 0o666); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct{ name, open, own string }{
		{"file", "", ""},
		{filepath.Join("folderlink", "file"), "", ""},
		{"link", "", "a symbolic link"},
		{"pipe", "a named pipe", "a named pipe"},
		{"pipelink", "a named pipe", "a symbolic link"},
		{"loop", "too many levels", "a symbolic link"},
		{"folder", "a folder", "a folder"},
		{"socket", "a socket", "a socket"},
		{"/dev/zero", "a device", "a device"},
		{"none", "no such file", "no such file"},
	} {
		start := time.Now()
		for _, try := range []struct {
			open func(string) (*os.File, fs.FileInfo, error)
			want string
		}{{Open, c.open}, {OpenOwn, c.own}} {
			f, st, err := try.open(c.name)
			if err == nil {
				f.Close()
				if try.want != "" || st.Size() != 4 {
					t.Errorf("%s was opened", c.name)
				}
				continue
			}
			if try.want == "" || !strings.Contains(err.Error(), try.want) || !strings.Contains(err.Error(), c.name) {
				t.Errorf("%s: %v, want %q", c.name, err, try.want)
			}
			if strings.HasPrefix(try.want, "a ") != errors.Is(err, storage.ErrNotFile) {
				t.Errorf("%s: %v: is storage.ErrNotFile: %v", c.name, err, errors.Is(err, storage.ErrNotFile))
			}
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", c.name, took)
		}
	}
	if b, err := ReadOwn("file", 4); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadOwn("file", 3); err == nil {
		t.Error("a file that is too large was read")
	}
}
