package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// watched is files of which each that is opened is counted.
type watched struct {
	storage.FS
	opened int
	on     func(name string) // before it is opened
}

func (w *watched) Open(ctx context.Context, name string) (storage.File, error) {
	w.opened++
	if w.on != nil {
		w.on(name)
	}
	return w.FS.Open(ctx, name)
}

// TestASplitIsWhatTheSetNames, whatever a writer does at the same time, or has left.
func TestASplitIsWhatTheSetNames(t *testing.T) {
	schema := []shardify.Field{{Name: "x", DType: shardify.F32}}
	text := func(m *index.Manifest) []byte {
		m.Format, m.Schema = index.FormatMmap, schema
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var split, root [4][]byte
	previous := ""
	for v := 1; v <= 3; v++ {
		m := &index.Manifest{Previous: previous, Inputs: index.Inputs{Bytes: int64(v)}}
		split[v] = text(m)
		whole := &index.Manifest{Splits: map[string]index.Split{"train": {Digest: m.Digest}}}
		if v > 1 {
			whole.Previous, whole.Change = previous, &index.Change{Version: int64(v), Op: "remove"}
		}
		root[v], previous = text(whole), m.Digest
	}
	const at, name = "mem://set/" + index.ManifestName, "mem://set/train/" + index.ManifestName
	for _, c := range []struct {
		what             string
		there, set, kept int // versions: of the split's manifest, the set's, and the one that is kept; 0: none
		want, opened     int
	}{
		{"never changed", 1, 1, 0, 1, 1},
		{"a version of the set", 2, 2, 1, 2, 2},
		{"a set by itself", 2, 0, 0, 2, 2},
		{"of a version that was not published", 2, 1, 1, 1, 3},
		{"of a later one", 3, 2, 2, 2, 3},
		{"of one that another writer has put there", 3, 2, -2, 2, 4},
		{"of none that is known", 3, 1, 2, 0, 5},
	} {
		s := memory.New()
		put := func(name string, b []byte) {
			if b != nil {
				s.Set(strings.TrimPrefix(name, "mem://"), b)
			}
		}
		put(name, split[c.there])
		put(at, root[c.set])
		if c.kept < 0 {
			m, err := index.DecodeManifest(split[-c.kept])
			if err != nil {
				t.Fatal(err)
			}
			put("mem://set/"+index.PendingName(m.Digest), split[-c.kept])
		} else if c.kept > 0 {
			put("mem://set/"+index.KeptName(int64(c.set), "train"), split[c.kept])
		}
		in := &watched{FS: memory.Files{Store: s, Prefix: "mem://"}}
		got, err := ReadManifest(t.Context(), in, name)
		if (err != nil) != (c.want == 0) || c.want == 0 && !errors.Is(err, shardify.ErrCorrupt) || string(got) != string(split[c.want]) || in.opened != c.opened {
			t.Errorf("%s: %d files opened, want %d, and %v:\n%s", c.what, in.opened, c.opened, err, got)
		}
		if c.what != "of a version that was not published" {
			continue
		}
		in.on = func(name string) {
			if name == at { // between the reads of the two manifests a version is published
				put("mem://set/train/"+index.ManifestName, split[3])
				put(at, root[3])
			}
		}
		if got, err = ReadManifest(t.Context(), in, name); err != nil || string(got) != string(split[3]) {
			t.Errorf("published meanwhile: %v\n%s", err, got)
		}
		in.on = nil
		put("mem://set/train/"+index.ManifestName, split[2])
		put(at, root[1][:len(root[1])/2])
		if got, err = ReadManifest(t.Context(), in, name); err == nil || !strings.Contains(err.Error(), at) {
			t.Errorf("the manifest of the set is damaged: %v\n%s", err, got)
		}
	}
}

// overwritten is files that are replaced by others while they are read, so many times.
type overwritten struct {
	storage.FS
	times int
}

type overwrittenFile struct {
	storage.File
	of *overwritten
}

func (r *overwritten) Open(ctx context.Context, name string) (storage.File, error) {
	f, err := r.FS.Open(ctx, name)
	return &overwrittenFile{f, r}, err
}

func (f *overwrittenFile) ReadAt(b []byte, at int64) (int, error) {
	if f.of.times--; f.of.times >= 0 {
		return 0, fmt.Errorf("%w: its ETag is another one", shardify.ErrChanged)
	}
	return f.File.ReadAt(b, at)
}

// TestAManifestThatIsReplacedWhileItIsRead is read again, but not for ever.
func TestAManifestThatIsReplacedWhileItIsRead(t *testing.T) {
	const name = "mem://set/" + index.ManifestName
	s := memory.New()
	if err := storage.WriteFile(t.Context(), s, "set/"+index.ManifestName, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for times, want := range map[int]error{0: nil, 1: nil, Refetches: nil, Refetches + 1: shardify.ErrChanged} {
		r := &overwritten{memory.Files{Store: s, Prefix: "mem://"}, times}
		if _, err := ReadManifest(t.Context(), r, name); !errors.Is(err, want) {
			t.Errorf("replaced %d times: %v, want %v", times, err, want)
		}
	}
}
