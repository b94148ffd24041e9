//go:build linux && amd64

package faulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damaged: inputs that are damaged, from the corpora and by a flipped bit anywhere in a
// file of each format, end to end. Either the conversion says which file it is, exits
// with 1 and publishes no data set, or what it publishes is one that verify has nothing
// against; with --on-error skip, what is skipped is listed and the exit code is 3.
func damaged(t *testing.T) {
	s := &damageTally{dir: Fast(t)}
	for _, p := range corpus(t) {
		s.try(t, p, filepath.Base(filepath.Dir(p))+"/"+filepath.Base(p), nil)
	}
	t.Logf("damaged: corpora: %v", s)
	flips := 12
	if Long() {
		flips = 400
	}
	all := Cases(t)
	tars := filepath.Join(s.dir, "tars")
	tree := Find(t, all, "files-wds")
	Must(t, append([]string{"shardify"}, tree.Convert(tars)...)...)
	for _, c := range []struct {
		name, file string
		flags      []string
	}{
		{"npz", Find(t, all, "npz-mmap").In[0], nil},
		{"hdf5", Find(t, all, "hdf5-mmap").In[0], nil},
		{"root", Find(t, all, "root-mmap").In[0], []string{"--object", "Events"}},
		{"parquet", Find(t, all, "parquet-mmap").In[0], []string{"--format", "mmap"}},
		{"tar", filepath.Join(tars, "shard-000000.tar"), []string{"--from", "tar"}},
	} {
		f := &damageTally{dir: s.dir}
		f.flip(t, c.file, flips, c.flags)
		t.Logf("damaged: %s, one bit flipped: %v", c.name, f)
	}
	controlDamage(t, s.dir, all)
}

// corpus lists the files that other readers refuse, or that were damaged on purpose.
func corpus(t *testing.T) (list []string) {
	dir := filepath.Join(Root(t), "..", "shared", "corpus")
	for _, pattern := range []string{"npz/*/*.json", "hdf5/*/*.json", "root/*/*.json"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			var facts struct {
				Open   string `json:"open_error"`
				Error  string `json:"error"`
				Expect any    `json:"expect"`
			}
			b, err := os.ReadFile(n)
			file := strings.TrimSuffix(n, ".json")
			base := filepath.Base(file)
			if err != nil || json.Unmarshal(b, &facts) != nil {
				continue
			}
			if facts.Open == "" && facts.Error == "" && facts.Expect == nil && !strings.Contains(base, "bad_") && !strings.Contains(base, "corrupt") {
				continue
			}
			if _, err := os.Stat(file); err == nil {
				list = append(list, file)
			}
		}
	}
	if len(list) == 0 {
		t.Logf("damaged: the corpora are not there: %s", dir)
	}
	if !Long() {
		for i := range list[:len(list)/8] {
			list[i] = list[i*8]
		}
		list = list[:len(list)/8]
	}
	return list
}

type damageTally struct {
	tally
	dir                       string
	n                         int
	refused, accepted, partly int
}

func (s *damageTally) String() string {
	return fmt.Sprintf("%d files, each with --on-error fail and skip: %d conversions refused by name, %d accepted and found good by verify, %d with a list of what was skipped; %d faults",
		s.points, s.refused, s.accepted, s.partly, len(s.notes))
}

// try converts a file in both ways.
func (s *damageTally) try(t *testing.T, file, where string, flags []string) {
	t.Helper()
	s.points++
	for _, mode := range []string{"fail", "skip"} {
		s.n++
		out := filepath.Join(s.dir, fmt.Sprintf("out%d", s.n))
		args := append([]string{"shardify", "convert", file, "-o", out, "--quiet", "--jobs", "1", "--memory", "256MiB", "--on-error", mode}, flags...)
		code, text := Run(t, args...)
		s.verdict(t, where+", "+mode, file, out, mode, code, text)
		os.RemoveAll(out)
	}
}

func (s *damageTally) verdict(t *testing.T, where, file, out, mode string, code int, text string) {
	t.Helper()
	manifest, err := os.ReadFile(filepath.Join(out, "shardify.json"))
	published := err == nil
	switch {
	case crashed(code, text):
		s.fault(t, "%s: crashes: %d\n%.2000s", where, code, text)
	case code == 0 && published, code == 3 && published && mode == "skip":
		if code == 3 {
			s.partly++
			if !strings.Contains(text, "skipped") || !bytes.Contains(manifest, []byte(`"skipped"`)) {
				s.fault(t, "%s: exit 3 without a list of what was skipped\n%s", where, text)
			}
		} else {
			s.accepted++
		}
		if c, v := Run(t, "verify", out); c != 0 && c != 3 {
			s.fault(t, "%s: verify exits %d\n%s", where, c, v)
		}
	case code == 1 && !published || code == 2 && !published:
		s.refused++
		if !strings.Contains(text, filepath.Base(file)) {
			s.fault(t, "%s: the file is not named: %s", where, text)
		}
	default:
		s.fault(t, "%s: exit %d, published: %v\n%s", where, code, published, text)
	}
}

// flip damages a copy of a file in n places.
func (s *damageTally) flip(t *testing.T, file string, n int, flags []string) {
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := filepath.Join(s.dir, "flipped-"+filepath.Base(file))
	for i := range n {
		at := i * len(whole) / n
		b := bytes.Clone(whole)
		b[at] ^= 1 << (i % 8)
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
		s.try(t, p, fmt.Sprintf("%s, bit %d of byte %d", filepath.Base(file), i%8, at), flags)
	}
}

// controlDamage: a flipped bit in data that have a checksum must be noticed.
func controlDamage(t *testing.T, dir string, all []Case) {
	c := Find(t, all, "npz-mmap")
	b, err := os.ReadFile(c.In[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("y.npy")) + 200 // stored
	b[at] ^= 4
	p := filepath.Join(dir, "control.npz")
	if err := os.WriteFile(p, b, 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "control")
	code, text := Run(t, "shardify", "convert", p, "-o", out, "--quiet")
	if _, err := os.Stat(filepath.Join(out, "shardify.json")); code != 1 || err == nil || !strings.Contains(text, "control.npz") {
		t.Errorf("control: a flipped bit under a checksum: exit %d\n%s", code, text)
	}
	t.Log("damaged: control: a flipped bit under a checksum is found, and nothing is published")
}
