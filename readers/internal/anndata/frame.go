package anndata

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	gopath "path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

var le = binary.LittleEndian

// indexOf is the member of a frame that holds the names of its rows; named is false where the file
// does not say which it is.
func (m *model) indexOf(path string) (name string, named bool) {
	if name := text(m.tree, m.at(path), "_index"); name != "" {
		return name, true
	}
	return "index", false
}

// indexAt is the array of the names of a frame's rows, nil where the frame has no names, and its path. Where they are of
// a type that may have missing values, as strings of pandas 3, it is that of the values.
func (m *model) indexAt(path, index string) (string, *Array, error) {
	p := m.at(path) + "/" + index
	a, err := m.tree.Array(p)
	if a != nil || err != nil || !strings.HasPrefix(text(m.tree, p, "encoding-type"), "nullable-") {
		return p, a, err
	}
	a, err = m.tree.Array(p + "/values")
	return p + "/values", a, err
}

// length is the number of rows of a frame: of its names, or of its first column.
func (m *model) length(path string) (int64, error) {
	index, named := m.indexOf(path)
	_, a, err := m.indexAt(path, index)
	for _, name := range m.members(path) {
		if a == nil && err == nil && !named {
			a, err = m.tree.Array(m.at(path) + "/" + name)
		}
		for _, part := range []string{"/codes", "/values"} {
			if a == nil && err == nil && !named {
				a, err = m.tree.Array(m.at(path) + "/" + name + part)
			}
		}
	}
	if err != nil {
		return 0, shardify.Annotate(err, "", "", path+"/"+index)
	}
	if a == nil || len(a.Shape) != 1 {
		return 0, shardify.Corrupt(-1, "%s: the names of the rows, %s, are not there", path, index)
	}
	return a.Shape[0], nil
}

// frame adds the columns of a frame with a row for each cell.
func (m *model) frame(path, name string) {
	index, named := m.indexOf(path)
	order, listed := attr(m.tree, m.at(path), "column-order")
	members := m.members(path)
	if named || has(m.tree, m.at(path), index) {
		m.column(path, index, name+"/_index", name+"/"+index)
	} else if text(m.tree, m.at(path), "encoding-type") == "dataframe" {
		m.refuse(name+"/_index", shardify.Corrupt(-1, "%s: a dataframe whose attribute _index does not say which column names the rows", name))
	}
	if !listed {
		order = nil
		for _, c := range members {
			if c != index && !strings.HasPrefix(c, "__") {
				order = append(order, c)
			}
		}
	}
	seen, groups := map[string]bool{index: true, "__categories": true}, map[string]bool{}
	for _, c := range order {
		group, _, nested := strings.Cut(c, "/") // anndata stores a/b as b in a group a
		if _, there := slices.BinarySearch(members, group); !there || nested && !has(m.tree, m.at(path)+"/"+gopath.Dir(c), gopath.Base(c)) {
			m.refuse(name+"/"+c, shardify.Corrupt(-1, "%s: column-order names %s, which is not there", name, c))
		} else if !seen[c] {
			m.column(path, c, name+"/"+c, name+"/"+c+"/codes")
		}
		seen[c], groups[group] = true, true
	}
	for _, c := range members {
		if !seen[c] && !groups[c] {
			m.leave(name+"/"+c, "not in column-order: anndata does not show it", false)
		}
	}
}

// column adds a column of a frame.
func (m *model) column(frame, column, name string, also ...string) {
	if !m.wants(name) {
		return
	}
	if err := m.addColumn(frame, column, name, also); err != nil {
		m.refuse(name, err)
	}
}

