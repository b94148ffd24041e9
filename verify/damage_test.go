package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers/writertest"
)

// finds reports whether a report has a problem of this kind in this file.
func finds(r *Report, kind, file string) bool {
	return slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.Kind == kind && p.File == file && !p.Note })
}

func TestWrongFilesAreFound(t *testing.T) {
	ext := map[string]string{"mmap": ".safetensors", "wds": ".tar"}
	for format, ext := range ext {
		s := small(t, format)
		good := build(t, format, s, 4)
		other := build(t, format, makeSource(s.Schema, 7, 99), 4)
		shard := func(i int) string { return fmt.Sprintf("shard-%06d%s", i, ext) }
		// Equal sizes, so that only the content shows a swap.
		equal := build(t, format, makeSource(writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F64}}}, 8, 3), 4)
		copyFile := func(from, to *memory.Store, a, b string) { to.Set(b, from.Files()[a]) }
		table := []struct {
			name   string
			set    *memory.Store
			damage func(m *memory.Store)
			kind   string
			file   string
		}{
			{"missing shard", good, func(m *memory.Store) { m.Remove(shard(1)) }, problem.KindMissing, shard(1)},
			{"truncated shard", good, func(m *memory.Store) { b := m.Files()[shard(1)]; m.Set(shard(1), b[:len(b)-1]) }, problem.KindSize, shard(1)},
			{"empty shard", good, func(m *memory.Store) { m.Set(shard(0), nil) }, problem.KindSize, shard(0)},
			{"shard cut at a block", good, func(m *memory.Store) { b := m.Files()[shard(0)]; m.Set(shard(0), b[:len(b)/1024*512]) }, problem.KindSize, shard(0)},
			{"extended shard", good, func(m *memory.Store) { m.Set(shard(1), append(slices.Clone(m.Files()[shard(1)]), 0)) }, problem.KindSize, shard(1)},
			{"extended by a block", good, func(m *memory.Store) {
				m.Set(shard(1), append(slices.Clone(m.Files()[shard(1)]), make([]byte, 512)...))
			}, problem.KindSize, shard(1)},
			{"extra shard", good, func(m *memory.Store) { copyFile(m, m, shard(1), shard(7)) }, problem.KindExtra, shard(7)},
			{"extra file", good, func(m *memory.Store) { m.Set("x/y.bin", []byte("z")) }, problem.KindExtra, "x/y.bin"},
			{"swapped shards", equal, func(m *memory.Store) {
				f := m.Files()
				m.Set(shard(0), f[shard(1)])
				m.Set(shard(1), f[shard(0)])
			}, problem.KindSwapped, shard(0)},
			{"a shard twice", equal, func(m *memory.Store) { copyFile(m, m, shard(1), shard(0)) }, problem.KindSwapped, shard(0)},
			{"stale shard", good, func(m *memory.Store) { copyFile(other, m, shard(0), shard(0)) }, "", shard(0)},
			{"shard of another schema", good, func(m *memory.Store) { copyFile(equal, m, shard(0), shard(0)) }, problem.KindSize, shard(0)},
			{"stale manifest", good, func(m *memory.Store) { copyFile(other, m, index.ManifestName, index.ManifestName) }, "", shard(0)},
			{"no manifest digest", good, func(m *memory.Store) { m.Set(index.ManifestName, []byte(`{"shardify":1}`)) }, problem.KindFormat, index.ManifestName},
			{"later version", good, func(m *memory.Store) { m.Set(index.ManifestName, []byte(`{"shardify":2}`)) }, problem.KindFormat, index.ManifestName},
		}
		if format == "wds" {
			idx := shard(0) + tar.IndexExt
			dali := strings.TrimSuffix(shard(0), ext) + ".idx"
			for _, name := range []string{idx, dali, "index.json", ".nv-meta/.info.json"} {
				table = append(table,
					struct {
						name   string
						set    *memory.Store
						damage func(m *memory.Store)
						kind   string
						file   string
					}{"missing " + name, good, func(m *memory.Store) { m.Remove(name) }, problem.KindMissing, name},
					struct {
						name   string
						set    *memory.Store
						damage func(m *memory.Store)
						kind   string
						file   string
					}{"truncated " + name, good, func(m *memory.Store) { b := m.Files()[name]; m.Set(name, b[:len(b)/2]) }, problem.KindSize, name})
			}
		}
		for _, c := range table {
			t.Run(format+"/"+c.name, func(t *testing.T) {
				quick(t)
				m := c.set.Clone()
				c.damage(m)
				r := check(t, m, nil)
				found := finds(r, c.kind, c.file)
				if c.kind == "" {
					found = slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.File == c.file && !p.Note })
				}
				if !found || r.OK() || r.Err() == nil || r.Next == "" {
					t.Fatalf("no problem %q in %s; next %q:%s", c.kind, c.file, r.Next, list(r))
				}
				if c.file != index.ManifestName && r.Counts.Shards < 2 {
					t.Errorf("one damage kept the others from being looked at: %+v", r.Counts)
				}
			})
		}
	}
}

