package mtx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/anndata"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/mtx/internal/market"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// matrixName is the name of a matrix, behind a prefix and before an extension of packed files.
const matrixName = "matrix.mtx"

var packed = []string{".gz", "", ".zst"}

// Format is the readers' table's line for Matrix Market.
var Format = format.Input{
	Name: "mtx", Words: []string{"10x", "matrixmarket"},
	Help:      "cells in folders of 10x Genomics: matrix.mtx with barcodes.tsv and features.tsv, also .gz and .zst",
	Sniff:     sniff,
	Companion: true,
	Roots:     []string{matrixName + ".gz", matrixName, matrixName + ".zst"},
	Options:   options,
	Open:      open,
}

// options are those of AnnData. Each matrix has names of genes, and is brought into rows whatever its order.
var options = func() []format.Option {
	out := []format.Option{survey.Option}
	for _, o := range anndata.Options {
		switch o.Name {
		case "csc":
			continue
		case "genes":
			o.Idle = format.Always
		}
		out = append(out, o)
	}
	return out
}()

func sniff(head []byte, name string) bool {
	plain := name
	for _, ext := range packed {
		if s, ok := strings.CutSuffix(strings.ToLower(name), ext); ok && ext != "" {
			plain = s
		}
	}
	return strings.HasSuffix(plain, ".mtx") && (plain != name || len(head) == 0 || bytes.HasPrefix(head, []byte("%%MatrixMarket")))
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	files := storages.Of(a.Table)
	c := &anndata.Container{Name: "Matrix Market", Key: "mtx 1", Media: "txt", Open: func(ctx context.Context, path string, f storage.File) (anndata.Tree, error) {
		return newTree(ctx, files, path, f)
	}}
	src, err := anndata.Open(ctx, a, c, o)
	if src == nil && err == nil {
		err = shardify.Corrupt(-1, "the survey of Matrix Market in the plan")
	}
	return src, err
}

// tree is a folder as an AnnData.
type tree struct {
	file  storage.File // of the matrix
	size  market.Header
	texts map[string][]string // by path
}

// beside opens the first of some files beside the matrix, or says which are not there.
func beside(ctx context.Context, files storage.FS, path string, names ...string) (storage.File, string, error) {
	at := strings.LastIndex(path, matrixName)
	if at < 0 {
		return nil, "", shardify.Mismatch("its name does not end with %s: names of barcodes and features are looked for in files beside it", matrixName)
	}
	for _, name := range names {
		for _, ext := range packed {
			f, err := rows.OpenFile(ctx, files, path[:at]+name+ext, -1)
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return f, name + ext, err
			}
		}
	}
	return nil, "", shardify.Mismatch("neither %s nor the same with .gz or .zst is beside it", strings.Join(names, " nor "))
}

// newTree looks at the header of the matrix, and reads the files beside it.
func newTree(ctx context.Context, files storage.FS, path string, f storage.File) (*tree, error) {
	t := &tree{file: f, texts: map[string][]string{}}
	m, err := market.Begin(ctx, f)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	t.size = m.Header
	if err := t.table(ctx, files, path, "obs", t.size.Columns, "columns", "barcodes.tsv"); err != nil {
		return nil, err
	}
	return t, t.table(ctx, files, path, "var", t.size.Rows, "rows", "features.tsv", "genes.tsv")
}

// ofTable are the columns of the files beside the matrix.
var ofTable = []string{"_index", "name", "feature_type", "chromosome", "start", "end"}

// mostTable bounds the text of a file beside the matrix.
const mostTable = 512 << 20

