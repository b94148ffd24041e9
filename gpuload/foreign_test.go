package gpuload

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/readers/mds"
	foreigntar "github.com/shardify/shardify/readers/tar"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers/writertest"
)

// converted is all samples as a conversion reads them.
func converted(t testing.TB, in *format.Input, options format.Options, dir string, names ...string) *shardify.Batch {
	t.Helper()
	table := &format.Table{Roots: []string{dir}}
	for _, name := range names {
		st, err := storages.Files.Stat(bg, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		table.Append(0, name, st.Size, st.ModTime)
	}
	src, err := in.Open(bg, format.OpenArgs{Table: table, Options: options, Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return writertest.ReadAll(t, src, 1<<20)
}

// everyTier reads epochs of a set in all tiers and orders, and holds every value against what a conversion reads.
func everyTier(t *testing.T, d *Dataset, want *shardify.Batch) {
	t.Helper()
	if d.Len() != int64(want.Samples) {
		t.Fatalf("%d samples, want %d", d.Len(), want.Samples)
	}
	for _, c := range []Config{
		{}, {Shuffle: Global}, {Tier: TierPinned, Shuffle: Global}, {Tier: TierStream, Shuffle: Global}, {Tier: TierStream, Verify: VerifyOpen},
		{Tier: TierStream, Shuffle: Block, ShuffleWindow: 64, Streams: 4}, {Tier: TierPinned, Verify: VerifyNone, Keys: true}, {Tier: TierStream, World: 3, Rank: 1},
	} {
		c.Batch, c.Last = 7, Short
		t.Run(fmt.Sprintf("%s-%s-%s-%d", c.Tier, c.Shuffle, c.Verify, c.World), func(t *testing.T) {
			l := mustLoader(t, d, c)
			for range 2 {
				n := 0
				for _, ids := range epochIDs(t, l, want) {
					n += len(ids)
				}
				if c.World == 0 && n != want.Samples {
					t.Fatalf("%d samples of %d", n, want.Samples)
				}
			}
		})
	}
}

// TestMDSWithoutConversion: sets that MosaicML Streaming wrote, plain and compressed, have the values that
// a conversion reads.
func TestMDSWithoutConversion(t *testing.T) {
	for _, name := range []string{"plain", "packed"} {
		dir := filepath.Join("../readers/mds/testdata", name)
		d := mustOpen(t, dir)
		everyTier(t, d, converted(t, &mds.Format, nil, dir, "index.json"))
		l := mustLoader(t, d, Config{Batch: 1})
		if notes := strings.Join(l.Notes(), "\n"); !strings.Contains(notes, "the column pk is left out: a pickle is a program") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// TestOwnMDS: sets that shardify wrote as MDS, whose manifest says what MDS cannot.
func TestOwnMDS(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMDS, schema: "x:f32[3],flag:bool,cls:i16,hits:f32*,img:jpg*300,words:txt**", samples: 200, shard: 64, keyed: true})
	d := mustOpen(t, dir)
	if !d.Keyed() || d.inputs[0].Foreign {
		t.Error("the manifest was not used")
	}
	want := converted(t, &mds.Format, nil, dir, "index.json")
	k := shardify.FieldIndex(fieldsOf(want), "key")
	want.Keys = &want.Columns[k]
	want.Columns = slices.Delete(slices.Clone(want.Columns), k, k+1)
	everyTier(t, d, want)
	name := filepath.Join(dir, d.inputs[0].Shards[1].Name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	err = epochError(t, mustOpen(t, dir), Config{Batch: 7, Tier: TierStream, Verify: VerifyOpen})
	if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Errorf("a changed byte: %v", err)
	}
}

func fieldsOf(b *shardify.Batch) (list []shardify.Field) {
	for i := range b.Columns {
		list = append(list, b.Columns[i].Field)
	}
	return list
}

// epochError is the error of an epoch.
func epochError(t testing.TB, d *Dataset, c Config) error {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		return err
	}
	defer l.Close()
	for {
		b, err := l.Next(bg)
		if err != nil {
			return err
		}
		b.Release()
	}
}

// makeTars writes tars as WebDataset does, of samples that do not all have the same members.
func makeTars(t testing.TB, tars, samples int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	for k := range tars {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		add := func(name string, data []byte) {
			if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
		array := func(n int) []byte {
			head := npy.AppendHeader(nil, shardify.F32, []int64{int64(n), 2})
			return append(head, shardify.Bytes(make([]int64, n))...)
		}
		if err := w.WriteHeader(&tar.Header{Name: "a/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
		for i := range samples {
			key := fmt.Sprintf("a/%d-%04d", k, i)
			if i == 3 {
				key += strings.Repeat("long", 40)
			}
			image := make([]byte, rng.IntN(2000))
			for j := range image {
				image[j] = byte(rng.Uint32())
			}
			add(key+".jpg", image)
			if i%3 > 0 {
				add(key+".cls", []byte(fmt.Sprintf("%d\n", i%5)))
			}
			if i%4 > 0 {
				add(key+".Seg.TXT", []byte("text "+key))
			}
			add(key+".v.npy", array(2))
			add(key+".w.npy", array(i%5))
			if i == 5 {
				add(".hidden", []byte("x"))
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("part-%03d.tar", k)
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return dir, names
}

// TestTarsWithoutConversion: tars of WebDataset without an index.
func TestTarsWithoutConversion(t *testing.T) {
	dir, names := makeTars(t, 3, 60)
	d := mustOpen(t, dir)
	want := converted(t, &foreigntar.Format, format.Options{"missing": "fill"}, dir, names...)
	everyTier(t, d, want)
	one, some := mustOpen(t, filepath.Join(dir, names[1])), mustOpen(t, filepath.Join(dir, "part-*[12].tar"))
	if one.Len() != 60 || some.Len() != 120 {
		t.Errorf("%d samples of one, %d of two", one.Len(), some.Len())
	}
}

// TestForeignSetsThatAreRefused: the error says what is wrong, where, and what to do.
func TestForeignSetsThatAreRefused(t *testing.T) {
	split := t.TempDir()
	for _, name := range []string{"train", "val"} {
		if err := os.CopyFS(filepath.Join(split, name), os.DirFS("../readers/mds/testdata/plain")); err != nil {
			t.Fatal(err)
		}
	}
	tars, names := makeTars(t, 2, 20)
	edit := func(dir, name string, f func(b []byte) []byte) string {
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(to, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), f(b), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	plain := "../readers/mds/testdata/plain"
	packed := t.TempDir()
	if err := os.WriteFile(filepath.Join(packed, "a.tar.gz"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"splits", split, "name one of its folders train, val"},
		{"compressed tars", packed, "shardify convert " + packed + " -o FOLDER"},
		{"more samples", edit(plain, "index.json", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"samples": `), []byte(`"samples": 1`), 1)
		}), "index.json"},
		{"a shorter shard", edit(plain, "shard.00000.mds", func(b []byte) []byte { return b[:len(b)-1] }), "shard.00000.mds"},
		{"a place behind the end", edit(plain, "shard.00000.mds", func(b []byte) []byte { b[11] = 0x7f; return b }), "shard.00000.mds"},
		{"a size behind the sample", edit(plain, "shard.00000.mds", func(b []byte) []byte {
			at := int(b[4]) | int(b[5])<<8 | int(b[6])<<16
			b[at+3] = 0x7f
			return b
		}), "shard.00000.mds"},
		{"a tar cut short", edit(tars, names[0], func(b []byte) []byte { return b[:len(b)/2] }), names[0]},
		{"a header", edit(tars, names[0], func(b []byte) []byte { b[512+10] ^= 1; return b }), names[0]},
	} {
		d, err := Open(bg, c.dir)
		if err == nil {
			err = epochError(t, d, Config{Batch: 4, Tier: TierStream})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// What changes after the tars were indexed.
	dir, _ := makeTars(t, 1, 20)
	d := mustOpen(t, dir)
	name := filepath.Join(dir, "part-000.tar")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.ReplaceAll(b, []byte(".cls"), []byte(".cla")), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := epochError(t, d, Config{Batch: 4, Tier: TierStream}); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), name) {
		t.Errorf("a changed tar: %v", err)
	}
}

// TestForeignSetsInOtherWorlds: what was seen and what comes after a break, in another world, are the whole
// epoch, and a budget holds.
func TestForeignSetsInOtherWorlds(t *testing.T) {
	tars, names := makeTars(t, 3, 60)
	for _, s := range []struct {
		dir, field string
		want       *shardify.Batch
	}{
		{tars, "jpg", converted(t, &foreigntar.Format, format.Options{"missing": "fill"}, tars, names...)},
		{"../readers/mds/testdata/packed", "b", converted(t, &mds.Format, nil, "../readers/mds/testdata/packed", "index.json")},
	} {
		d := mustOpen(t, s.dir)
		total, most := int64(s.want.Samples), int64(0)
		o := s.want.Columns[shardify.FieldIndex(fieldsOf(s.want), s.field)].Offsets[0]
		for i := range total {
			most = max(most, 3*(o[i+1]-o[i]))
		}
		for _, c := range []Config{
			{Shuffle: Global, Tier: TierStream, Batch: 2}, {Shuffle: Block, Tier: TierPinned, Batch: 2}, {Tier: TierStream, Shuffle: Global, Budget: []Limit{{s.field, most}}, BudgetWindow: 20},
		} {
			var all []int64
			check := func(b *Batch) {
				if c.Budget != nil {
					sum := int64(0)
					for _, id := range b.IDs() {
						sum += o[id+1] - o[id]
					}
					if sum > most {
						t.Errorf("%s: a batch of %d, the budget is %d", s.dir, sum, most)
					}
				}
				all = append(all, b.IDs()...)
				b.Release()
			}
			var at State
			c.Last = Short
			for c.World, c.Rank = 4, 0; c.Rank < 4; c.Rank++ {
				l := mustLoader(t, d, c)
				for range 1 {
					b, err := l.Next(bg)
					if err != nil {
						t.Fatal(s.dir, err)
					}
					check(b)
				}
				at = l.State()
				l.Close()
			}
			for c.World, c.Rank = 3, 0; c.Rank < 3; c.Rank++ {
				l := mustLoader(t, d, c)
				if err := l.Restore(at); err != nil {
					t.Fatal(err)
				}
				for {
					b, err := l.Next(bg)
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(s.dir, err)
					}
					check(b)
				}
				l.Close()
			}
			slices.Sort(all)
			if len(all) != int(total) || len(slices.Compact(all)) != int(total) {
				t.Errorf("%s, %s %v: %d samples, want each of %d once", s.dir, c.Shuffle, c.Budget, len(all), total)
			}
		}
	}
}
