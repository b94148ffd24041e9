package main

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/shardify/shardify/tests/programs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"verify": main})
}

func execute(t *testing.T, out *os.File, args ...string) (code int, said string) {
	c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"verify"}, args...), Stdout: out}
	var b strings.Builder
	c.Stderr = &b
	c.Run()
	return c.ProcessState.ExitCode(), b.String()
}

// TestCompletion: the script for each shell asks the program, which answers.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		c := &exec.Cmd{Path: os.Args[0], Args: []string{"verify", "--completion", shell}}
		if b, err := c.Output(); err != nil || !strings.Contains(string(b), "verify") || !strings.Contains(string(b), "__complete") {
			t.Errorf("%s: %v\n%.300s", shell, err, b)
		}
	}
	c := &exec.Cmd{Path: os.Args[0], Args: []string{"verify", "__complete", "--read", ""}}
	if b, err := c.Output(); err != nil || !strings.HasPrefix(string(b), "all\nnone\n") {
		t.Errorf("%v\n%s", err, b)
	}
}

// A tar without damage; the answer is lost, or no process reads it.
func TestResultsThatNobodyGets(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"000.txt", "001.txt"} {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 3})
		w.Write([]byte("abc"))
	}
	w.Close()
	name := filepath.Join(t.TempDir(), "a.tar")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, said := execute(t, nil, name); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	full, broken := programs.LostStreams(t)
	for _, args := range [][]string{{"--help"}, {"--version"}, {name}, {name, "--json"}} {
		if code, said := execute(t, full, args...); code != 1 || !strings.Contains(said, "standard output: write /dev/stdout: no space left on device") {
			t.Errorf("%v > /dev/full: exit code %d: %s", args, code, said)
		}
		if code, said := execute(t, broken, args...); code != 141 || said != "" {
			t.Errorf("%v | true: exit code %d: %s", args, code, said)
		}
	}
}
