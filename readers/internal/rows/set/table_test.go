package set_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// logged is a Worker that writes down what it is asked for.
type logged struct {
	log        []string
	refuse     error // of Take
	fail       error // of Read
	open       storage.File
	everClosed bool
}

func (l *logged) Take(f storage.File, in *set.Input, _ *shardify.Batch) error {
	l.log, l.open = append(l.log, "take "+in.Name()), f
	return l.refuse
}

func (l *logged) Read(_ context.Context, in *set.Input, _ shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	l.log = append(l.log, "read "+in.Name())
	b.Columns[0].Data = mem.Alloc(4 * b.Samples)
	return l.fail
}

func (l *logged) Drop()  { l.log, l.open = append(l.log, "drop"), nil }
func (l *logged) Close() { l.everClosed = true }

// TestAReaderKeepsItsInput until another one follows, or something fails.
func TestAReaderKeepsItsInput(t *testing.T) {
	table := &format.Table{Roots: []string{t.TempDir()}}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(table.Roots[0], name), []byte("abc"), 0o666); err != nil {
			t.Fatal(err)
		}
		table.Append(0, name, 3, 0)
	}
	all, err := survey.Open(context.Background(), format.OpenArgs{Table: table}, survey.Format{Name: "made", Look: func(context.Context, string, *columns.Wanted) (*survey.Facts, error) {
		return &survey.Facts{Samples: 2, Size: 3, Fields: []survey.Field{rowstest.Field("x", shardify.F32)}, Borders: set.Borders{Every: 1}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &logged{}
	var src *set.Table[storage.File]
	src = set.NewTable(all, func(_ context.Context, f storage.File, _ *set.Input) (storage.File, error) { return f, nil }, func() shardify.Reader { return set.NewReader(src, w) })
	defer src.Close()
	if _, err := src.Reader(1); err == nil || !strings.Contains(err.Error(), "there is no run 1") {
		t.Errorf("run 1: %v", err)
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	pool := shardify.NewPool(1 << 20)
	read := func(input uint32, lo int64) error {
		mem, err := pool.Grant(context.Background(), 8)
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Release()
		_, err = r.Read(context.Background(), shardify.Span{Input: input, Lo: lo, Hi: lo + 1, Bytes: 4}, mem)
		return err
	}
	for _, c := range []struct {
		what         string
		input        uint32
		lo           int64
		refuse, fail error
		log, says    string
	}{
		{"the first", 0, 0, nil, nil, "drop,take a,read a", ""},
		{"the same input", 0, 1, nil, nil, "read a", ""},
		{"another", 1, 0, nil, nil, "drop,take b,read b", ""},
		{"a read fails", 1, 1, nil, shardify.Corrupt(7, "broken"), "read b,drop", "read b at byte 7: broken"},
		{"it is taken again", 1, 1, nil, nil, "drop,take b,read b", ""},
		{"an input is refused", 0, 0, shardify.Corrupt(8, "other columns"), nil, "drop,take a,drop", "open a at byte 8: other columns"},
		{"and again", 0, 0, shardify.Corrupt(8, "other columns"), nil, "drop,take a,drop", "open a at byte 8: other columns"},
		{"and taken", 0, 0, nil, nil, "drop,take a,read a", ""},
	} {
		w.log, w.refuse, w.fail = nil, c.refuse, c.fail
		err := read(c.input, c.lo)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, shardify.ErrCorrupt) || !strings.HasPrefix(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.says)
		}
		if got := strings.Join(w.log, ","); got != c.log {
			t.Errorf("%s: %s, want %s", c.what, got, c.log)
		}
	}
	kept := w.open
	for range 2 {
		if err := r.Close(); err != nil || !w.everClosed || w.open != nil {
			t.Errorf("close: %v, %v", err, w)
		}
	}
	if err := read(0, 0); err == nil || !strings.Contains(err.Error(), "Read after Close") {
		t.Errorf("after Close: %v", err)
	}
	if err := src.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.ReadAt(make([]byte, 1), 0); err == nil || err == io.EOF {
		t.Errorf("the file is open after all have closed it: %v", err)
	}
}
