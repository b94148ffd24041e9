package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sync/errgroup"
)

// Lint checks tars and safetensors files made by others: files, or folders of
// them. What is damaged for every reader is a problem; so is what some loader
// misreads. Names in the report are the paths.
func Lint(ctx context.Context, paths []string, o Options) (*Report, error) {
	files, err := lintFiles(paths)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, ErrNotDataSet
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	l := &lint{o: &o, c: newCollector(o.Keep)}
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
	return l.c.finish(), nil
}

type lint struct {
	o     *Options
	c     *collector
	roots []string // the folders among what is checked
}

// orphan counts a shard of ours that no manifest vouches for: then nothing tells whether it
// is the one that was converted, and whether there are others. A file that was named by
// itself is taken as it is.
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

// indexed tells a tar with an offset index of ours beside it.
func indexed(name string, size int64) bool {
	f, st, err := local.Open(name + index.TarIndexExt)
	if err != nil {
		return false
	}
	defer f.Close()
	n := st.Size()
	if n < 16 || n%8 != 0 {
		return false
	}
	var first, last [8]byte
	_, err = f.ReadAt(first[:], 0)
	_, err2 := f.ReadAt(last[:], n-8)
	return err == nil && err2 == nil && first == [8]byte{} && binary.LittleEndian.Uint64(last[:]) == uint64(size-index.TarEnd)
}

// IsForeign tells whether a path is for Lint: a file, or a folder that is no
// data set of ours, finished or not.
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

// lintFiles are the files named, and the shards in the folders named.
func lintFiles(paths []string) (files []string, err error) {
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
			if err == nil && e.Type().IsRegular() && lintKind(name) != "" {
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

// lintKind tells by the name what a file claims to be.
func lintKind(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".tar":
		return "tar"
	case ".safetensors":
		return "safetensors"
	}
	return ""
}

func (l *lint) file(ctx context.Context, name string) error {
	f, st, err := local.Open(name)
	if err == nil {
		defer f.Close()
		l.c.count(func(n *Counts) { n.Shards++; n.Bytes += st.Size() })
		err = l.open(ctx, name, f, st.Size())
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		l.c.addError(LevelLint, name, err)
	}
	return nil
}

func (l *lint) open(ctx context.Context, name string, f *os.File, size int64) error {
	r := &watched{ctx, f, &l.o.Progress.Bytes}
	switch lintKind(name) {
	case "tar":
		return l.tar(ctx, name, r, size)
	case "safetensors":
		return l.safetensors(name, r, size)
	}
	var head [265]byte
	n, _ := f.ReadAt(head[:], 0)
	switch {
	case n == len(head) && string(head[257:262]) == "ustar":
		return l.tar(ctx, name, r, size)
	case n > 9 && head[8] == '{':
		return l.safetensors(name, r, size)
	}
	return shardify.Unsupported("neither a tar nor a safetensors file by its name and first bytes")
}

func (l *lint) tar(ctx context.Context, name string, r *watched, size int64) error {
	if indexed(name, size) {
		l.orphan(name)
	}
	counts, err := index.LintTar(ctx, r, size, func(p index.TarProblem) bool {
		what := string(p.Rule)
		if p.Detail != "" {
			what += " (" + p.Detail + ")"
		}
		kind := KindLoader
		if p.Rule.Damage() {
			kind = KindFormat
		}
		l.c.add(Problem{Level: LevelLint, Kind: kind, File: name, Object: p.Member, Sample: -1, Offset: p.Offset, What: what, Breaks: p.Rule.Breaks()})
		return true
	})
	l.c.count(func(n *Counts) { n.Samples += counts.Samples; n.Parts += counts.Members })
	return err
}

// safetensors checks the header by the rules of the format, and what they allow
// but readers stumble over. A shard of ours is checked to its last byte.
func (l *lint) safetensors(name string, r *watched, size int64) error {
	st, err := index.ParseSafetensors(r, size)
	if err != nil {
		l.c.addError(LevelLint, name, err)
		return nil
	}
	l.c.count(func(n *Counts) { n.Parts += int64(len(st.Tensors)) })
	if st.Metadata["shardify"] != "" {
		l.orphan(name)
		return l.ours(name, r, size)
	}
	for i := range st.Tensors {
		t := &st.Tensors[i]
		p := Problem{Level: LevelLint, Kind: KindLoader, File: name, Object: t.Name, Sample: -1, Offset: t.Lo}
		if item := itemBytes(t); item > 1 && t.Lo%item != 0 {
			p.What = fmt.Sprintf("data of %s do not begin at a multiple of %d", t.Type, item)
			p.Breaks = "a mapped file gives an unaligned array in NumPy; torch refuses to view the bytes as that type"
			l.c.add(p)
		}
	}
	return nil
}

// itemBytes is the size of one value; 0 without values, and for types of less
// than a byte.
func itemBytes(t *index.Tensor) int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	if n == 0 {
		return 0
	}
	return (t.Hi - t.Lo) / n
}

func (l *lint) ours(name string, r *watched, size int64) error {
	shard, err := index.ParseShard(r, size)
	if err != nil {
		l.c.addError(LevelLint, name, err)
		return nil
	}
	buf := bufferPool.Get().(*buffers)
	defer bufferPool.Put(buf)
	for i := range shard.Places {
		if err := shard.CheckTensor(r, i, buf.piece); err != nil {
			l.c.addError(LevelLint, name, err)
		}
	}
	l.c.count(func(n *Counts) { n.ShardsRead++; n.BytesRead += size; n.Samples += shard.Samples })
	return nil
}
