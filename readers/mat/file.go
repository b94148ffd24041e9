package mat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/mat5"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/storage"
)

// file is a file as a store: the chunk of a variable has the name "VARIABLE/0.0".
type file struct {
	*mat5.File
	far   bool
	named map[string]*mat5.Variable
}

func open(_ context.Context, fs storage.FS, name string, in storage.File) (store.Files, error) {
	f, err := mat5.Parse(in, in.Size())
	if err != nil {
		return nil, err
	}
	_, own := storage.Path(fs, name)
	x := &file{f, !own, map[string]*mat5.Variable{}}
	for i := range f.Variables {
		x.named[f.Variables[i].Name] = &f.Variables[i]
	}
	return x, nil
}

func scan(_ context.Context, f store.Files, c *store.Choice) (*store.Tree, error) {
	x := f.(*file)
	t := &store.Tree{Files: f, Whole: true, Notes: x.Notes()}
	for i := range x.Variables {
		if v := &x.Variables[i]; c.Wants(v.Name) {
			t.Arrays = append(t.Arrays, array(v))
		}
	}
	return t, nil
}

func reopen(_ context.Context, f store.Files, names []string) (*store.Tree, error) {
	x := f.(*file)
	t := &store.Tree{Files: f, Whole: true}
	for _, name := range names {
		v := x.named[name]
		if v == nil {
			return nil, fmt.Errorf("%w: there is no variable %s", shardify.ErrChanged, name)
		}
		t.Arrays = append(t.Arrays, array(v))
	}
	return t, nil
}

// array is a variable as an array of one chunk.
func array(v *mat5.Variable) store.Array {
	a := store.Array{Path: v.Name, Digest: v.Digest, Err: v.Err, Layout: "one piece"}
	if a.Err == nil {
		chunk := make([]int64, len(v.Shape))
		for i, d := range v.Shape {
			chunk[i] = max(d, 1)
		}
		a.Array, a.Err = node.Plain(v.NumPy, v.Shape, chunk, nil)
	}
	if a.Err == nil {
		a.Type.Name = v.Class
	}
	return a
}

// Open implements store.Files: it decodes a variable.
func (f *file) Open(_ context.Context, key string) (storage.Blob, error) {
	v := f.named[key[:max(strings.LastIndexByte(key, '/'), 0)]] // a damaged name may have one, too
	if v == nil {
		return nil, fs.ErrNotExist
	}
	b, err := f.Values(v)
	if err != nil {
		return nil, err
	}
	return &values{bytes.NewReader(b)}, nil
}

// values is a decoded variable.
type values struct{ *bytes.Reader }

func (v *values) Close() error { return nil }

// List implements store.Files: it is not asked, as all chunks are there.
func (f *file) List(context.Context, string) ([]storage.Entry, error) {
	return nil, errors.ErrUnsupported
}

// Far implements store.Files.
func (f *file) Far() bool { return f.far }

// Notes implements store.Files.
func (f *file) Notes() []string { return f.File.Notes }

// CheckNames implements store.Files.
func (f *file) CheckNames() error { return nil }