// table reads the lines of a file beside the matrix.
func (t *tree) table(ctx context.Context, files storage.FS, path, group string, n int64, what string, names ...string) error {
	f, name, err := beside(ctx, files, path, names...)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := lines.Open(ctx, f, lines.UTF8)
	if err != nil {
		return shardify.Annotate(err, "", "", name)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, mostTable+1))
	switch {
	case err != nil:
		return shardify.Annotate(err, "", "", name)
	case len(b) > mostTable:
		return shardify.Unsupported("%s of more than %s", name, shardify.FormatSize(mostTable))
	case len(b) > 0 && b[len(b)-1] != '\n':
		b = append(b, '\n')
	}
	for i := range t.columns(b) {
		t.texts[group+"/"+ofTable[i]] = make([]string, 0, min(n, int64(len(b))))
	}
	at := int64(0)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || at >= n {
			return shardify.Annotate(shardify.Corrupt(-1, "line %d of %d is empty, or one too many: %d %s in the matrix", at+1, bytes.Count(b, []byte{'\n'}), n, what), "", "", name)
		}
		for i, s := range strings.Split(line, "\t") {
			if list, ok := t.texts[group+"/"+ofTable[min(i, len(ofTable)-1)]]; ok && i < len(ofTable) {
				t.texts[group+"/"+ofTable[i]] = append(list, s)
			}
		}
		at++
	}
	if at != n {
		return shardify.Annotate(shardify.Corrupt(-1, "%d lines, %d %s in the matrix", at, n, what), "", "", name)
	}
	for i := range ofTable {
		if list, ok := t.texts[group+"/"+ofTable[i]]; ok && int64(len(list)) != n {
			return shardify.Annotate(shardify.Corrupt(-1, "%d of %d lines have a column %d", len(list), n, i+1), "", "", name)
		}
	}
	if n == 0 {
		t.texts[group+"/_index"] = nil
	}
	return nil
}

// columns is how many columns of a table are known.
func (t *tree) columns(b []byte) int {
	line, _, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return 0
	}
	return min(1+bytes.Count(line, []byte{'\t'}), len(ofTable))
}

// Size implements anndata.Tree.
func (t *tree) Size() int64 { return t.file.Size() }

// Close implements anndata.Tree.
func (t *tree) Close() error { return t.file.Close() }

// Members implements anndata.Tree.
func (t *tree) Members(group string) (names []string, ok bool) {
	if group == "" {
		return []string{"X", "obs", "var"}, true
	}
	for p := range t.texts {
		if name, in := strings.CutPrefix(p, group+"/"); in {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, names != nil
}

// Damage implements anndata.Tree.
func (t *tree) Damage() error { return nil }

// Attr implements anndata.Tree.
func (t *tree) Attr(path, name string) (any, bool) {
	v, ok := map[string]string{
		" encoding-type": "anndata", "X encoding-type": anndata.Listed, "obs encoding-type": "dataframe", "var encoding-type": "dataframe",
		"obs _index": "_index", "var _index": "_index",
	}[path+" "+name]
	return v, ok
}

// Array implements anndata.Tree.
func (t *tree) Array(path string) (*anndata.Array, error) {
	list, ok := t.texts[path]
	if !ok {
		return nil, nil
	}
	return &anndata.Array{Shape: []int64{int64(len(list))}, Text: true, Unit: 1}, nil
}

// Missing implements anndata.Tree.
func (t *tree) Missing(context.Context, string) (string, error) { return "", nil }

// List implements anndata.Lister: cells are the columns.
func (t *tree) List() anndata.List {
	return anndata.List{Rows: t.size.Columns, Columns: t.size.Rows, Values: t.size.Values, DType: t.size.DType, Each: func(ctx context.Context, add anndata.Add) error {
		m, err := market.Begin(ctx, t.file)
		if err != nil {
			return err
		}
		defer m.Close()
		return m.Each(ctx, func(row, column int64, value []byte) error { return add(column, row, value) })
	}}
}

// Reader implements anndata.Tree.
func (t *tree) Reader() anndata.Reader { return &reader{t: t} }

// reader implements anndata.Reader. All texts are in memory, and numbers come from List.
type reader struct {
	t    *tree
	data []byte
	ends []int64
}

func (r *reader) Begin(context.Context, *shardify.Arena) error { return nil }
func (r *reader) End(context.Context) error                    { return nil }
func (r *reader) Close()                                       {}

func (r *reader) Numbers(_ context.Context, path string, _, _ int64, _ []byte) error {
	return shardify.Mismatch("no numbers in %s", path)
}

func (r *reader) Texts(_ context.Context, path string, lo, hi int64) ([]byte, []int64, error) {
	list := r.t.texts[path]
	if hi > int64(len(list)) {
		return nil, nil, shardify.Mismatch("no lines [%d, %d) of %s", lo, hi, path)
	}
	r.data, r.ends = r.data[:0], r.ends[:0]
	for _, s := range list[lo:hi] {
		r.data = append(r.data, s...)
		r.ends = append(r.ends, int64(len(r.data)))
	}
	return r.data, r.ends, nil
}
