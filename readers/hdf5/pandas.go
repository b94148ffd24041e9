package hdf5

import (
	"context"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// columnsAttr is where a field says which columns of a pandas frame its last
// dimension holds, their names joined by line feeds.
const columnsAttr = "columns"

// maxColumns bounds the names that are kept.
const maxColumns = 1 << 14

// frameColumns are the names of the columns in a block of a pandas frame, nil if
// the leaf is none.
func frameColumns(f *file, o *h5.Object, p, leaf string) []string {
	dir, base := path.Split(p)
	switch {
	case base == "table" && strings.HasPrefix(leaf, "values_block_"):
		return pickledTexts(textAttr(f.H5, o, leaf+"_kind"))
	case leaf == "" && strings.HasPrefix(base, "block") && strings.HasSuffix(base, "_values"):
		return f.shortTexts(dir + strings.TrimSuffix(base, "values") + "items")
	}
	return nil
}

// pickledTexts reads the one pickle that is no program: a list of texts as
// protocol 0 writes it, (lp0 Va p1 a Vb p2 a. with line feeds. Anything else,
// names with escapes too, gives nil; nothing is ever executed.
func pickledTexts(s string) (list []string) {
	line := func(prefix byte) (text string, ok bool) {
		if s == "" || s[0] != prefix {
			return "", false
		}
		text, rest, ok := strings.Cut(s[1:], "\n")
		if ok {
			s = rest
		}
		return text, ok
	}
	rest, ok := strings.CutPrefix(s, "(l")
	if s = rest; !ok {
		return nil
	}
	if _, ok := line('p'); !ok {
		return nil
	}
	for s != "." {
		name, ok := line('V')
		if !ok || strings.ContainsAny(name, "\\\r") || len(list) >= maxColumns {
			return nil
		}
		if _, ok := line('p'); !ok || !strings.HasPrefix(s, "a") {
			return nil
		}
		s, list = s[1:], append(list, name)
	}
	return list
}

// categoriesOf is the table with the categories of a column of pandas' table p: codes are
// their places, -1 a missing value.
func categoriesOf(p, column string) string {
	return path.Dir(p) + "/meta/" + column + "/meta/table"
}

// isCategories tells whether p is such a table.
func isCategories(p string) bool {
	parts := strings.Split(p, "/")
	n := len(parts)
	return n > 4 && parts[n-1] == "table" && parts[n-2] == "meta" && parts[n-4] == "meta"
}

// categories are the texts that the codes of a column stand for, nil if they are none.
func (f *file) categories(o *h5.Object, p, leaf string) []string {
	if path.Base(p) != "table" || textAttr(f.H5, o, leaf+"_meta") != "category" {
		return nil
	}
	a, err := f.array(categoriesOf(p, leaf))
	if err != nil || a.Set.Type.Class != h5.Compound || len(a.Dims) != 1 || a.Rows > maxColumns || a.Rows*a.RowBytes > maxText || a.Usable() != nil {
		return nil
	}
	for _, m := range a.Set.Type.Members {
		if m.Name == "values" && m.Type.Class == h5.String {
			return a.texts(m)
		}
	}
	return nil
}

// texts are a member's values in a small data set of compound type.
func (a *dataset) texts(m h5.Member) (out []string) {
	raw := make([]byte, a.Rows*a.RowBytes)
	if a.Read(context.Background(), new(array.Buffers), raw, 0, a.Rows) != nil {
		return nil
	}
	for ; len(raw) > 0; raw = raw[a.RowBytes:] {
		out = append(out, string(trim(raw[m.Offset:][:m.Type.Size], h5.NulPadded)))
	}
	return out
}

// withCategories adds the categories to a field's attributes, as those of an enum: codes
// of missing values have no name.
func withCategories(attrs map[string]string, names []string) map[string]string {
	var pairs []string
	for i, name := range names {
		if name == "" || !utf8.ValidString(name) || strings.ContainsAny(name, "\n=") {
			return attrs
		}
		pairs = append(pairs, name+"="+strconv.Itoa(i))
	}
	if len(pairs) == 0 {
		return attrs
	}
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs["enum"] = strings.Join(pairs, "\n")
	return attrs
}

// shortTexts reads a small data set of texts, nil if it is none.
func (f *file) shortTexts(p string) []string {
	a, err := f.array(p)
	if err != nil || a.Set.Type.Class != h5.String {
		return nil
	}
	return f.items(a)
}

// items reads a small data set of texts or numbers as texts, nil if it is none.
func (f *file) items(a *dataset) (out []string) {
	if a.Rows > maxColumns {
		return nil
	}
	size := 0
	whole := f.each(a, func(text string) bool {
		size += len(text)
		out = append(out, text)
		return size <= maxText
	})
	if !whole {
		return nil
	}
	return out
}

// each goes through a list of texts or numbers until f has enough. It tells whether it
// came to the end.
func (f *file) each(a *dataset, item func(text string) bool) bool {
	if len(a.Dims) != 1 || a.RowBytes > maxAttr || a.Usable() != nil {
		return false
	}
	leaves, _ := a.leavesBy(typeRules{media: mediaText, refSize: f.H5.RefSize()}, nil)
	if len(leaves) != 1 || leaves[0].err != nil || leaves[0].at.Values() != 1 {
		return false
	}
	const block = 1 << 10
	var w array.Buffers
	heap, raw := f.H5.NewHeap(1<<20), make([]byte, 0, min(a.Rows, block)*a.RowBytes)
	for lo := int64(0); lo < a.Rows; lo += block {
		hi := min(lo+block, a.Rows)
		raw = raw[:(hi-lo)*a.RowBytes]
		if a.Read(context.Background(), &w, raw, lo, hi) != nil {
			return false
		}
		for b := raw; len(b) > 0; b = b[a.RowBytes:] {
			if text, ok := itemText(heap, &leaves[0], b[:a.RowBytes]); !ok || !item(text) {
				return false
			}
		}
	}
	return true
}

// withColumns adds the names of columns to a field's attributes.
func withColumns(attrs map[string]string, names []string, field *shardify.Field) map[string]string {
	n := 1
	if len(field.Shape) > 0 {
		n = field.Shape[len(field.Shape)-1]
	}
	text := strings.Join(names, shardify.LabelSeparator)
	if len(names) == 0 || len(names) != n || strings.Count(text, shardify.LabelSeparator) != n-1 || !utf8.ValidString(text) || len(text) > 1<<18 {
		return attrs
	}
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs[columnsAttr] = text
	return attrs
}
