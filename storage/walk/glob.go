package walk

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local/dirfd"
)

const anyFolders = "**"

func validPattern(text string) error {
	for p := range strings.SplitSeq(filepath.ToSlash(text), "/") {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("pattern: %w", err)
		}
	}
	return nil
}

func hasMeta(s string) bool { return strings.ContainsAny(s, `*?[\`) }

// splitPattern cuts a pattern into the folder before its first meta character
// and the rest.
func splitPattern(parts []string) (dir string, rest []string) {
	n := 0
	for n < len(parts) && !hasMeta(parts[n]) {
		n++
	}
	dir = strings.Join(parts[:n], "/")
	switch {
	case n == 0:
		dir = "."
	case dir == "":
		dir = "/"
	}
	return filepath.FromSlash(dir), parts[n:]
}

// match is one file or folder that a pattern found.
type match struct {
	rel         string
	folder      *folder
	size, mtime int64
}

// glob puts everything that matches into the table, folders with all they hold.
func (w *walker) glob(ctx context.Context, a *argument) error {
	g := globber{walker: w}
	top := &folder{root: w.table.Roots[a.root]}
	if err := g.expand(ctx, top, a.pattern); err != nil {
		return err
	}
	if len(g.found) == 0 && g.problems.Count == 0 {
		g.problems.add(a.text, fmt.Errorf("the pattern matches nothing"))
	}
	w.bad.merge(&g.problems)
	slices.SortFunc(g.found, func(a, b match) int { return naturalPath(a.rel, b.rel) })
	g.found = slices.CompactFunc(g.found, func(a, b match) bool { return a.rel == b.rel })
	folders := window{w: w}
	for _, m := range g.found {
		if m.folder != nil {
			folders.folders = append(folders.folders, m.folder)
		}
	}
	for _, m := range g.found {
		var err error
		if m.folder != nil {
			err = w.visit(ctx, a.root, folders.next(ctx))
		} else {
			err = w.add(ctx, a.root, m.rel, m.size, m.mtime)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type globber struct {
	*walker
	found    []match
	problems BadInputs
}

func (g *globber) expand(ctx context.Context, f *folder, parts []string) error {
	if parts[0] == anyFolders {
		if len(parts) == 1 {
			parts = []string{"*"} // everything below: folders are taken whole
		} else if err := g.expand(ctx, f, parts[1:]); err != nil {
			return err
		}
	}
	l, err := g.matching(ctx, f, parts)
	if err != nil {
		return err
	}
	for i, e := range l.entries {
		name := l.name(i)
		child := &folder{parent: f, root: f.root, rel: f.below(name)}
		switch {
		case parts[0] == anyFolders && e.kind == dirfd.Folder:
			err = g.expand(ctx, child, parts)
		case parts[0] == anyFolders:
		case len(parts) > 1 && e.kind == dirfd.Folder:
			err = g.expand(ctx, child, parts[1:])
		case len(parts) > 1:
		case e.kind == dirfd.Folder:
			g.found = append(g.found, match{rel: child.rel, folder: child})
		default:
			m := match{rel: child.rel, size: format.SizeUnknown}
			if l.sizes != nil {
				m.size, m.mtime = l.sizes[i], l.times[i]
			}
			g.found = append(g.found, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// matching lists the entries of f that the first component matches.
func (g *globber) matching(ctx context.Context, f *folder, parts []string) (*listing, error) {
	f.wanted = func(name []byte, t dirfd.Type) bool {
		if (parts[0] == anyFolders || len(parts) > 1) && t == dirfd.File {
			return false
		}
		ok, _ := path.Match(parts[0], string(name))
		return ok
	}
	f.ready = make(chan struct{})
	g.list(ctx, f)
	f.wanted = nil
	l := f.listing
	f.listing = listing{}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	g.left.merge(l.left)
	g.problems.merge(&l.bad)
	return &l, nil
}
