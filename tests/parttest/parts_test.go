package parttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify"
	"github.com/shardify/shardify/writers"
)

// small makes parts of so many files.
func small(t *testing.T, files int) {
	old := readers.PartFiles
	readers.PartFiles = files
	t.Cleanup(func() { readers.PartFiles = old })
}

// photos makes a folder of n samples, an image and a text each, in folders of classes.
func photos(t *testing.T, n int) string {
	dir := filepath.Join(t.TempDir(), "photos")
	for i := range n {
		class := fmt.Sprintf("class%d", i*5/n)
		if err := os.MkdirAll(filepath.Join(dir, class), 0o777); err != nil {
			t.Fatal(err)
		}
		stem := filepath.Join(dir, class, fmt.Sprintf("img%d", i))
		write(t, stem+".jpg", strings.Repeat(string(rune('a'+i%26)), 10+i*37%300))
		write(t, stem+".txt", fmt.Sprint("this is ", i))
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// prepare plans the inputs into out.
func prepare(t *testing.T, s pipeline.Settings) (*pipeline.Prepared, error) {
	t.Helper()
	s.Format, s.From = "wds", "files"
	if s.Output == "" {
		s.Output = filepath.Join(t.TempDir(), "out")
	}
	s.Sync = string(local.SyncNone)
	s.ShardSize = 4 << 10
	x, err := pipeline.Prepare(context.Background(), s)
	if err == nil {
		t.Cleanup(func() { x.Job.Source.Close() })
	}
	return x, err
}

// published reads all files that a reader may see.
func published(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == storage.Private {
				return fs.SkipDir
			}
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", what, len(got), len(want))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// samples lists keys and values of a data set.
func samples(t *testing.T, dir string) (out []string) {
	t.Helper()
	f, _ := readers.Lookup("wds")
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := readers.Open(context.Background(), f, readers.Request{Inputs: []string{dir}, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Source.Close()
	pool := shardify.NewPool(64 << 20)
	var r shardify.Reader
	run := ^uint32(0)
	for s, err := range o.Source.Spans(context.Background(), 1<<16) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Run != run {
			if r, err = o.Source.Reader(s.Run); err != nil {
				t.Fatal(err)
			}
			run = s.Run
		}
		mem := pool.Overdraft()
		b, err := r.Read(context.Background(), s, mem)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Samples {
			var line bytes.Buffer
			lo, hi := b.Keys.Range(i, i+1)
			line.Write(b.Keys.Data[lo:hi])
			for k := range b.Columns {
				c := &b.Columns[k]
				lo, hi := c.Range(i, i+1)
				fmt.Fprintf(&line, " %s=%q", c.Name, c.Data[lo:hi])
			}
			out = append(out, line.String())
		}
		mem.Release()
	}
	return out
}

// work does all tasks of n, each as a process of its own would.
func work(t *testing.T, out string, tasks, jobs int) error {
	for task := range tasks {
		x, err := pipeline.Reopen(t.Context(), out, pipeline.Settings{Sync: string(local.SyncNone), Jobs: jobs, Memory: 64 << 20})
		if err != nil {
			return err
		}
		if err := x.OpenSource(context.Background()); err != nil {
			return err
		}
		if err := x.Job.Task(context.Background(), task, tasks); err != nil {
			return err
		}
	}
	x, err := pipeline.Reopen(t.Context(), out, pipeline.Settings{Sync: string(local.SyncNone), Jobs: jobs, Memory: 64 << 20})
	if err != nil {
		return err
	}
	_, err = x.Job.Merge(context.Background())
	return err
}

// TestASetMadeInPartsIsTheSameWhoeverMakesIt: tasks, jobs, a second start. Its samples are
// those of the set that is made in one table.
func TestASetMadeInPartsIsTheSameWhoeverMakesIt(t *testing.T) {
	in := photos(t, 157)
	for _, options := range []format.Options{nil, {"keys": "ordinal"}, {"labels": "none"}} {
		one, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := one.Job.Convert(t.Context()); err != nil {
			t.Fatal(err)
		}
		small(t, 20)
		x, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		if n := x.Plan.Pack.Parts(); n != 15 && n != 16 || one.Plan.Pack.Parts() != 0 {
			t.Errorf("%d and %d parts", n, one.Plan.Pack.Parts())
		}
		if _, err := x.Job.Convert(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := published(t, x.Output)
		got, whole := samples(t, x.Output), samples(t, one.Output)
		if options["keys"] == "ordinal" { // with more digits
			for i := range whole {
				whole[i] = "000000" + whole[i]
			}
		}
		if !slices.Equal(got, whole) {
			t.Errorf("%v: other samples: %q, not %q", options, got[:3], whole[:3])
		}
		checkSet(t, x.Output)
		for _, tasks := range []int{1, 3, 100} {
			for _, jobs := range []int{1, 2, 7} {
				y, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Options: options})
				if err != nil {
					t.Fatal(err)
				}
				if y.Plan.Digest() != x.Plan.Digest() {
					t.Fatal("another digest")
				}
				if err := plan.Publish(t.Context(), y.Plan, y.Store); err != nil {
					t.Fatal(err)
				}
				if err := work(t, y.Output, tasks, jobs); err != nil {
					t.Fatal(err)
				}
				same(t, fmt.Sprintf("%d tasks, %d jobs", tasks, jobs), published(t, y.Output), want)
			}
		}
		resume(t, x.Output, want)
		readers.PartFiles = 1 << 17
	}
}

// resume takes some shards and the manifest away and goes on.
func resume(t *testing.T, out string, want map[string]string) {
	for i, name := range []string{"shardify.json", "shard-000002.tar", "shard-000009.tar", ".shardify/receipts/shard-000005.json"} {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := work(t, out, 3, 2); err != nil {
		t.Fatal(err)
	}
	same(t, "resumed", published(t, out), want)
}

// checkSet verifies a data set, values against the source included.
func checkSet(t *testing.T, dir string) {
	t.Helper()
	r, err := verify.Run(context.Background(), verify.Options{
		Dir: dir, Store: local.NewDir(dir, local.SyncNone), Sources: readers.Formats, Sinks: writers.Formats, Against: true, Jobs: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		t.Errorf("verify: %+v", r.Problems[0])
	}
}

// TestListsInParts: a list in the order of its bytes, and one whose order
// does not allow parts, which is planned in one table.
func TestListsInParts(t *testing.T) {
	in := photos(t, 80)
	small(t, 16)
	var names []string
	filepath.WalkDir(in, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	slices.Sort(names)
	apart := slices.Clone(names)
	apart[10], apart[100] = apart[100], apart[10]
	twice := append(slices.Clone(names[:70]), names[69])
	twice = append(twice, names[70:]...)
	for _, c := range []struct {
		name    string
		list    []string
		options format.Options
		parts   bool
		fails   string
	}{
		{"sorted", names, nil, true, ""},
		{"sorted, sizes unknown", names, format.Options{"assume-size": "100"}, true, ""},
		{"two in the place of each other", apart, nil, false, ""},
		{"a name twice", twice, nil, false, "1 pair ("},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list")
			write(t, list, strings.Join(c.list, "\n")+"\n")
			x, err := prepare(t, pipeline.Settings{FilesFrom: list, Options: c.options})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if x.Plan.Pack.InParts() != c.parts {
				t.Errorf("%d parts", x.Plan.Pack.Parts())
			}
			if _, err := x.Job.Convert(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := samples(t, x.Output); len(got) != 80 {
				t.Errorf("%d samples", len(got))
			}
			checkSet(t, x.Output)
		})
	}
}

// TestWhatOnlyAllPartsTogetherShow: fields that begin late, holes, classes, and errors
// that count over all parts.
func TestWhatOnlyAllPartsTogetherShow(t *testing.T) {
	small(t, 10)
	for _, c := range []struct {
		name    string
		files   func(i int) []string // of sample i of 60
		options format.Options
		samples int
		fields  string
		left    int64
		fails   string
	}{
		{"a field begins late", func(i int) []string {
			if i < 41 {
				return []string{fmt.Sprintf("a/%03d.jpg", i)}
			}
			return []string{fmt.Sprintf("a/%03d.jpg", i), fmt.Sprintf("a/%03d.txt", i)}
		}, nil, 0, "", 0, "of 60 samples some lack a file: txt in 41 samples (a/000, a/001, a/002, ...); --columns jpg --missing drop"},
		{"and is filled", func(i int) []string {
			if i%2 == 0 {
				return []string{fmt.Sprintf("a/%03d.jpg", i)}
			}
			return []string{fmt.Sprintf("a/%03d.jpg", i), fmt.Sprintf("a/%03d.txt", i)}
		}, format.Options{"missing": "fill"}, 60, "jpg txt?", 0, ""},
		{"or its samples dropped", func(i int) []string {
			if i < 41 {
				return []string{fmt.Sprintf("a/%03d.jpg", i)}
			}
			return []string{fmt.Sprintf("a/%03d.jpg", i), fmt.Sprintf("a/%03d.txt", i)}
		}, format.Options{"missing": "drop"}, 19, "jpg txt", 41, ""},
		{"image types", func(i int) []string { return []string{fmt.Sprintf("a/%03d.%s", i, []string{"jpg", "png"}[i/30])} },
			nil, 60, "image image.ext", 0, ""},
		{"classes, one after the other", func(i int) []string { return []string{fmt.Sprintf("class%d/%03d.jpg", i/20, i)} }, nil, 60, "cls jpg", 0, ""},
		{"a sample in no folder", func(i int) []string {
			if i == 59 {
				return []string{"z.jpg"}
			}
			return []string{fmt.Sprintf("class%d/%03d.jpg", i/20, i)}
		}, nil, 60, "jpg", 0, ""},
		{"labels that cannot be", func(i int) []string { return []string{fmt.Sprintf("%03d.jpg", i)} },
			format.Options{"labels": "folder"}, 0, "", 0, "60 samples (000, 001, 002, 003, 004, ...) in no folder"},
		{"names too long", func(i int) []string {
			return []string{fmt.Sprintf("a/%03d%s.jpg", i, strings.Repeat("x", 95*(i/50)))}
		}, nil, 0, "", 0, "names of 10 samples (a/050"},
		{"types in two spellings", func(i int) []string {
			if i > 56 {
				return []string{fmt.Sprintf("a/%03d.jpg", i), fmt.Sprintf("a/%03d.jpeg", i)}
			}
			return []string{fmt.Sprintf("a/%03d.jpg", i)}
		}, nil, 0, "", 0, "3 pairs ("},
		{"a file without extension far from its like", func(i int) []string {
			if i == 0 {
				return []string{"a/s"}
			}
			if i == 59 {
				return []string{"a/s.txt"}
			}
			return []string{fmt.Sprintf("a/s-%03d.txt", i)}
		}, format.Options{"missing": "fill"}, 59, "bin? txt", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "in")
			for i := range 60 {
				for _, name := range c.files(i) {
					write(t, filepath.Join(dir, name), name)
				}
			}
			x, err := prepare(t, pipeline.Settings{Inputs: []string{dir}, Options: c.options})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("%v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range x.Plan.Sample.Schema {
				name := f.Name
				if f.Nullable {
					name += "?"
				}
				fields = append(fields, name)
			}
			var left int64
			for _, l := range x.Plan.In.LeftOut {
				left += l.Count
			}
			if got := strings.Join(fields, " "); got != c.fields || left != c.left {
				t.Errorf("fields %q, want %q; left out %v", got, c.fields, x.Plan.In.LeftOut)
			}
			if _, err := x.Job.Convert(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := samples(t, x.Output); len(got) != c.samples {
				t.Errorf("%d samples, want %d", len(got), c.samples)
			}
			checkSet(t, x.Output)
		})
	}
}

// planned is a folder of photos and the output that has a plan of them in parts.
func planned(t *testing.T) (in, out string) {
	t.Helper()
	small(t, 20)
	in, out = photos(t, 60), filepath.Join(t.TempDir(), "out")
	x, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Publish(t.Context(), x.Plan, x.Store); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// TestATouchedInputIsNoticedInParts: a conversion does not go on with a file that was
// modified since it began, whatever part it is in.
func TestATouchedInputIsNoticedInParts(t *testing.T) {
	in, out := planned(t)
	if _, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Output: out}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(in, "class4", "img59.jpg")
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Output: out}); !errors.Is(err, shardify.ErrChanged) || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
}

// TestATouchedInputIsNoticedOrThePlanCannotBeRead: where the part that would show it is damaged, no
// process goes on as if nothing were touched.
func TestATouchedInputIsNoticedOrThePlanCannotBeRead(t *testing.T) {
	in, out := planned(t)
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(in, "class0", "img1.jpg"), then, then); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(out, plan.FileName)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[30] ^= 1 // in the block of the first names
	write(t, name, string(b))
	if _, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Output: out}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("%v", err)
	}
}

