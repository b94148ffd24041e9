package verify

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/verify/problem"
)

// splitJob converts into splits, in a new order if shuffle says so.
func splitJob(t testing.TB, s storage.Store, kind, shuffle string) *convert.Job {
	t.Helper()
	src := small(t, kind)
	sink, options := sinkOf(t, kind)
	split, err := splits.Parse("train=0.6,val=0.4")
	if err != nil {
		t.Fatal(err)
	}
	table := &format.Table{Roots: []string{"/nowhere"}}
	table.Append(0, "in.made", 100, 0)
	plan, err := convert.MakePlan(context.Background(), convert.Request{
		Input: "made", Source: madeSource{src}, Args: format.OpenArgs{Table: table},
		Output: sink, Options: options, ShardSamples: 7, Split: split, Shuffle: shuffle, Asked: plan.Asked{Provenance: kind == "mmap"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &convert.Job{Plan: plan, Source: madeSource{src}, Sink: sink, Store: s, Pool: shardify.NewPool(1 << 30), Jobs: 1}
}

// TestSplitSetsAreCheckedAtEveryStage: whole, without its manifests one by one, and with
// a part of its shards.
func TestSplitSetsAreCheckedAtEveryStage(t *testing.T) {
	quick(t)
	for _, format := range []string{"mmap", "wds"} {
		for _, shuffle := range []string{"", plan.ShuffleGlobal} {
			m := memory.New()
			j := splitJob(t, m, format, shuffle)
			if _, err := j.Convert(context.Background()); err != nil {
				t.Fatal(err)
			}
			if r := check(t, m, nil); len(r.Problems) > 0 || r.State != StateComplete {
				t.Fatalf("%s %s: a sound set:%s", format, shuffle, list(r))
			}
			whole := m.Clone()
			m.Remove(index.ManifestName)
			noProblems(t, format+" without the root manifest", m)
			m.Remove("val/" + index.ManifestName)
			noProblems(t, format+" without one more", m)
			for name := range m.Files() {
				if strings.HasPrefix(name, ".shardify/receipts/shard-000001") {
					m.Remove(name)
				}
			}
			noProblems(t, format+" without a receipt", m)

			// Every changed byte of a split's manifest is reported and repaired.
			name := "train/" + index.ManifestName
			good := whole.Files()[name]
			for at := 0; at < len(good); at += 211 {
				m := whole.Clone()
				b := bytes.Clone(good)
				b[at] ^= 0x55
				m.Set(name, b)
				r := check(t, m, nil)
				if !finds(r, problem.KindDigest, name) && !finds(r, problem.KindFormat, name) && !finds(r, problem.KindMismatch, name) {
					t.Fatalf("%s: byte %d of %s is changed:%s", format, at, name, list(r))
				}
				for _, p := range r.Problems {
					if p.Kind == problem.KindExtra {
						t.Fatalf("%s: byte %d of %s is changed: %s is taken for foreign", format, at, name, p.File)
					}
				}
				check(t, m, func(o *Options) { o.Repair = true })
				if !bytes.Equal(m.Files()[name], good) {
					t.Fatalf("%s: byte %d of %s is not repaired", format, at, name)
				}
			}
		}
	}
}

// noProblems: an unfinished set has notes, and nothing that is wrong.
func noProblems(t *testing.T, what string, m *memory.Store) {
	t.Helper()
	r := check(t, m, nil)
	if r.State != StateUnfinished {
		t.Errorf("%s: %v", what, r.State)
	}
	for _, p := range r.Problems {
		if !p.Note {
			t.Errorf("%s:%s", what, list(r))
			return
		}
	}
}

// TestShardsOfAStoppedChangeAreNamedAsSuch: gc removes them, and other files are the user's.
func TestShardsOfAStoppedChangeAreNamedAsSuch(t *testing.T) {
	for _, prefix := range []string{"", "train/"} {
		m := memory.New()
		j := splitJob(t, m, "mmap", "")
		if prefix == "" {
			m = build(t, "mmap", small(t, "mmap"), 7)
		} else if _, err := j.Convert(context.Background()); err != nil {
			t.Fatal(err)
		}
		m.Set(prefix+"shard-000001-0123456789abcdef.safetensors", []byte("x"))
		r := check(t, m, nil)
		if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, "stopped") || !strings.Contains(r.Next, "shardify gc ") || !strings.HasSuffix(r.Next, " --keep 1") {
			t.Errorf("%q: %s%s", prefix, r.Next, list(r))
		}
		m.Set(prefix+"mine.safetensors", []byte("x"))
		if r = check(t, m, nil); len(r.Problems) != 2 || !strings.Contains(list(r), "does not name it") {
			t.Errorf("%q: %s", prefix, list(r))
		}
	}
}
