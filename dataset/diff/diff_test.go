package diff_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/diff"
	_ "github.com/shardify/shardify/tests/race"
)

// row is a sample: what a test compares without a digest.
type row struct {
	key   string
	id    int64
	list  string // of text, "-" missing
	class int64
}

// table is a source of rows.
type table struct {
	rows   []row
	keyed  bool
	labels []string
	wide   bool // the field id is i64, else i32
	bad    int  // a row that cannot be read; 0 for none
}

func (t *table) Schema() []shardify.Field {
	id := shardify.I32
	if t.wide {
		id = shardify.I64
	}
	return []shardify.Field{{Name: "id", DType: id}, {Name: "note", DType: shardify.U8, Levels: 1, Media: "txt", Nullable: true},
		{Name: "cls", DType: shardify.U8, Attrs: map[string]string{"labels": strings.Join(t.labels, "\n")}}}
}
func (t *table) Keyed() bool                             { return t.keyed }
func (t *table) CheckKeys(int, func([]byte) error) error { return nil }
func (t *table) Close() error                            { return nil }
func (t *table) Reader(uint32) (shardify.Reader, error)  { return reader{t}, nil }
func (t *table) Spans(context.Context, int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for lo := 0; lo < len(t.rows); lo += 7 {
			if !yield(shardify.Span{Lo: int64(lo), Hi: int64(min(lo+7, len(t.rows))), Bytes: 1000}, nil) {
				return
			}
		}
	}
}

type reader struct{ *table }

func (r reader) Read(_ context.Context, s shardify.Span, _ *shardify.Arena) (*shardify.Batch, error) {
	rows, schema := r.rows[s.Lo:s.Hi], r.Schema()
	b := &shardify.Batch{Samples: len(rows), First: shardify.ID{Sample: s.Lo}, Columns: []shardify.Column{{Field: schema[0]}, {Field: schema[1], Offsets: [][]int64{{0}}}, {Field: schema[2]}}}
	keys := shardify.Column{Field: shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1}, Offsets: [][]int64{{0}}}
	id, note, cls := &b.Columns[0], &b.Columns[1], &b.Columns[2]
	for i, w := range rows {
		if r.bad > 0 && int(s.Lo)+i == r.bad {
			return nil, shardify.Corrupt(3, "damaged")
		}
		if r.wide {
			id.Data = binary.LittleEndian.AppendUint64(id.Data, uint64(w.id))
		} else {
			id.Data = binary.LittleEndian.AppendUint32(id.Data, uint32(w.id))
		}
		valid := byte(1)
		if w.list == "-" {
			valid = 0
		} else {
			note.Data = append(note.Data, w.list...)
		}
		note.Valid, note.Offsets[0] = append(note.Valid, valid), append(note.Offsets[0], int64(len(note.Data)))
		cls.Data = append(cls.Data, byte(w.class))
		keys.Data = append(keys.Data, w.key...)
		keys.Offsets[0] = append(keys.Offsets[0], int64(len(keys.Data)))
	}
	if r.keyed {
		b.Keys = &keys
	}
	return b, nil
}

func random(r *rand.Rand, n int, same []row) (list []row) {
	for i := range n {
		w := row{key: fmt.Sprintf("k%d", i), id: int64(i), list: strings.Repeat("x", r.IntN(4)), class: int64(r.IntN(2))}
		if r.IntN(9) == 0 {
			w.list = "-"
		}
		if i < len(same) && r.IntN(4) > 0 {
			w = same[i]
		}
		switch r.IntN(12) {
		case 0:
			continue
		case 1:
			list = append(list, w) // twice
		}
		list = append(list, w)
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	}
	return list
}

func run(t *testing.T, a, b *table, o diff.Options) (*diff.Report, error) {
	t.Helper()
	if o.Memory == 0 {
		o.Memory = 1 << 20
	}
	if o.Scratch == nil {
		o.Scratch = func() (*os.File, error) { return os.Create(filepath.Join(t.TempDir(), "scratch")) }
	}
	o.Jobs = 3
	return diff.Run(context.Background(), diff.Set{Name: "a", Parts: []diff.Part{{Source: a}}}, diff.Set{Name: "b", Parts: []diff.Part{{Source: b}}}, o)
}