// TestAllDamageIsListed: what is wrong in one shard hides nothing in another.
func TestAllDamageIsListed(t *testing.T) {
	quick(t)
	m := build(t, "mmap", makeSource(schema(t, "jagged"), 40, 1), 4)
	want := 0
	for i, name := range published(m) {
		if name == index.ManifestName {
			continue
		}
		b := slices.Clone(m.Files()[name])
		b[len(b)-1-i] ^= 1
		m.Set(name, b)
		want++
	}
	r := check(t, m, func(o *Options) { o.Keep = 3; o.Jobs = 4 })
	if r.Total != int64(want) || len(r.Problems) != 3 {
		t.Fatalf("%d problems counted, %d kept, want %d and 3", r.Total, len(r.Problems), want)
	}
	for _, p := range r.Problems {
		if p.Object == "" || p.Offset < 0 || p.Want == nil || p.Got == nil || p.Fix == "" {
			t.Errorf("incomplete problem %+v", p)
		}
	}
}

// TestSampleAndPlaceOfAChangedValue: the report names the sample of the data set.
func TestSampleAndPlaceOfAChangedValue(t *testing.T) {
	m := build(t, "mmap", makeSource(writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.I32, Shape: []int{2}}}}, 20, 1), 8)
	name := "shard-000001.safetensors"
	b := slices.Clone(m.Files()[name])
	at := len(b) - 4 // x[1] of its last sample, which is number 15 of the set
	b[at] ^= 0x40
	m.Set(name, b)
	r := check(t, m, nil)
	if len(r.Problems) != 1 {
		t.Fatal(list(r))
	}
	if p := r.Problems[0]; p.Sample != 15 || p.Offset != int64(at) || p.Object != "x" || p.Field != "x" || p.Level != problem.LevelChecksum {
		t.Errorf("%+v", p)
	}
}

