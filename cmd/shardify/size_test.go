package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostLines is what a file of the program may have: it parses and prints. What a command
// does is in package pipeline, and how things look in cmd/internal/cli.
const mostLines = 60

func TestFilesOfTheProgramAreShort(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("\n")); n > mostLines {
			t.Errorf("%s: %d lines, want at most %d", name, n, mostLines)
		}
	}
}
