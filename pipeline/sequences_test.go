package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/verify"
)

// TestSequences packs texts in one step, and lists of tokens that a set holds: the same sequences,
// in one process, in tasks of which one is done twice, and after a shuffle the same documents.
func TestSequences(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return at
	}
	tokenizer := write("tokenizer.json", fmt.Sprintf(wordPieces, 5))
	tokens := int64(0)
	var in []string
	for k := range 4 {
		var lines strings.Builder
		for i := range 1250 {
			n := (i * 7919 % 97) * (1 + i%5/4*3)
			tokens += int64(n)
			fmt.Fprintf(&lines, `{"text":"%s"}`+"\n", strings.Repeat("a ", n))
		}
		in = append(in, write(fmt.Sprintf("in%d.jsonl", k), lines.String()))
	}
	settings := func(change ...func(*Settings)) Settings {
		s := Settings{Inputs: in, Output: filepath.Join(t.TempDir(), "out"), ShardSize: 64 << 10, Jobs: 2, Sync: "none", Format: "mmap",
			Tokenize: []string{"text=" + tokenizer}, Sequences: []string{"text=256"}}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	convert := func(change ...func(*Settings)) (string, *Result) {
		t.Helper()
		s := settings(change...)
		r, err := Convert(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if report, err := Verify(t.Context(), []string{s.Output}, verify.Options{}, Hooks{}); err != nil || report.Err() != nil {
			t.Fatal(err, report)
		}
		return s.Output, r
	}
	count := func(r *Result, what string) int64 {
		for _, c := range r.Manifest.Counts {
			if c.Name == "sequences text: "+what {
				return c.N
			}
		}
		return 0
	}
	one, r := convert()
	if len(r.Manifest.Shards) < 3 || r.Manifest.Documents != 5000 || count(r, "tokens") != tokens || count(r, "tokens")+count(r, "tokens of padding") != 256*r.Manifest.Samples {
		t.Errorf("%d shards of %d documents, %v", len(r.Manifest.Shards), r.Manifest.Documents, r.Manifest.Counts)
	}
	if p := count(r, "tokens of padding"); p*100 > 256*r.Manifest.Samples {
		t.Errorf("%d tokens of padding in %d sequences", p, r.Manifest.Samples)
	}
	alone, _ := convert(func(s *Settings) { s.Jobs, s.Memory = 1, 32<<20 })
	sameFiles(t, one, alone)

	tasks := settings()
	p, err := Plan(t.Context(), tasks)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for _, i := range []int{2, 0, 1, 0} {
		if _, err := Work(t.Context(), tasks.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Merge(t.Context(), tasks.Output, Settings{}); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, one, tasks.Output)

	lists, _ := convert(func(s *Settings) { s.Sequences, s.ShardSize = nil, 0 })
	for _, c := range []func(*Settings){
		func(s *Settings) {},
		func(s *Settings) { s.Shuffle = "global" },
		func(s *Settings) { s.Shuffle = "block" },
		func(s *Settings) { s.Split = "train=0.8,val=0.2" },
		func(s *Settings) { s.Split, s.Shuffle = "train=0.8,val=0.2", "global" },
		func(s *Settings) { s.Sequences = []string{"text=256,concat"} },
		func(s *Settings) { s.Sequences = []string{"text=256,concat,last=drop"} },
		func(s *Settings) { s.Format = "wds" },
	} {
		_, r := convert(func(s *Settings) { s.Inputs, s.Tokenize, s.ShardSize = []string{lists}, nil, 16<<10 }, c)
		if r.Manifest.Documents != 5000 || count(r, "tokens") != tokens || count(r, "tokens")+count(r, "tokens of padding") != 256*r.Manifest.Samples+count(r, "tokens of incomplete sequences, left out") {
			t.Errorf("%d samples of %d documents, %v", r.Manifest.Samples, r.Manifest.Documents, r.Manifest.Counts)
		}
	}
	for what, c := range map[string]func(*Settings){
		"lists of whole numbers": func(s *Settings) { s.Tokenize = nil },
		"--provenance":           func(s *Settings) { s.Provenance = true },
		"--shard-samples":        func(s *Settings) { s.ShardSize, s.ShardSamples = 0, 10 },
		"is there 2 times":       func(s *Settings) { s.Sequences = []string{"text=2", "text=3"} },
		"pad=70000":              func(s *Settings) { s.Sequences = []string{"text=2,pad=70000"} },
		"has no place":           func(s *Settings) { s.Set = []string{"k=1"} },
		"sequences have from 1":  func(s *Settings) { s.Sequences = []string{"text=0"} },
		"--copies":               func(s *Settings) { s.Copies = 2 },
	} {
		if _, err := Convert(t.Context(), settings(c)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
