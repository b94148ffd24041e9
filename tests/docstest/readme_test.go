package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestReadmeHasTheFiguresOfTheBenchmark and no others.
func TestReadmeHasTheFiguresOfTheBenchmark(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here")
	}
	if out, err := exec.Command(python, filepath.Join(root, "bench/headline.py"), "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReadmeIsADoor: it fits a few screens, and its picture of a terminal shows the commands
// that it has.
func TestReadmeIsADoor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 125 {
		t.Errorf("README.md has %d lines", n)
	}
	var commands []string
	for _, b := range blocks(t, filepath.Join(root, "README.md")) {
		if b.lang == "sh" && strings.HasPrefix(b.text, "shardify inspect photos\n") {
			commands = strings.Split(strings.TrimSpace(b.text), "\n")
		}
	}
	if len(commands) != 5 {
		t.Fatalf("commands of README.md: %q", commands)
	}
	for _, theme := range []string{"light", "dark"} {
		b, err := os.ReadFile(filepath.Join(root, "docs/pictures/terminal-"+theme+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commands {
			if !strings.Contains(string(b), ">$ "+c+"</text>") {
				t.Errorf("docs/pictures/terminal-%s.svg does not show %q: run make pictures", theme, c)
			}
		}
	}
}
