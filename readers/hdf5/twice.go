package hdf5

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// A virtual data set, and an external link, give the values of another file. Where that
// file is an input too each of its samples would count twice.

// reference is a data set whose values another file holds.
type reference struct {
	input, object string // the path of the file it is in, and its own there
	file, target  string // path of the other file, and what is meant there
	virtual       bool
}

// maxReferences bounds those that are compared with the inputs.
const maxReferences = 1 << 16

// externalLink notes a link to another file, followed or not.
func (t *tree) externalLink(l *h5.Link, p string) {
	clean := filepath.FromSlash(l.File)
	if len(t.refs) < maxReferences && filepath.IsLocal(clean) {
		t.refs = append(t.refs, reference{t.file.Path, p, storage.Join(storage.Dir(t.file.Path), clean), path.Clean("/" + l.Target), false})
	}
}

// references are those of a tree.
func (t *tree) references() []reference {
	out := t.refs
	for i := range t.objects {
		o := &t.objects[i]
		a, err := t.file.array(o.path)
		if err != nil {
			continue
		}
		for _, src := range a.Sources() {
			r := reference{t.file.Path, o.path, src.File, src.Path, true}
			if n := len(out); r.file == r.input || n > 0 && out[n-1] == r || n >= maxReferences {
				continue
			}
			out = append(out, r)
		}
	}
	return out
}

// twice refuses inputs that hold what another input refers to.
func (s *survey) twice(ctx context.Context, a shardify.OpenArgs) error {
	if len(s.refs) == 0 || a.Table.Len() < 2 {
		return nil
	}
	slices.SortFunc(s.refs, func(a, b reference) int {
		return cmp.Or(strings.Compare(a.input, b.input), strings.Compare(a.object, b.object), strings.Compare(a.file, b.file))
	})
	inputs := map[string]int{}
	for i := range a.Table.Len() {
		inputs[realPath(a.Table.Path(i))] = i
	}
	want, err := rows.NewWanted(a.Columns)
	if err != nil {
		return err
	}
	for _, r := range s.refs {
		i, ok := inputs[realPath(r.file)]
		if !ok {
			continue
		}
		if k, ok := inputs[realPath(r.input)]; !ok || k == i || !s.reads(ctx, a.Table.Path(i), r.target, want) {
			continue
		}
		what := "is a link to"
		if r.virtual {
			what = "is a virtual data set of"
		}
		err := shardify.Mismatch("%s %s %s in %s, which is an input too: its samples would count twice; leave out this file, or those that it leads to", r.object, what, r.target, a.Table.Shown(i))
		return shardify.Annotate(err, "open", a.Table.Shown(inputs[realPath(r.input)]), "")
	}
	return nil
}

// reads tells whether a data set, or one below a group, is read from a file.
func (s *survey) reads(ctx context.Context, file, target string, want *rows.Wanted) bool {
	f, err := s.file(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	t, err := scan(ctx, f, s.opts, want, s.choice)
	if err != nil {
		return false
	}
	below := strings.TrimSuffix(target, "/") + "/"
	return slices.ContainsFunc(t.objects, func(o object) bool { return o.path == target || strings.HasPrefix(o.path, below) })
}

// realPath is where a file is, links followed.
func realPath(p string) string {
	if real, err := local.RealPath(p); err == nil {
		return real
	}
	if abs, err := storage.Abs(p); err == nil {
		return abs
	}
	return p
}

// refer keeps the references of a file; called from several goroutines.
func (s *survey) refer(list []reference) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refs) < maxReferences {
		s.refs = append(s.refs, list...)
	}
}
