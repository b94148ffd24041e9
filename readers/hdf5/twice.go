package hdf5

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// A virtual data set, and an external link, give the values of another file. Where that
// file is an input too each of its samples would count twice.

// twice refuses inputs that hold what another input refers to.
func (s *chooser) twice(ctx context.Context, a format.OpenArgs) error {
	if len(s.refs) == 0 || a.Table.Len() < 2 {
		return nil
	}
	slices.SortFunc(s.refs, func(a, b tree.Reference) int {
		return cmp.Or(strings.Compare(a.Input, b.Input), strings.Compare(a.Object, b.Object), strings.Compare(a.File, b.File))
	})
	inputs := map[string]int{}
	for i := range a.Table.Len() {
		inputs[realPath(a.Table.Path(i))] = i
	}
	want, err := columns.New(a.Columns)
	if err != nil {
		return err
	}
	for _, r := range s.refs {
		i, ok := inputs[realPath(r.File)]
		if !ok {
			continue
		}
		if k, ok := inputs[realPath(r.Input)]; !ok || k == i || !s.reads(ctx, a.Table.Path(i), r.Target, want) {
			continue
		}
		what := "is a link to"
		if r.Virtual {
			what = "is a virtual data set of"
		}
		err := shardify.Mismatch("%s %s %s in %s, which is an input too: its samples would count twice; leave out this file, or those that it leads to", r.Object, what, r.Target, a.Table.Shown(i))
		return shardify.Annotate(err, "open", a.Table.Shown(inputs[realPath(r.Input)]), "")
	}
	return nil
}

// reads reports whether a data set, or one below a group, is read from a file.
func (s *chooser) reads(ctx context.Context, file, target string, want *columns.Wanted) bool {
	f, err := s.file(ctx, file)
	if err != nil {
		return false
	}
	defer f.Close()
	t, err := tree.Scan(ctx, f, s.opts, want, s.known())
	below := strings.TrimSuffix(target, "/") + "/"
	return err == nil && slices.ContainsFunc(t.Objects, func(o tree.Object) bool { return o.Path == target || strings.HasPrefix(o.Path, below) })
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
func (s *chooser) refer(list []tree.Reference) {
	if len(list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refs) < 1<<16 {
		s.refs = append(s.refs, list...)
	}
}