// TestAConversionInPartsGoesOnBesideWhatIsLeftOut: a link that leads nowhere new is reported, and
// the plan that is published is the one that was made.
func TestAConversionInPartsGoesOnBesideWhatIsLeftOut(t *testing.T) {
	small(t, 20)
	in, out := photos(t, 60), filepath.Join(t.TempDir(), "out")
	if err := os.Symlink(in, filepath.Join(in, "class1", "again")); err != nil {
		t.Skip(err)
	}
	x, err := prepare(t, pipeline.Settings{Inputs: []string{in}, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Publish(t.Context(), x.Plan, x.Store); err != nil {
		t.Fatal(err)
	}
	stored, err := plan.Load(x.Store)
	if err != nil || stored.Digest() != x.Plan.Digest() || len(stored.Local.LeftOut) != 1 {
		t.Errorf("digest %s, planned %s; left out %v; %v", stored.Digest(), x.Plan.Digest(), stored.Local.LeftOut, err)
	}
}

// TestADamagedPlanInPartsIsNamed: every byte of the file, flipped or missing, makes the
// task fail that needs it, with the place; no other task, and never with other data.
func TestADamagedPlanInPartsIsNamed(t *testing.T) {
	race.Sequential(t)
	small(t, 20)
	x, err := prepare(t, pipeline.Settings{Inputs: []string{photos(t, 60)}})
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.New()
	if err := plan.Publish(t.Context(), x.Plan, mem); err != nil {
		t.Fatal(err)
	}
	b, err := mem.Open(plan.FileName)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, b.Size())
	b.ReadAt(file, 0)
	whole, err := plan.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Digest() != x.Plan.Digest() || whole.In.Table.Len() != 120 || whole.Pack.InParts() {
		t.Fatalf("%d files in %d parts", whole.In.Table.Len(), whole.Pack.Parts())
	}
	check := func(what string, damaged []byte) {
		got, err := plan.Decode(damaged)
		var e *shardify.Error
		switch {
		case err == nil && got.Digest() == whole.Digest() && slices.Equal(got.Pack.Spans, whole.Pack.Spans) && got.In.Table.Name(77) == whole.In.Table.Name(77):
			t.Errorf("%s was not noticed", what)
		case err == nil:
			t.Errorf("%s gave another plan", what)
		case !errors.As(err, &e) || e.File != plan.FileName || !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported):
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range file {
		damaged := slices.Clone(file)
		damaged[i] ^= 1
		check(fmt.Sprintf("a flip at byte %d of %d", i, len(file)), damaged)
		check(fmt.Sprintf("a cut at byte %d", i), file[:i])
	}
}