// want compares by maps.
func want(a, b *table, key func(row) string) (equal, changed, added, removed int64, notes int64) {
	value := func(t *table, w row) string { return fmt.Sprint(w.id, " ", w.list, " ", t.labels[w.class]) }
	sides := [2]map[string][]row{{}, {}}
	for side, t := range []*table{a, b} {
		for _, w := range t.rows {
			sides[side][key(w)] = append(sides[side][key(w)], w)
		}
	}
	keys := map[string]bool{}
	for _, s := range sides {
		for k := range s {
			keys[k] = true
		}
	}
	for k := range keys {
		x, y := sides[0][k], slices.Clone(sides[1][k])
		single := len(x) == 1 && len(y) == 1
		left := int64(0)
		for _, w := range x {
			i := slices.IndexFunc(y, func(v row) bool { return value(b, v) == value(a, w) })
			if i < 0 {
				left++
				continue
			}
			equal++
			y = slices.Delete(y, i, i+1)
		}
		both := min(left, int64(len(y)))
		changed, removed, added = changed+both, removed+left-both, added+int64(len(y))-both
		if single && both == 1 && x[0].list != y[0].list {
			notes++
		}
	}
	return
}

func TestEqualsMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for n := range 90 {
		a := &table{keyed: n%3 > 0, labels: []string{"cat", "dog"}}
		b := &table{keyed: n%3 > 0, labels: []string{"cat", "dog"}}
		if n%2 == 0 {
			b.labels = []string{"dog", "cat", "cow"}
		}
		a.rows = random(r, r.IntN(80), nil)
		b.rows = random(r, r.IntN(80), a.rows)
		if n%2 == 0 { // the same classes have other codes
			for i := range b.rows {
				if r.IntN(9) > 0 {
					b.rows[i].class = 1 - b.rows[i].class
				}
			}
		}
		o := diff.Options{Show: 3}
		if n%5 == 0 {
			o.Memory = 400 // some records in memory
		}
		key := func(w row) string { return w.key }
		switch {
		case n%3 == 0 && n%2 == 0:
			o.By = "id"
			key = func(w row) string { return fmt.Sprint(w.id) }
		case n%3 == 0:
			key = func(w row) string { return fmt.Sprint(w.id, w.list, w.class) }
		}
		got, err := run(t, a, b, o)
		if err != nil {
			t.Fatal(err)
		}
		equal, changed, added, removed, notes := want(a, b, key)
		if got.Equal != equal || got.Changed != changed || got.Added != added || got.Removed != removed {
			t.Fatalf("%d: by %s %d equal, %d changed, %d added, %d removed; want %d, %d, %d, %d", n, got.By, got.Equal, got.Changed, got.Added, got.Removed, equal, changed, added, removed)
		}
		for _, f := range got.Fields {
			if f.Name == "note" && f.Samples != notes {
				t.Fatalf("%d: note differs in %d samples, want %d", n, f.Samples, notes)
			}
		}
	}
}

func TestMemoryIsBoundedAndScratchIsUsed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := &table{keyed: true, labels: []string{"cat", "dog"}}
	b := &table{keyed: true, labels: []string{"cat", "dog"}}
	a.rows = random(r, 3000, nil)
	b.rows = random(r, 3000, a.rows)
	var files int
	small, err := run(t, a, b, diff.Options{Show: 4, Memory: 20000, Scratch: func() (*os.File, error) {
		files++
		return os.Create(filepath.Join(t.TempDir(), fmt.Sprint(files)))
	}})
	if err != nil || files != 2 {
		t.Fatal(files, err)
	}
	large, err := run(t, a, b, diff.Options{Show: 4})
	if err != nil || !reflect.DeepEqual(small, large) {
		t.Errorf("%v\n%+v\n%+v", err, small, large)
	}
	if _, err := run(t, a, b, diff.Options{Memory: 20000, Scratch: func() (*os.File, error) { return nil, os.ErrPermission }}); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
}

