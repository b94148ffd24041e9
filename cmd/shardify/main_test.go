package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shardify": main,
		"mknpz":    func() { try(makeNPZ(os.Args[1:])) },
		"mkphotos": func() { try(makePhotos(os.Args[1:])) },
	})
}

// quickExit keeps the race detector from waiting a second at the end of every
// process.
const quickExit = "atexit_sleep_ms=0"

func try(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestScripts runs testdata/*.txtar: sessions at a terminal, as the README has
// them. With -short, which make test has with -race, it is every fifth.
func TestScripts(t *testing.T) {
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	var files []string
	for i, f := range all {
		if !testing.Short() || i%5 == 0 {
			files = append(files, f)
		}
	}
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", quickExit)
			readers, err := filepath.Abs("../../readers")
			e.Setenv("ROOTDATA", filepath.Join(readers, "root", "testdata"))
			e.Setenv("HDF5DATA", filepath.Join(readers, "hdf5", "testdata"))
			e.Setenv("EXIFDATA", filepath.Join(readers, "..", "images", "exif", "testdata"))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"same":   same,
			"damage": damage,
			"follow": follow,
		},
	})
}

// exits CODE COMMAND...: the command ends with this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Fatalf("%v", err)
		}
		got = e.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// follow WHAT: runs the command that the last one has printed as "hint: WHAT...: COMMAND", as typed.
func follow(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: follow WHAT")
	}
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if _, command, ok := strings.Cut(strings.TrimSpace(line), ": shardify "); ok && strings.HasPrefix(line, "hint: "+args[0]) {
			if err := ts.Exec("sh", "-c", "shardify "+command); (err != nil) != neg {
				ts.Fatalf("shardify %s: %v", command, err)
			}
			return
		}
	}
	ts.Fatalf("no hint %q", args[0])
}

// same A B: the folders hold the same files with the same bytes, apart from
// .shardify.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, b := tree(ts.MkAbs(args[0])), tree(ts.MkAbs(args[1]))
	if equal := maps.Equal(a, b); equal == neg || len(a) == 0 {
		ts.Fatalf("%s has %v\n%s has %v", args[0], names(a), args[1], names(b))
	}
}

func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func tree(dir string) map[string]string {
	out := map[string]string{}
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".shardify":
			return fs.SkipDir
		case !e.IsDir():
			b, err := os.ReadFile(p)
			out[rel] = string(b)
			return err
		}
		return nil
	})
	return out
}

// damage FILE TEXT: flips a bit in the first place where FILE has TEXT, or in its
// middle.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	name := ts.MkAbs(args[0])
	b, err := os.ReadFile(name)
	ts.Check(err)
	at := len(b) / 2
	if len(args) > 1 {
		at = bytes.Index(b, []byte(args[1]))
	}
	if at < 0 {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	b[at] ^= 1
	ts.Check(os.WriteFile(name, b, 0o666))
}

// makeNPZ writes x f32 [rows, 4] and y i64 [rows]: mknpz FILE ROWS [deflate |
// pairs | image | across], where pairs makes x f64 [rows, 2], image makes x f32 [rows, 2, 2] and a
// single y, and across makes x f32 [2, rows, 2], compressed.
func makeNPZ(args []string) error {
	rows, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var x, y []byte
	for i := range rows {
		for k := range 4 {
			x = binary.LittleEndian.AppendUint32(x, uint32(0x3f800000+i*4+k))
		}
		y = binary.LittleEndian.AppendUint64(y, uint64(i))
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	method, xtype, xshape, yshape := zip.Store, "<f4", "(%d, 4)", fmt.Sprintf("(%d,)", rows)
	switch {
	case len(args) > 2 && args[2] == "image":
		xshape, yshape, y = "(%d, 2, 2)", "()", y[:8]
	case len(args) > 2 && args[2] == "across":
		method, xshape = zip.Deflate, "(2, %d, 2)"
	case len(args) > 2 && args[2] == "deflate":
		method = zip.Deflate
	case len(args) > 2:
		xtype, xshape = "<f8", "(%d, 2)"
	}
	for _, m := range []struct {
		name, descr, shape string
		data               []byte
	}{{"x.npy", xtype, fmt.Sprintf(xshape, rows), x}, {"y.npy", "<i8", yshape, y}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: method})
		if err != nil {
			return err
		}
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", m.descr, m.shape)
		head += strings.Repeat(" ", 117-len(head)) + "\n"
		io.WriteString(w, "\x93NUMPY\x01\x00"+string(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))+head)
		w.Write(m.data)
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(args[0], b.Bytes(), 0o666)
}

// makePhotos writes PNG images in folders cat and dog, each with a caption:
// mkphotos DIR COUNT.
func makePhotos(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for i := range n {
		dir := filepath.Join(args[0], []string{"cat", "dog"}[i%2])
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		m.SetGray(i%8, i/8%8, color.Gray{255})
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return err
		}
		stem := filepath.Join(dir, fmt.Sprintf("%04d", i))
		if err := errors.Join(os.WriteFile(stem+".png", b.Bytes(), 0o666), os.WriteFile(stem+".txt", fmt.Appendf(nil, "number %d", i), 0o666)); err != nil {
			return err
		}
	}
	return nil
}

// start runs shardify in a process of its own, which ends with the test: before the
// folders that it writes into are removed.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify"}, args...), Stderr: new(bytes.Buffer)}
	c.Env = append(os.Environ(), "GORACE="+quickExit)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return c
}

func wait(t *testing.T, c *exec.Cmd, want int) {
	t.Helper()
	c.Wait()
	if got := c.ProcessState.ExitCode(); got != want {
		t.Fatalf("exit code %d, want %d:\n%s", got, want, c.Stderr)
	}
}

// TestStoppedConversionGoesOn asks a conversion to end in its midst, by each
// signal, and runs it again: the result equals that of an unbroken run.
func TestStoppedConversionGoesOn(t *testing.T) {
	// A process below nohup ignores SIGHUP, and so do its children; below one that catches it, none does.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	dir := t.TempDir()
	in, whole := filepath.Join(dir, "in.npz"), filepath.Join(dir, "whole")
	try(makeNPZ([]string{in, "1600"}))
	convert := func(out string) []string {
		return []string{"convert", in, "-o", out, "--shard-samples", "4", "--jobs", "2"}
	}
	wait(t, start(t, append(convert(whole), "--sync", "none")...), 0)
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		says   string
	}{{syscall.SIGTERM, 75, "stopped on request"}, {syscall.SIGHUP, 75, "stopped on request"}, {syscall.SIGUSR1, 75, "stopped on request"}, {syscall.SIGINT, 130, "interrupted"}} {
		if testing.Short() && c.signal != syscall.SIGTERM {
			continue
		}
		t.Run(c.signal.String(), func(t *testing.T) {
			out := filepath.Join(dir, "out-"+c.signal.String())
			var p *exec.Cmd
			for again := 0; ; again++ { // a conversion may be faster than who stops it
				p = start(t, convert(out)...)
				for deadline := time.Now().Add(time.Minute); len(receipts(out)) < 3 && !published(out); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("no shard after a minute")
					}
				}
				p.Process.Signal(c.signal)
				p.Wait()
				if !published(out) || again == 100 {
					break
				}
				try(os.RemoveAll(out))
			}
			wait(t, p, c.code)
			if s := fmt.Sprint(p.Stderr); !strings.Contains(s, c.says) || !strings.Contains(s, "continues from there") {
				t.Errorf("said %q", s)
			}
			if published(out) {
				t.Fatal("the stopped conversion has a manifest")
			}
			before := len(receipts(out))
			p = start(t, append(convert(out), "--sync", "none")...)
			wait(t, p, 0)
			if !strings.Contains(fmt.Sprint(p.Stderr), "is resumed") {
				t.Errorf("after %d shards it started over: %s", before, p.Stderr)
			}
			if a, b := tree(whole), tree(out); !maps.Equal(a, b) {
				t.Errorf("resumed: %v\nunbroken: %v", names(b), names(a))
			}
		})
	}
}

func published(out string) bool {
	_, err := os.Stat(filepath.Join(out, "shardify.json"))
	return err == nil
}

func receipts(out string) []string {
	list, _ := filepath.Glob(filepath.Join(out, ".shardify", "receipts", "*"))
	return list
}
