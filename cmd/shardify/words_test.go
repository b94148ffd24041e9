package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
)

// command runs a command line and returns what it printed, with its hints.
func command(args ...string) (out string, err error) {
	var b bytes.Buffer
	root := newRoot(&program{IO: &cli.IO{Out: &b, Err: io.Discard}})
	root.SetArgs(args)
	err = root.Execute()
	return b.String() + strings.Join(shardify.Hints(err), "\n"), err
}

// TestWordsOfOtherTools: those of the same meaning work, others name what to write.
func TestWordsOfOtherTools(t *testing.T) {
	dir := t.TempDir()
	for i, words := range [][]string{
		{"--num-workers", "2"}, {"--workers=2"}, {"--num_workers", "2"}, {"-j", "2"}, {"--threads", "2"}, {"--output-format", "webdataset"}, {"--format", "tar"},
		{"--output_format=mmap"}, {"--samples-per-shard", "10"}, {"--shard_samples", "10"}, {"--max-samples", "5"}, {"--features", "x"}, {"--input-format", "synth"},
	} {
		out := filepath.Join(dir, string(rune('a'+i)))
		args := append([]string{"convert", "--output-dir", out}, words...)
		if words[0] != "--input-format" {
			args = append(args, "--from", "synth")
		}
		if text, err := command(args...); err != nil {
			t.Errorf("%q: %v %s", words, err, text)
		}
		b, _ := os.ReadFile(filepath.Join(out, "shardify.json"))
		var m struct {
			Format  string
			Samples int
		}
		if json.Unmarshal(b, &m); strings.Contains(words[len(words)-1], "web") || slices.Contains(words, "tar") {
			if m.Format != "wds" {
				t.Errorf("%q writes %s", words, m.Format)
			}
		}
		if words[0] == "--max-samples" && m.Samples != 5 {
			t.Errorf("%q: %d samples", words, m.Samples)
		}
	}
	for line, want := range map[string]string{
		"convert x --overwrite":                  "--fresh",
		"convert x --force":                      "--fresh",
		"convert x --batch-size 32":              "shardify.Loader(FOLDER, batch_size=N)",
		"convert x --resize 32x32":               "--augment resize=SIZE",
		"convert x --image-size 32":              "--augment resize=224x224",
		"convert x --flip":                       "--augment flip=horizontal",
		"convert x --num-shards 8":               "--shard-samples",
		"convert x --test-size 0.1":              "--split train=0.8,test=0.2",
		"convert x --sep ;":                      "--csv 'sep=;'",
		"convert x --tree Events":                "--object TREE",
		"convert x --recursive":                  "leave it out",
		"convert x --jobs 1 --num-workers 2":     "--help",
		"inspect x --limit 3":                    "see: shardify inspect --help",
		"convert x --colums y":                   "did you mean: --columns",
		"status x --force":                       "see: shardify status --help",
		"convert x -o y --format tfrecord":       "",
		"convert --from synth -o y --from sinth": "",
	} {
		text, err := command(strings.Fields(line)...)
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %q, want %q", line, err, text, want)
		}
		if strings.HasPrefix(line, "status") && strings.Contains(text, "--fresh") {
			t.Errorf("%s: %s", line, text)
		}
	}
	// A word and our name are one flag.
	if _, err := command("convert", "x", "--jobs", "1", "--num-workers", "2"); err == nil || err.Error() != "--jobs is given twice, 1 and 2: it takes one value" {
		t.Error(err)
	}
	// bench has a flag of another tool's name of its own.
	if _, err := command("bench", "nowhere", "--num-workers", "0"); err == nil || !strings.Contains(err.Error(), "--workers") {
		t.Error(err)
	}
}
