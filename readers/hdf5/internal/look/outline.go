package look

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
)

// maxDescribed bounds the data sets that Describe lists.
const maxDescribed = 40

// maxDecoded bounds the decoded fields that are named.
const maxDecoded = 32

// Notes say what the samples are, and which fields have other values than those stored.
func (b *Blob) Notes() (out []string) {
	if b.Why != "" {
		out = append(out, b.Why)
	}
	if len(b.Decoded) == 0 {
		return out
	}
	names, more := b.Decoded, ""
	if n := len(names) - maxDecoded; n > 0 {
		names, more = names[:maxDecoded], fmt.Sprintf("; and %d more", n)
	}
	return append(out, "decoded by their attributes (CF; --cf off keeps the stored values): "+strings.Join(names, "; ")+more)
}

// Describe describes the data sets of a file; of sample groups the first one alone.
func Describe(t *tree.Tree, b *Blob) []string {
	first := ""
	out := describeKind(t)
	out = append(out, t.File.H5.Warnings()...)
	for _, group := range slices.Sorted(maps.Keys(t.Sparse)) {
		out = append(out, describeMatrix(t.Sparse[group]))
	}
	listed, others := 0, 0
	for i := range t.Objects {
		o := &t.Objects[i]
		switch {
		case b.Mode == tree.ByGroup && !b.firstGroup(o.Path, &first):
			others++
		case listed == maxDescribed:
			return append(out, fmt.Sprintf("and %d more data sets", len(t.Objects)-i))
		default:
			listed++
			out = append(out, describeObject(t, o)...)
		}
	}
	if others > 0 {
		out = append(out, fmt.Sprintf("the other groups like %s: %d data sets", first, others))
	}
	return out
}

// firstGroup reports whether a data set is in no sample group, or in the first of
// them, whose path is kept.
func (b *Blob) firstGroup(p string, first *string) bool {
	c := Choice{Samples: tree.Samples{Parent: b.Parent, Stem: b.Stem}, numbered: b.Number}
	name := c.sampleGroup(p)
	if group := b.Parent + "/" + name; name == "" || group == p {
		return true
	} else if *first == "" || *first == group {
		*first = group
		return true
	}
	return false
}

// describeKind says what the convention of the file means for its values.
func describeKind(t *tree.Tree) (out []string) {
	if t.Kind.Matlab {
		out = append(out, "MATLAB stores arrays with their axes reversed: without --axis they come as MATLAB shows them, the samples first; --axis N takes axis N as it is stored")
	}
	if t.Kind.Netcdf {
		out = append(out, "netCDF-4")
	}
	if t.Kind.Pytables {
		out = append(out, "written by PyTables or pandas")
	}
	return out
}

// describeObject writes lines about one data set.
func describeObject(t *tree.Tree, o *tree.Object) []string {
	a, err := t.File.Dataset(o.Path)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", o.Path, err)}
	}
	line := fmt.Sprintf("%s %s %v%s, %s", o.Path, typeName(a.Set.Type), o.Dims, dimNames(o), a.Storage())
	for _, attr := range describeAttrs(t, a) {
		line += "; " + attr
	}
	out := []string{line}
	if chunk := a.Set.Layout.ChunkDims; a.Filtered() && a.RowBytes > 0 && len(o.Dims) > 0 {
		rows := min(chunk[0], a.Rows)
		switch n := rows * a.RowBytes; {
		case n > SlabBytes:
			out = append(out, fmt.Sprintf("%s: a row of its chunks is %s; it is read in pieces of %s, and each chunk is decoded up to %d times",
				o.Path, shardify.FormatSize(n), shardify.FormatSize(SlabBytes), n/SlabBytes+1))
		case n > array.LargeClaim:
			out = append(out, fmt.Sprintf("%s: a row of its chunks is %s, which is read at once", o.Path, shardify.FormatSize(n)))
		}
	}
	return out
}

// describeAttrs writes the simple attributes of a data set.
func describeAttrs(t *tree.Tree, a *column.Dataset) (out []string) {
	o, err := a.File.H5.Object(a.Set.Addr, a.Path)
	if err != nil {
		return nil
	}
	list, _ := o.Attributes()
	for i := range list {
		text := element.AttributeText(a.File.H5, &list[i])
		if text == "" || len(out) == 8 || len(text) > 60 || strings.ContainsAny(text, "\n\r") || strings.HasPrefix(list[i].Name, "FIELD_") {
			continue
		}
		out = append(out, fmt.Sprintf("%s = %s", list[i].Name, text))
	}
	return out
}

// typeName is a datatype for people.
func typeName(t *datatype.Type) string {
	switch t.Class {
	case datatype.Compound:
		return fmt.Sprintf("compound of %d members", len(t.Members))
	case datatype.VarLen:
		if t.VarString {
			return "string"
		}
		return "list of " + typeName(t.Base)
	case datatype.Array:
		return fmt.Sprintf("%s %v", typeName(t.Base), t.Dims)
	case datatype.String:
		return fmt.Sprintf("string of %d", t.Size)
	}
	leaves := element.Rules{Media: element.MediaText}.Leaves(t)
	if len(leaves) != 1 || leaves[0].Err != nil {
		return fmt.Sprintf("type of %d bytes", t.Size)
	}
	order := ""
	if leaves[0].Num.Big && leaves[0].Num.Size > 1 {
		order = " big-endian"
	}
	return leaves[0].Num.DType.String() + order
}

// describeMatrix says what a sparse matrix is.
func describeMatrix(m *column.Matrix) string {
	if m.Err != nil {
		return fmt.Sprintf("%s: a sparse matrix that cannot be read: %s", cmp.Or(m.Group, "/"), tree.Reason(m.Err))
	}
	form := "by rows"
	if m.ByColumns {
		form = "by columns (csc), which cannot be read"
	}
	share := 0.0
	if m.Rows > 0 && m.Columns > 0 {
		share = 100 * float64(m.Stored) / float64(m.Rows) / float64(m.Columns)
	}
	return fmt.Sprintf("%s: a sparse matrix %s: %d %s, %d columns, %d values (%.2g%%)", cmp.Or(m.Group, "/"), form, m.Rows, m.What, m.Columns, m.Stored, share)
}
