package verifycmd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
)

// array writes a NumPy file of 12 rows of 5 numbers.
func array(t *testing.T, name string) {
	t.Helper()
	head := "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 5), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00\x76\x00"), head...)
	for i := range 12 * 5 * 4 {
		b = append(b, byte(i*7))
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// convert makes a data set of three shards.
func convert(t *testing.T, in, out, format string) {
	t.Helper()
	if _, err := pipeline.Convert(context.Background(), pipeline.Settings{Inputs: []string{in}, Output: out, Format: format, ShardSamples: 5}); err != nil {
		t.Fatal(err)
	}
}

// run is the command as a user calls it.
func run(t *testing.T, asJSON bool, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	o := &cli.IO{Out: &out, Err: &errs, JSON: asJSON, Quiet: true}
	c := New(o, "verify")
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetFlagErrorFunc(cli.FlagError)
	c.SetArgs(args)
	return o.Report(context.Background(), "verify", c.ExecuteContext(context.Background())), out.String(), errs.String()
}

func damage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestExitCodesAndLastLines(t *testing.T) {
	t.Chdir(t.TempDir())
	array(t, "a.npy")
	convert(t, "a.npy", "good", "wds")
	convert(t, "a.npy", "idx", "wds")
	damage(t, "idx/shard-000001.tar.idx")
	convert(t, "a.npy", "shard", "mmap")
	damage(t, "shard/shard-000001.safetensors")
	convert(t, "a.npy", "unfinished", "mmap")
	os.Remove("unfinished/shardify.json")
	os.Mkdir("empty", 0o777)
	os.Mkdir("photos", 0o777)
	os.WriteFile("photos/a.jpg", []byte("x"), 0o666)
	for _, c := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"good", 0, "ok: good is as its manifest says", ""},
		{"good/shardify.json", 0, "ok: good is", ""},
		{"good --read none", 0, "checksums of 0 of them", ""},
		{"good --read 1/2", 0, "checksums of 2 of them", ""},
		{"good --read 5% --seed 3", 0, "checksums of 1 of them", ""},
		{"good --against", 0, "values of 12 samples", ""},
		{"good --against a.npy", 0, "values of 12 samples", ""},
		{"good --against=a.npy", 0, "values of 12 samples", ""},
		{"good --against nowhere.npy", 1, "", "nowhere.npy"},
		{"good/shard-000000.tar good/shard-000001.tar", 0, "every loader reads", ""},
		{"idx", 3, "shard-000001.tar.idx", "verify idx --repair"},
		{"shard", 3, "shard-000001.safetensors", "rm -f shard/shardify.json shard/shard-000001.safetensors && shardify work shard && shardify merge shard"},
		{"unfinished", 3, "is not there", "shardify merge unfinished"},
		{"empty", 3, "not finished", "convert"},
		{"photos", 1, "", "neither a data set nor shards"},
		{"nowhere", 1, "", "no such file"},
		{"a.npy", 3, "neither a tar nor", "1 problem"},
		{"", 2, "", "verify --help"},
		{"good idx", 2, "", "--against idx"},
		{"good --read 9/8", 2, "", "1/8"},
		{"photos/a.jpg --repair", 2, "", "is not a data set"},
		{"good --id id1:00112233445566778899aabbccddeeff", 1, "", "this is not the set id1:00112233445566778899aabbccddeeff"},
		{"good --id 3", 2, "", "want id1: and 32 digits"},
		{"good --aginst x", 2, "", "did you mean: --against"},
		{"idx --repair", 0, "repaired: idx is as its manifest says", ""},
		{"idx", 0, "ok: idx", ""},
	} {
		code, out, errs := run(t, false, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) || (code == 0) != (errs == "") {
			t.Errorf("verify %s: exit %d, want %d, %q on stdout, %q on stderr:\n%s%s", c.args, code, c.code, c.out, c.err, out, errs)
		}
	}
}

func TestJSONIsAnObjectALine(t *testing.T) {
	dir := t.TempDir()
	array(t, filepath.Join(dir, "a.npy"))
	out := filepath.Join(dir, "out")
	convert(t, filepath.Join(dir, "a.npy"), out, "mmap")
	for i := range 3 {
		damage(t, filepath.Join(out, "shard-00000"+string(rune('0'+i))+".safetensors"))
	}
	code, text, _ := run(t, true, out, "--show", "2")
	types := map[string]int{}
	for line := range strings.Lines(text) {
		var v struct {
			Type     string
			File     string
			Problems int
			OK       *bool
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		types[v.Type]++
		if v.Type == "problem" && !strings.HasPrefix(v.File, "shard-") || v.Type == "summary" && (v.Problems < 3 || v.OK == nil || *v.OK) {
			t.Errorf("%s", line)
		}
	}
	if code != 3 || types["problem"] != 2 || types["summary"] != 1 || types["error"] != 1 {
		t.Errorf("exit %d, %v:\n%s", code, types, text)
	}
}
