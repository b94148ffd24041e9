package sets

import (
	"context"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sync/errgroup"
)

// numberOf is the number in a shard's name, -1 without.
func numberOf(name string) int {
	digits, ok := strings.CutPrefix(path.Base(name), "shard-")
	if !ok {
		return -1
	}
	digits, _, _ = strings.Cut(digits, ".")
	digits = editStem().ReplaceAllString(digits, "")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// renamed is a shard's record under another stem, its files included.
func renamed(s shardify.Shard, stem string) (shardify.Shard, error) {
	old, _, ok := cutStem(s.Name)
	if !ok {
		return s, shardify.Corrupt(-1, "shard %q has no extension", s.Name)
	}
	out := s
	out.Name, out.Files = stem+s.Name[len(old):], nil
	for _, f := range s.Files {
		rest, ok := strings.CutPrefix(f.Name, old)
		if !ok {
			return s, shardify.Unsupported("file %s belongs to shard %s, but has another name", f.Name, s.Name)
		}
		f.Name = stem + rest
		out.Files = append(out.Files, f)
	}
	return out, nil
}

// cutStem cuts a name at the first dot of its last part.
func cutStem(name string) (stem, ext string, ok bool) {
	base := strings.LastIndexByte(name, '/') + 1
	i := strings.IndexByte(name[base:], '.')
	if i < 1 {
		return name, "", false
	}
	return name[:base+i], name[base+i:], true
}

// move is one shard on its way into another set.
type move struct {
	from    *Set
	shard   shardify.Shard // as it is in from
	as      shardify.Shard // as it will be
	rewrite format.Rewrite // nil: the bytes stay
}

// carrier brings shards into a folder.
type carrier struct {
	store *local.Dir
	link  bool
	// ours: an earlier try of the very same call made the files in the folder, so that files of
	// the right size need not be compared.
	ours bool
	jobs int
	done func(bytes int64)

	steps *stall.Board
}

// carry publishes every shard, several at a time. What is there already stays.
func (c *carrier) carry(ctx context.Context, moves []move) error {
	g, each := errgroup.WithContext(ctx)
	jobs := c.jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	g.SetLimit(jobs)
	for i := range moves {
		if each.Err() != nil {
			break
		}
		g.Go(func() error { return c.one(each, &moves[i]) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (c *carrier) one(ctx context.Context, m *move) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	path := dataset.FilePath(m.from.Dir, m.shard.Name)
	defer c.steps.Begin("bringing " + path + " to " + m.as.Name).End()
	var err error
	if m.rewrite != nil {
		err = rewriteTo(ctx, c.store, path, m.rewrite, &m.shard, &m.as)
	} else {
		err = c.file(ctx, path, m.shard.Bytes, m.as.Name)
	}
	for i := 0; err == nil && i < len(m.shard.Files); i++ {
		f := m.shard.Files[i]
		err = c.file(ctx, dataset.FilePath(m.from.Dir, f.Name), f.Bytes, m.as.Files[i].Name)
	}
	if err == nil && c.done != nil {
		c.done(m.as.Bytes)
	}
	return err
}

// file brings one file of known size under a name.
func (c *carrier) file(ctx context.Context, from string, size int64, name string) error {
	if err := dataset.CheckFile(ctx, local.Files, from, size); err != nil {
		return err
	}
	if c.link {
		err := c.store.Link(from, name)
		if err == nil || !local.CannotLink(err) {
			return err
		}
	}
	if b, err := c.store.Open(name); err == nil {
		defer b.Close()
		if c.ours && b.Size() == size {
			return nil // files get their names when they are complete
		}
		return c.store.Same(from, name)
	}
	in, _, err := local.OpenOwn(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := c.store.Create(name)
	if err != nil {
		return err
	}
	defer out.Abort()
	n, err := local.Copy(out, in, size)
	if err != nil {
		return &shardify.Error{Op: "copy", File: from, Sample: -1, Offset: n, Err: err}
	}
	if n != size {
		return shardify.Annotate(shardify.Corrupt(n, "ends here, %d bytes expected", size), "copy", from, "")
	}
	return out.Commit(ctx)
}