func (m *model) addColumn(frame, column, name string, also []string) error {
	p := m.at(frame) + "/" + column
	if frame == "obs" {
		also = append(also, column)
	}
	f := field{Field: shardify.Field{Name: name}, path: p, also: also}
	values := p
	a, err := m.tree.Array(p)
	if err != nil {
		return err
	}
	if a == nil {
		switch enc := text(m.tree, p, "encoding-type"); {
		case enc == "categorical":
			f.kind, values = codes, p+"/codes"
		case strings.HasPrefix(enc, "nullable-"):
			f.kind, values, f.mask = marked, p+"/values", p+"/mask"
		default:
			return shardify.Unsupported("%s: unknown encoding-type %q", name, enc)
		}
		if a, err = m.tree.Array(values); err != nil {
			return err
		}
	}
	f.path = values
	switch {
	case a == nil || len(a.Shape) == 0:
		return shardify.Corrupt(-1, "%s: there is no array %s", name, values)
	case a.Shape[0] != m.rows:
		return shardify.Corrupt(-1, "%s has %d values for %d cells", name, a.Shape[0], m.rows)
	case len(a.Shape) > 1 && (a.Text || f.kind != plain):
		return shardify.Unsupported("%s of shape %v", name, a.Shape)
	}
	f.DType = a.DType
	for _, d := range a.Shape[1:] {
		f.Shape = append(f.Shape, int(min(max(d, -1), math.MaxInt32)))
	}
	if a.Text {
		f.DType, f.Levels, f.Media, f.bytes = shardify.U8, 1, m.c.Media, 16*m.rows
		if f.kind == plain {
			f.kind = texts
		}
	}
	if err := m.meaning(&f, a, frame, column, p); err != nil {
		return err
	}
	if err := f.Validate(); err != nil {
		return err
	}
	m.units = append(m.units, unit{int64(max(f.ElemBytes(), 8)), a.Unit, false})
	m.fields = append(m.fields, f)
	return nil
}

// meaning adds the categories of codes and the mask of values that may be missing. a is the array of the
// values, p the path of the column.
func (m *model) meaning(f *field, a *Array, frame, column, p string) error {
	names := p + "/categories"
	if f.kind == plain && len(a.Shape) == 1 && a.DType.IsInt() {
		places := []string{m.at(frame) + "/__categories/" + column} // of 0.7
		if text(m.tree, m.at(frame), "encoding-type") == "" {
			places = append(places, m.at("uns/"+column+"_categories")) // before
		}
		for _, old := range places {
			if b, err := m.tree.Array(old); err == nil && b != nil && len(b.Shape) == 1 {
				f.kind, names = codes, old
				break
			}
		}
	}
	switch f.kind {
	case codes:
		if a.Text || !a.DType.IsInt() {
			return shardify.Corrupt(-1, "%s: codes that are no whole numbers", f.Name)
		}
		return m.categories(f, names, p)
	case marked:
		b, err := m.tree.Array(f.mask)
		if err != nil {
			return err
		}
		if b == nil || len(b.Shape) != 1 || b.Text || b.DType.Size() != 1 {
			return shardify.Corrupt(-1, "%s: there is no mask", f.Name)
		}
		if b.Shape[0] != m.rows {
			return shardify.Corrupt(-1, "%s: mask of %d for %d values", f.Name, b.Shape[0], m.rows)
		}
		f.Nullable = true
	}
	return nil
}

const (
	maxLabels  = 1 << 18 // bytes of labels in a schema
	maxNames   = 1 << 16 // names of categories that are compared
	blockNames = 1 << 14
)

