package look

import (
	"cmp"
	"path"
	"strings"

	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
)

// frameColumns are the names of the columns in a block of a pandas frame; nil for any other
// leaf.
func frameColumns(f *column.File, o *h5.Object, p, leaf string) []string {
	dir, base := path.Split(p)
	switch {
	case base == "table" && strings.HasPrefix(leaf, "values_block_"):
		return pandas.PickledTexts(element.TextOf(f.H5, o, leaf+"_kind"))
	case leaf == "" && strings.HasPrefix(base, "block") && strings.HasSuffix(base, "_values"):
		return f.ShortTexts(dir + strings.TrimSuffix(base, "values") + "items")
	}
	return nil
}

// categoriesOf is the table with the categories of a column of pandas' table p: codes are
// their places, -1 a missing value.
func categoriesOf(p, column string) string {
	return path.Dir(p) + "/meta/" + column + "/meta/table"
}

// isCategories reports whether p is such a table.
func isCategories(p string) bool {
	parts := strings.Split(p, "/")
	n := len(parts)
	return n > 4 && parts[n-1] == "table" && parts[n-2] == "meta" && parts[n-4] == "meta"
}

// categories are the texts of the codes of a column; nil if it has no codes.
func categories(f *column.File, o *h5.Object, p, leaf string) []string {
	if path.Base(p) != "table" || element.TextOf(f.H5, o, leaf+"_meta") != "category" {
		return nil
	}
	a, err := f.Dataset(categoriesOf(p, leaf))
	if err != nil || a.Set.Type.Class != datatype.Compound || len(a.Dims) != 1 || a.Rows > element.MaxColumns || a.Rows*a.RowBytes > element.MaxText || a.Usable() != nil {
		return nil
	}
	for _, m := range a.Set.Type.Members {
		if m.Name == "values" && m.Type.Class == datatype.String {
			return a.Texts(m)
		}
	}
	return nil
}

// withTimes adds the unit of pandas' dates and times to a column's attributes, which are counts.
// A table says it of each block or column and of the index, a fixed frame of a block.
func withTimes(attrs map[string]string, f *column.File, o *h5.Object, leaf string) map[string]string {
	for _, name := range []string{leaf + "_dtype", leaf + "_kind", "value_type", "kind"} {
		text := element.TextOf(f.H5, o, name)
		kind, unit, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
		if kind != "datetime64" && kind != "timedelta64" {
			continue
		}
		if unit = cmp.Or(unit, "ns"); unit == "s" || unit == "ms" || unit == "us" || unit == "ns" {
			if attrs = element.WithAttr(attrs, "time", unit); kind == "timedelta64" {
				attrs["delta"] = "true"
			}
		}
		break
	}
	return attrs
}
