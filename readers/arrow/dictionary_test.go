package arrow

import (
	"context"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// counted counts the reads at each place.
type counted struct {
	storage.File
	reads map[int64]int
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	c.reads[off]++
	return c.File.ReadAt(b, off)
}

func (c *counted) Unwrap() any { return c.File }

// TestMessagesOfDictionariesAreReadOnce: a message that adds to a dictionary does not make
// the reader decode the dictionary again.
func TestMessagesOfDictionariesAreReadOnce(t *testing.T) {
	name := testdata("deltas.arrows")
	file, err := rows.OpenFile(context.Background(), storages.Of(readertest.TableOf(name)), name, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := &counted{file, map[int64]int{}}
	f, err := openFile(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	clear(c.reads)
	found := f.choose(func(string) bool { return true })
	seen := 0
	for i := range found.leaves {
		l := &found.leaves[i]
		if l.last().dict == nil {
			continue
		}
		for k := range f.batches {
			if d, err := f.dictionary(l, l.last(), f.batches[k].dicts); err != nil || d.count == 0 {
				t.Fatal(err)
			}
			seen++
		}
	}
	for _, m := range f.dicts {
		if n := c.reads[m.off+8]; n > 1 {
			t.Errorf("the message at %d was read %d times", m.off, n)
		}
	}
	if seen < 3 || len(f.dicts) < 3 {
		t.Errorf("%d dictionaries of %d messages", seen, len(f.dicts))
	}
}

// TestDictionariesInAnyOrder: a shorter one that is read after a longer one leaves it as it is,
// since others read in it.
func TestDictionariesInAnyOrder(t *testing.T) {
	name := testdata("delta_numbers.arrows")
	file, err := rows.OpenFile(context.Background(), storages.Of(readertest.TableOf(name)), name, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f, err := openFile(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	l := &f.choose(func(string) bool { return true }).leaves[0]
	have := map[int][]byte{}
	for _, k := range []int{0, 2, 1} {
		d, err := f.dictionary(l, l.last(), f.batches[k].dicts)
		if err != nil || d.count != int64(100+4*k) {
			t.Fatal(d, err)
		}
		have[k] = d.data
	}
	if behind := 8 * 100; &have[1][behind] == &have[2][behind] {
		t.Error("two dictionaries hold what they add in one place")
	}
	for k, data := range have {
		for i, n := range shardify.View[int64](data) {
			if n != int64(i) {
				t.Errorf("value %d of dictionary %d is %d", i, k, n)
			}
		}
	}
}

// TestTextsAsBytes: what is not UTF-8 is named with its cure, which is one.
func TestTextsAsBytes(t *testing.T) {
	open := func(text string) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(testdata("not_utf8.feather")), Options: format.Options{optText: text}})
	}
	src, err := open("utf8")
	if err == nil {
		_, err = readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<20, nil)
	}
	if err == nil || !strings.Contains(err.Error(), "--text bytes") {
		t.Error(err)
	}
	if src, err = open("bytes"); err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	readertest.Each(t, src, readertest.Spans(t, src, 1<<20), func(b *shardify.Batch) {
		if c := &b.Columns[0]; c.Media != "bin" || string(c.Data) != "a\xffA" {
			t.Errorf("%s %q", c.Media, c.Data)
		}
	})
}

// TestDictionariesOfTextsAreTexts: a column of texts with a dictionary is the texts, as pyarrow's
// to_pylist gives them and other tables have them; what is said of it names the way to codes.
func TestDictionariesOfTextsAreTexts(t *testing.T) {
	src, err := openFiles("fail", testdata("deltas.arrows"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	said := strings.Join(src.(format.Describer).Describe(), "\n")
	coded := 0
	for _, f := range src.Schema() {
		if f.Media != "txt" || f.Levels != 1 {
			continue
		}
		if strings.Contains(said, f.Name) {
			coded++
		}
		if names, _ := f.Codes(); f.DType != shardify.U8 || names != nil {
			t.Errorf("%+v", f)
		}
	}
	if coded == 0 || !strings.Contains(said, "--encode FIELD makes codes") {
		t.Errorf("%d fields, said: %s", coded, said)
	}
}