// categories adds what the codes of a field stand for. Missing values have the code -1.
func (m *model) categories(f *field, path, column string) error {
	a, err := m.tree.Array(path)
	if err != nil {
		return err
	}
	if a == nil || len(a.Shape) != 1 {
		return shardify.Corrupt(-1, "%s: codes without categories", f.Name)
	}
	f.many, f.Nullable = a.Shape[0], true
	var names []string
	size, first, digest := 0, map[string]int64{}, xxh3.New()
	err = m.each(path, a, func(i int64, name string) error {
		if k, twice := first[name]; twice {
			return shardify.Corrupt(-1, "%s: categories %d and %d are both %.40q", f.Name, k, i, name)
		}
		if len(first) < maxNames {
			first[strings.Clone(name)] = i
		}
		digest.WriteString(name)
		digest.WriteString("\x00")
		if size += len(name) + 1; size <= maxLabels {
			names = append(names, strings.Clone(name))
		}
		if m.c.union {
			f.names = append(f.names, strings.Clone(name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if f.Attrs = labelsOf(names, size, f.many, digest); f.Attrs["categories"] != "" {
		m.leave(f.Name+"/categories", fmt.Sprintf("names of %d categories, which are too long for a schema or more than a line each; their codes are there", f.many), false)
	}
	for _, p := range []string{column, path} {
		if s := text(m.tree, p, "ordered"); s == "1" || strings.EqualFold(s, "true") {
			f.Attrs["ordered"] = "true"
		}
	}
	return nil
}

// labelsOf are the attributes of codes: the names of the categories, or how many there are and their digest
// where the names are too long or no lines of text. size is the bytes of all many names, one of which more each.
func labelsOf(names []string, size int, many int64, digest *xxh3.Hasher) map[string]string {
	plain := size <= maxLabels && !slices.ContainsFunc(names, func(s string) bool { return strings.ContainsAny(s, "\n\x00") || !utf8.ValidString(s) })
	switch {
	case many == 0:
		return map[string]string{}
	case plain:
		return map[string]string{"labels": strings.Join(names, shardify.LabelSeparator)}
	}
	return map[string]string{"categories": fmt.Sprintf("%d, xxh3:%016x", many, digest.Sum64())}
}

// each calls f for the items of a list of texts or numbers, as texts.
func (m *model) each(path string, a *Array, f func(i int64, item string) error) error {
	var buf []byte
	for lo := int64(0); lo < a.Shape[0]; lo += blockNames {
		hi := min(lo+blockNames, a.Shape[0])
		if a.Text {
			b, ends, err := m.read.Texts(m.ctx, path, lo, hi)
			if err != nil {
				return shardify.Annotate(err, "", "", path)
			}
			at := int64(0)
			for i, end := range ends {
				if err := f(lo+int64(i), string(b[at:end])); err != nil {
					return err
				}
				at = end
			}
			continue
		}
		size := a.DType.Size()
		buf = slices.Grow(buf[:0], int(hi-lo)*size)[:int(hi-lo)*size]
		if err := m.read.Numbers(m.ctx, path, lo, hi, buf); err != nil {
			return shardify.Annotate(err, "", "", path)
		}
		for i := range hi - lo {
			if err := f(lo+i, numberText(a.DType, buf[int(i)*size:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// numberText writes a number as Python does.
func numberText(t shardify.DType, b []byte) string {
	switch {
	case t == shardify.Bool:
		return map[bool]string{true: "True", false: "False"}[b[0] != 0]
	case t == shardify.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(le.Uint32(b))), 'g', -1, 32)
	case t == shardify.F64:
		return strconv.FormatFloat(math.Float64frombits(le.Uint64(b)), 'g', -1, 64)
	case t == shardify.U64:
		return strconv.FormatUint(le.Uint64(b), 10)
	}
	return strconv.FormatInt(integer(t, b), 10)
}

// integer is a whole number; one above the largest i64 is negative.
func integer(t shardify.DType, b []byte) int64 {
	switch t {
	case shardify.I8:
		return int64(int8(b[0]))
	case shardify.U8, shardify.Bool:
		return int64(b[0])
	case shardify.I16:
		return int64(int16(le.Uint16(b)))
	case shardify.U16:
		return int64(le.Uint16(b))
	case shardify.I32:
		return int64(int32(le.Uint32(b)))
	case shardify.U32:
		return int64(le.Uint32(b))
	}
	return int64(le.Uint64(b))
}

// integers are rows [lo, hi) of an array of whole numbers.
func (m *model) integers(path string, t shardify.DType, lo, hi int64) ([]int64, error) {
	b := make([]byte, int(hi-lo)*t.Size())
	if err := m.read.Numbers(m.ctx, path, lo, hi, b); err != nil {
		return nil, shardify.Annotate(err, "", "", path)
	}
	out := make([]int64, hi-lo)
	for i := range out {
		out[i] = integer(t, b[i*t.Size():])
	}
	return out, nil
}

// withColumns adds the names of columns to the attributes of a field, which are not changed.
func withColumns(attrs map[string]string, names []string) map[string]string {
	text := strings.Join(names, shardify.LabelSeparator)
	if len(names) == 0 || strings.Count(text, shardify.LabelSeparator) != len(names)-1 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return attrs
	}
	attrs = maps.Clone(attrs)
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs["columns"] = text
	return attrs
}
