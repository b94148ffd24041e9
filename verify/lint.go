package verify

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers"
	"golang.org/x/sync/errgroup"
)

// Lint checks tars and safetensors files made by others: files, or folders of
// them. What is damaged for every reader is a problem; so is what some loader
// misreads. Names in the report are the paths.
func Lint(ctx context.Context, paths []string, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	if o.Sinks == nil {
		o.Sinks = writers.Formats
	}
	l := &lint{o: &o, c: newCollector(o.Keep)}
	stale, roots, err := l.indexes(ctx, paths)
	if err != nil {
		return nil, err
	}
	files, err := l.files(append(slices.Clone(paths), roots...))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && stale == "" {
		return nil, ErrNotDataSet
	}
	l.c.report.State = StateForeign
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			l.roots = append(l.roots, p)
		}
	}
	g, inner := errgroup.WithContext(ctx)
	g.SetLimit(o.Jobs)
	for _, f := range files {
		if inner.Err() != nil {
			break
		}
		g.Go(func() error { return l.file(inner, f) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := l.c.finish()
	r.Path = o.Dir
	switch {
	case stale != "" && len(files) == 0: // a damaged index does not say where its tars are
		r.Next = "make it again from the folder of the tars: shardify index FOLDER -o " + printable.Quote(stale)
	case stale != "":
		r.Next = "shardify index " + printable.Quote(stale)
	}
	return r, nil
}

// indexes compares the indexes of tars in folders with the tars. stale is a folder whose index has to be made again,
// roots are the folders of tars whose index is in another folder.
func (l *lint) indexes(ctx context.Context, paths []string) (stale string, roots []string, err error) {
	for _, p := range paths {
		root, wrong, err := dataset.CheckTarsIndex(ctx, storages.Files, p)
		if ctx.Err() != nil {
			return "", nil, context.Cause(ctx)
		}
		name := filepath.Join(p, dataset.TarsIndexName)
		if err != nil {
			l.c.addError(problem.LevelIndex, name, err)
		}
		for _, what := range wrong {
			l.c.add(problem.New(problem.LevelIndex, problem.KindMismatch, name, what))
		}
		if len(wrong) > 0 || err != nil && root == "" {
			stale = p
		}
		if root != "" && root != p {
			roots = append(roots, root)
		}
	}
	return stale, roots, nil
}

type lint struct {
	o     *Options
	c     *collector
	roots []string // the folders among what is checked
}

// orphan counts a shard of ours that no manifest lists: then it is not known whether it is the one
// that was converted, and whether there are others. A file that was named by itself is accepted
// without a manifest.
func (l *lint) orphan(name string) {
	for _, root := range l.roots {
		rel, err := filepath.Rel(root, name)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		for dir := filepath.Dir(rel); ; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(filepath.Join(root, dir, index.ManifestName)); err == nil {
				return
			}
			if dir == "." {
				break
			}
		}
		l.c.mu.Lock()
		l.c.report.Orphans++
		l.c.mu.Unlock()
		return
	}
}

// IsForeign reports whether a path is for Lint: a file, or a folder that is not a data set of ours,
// finished or not.
func IsForeign(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !st.IsDir() {
		return filepath.Base(path) != index.ManifestName
	}
	for _, n := range []string{index.ManifestName, storage.Private} {
		if _, err := os.Lstat(filepath.Join(path, n)); err == nil {
			return false
		}
	}
	return !isEmpty(path)
}

// files are the files named, and the shards in the folders named.
func (l *lint) files(paths []string) (files []string, err error) {
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if st.Mode().IsRegular() {
			files = append(files, p)
			continue
		}
		if !st.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: p, Err: errors.New("not a regular file")}
		}
		err = filepath.WalkDir(p+string(filepath.Separator), func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && (l.named(name) != nil || l.begins(name)) {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// named is the format of the files whose names end like this one, nil if none is checked.
func (l *lint) named(name string) *format.Output {
	ext := strings.ToLower(filepath.Ext(name))
	return l.format(func(f *format.Output) bool { return f.Lint.Ext == "" && f.Ext == ext })
}

// begins reports whether a file begins as a file of a format with the extension of its name does;
// then it is checked. One that cannot be read is not known to be one.
func (l *lint) begins(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	if l.format(func(f *format.Output) bool { return f.Lint.Ext == ext }) == nil {
		return false
	}
	f, _, err := local.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return l.sniffed(f) != nil
}

// sniffed is the format of a file by its first bytes.
func (l *lint) sniffed(f io.ReaderAt) *format.Output {
	var head [512]byte
	n, _ := f.ReadAt(head[:], 0)
	return l.format(func(f *format.Output) bool { return f.Lint.Sniff(head[:n]) })
}

func (l *lint) format(is func(*format.Output) bool) *format.Output {
	for i := range l.o.Sinks {
		if f := &l.o.Sinks[i]; f.Lint != nil && is(f) {
			return f
		}
	}
	return nil
}

func (l *lint) file(ctx context.Context, name string) error {
	f, st, err := local.Open(name)
	if err == nil {
		defer f.Close()
		l.c.count(func(n *Counts) { n.Shards++; n.Bytes += st.Size() })
		err = l.check(ctx, name, f, st.Size())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		l.c.addError(problem.LevelLint, name, err)
	}
	return nil
}

func (l *lint) check(ctx context.Context, name string, f io.ReaderAt, size int64) error {
	kind := l.named(name)
	if kind == nil {
		kind = l.sniffed(f)
	}
	if kind == nil {
		return shardify.Unsupported("neither a tar nor a safetensors file nor an index of Megatron-LM by its name and first bytes")
	}
	buf := bufferPool.Get().(*buffers)
	defer bufferPool.Put(buf)
	c := format.ShardCheck{
		Shard: shardify.Shard{Name: filepath.Base(name), Samples: -1, Bytes: size}, File: &watched{ctx: ctx, r: f, read: &l.o.Progress.Bytes}, Size: size,
		Store: local.NewDir(filepath.Dir(name), local.SyncNone), Buf: buf.format,
		Report: func(p problem.Problem) { p.File = name; l.c.add(p) },
	}
	ours, err := kind.Lint.Check(ctx, &c)
	if ours {
		l.orphan(name)
	}
	l.c.count(func(n *Counts) {
		n.Samples, n.Parts = n.Samples+max(c.Samples, 0), n.Parts+c.Parts
		if c.Full {
			n.ShardsRead, n.BytesRead = n.ShardsRead+1, n.BytesRead+size
		}
	})
	return err
}