// TestSampleOfAnElement: the element of a list of lists leads back to its sample.
func TestSampleOfAnElement(t *testing.T) {
	src := makeSource(schema(t, "two levels"), 30, 1)
	m := build(t, "mmap", src, 30)
	name := "shard-000000.safetensors"
	good := m.Files()[name]
	shard, err := index.ParseShard(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	hits := src.whole.Columns[0]
	checked := 0
	for sample := range 30 {
		lo, hi := hits.Range(sample, sample+1)
		if lo == hi {
			continue
		}
		for _, at := range []int{lo, hi - 1} {
			d := m.Clone()
			b := slices.Clone(good)
			b[shard.Tensor("hits#values").Lo+int64(at)] ^= 8
			d.Set(name, b)
			r := check(t, d, nil)
			if len(r.Problems) != 1 || r.Problems[0].Sample != int64(sample) {
				t.Errorf("sample %d:%s", sample, list(r))
			}
			checked++
		}
	}
	if checked < 10 {
		t.Errorf("%d places", checked)
	}
}

func TestPartsOfTheShardsTogetherAreAll(t *testing.T) {
	m := build(t, "mmap", makeSource(schema(t, "scalars"), 80, 1), 8) // ten shards
	seen := map[int]int64{}
	for i := 1; i <= 3; i++ {
		p, err := ParsePart(fmt.Sprintf("%d/3", i))
		if err != nil {
			t.Fatal(err)
		}
		seen[i] = check(t, m, func(o *Options) { o.Read = p }).Counts.ShardsRead
	}
	if seen[1] != 4 || seen[2] != 3 || seen[3] != 3 {
		t.Errorf("read %v", seen)
	}
	for s, want := range map[string]int64{"all": 10, "none": 0, "5%": 1, "25%": 3, "100%": 10} {
		p, err := ParsePart(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := check(t, m, func(o *Options) { o.Read = p; o.Seed = 7 }).Counts.ShardsRead; got != want {
			t.Errorf("%s reads %d shards, want %d", s, got, want)
		}
	}
	for _, s := range []string{"0/3", "4/3", "x", "0%", "101%", "1/0", "-1/2", "NaN%"} {
		if _, err := ParsePart(s); err == nil {
			t.Errorf("part %q is taken", s)
		}
	}
}

// TestHostileManifests: texts with a right digest that claim the impossible.
func TestHostileManifests(t *testing.T) {
	race.Sequential(t)
	quick(t)
	for _, format := range []string{"mmap", "wds"} {
		good := build(t, format, small(t, format), 4)
		for name, change := range map[string]func(m *index.Manifest){
			"huge shard":        func(m *index.Manifest) { m.Shards[0].Bytes, m.Bytes = 1<<62, 1<<62+m.Shards[1].Bytes },
			"tiny shard":        func(m *index.Manifest) { m.Bytes -= m.Shards[0].Bytes - 3; m.Shards[0].Bytes = 3 },
			"many samples":      func(m *index.Manifest) { m.Samples += 1 << 60; m.Shards[0].Samples += 1 << 60 },
			"no samples":        func(m *index.Manifest) { m.Samples -= m.Shards[0].Samples; m.Shards[0].Samples = 0 },
			"huge element":      func(m *index.Manifest) { m.Schema[0].Shape = []int{1 << 40} },
			"other schema":      func(m *index.Manifest) { m.Schema[0].DType = shardify.I64 },
			"other keys":        func(m *index.Manifest) { m.Keyed = !m.Keyed },
			"other format":      func(m *index.Manifest) { m.Format = map[string]string{"mmap": "wds", "wds": "mmap"}[m.Format] },
			"digest of nothing": func(m *index.Manifest) { m.Shards[0].Digest = index.DigestOf(nil) },
			"huge file": func(m *index.Manifest) {
				m.Files = append(m.Files, shardify.File{Name: "f", Bytes: 1 << 62, Digest: index.DigestOf(nil)})
			},
			"index of another size": func(m *index.Manifest) {
				if m.Format == "wds" {
					m.Shards[0].Files[0].Bytes = 3
				} else {
					m.Shards[0].Files = []shardify.File{{Name: "i", Bytes: 3, Digest: index.DigestOf([]byte("abc"))}}
				}
			},
			"no members": func(m *index.Manifest) { m.Members = map[string]string{m.Schema[0].Name: "x"} },
			"split of nothing": func(m *index.Manifest) {
				m.Shards, m.Files, m.Bytes = nil, nil, 0
				m.Splits = map[string]index.Split{"train": {Samples: m.Samples, Shards: 1, Digest: strings.Repeat("0", 32)}}
			},
		} {
			if format == "wds" && name == "other keys" {
				continue // the keys of rows are good keys of samples, too
			}
			t.Run(format+"/"+name, func(t *testing.T) {
				man, err := index.DecodeManifest(good.Files()[index.ManifestName])
				if err != nil {
					t.Fatal(err)
				}
				change(man)
				b, err := man.Encode()
				if err != nil {
					t.Skip(err)
				}
				d := good.Clone()
				d.Set(index.ManifestName, b)
				if r := check(t, d, func(o *Options) { o.Repair = true }); r.OK() {
					t.Errorf("nothing is found")
				}
			})
		}
	}
}

// stopped is a conversion that was cut off after some shards.
func stopped(t testing.TB, format string, src *made, perShard, shards int) (*memory.Store, *convert.Job) {
	t.Helper()
	m := memory.New()
	j := job(t, m, format, src, perShard)
	if err := plan.Publish(context.Background(), j.Plan, m); err != nil {
		t.Fatal(err)
	}
	if err := j.Work(context.Background(), j.Plan.Pack.Task(0, 1)[:shards]); err != nil {
		t.Fatal(err)
	}
	return m, j
}

func TestUnfinishedSets(t *testing.T) {
	quick(t)
	for _, format := range []string{"mmap", "wds"} {
		m, j := stopped(t, format, small(t, format), 2, 2)
		r := check(t, m, nil)
		if !r.OK() || r.Err() == nil || r.State != StateUnfinished || r.Unmade != 2 || r.Counts.ShardsRead != 2 || r.Next == "" {
			t.Fatalf("%s: state %s, %d unmade, %+v:%s", format, r.State, r.Unmade, r.Counts, list(r))
		}
		if r.Problems[0].Kind != problem.KindUnfinished || !r.Problems[0].Note {
			t.Errorf("%s: not said:%s", format, list(r))
		}

		// A crash between shard and receipt.
		late := m.Clone()
		late.Remove(".shardify/receipts/shard-000001.json")
		r = check(t, late, nil)
		if !r.OK() || !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool {
			return p.Kind == problem.KindUnacknowledged && p.Note && p.File == j.Plan.Names().Shard(1)
		}) {
			t.Errorf("%s: shard without a receipt:%s", format, list(r))
		}
		bad := late.Clone()
		b := slices.Clone(bad.Files()[j.Plan.Names().Shard(1)])
		b[3] ^= 1
		bad.Set(j.Plan.Names().Shard(1), b)
		if r = check(t, bad, nil); r.OK() {
			t.Errorf("%s: damage in a shard without a receipt is not found", format)
		}

		// Damage in a shard with a receipt.
		bad = m.Clone()
		b = slices.Clone(bad.Files()[j.Plan.Names().Shard(0)])
		b[len(b)-len(b)/5] ^= 1
		bad.Set(j.Plan.Names().Shard(0), b)
		if r = check(t, bad, nil); r.OK() || r.Problems[0].File != j.Plan.Names().Shard(0) {
			t.Errorf("%s: damage in a shard with a receipt:%s", format, list(r))
		}

		// Everything but the manifest.
		full := build(t, format, small(t, format), 2)
		full.Remove(index.ManifestName)
		if r = check(t, full, nil); !r.OK() || r.Unmade != 0 || r.Counts.Shards != 4 {
			t.Errorf("%s: all shards and no manifest: %+v%s", format, r.Counts, list(r))
		}

		// Receipts alone, and a receipt of another plan.
		full.Remove(plan.FileName)
		if r = check(t, full, nil); r.State != StateUnfinished || r.Counts.Shards != 4 {
			t.Errorf("%s: receipts without a plan: %+v%s", format, r.Counts, list(r))
		}
		name := ".shardify/receipts/shard-000000.json"
		alien := m.Clone()
		var rec plan.Receipt
		if err := json.Unmarshal(alien.Files()[name], &rec); err != nil {
			t.Fatal(err)
		}
		rec.Plan = "xxh3:00"
		b, _ = json.Marshal(rec)
		alien.Set(name, b)
		if r = check(t, alien, nil); !finds(r, problem.KindMismatch, name) {
			t.Errorf("%s: receipt of another plan:%s", format, list(r))
		}
	}
}

func TestAFolderOfNothingIsNoDataSet(t *testing.T) {
	if _, err := Run(context.Background(), Options{Store: memory.New(), Sources: []format.Input{}, Sinks: []format.Output{}}); err == nil {
		t.Error("an empty store was verified")
	}
}

// TestStorageErrorsAreNotTakenForHealth: the i-th operation fails. It is not taken for
// damage either.
func TestStorageErrorsAreNotTakenForHealth(t *testing.T) {
	quick(t)
	for _, kind := range []string{"mmap", "wds"} {
		m := build(t, kind, small(t, kind), 4)
		points := 0
		for i := 1; ; i++ {
			f := fault.New(m, i, false)
			sink, _ := sinkOf(t, kind)
			r, err := Run(context.Background(), Options{Store: f, Jobs: 1, Sinks: []format.Output{sink}, Sources: []format.Input{}})
			if f.Count() < i {
				break
			}
			points++
			if err == nil && r.OK() {
				t.Errorf("%s: operation %d fails, and all is well", kind, i)
			} else if err == nil && !has(r, problem.KindUnreadable) {
				t.Errorf("%s: operation %d fails, and is taken for damage:%s", kind, i, list(r))
			}
		}
		t.Logf("%s: %d operations", kind, points)
	}
}
