package convert_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/wds"
)

// compileCopies makes three of each sample of train.
func compileCopies([]plan.Op, flow.Env) (*flow.Pipeline, error) {
	return &flow.Pipeline{Copies: 3, CopySplits: []string{"train"}}, nil
}

// TestEveryKindOfFieldKeepsItsBytes: shuffled, split and copied samples of every kind,
// in both formats, named or not, give the same files whatever jobs, tasks and memory.
func TestEveryKindOfFieldKeepsItsBytes(t *testing.T) {
	const schema = "a:i64,b:f32[3,5],c:u8?,d:f32*20@Jet,e:i16*20[4]@Jet,f:f64**,g:txt**,h:jpg*3000,i:bool"
	for _, c := range []struct {
		sink    format.Output
		keyed   bool
		shuffle string
	}{
		{mmap.Format, false, plan.ShuffleGlobal}, {mmap.Format, true, plan.ShuffleBlock}, {mmap.Format, true, plan.ShuffleNone},
		{wds.Format, true, plan.ShuffleGlobal}, {wds.Format, false, plan.ShuffleBlock}, {wds.Format, true, plan.ShuffleNone},
	} {
		t.Run(fmt.Sprint(c.sink.Name, c.keyed, c.shuffle), func(t *testing.T) {
			fields := schema
			if c.sink.Name == index.FormatWDS {
				fields = "a:i64,b:f32[3,5],d:f32*20@Jet,h:jpg*3000"
			}
			var want map[string][]byte
			for _, jobs := range []int{1, 2, 7} {
				for _, tasks := range []int{1, 10} {
					for _, memory := range []int64{100 << 10, 64 << 20} {
						// Each value of one with each of another, in a third of all ways.
						if quick := (tasks == 1) == (memory > 1<<20); !long() && (jobs == 2 || quick != (jobs == 1)) || testing.Short() && jobs == 1 {
							continue
						}
						got := convertOnce(t, c.sink, fields, c.keyed, c.shuffle, jobs, tasks, memory)
						if want == nil {
							want = got
						}
						if !maps.EqualFunc(want, got, func(a, b []byte) bool { return string(a) == string(b) }) {
							t.Fatalf("jobs %d, tasks %d, memory %d: other bytes", jobs, tasks, memory)
						}
					}
				}
			}
			checkNames(t, want, c.keyed)
		})
	}
}

func convertOnce(t *testing.T, sink format.Output, schema string, keyed bool, shuffle string, jobs, tasks int, budget int64) map[string][]byte {
	t.Helper()
	o, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": "600", "schema": schema, "keyed": fmt.Sprint(keyed)})
	if err != nil {
		t.Fatal(err)
	}
	a := format.OpenArgs{Table: &format.Table{}, Options: o}
	src, err := synth.Format.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	opts, err := format.CheckOptions(sink.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	split, err := splits.Parse("train=0.6,val=0.4")
	if err != nil {
		t.Fatal(err)
	}
	p, err := convert.MakePlan(context.Background(), convert.Request{
		Input: "synth", Source: src, Args: a, Output: sink, Options: opts, ShardSize: 200 << 10, Seed: 3, Split: split,
		Shuffle: shuffle, Asked: plan.Asked{Provenance: true}, Ops: []plan.Op{{Name: "copies"}}, Compile: compileCopies,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := memory.New()
	job := func() *convert.Job {
		return &convert.Job{Plan: p, Source: src, Sink: sink, Store: s, Pool: shardify.NewPool(budget), Jobs: jobs, Compile: compileCopies}
	}
	for range 2 {
		for i := range tasks {
			if err := job().Task(context.Background(), i, tasks); err != nil && !errors.Is(err, convert.ErrIncomplete) {
				t.Fatal(err)
			}
		}
	}
	if _, err := job().Merge(context.Background()); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for n, b := range s.Files() {
		if !strings.HasPrefix(n, storage.Private) {
			out[n] = b
		}
	}
	return out
}

// checkNames: no two samples of a tar's set have one name, and each copy has its own.
func checkNames(t *testing.T, files map[string][]byte, keyed bool) {
	t.Helper()
	for _, dir := range []string{"train/", "val/"} {
		seen := map[string]bool{}
		samples := int64(0)
		m, err := index.DecodeManifest(files[dir+index.ManifestName])
		if err != nil {
			t.Fatal(err)
		}
		if m.Format != index.FormatWDS {
			return
		}
		for _, s := range m.Shards {
			samples += s.Samples
			b := files[dir+s.Name]
			for at := 0; at+512 <= len(b) && b[at] != 0; {
				name := strings.TrimRight(string(b[at:at+100]), "\x00")
				if seen[name] {
					t.Fatalf("%s occurs twice", name)
				}
				seen[name] = true
				var size int
				fmt.Sscanf(string(b[at+124:at+135]), "%o", &size)
				at += 512 + (size+511)/512*512
			}
		}
		if int64(len(seen)) != samples*int64(len(m.Members)) {
			t.Fatalf("%s: %d members for %d samples of %d", dir, len(seen), samples, len(m.Members))
		}
	}
}
