package hdf5

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// maxDescribed bounds the data sets that Describe lists.
const maxDescribed = 40

// Describe implements shardify.Describer: what the samples are and why, and how
// the data sets of the first file are stored.
func (s *source) Describe() []string {
	out := s.Notes()
	for in := range s.Inputs() {
		var b blob
		if err := json.Unmarshal(in.Blob, &b); err != nil {
			break // a file that has no samples
		}
		lines, err := s.describeFile(&in, &b)
		if err != nil {
			lines = []string{fmt.Sprintf("%s: %v", in.Name(), err)}
		}
		return append(out, lines...)
	}
	return out
}

// Notes implements shardify.Noter: what the samples are comes first.
func (s *source) Notes() []string {
	var out []string
	for in := range s.Inputs() {
		var b blob
		if json.Unmarshal(in.Blob, &b) == nil && b.Why != "" {
			out = append(out, b.Why)
		}
		out = append(out, b.decoded()...)
		break
	}
	out = append(out, s.doubt...)
	return append(out, s.Set.Notes()...)
}

// maxDecoded bounds the decoded fields that are named.
const maxDecoded = 32

// decoded names the fields whose values are not those stored.
func (b *blob) decoded() []string {
	if len(b.Decoded) == 0 {
		return nil
	}
	names, more := b.Decoded, ""
	if n := len(names) - maxDecoded; n > 0 {
		names, more = names[:maxDecoded], fmt.Sprintf("; and %d more", n)
	}
	return []string{"decoded by their attributes (CF; --cf off keeps the stored values): " + strings.Join(names, "; ") + more}
}

func (s *source) describeFile(in *rows.Input, b *blob) ([]string, error) {
	return describeFile(context.Background(), storages.Of(s.table), in.Path(), s.opts, b)
}

// outline lists the data sets of a file, whether or not they make one table, and what
// cannot be read.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	defaults, err := shardify.CheckOptions(options, nil)
	if err != nil {
		return nil, err
	}
	opts, err := newSettings(defaults)
	if err != nil {
		return nil, err
	}
	return describeFile(ctx, fs, name, opts, &blob{})
}

func describeFile(ctx context.Context, fs storage.FS, name string, opts *settings, b *blob) ([]string, error) {
	first := ""
	sv := &survey{fs: fs, opts: opts}
	f, err := sv.file(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, _ := rows.NewWanted(nil)
	t, err := scan(ctx, f, opts, all, nil)
	if err != nil {
		return nil, err
	}
	out := t.kind.describe()
	out = append(out, f.H5.Warnings()...)
	for _, group := range slices.Sorted(maps.Keys(t.sparse)) {
		out = append(out, t.sparse[group].describe())
	}
	listed, others := 0, 0
	for i := range t.objects {
		o := &t.objects[i]
		switch {
		case b.Mode == byGroup && !b.firstGroup(o.path, &first):
			others++
		case listed == maxDescribed:
			return append(out, fmt.Sprintf("and %d more data sets", len(t.objects)-i)), nil
		default:
			listed++
			out = append(out, t.describe(o)...)
		}
	}
	if others > 0 {
		out = append(out, fmt.Sprintf("the other groups like %s: %d data sets", first, others))
	}
	return out, nil
}

// firstGroup tells whether a data set is in no sample group, or in the first of
// them, whose path is kept.
func (b *blob) firstGroup(p string, first *string) bool {
	rest, ok := strings.CutPrefix(p, b.Parent+"/")
	name, _, inside := strings.Cut(rest, "/")
	if stem, numbered := stemOf(name); !ok || !inside || b.Number && (!numbered || stem != b.Stem) {
		return true
	}
	if group := b.Parent + "/" + name; *first == "" || *first == group {
		*first = group
		return true
	}
	return false
}

// describe says what the convention of the file means for its values.
func (c *convention) describe() (out []string) {
	if c.matlab {
		out = append(out, "MATLAB stores arrays with their axes reversed: without --axis they come as MATLAB shows them, the samples first; --axis N takes axis N as it is stored")
	}
	if c.netcdf {
		out = append(out, "netCDF-4")
	}
	if c.pytables {
		out = append(out, "written by PyTables or pandas")
	}
	return out
}

// describe writes lines about one data set.
func (t *tree) describe(o *object) []string {
	a, err := t.file.array(o.path)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", o.path, err)}
	}
	line := fmt.Sprintf("%s %s %v%s, %s", o.path, typeName(a.Set.Type), o.dims, o.named(), a.Storage())
	for _, attr := range t.describeAttrs(a) {
		line += "; " + attr
	}
	out := []string{line}
	if chunk := a.Set.Layout.ChunkDims; a.Filtered() && a.RowBytes > 0 && len(o.dims) > 0 {
		rows := min(chunk[0], a.Rows)
		switch n := rows * a.RowBytes; {
		case n > slabBytes:
			out = append(out, fmt.Sprintf("%s: a row of its chunks is %s; it is read in pieces of %s, and each chunk is decoded up to %d times",
				o.path, shardify.FormatSize(n), shardify.FormatSize(slabBytes), n/slabBytes+1))
		case n > array.LargeClaim:
			out = append(out, fmt.Sprintf("%s: a row of its chunks is %s, which is read at once", o.path, shardify.FormatSize(n)))
		}
	}
	return out
}

// describeAttrs writes the simple attributes of a data set.
func (t *tree) describeAttrs(a *dataset) (out []string) {
	o, err := a.File.H5.Object(a.Set.Addr, a.Path)
	if err != nil {
		return nil
	}
	list, _ := o.Attributes()
	for i := range list {
		text := attrText(a.File.H5, &list[i])
		if text == "" || len(out) == 8 || len(text) > 60 || strings.ContainsAny(text, "\n\r") || strings.HasPrefix(list[i].Name, "FIELD_") {
			continue
		}
		out = append(out, fmt.Sprintf("%s = %s", list[i].Name, text))
	}
	return out
}

// typeName is a datatype for people.
func typeName(t *h5.Type) string {
	switch t.Class {
	case h5.Compound:
		return fmt.Sprintf("compound of %d members", len(t.Members))
	case h5.VarLen:
		if t.VarString {
			return "string"
		}
		return "list of " + typeName(t.Base)
	case h5.Array:
		return fmt.Sprintf("%s %v", typeName(t.Base), t.Dims)
	case h5.String:
		return fmt.Sprintf("string of %d", t.Size)
	}
	leaves := typeRules{media: mediaText}.leaves(t)
	if len(leaves) != 1 || leaves[0].err != nil {
		return fmt.Sprintf("type of %d bytes", t.Size)
	}
	order := ""
	if leaves[0].num.Big && leaves[0].num.Size > 1 {
		order = " big-endian"
	}
	return leaves[0].num.DType.String() + order
}
