package tars

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
)

func pack(headers ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Size = int64(len(h.Name))
		if h.Typeflag != 0 {
			h.Size = 0
		}
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		if h.Size > 0 {
			io.WriteString(w, h.Name)
		}
	}
	w.Close()
	return b.Bytes()
}

func file(name string) tar.Header { return tar.Header{Name: name, Mode: 0o644} }

func expand(b []byte) (*format.Table, []format.Leftover, *FS, error) {
	store, table := memory.New(), &format.Table{Roots: []string{"mem://set"}}
	store.Set("set/a.TAR", b)
	table.Append(0, "a.TAR", int64(len(b)), 1)
	table.FS = memory.Files{Store: store, Prefix: "mem://"}
	t, left, err := Expand(context.Background(), table, nil)
	return t, left, Over(table.FS), err
}

// TestExpand: a tar is its members, which read as files.
func TestExpand(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat("d/", 80) + "x.png"
	table, left, fsys, err := expand(pack(file("./1.png"), tar.Header{Name: "d/", Typeflag: tar.TypeDir}, file(long), file("d/._1.png"), file("d!/2.tar")))
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	for i, want := range []string{"./1.png", long, "d!/2.tar"} {
		name := table.Path(i)
		if name != "mem://set/a.TAR!/"+strings.TrimPrefix(want, "./") {
			t.Fatalf("file %d is %s", i, name)
		}
		f, err := fsys.Open(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		if err != nil || string(b) != want || f.Size() != table.Size(i) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if st, err := fsys.Stat(ctx, name); err != nil || st.Size != table.Size(i) {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
		f.Close()
		f.Close()
	}
	if table.Len() != 3 || len(left) != 2 || left[0].Count != 1 || left[1].Count != 1 {
		t.Errorf("%d files, left out %v", table.Len(), left)
	}
	if _, err := fsys.Open(ctx, "mem://set/a.TAR!/gone.png"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a member that is not there: %v", err)
	}
	if len(fsys.open) != 1 || fsys.open[0].uses != 0 {
		t.Errorf("open: %+v", fsys.open)
	}
}

// TestRefused: what is no plain file is refused by name.
func TestRefused(t *testing.T) {
	whole := pack(file("1.png"), file("2.png"))
	for _, c := range []struct {
		data []byte
		kind error
		want string
	}{
		{pack(file("1.png"), file("./1.png")), shardify.ErrSchema, "two members are called 1.png"},
		{pack(tar.Header{Name: "1.png", Typeflag: tar.TypeSymlink, Linkname: "2.png"}), shardify.ErrUnsupported, "a link to \"2.png\""},
		{pack(tar.Header{Name: "1.png", Typeflag: tar.TypeFifo}), shardify.ErrUnsupported, "not a regular file"},
		{pack(file("a/../../1.png")), shardify.ErrUnsupported, "leads out"},
		{pack(file("/1.png")), shardify.ErrUnsupported, "leads out"},
		{whole[:1024+3], shardify.ErrCorrupt, "cut short"},
		{whole[:2000], shardify.ErrCorrupt, "cut short"},
		{[]byte("no tar at all"), shardify.ErrCorrupt, "a.TAR"},
	} {
		if _, _, _, err := expand(c.data); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q: %v", c.want, err)
		}
	}
}

// TestSplit: the first tar of a path has the rest.
func TestSplit(t *testing.T) {
	for name, want := range map[string][2]string{"x/a.tar!/b.tar!/c": {"x/a.tar", "b.tar!/c"}, "a.TAR!": {"a.TAR", ""}, "wow!/a.tar!/1": {"wow!/a.tar", "1"}, "a.tar/1": {}, "a.tar!x/1": {}, ".tar!/1": {}} {
		if f, m, ok := Split(name); f != want[0] || m != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: %q %q %v", name, f, m, ok)
		}
	}
}

// FuzzExpand: no bytes make members that are not in the tar.
func FuzzExpand(f *testing.F) {
	f.Add(pack(file("1.png"), file("d/2.png")))
	f.Add(pack(tar.Header{Name: "d/", Typeflag: tar.TypeDir}, file(strings.Repeat("long", 60))))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, _, fsys, err := expand(b)
		if err != nil {
			return
		}
		defer fsys.Close()
		for i := range table.Len() {
			m, err := fsys.Open(context.Background(), table.Path(i))
			if err != nil {
				t.Fatal(err)
			}
			if n := m.Size(); n < 0 || n > int64(len(b)) {
				t.Fatalf("%d bytes in a tar of %d", n, len(b))
			}
			if _, err := m.ReadAt(make([]byte, m.Size()), 0); err != nil && err != io.EOF {
				t.Fatal(err)
			}
			m.Close()
		}
	})
}