func TestReportNamesWhatDiffers(t *testing.T) {
	a := &table{keyed: true, labels: []string{"cat", "dog"}, rows: []row{{"x", 1, "aa", 0}, {"y", 2, "b", 1}, {"z", 3, "-", 1}}}
	b := &table{keyed: true, labels: []string{"cat", "dog"}, rows: []row{{"x", 1, "aa", 0}, {"y", 2, "c", 0}, {"w", 4, "d", 1}}}
	r, err := run(t, a, b, diff.Options{Show: 5})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.WriteText(&text)
	for _, line := range []string{"samples by name: 1 equal, 1 changed, 1 added, 1 removed", "note  other values in 1 sample", "cls   other values in 1 sample", "cls cat: 1, then 2 (+1)", "sample 1  note; cls", "removed:\n  sample 2", "added:\n  sample 2"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %q in\n%s", line, text.String())
		}
	}
	r.A.Name = "<script>alert(1)</script>"
	r.Samples[0].Key = "<img src=x>"
	var html strings.Builder
	if err := r.Page().Write(&html); err != nil || strings.Contains(html.String(), "<script>alert") || strings.Contains(html.String(), "<img src=x>") {
		t.Errorf("%v: the page has markup of names", err)
	}
	for _, want := range []string{"&lt;img src=x&gt;", "Classes of cls", "other values in 1 sample", ">Removed<"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	b.wide = true
	if r, err = run(t, a, b, diff.Options{}); err != nil || r.Changed != 1 || len(r.Samples) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	text.Reset()
	if r.WriteText(&text); !strings.Contains(text.String(), "i32 became i64: values were not compared") {
		t.Error(text.String())
	}
	if _, err := run(t, a, b, diff.Options{By: "id"}); !errors.Is(err, shardify.ErrUsage) {
		t.Error(err)
	}
}

func TestOrderAndDamage(t *testing.T) {
	a := &table{keyed: true, labels: []string{"cat", "dog"}, rows: []row{{"x", 1, "aa", 0}, {"y", 2, "b", 1}, {"z", 3, "-", 1}}}
	b := *a
	if r, err := run(t, a, &b, diff.Options{}); err != nil || !r.Same || r.Moved != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	b.rows = []row{a.rows[1], a.rows[0], a.rows[2]}
	if r, err := run(t, a, &b, diff.Options{}); err != nil || r.Same || r.Moved != 2 || r.Equal != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	b.bad = 2
	if r, err := run(t, a, &b, diff.Options{}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := diff.Run(ctx, diff.Set{Parts: []diff.Part{{Source: a}}}, diff.Set{Parts: []diff.Part{{Source: a}}}, diff.Options{Memory: 1 << 20}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSplitsAreComparedAsOne(t *testing.T) {
	part := func(keys string) *table {
		x := &table{keyed: true, labels: []string{"cat"}}
		for _, k := range keys {
			x.rows = append(x.rows, row{key: string(k), id: int64(k)})
		}
		return x
	}
	set := func(train, val string) diff.Set {
		return diff.Set{Parts: []diff.Part{{Split: "train", Source: part(train)}, {Split: "val", Source: part(val)}}}
	}
	r, err := diff.Run(context.Background(), set("abcd", "ef"), set("abc", "efd"), diff.Options{Memory: 1 << 20, Show: 3})
	if err != nil || r.Changed != 1 || r.MovedSplit != 1 || r.Equal != 5 || len(r.Samples) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if s := r.Samples[0]; s.SplitA != "train" || s.A != 3 || s.SplitB != "val" || s.B != 2 || !slices.Equal(s.Fields, []string{diff.SplitField}) {
		t.Errorf("%+v", s)
	}
	whole := diff.Set{Parts: []diff.Part{{Source: part("abcdef")}}}
	if r, err := diff.Run(context.Background(), set("abcd", "ef"), whole, diff.Options{Memory: 1 << 20}); err != nil || r.Equal != 6 || !r.Same {
		t.Errorf("%+v, %v", r, err)
	}
}
