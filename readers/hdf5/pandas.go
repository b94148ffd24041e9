package hdf5

import (
	"context"
	"path"
	"strings"

	"github.com/shardify/shardify"
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
		return pickledTexts(textAttr(f.h5, o, leaf+"_kind"))
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

// shortTexts reads a small data set of texts, nil if it is none.
func (f *file) shortTexts(p string) []string {
	a, err := f.array(p)
	if err != nil || a.set.Type.Class != h5.String || len(a.dims) != 1 || a.rows > maxColumns || a.rowBytes > maxAttr || a.usable() != nil {
		return nil
	}
	raw := make([]byte, a.rows*a.rowBytes)
	if a.read(context.Background(), &work{}, raw, 0, a.rows) != nil {
		return nil
	}
	var out []string
	for ; len(raw) > 0; raw = raw[a.rowBytes:] {
		out = append(out, string(trim(trim(raw[:a.rowBytes], a.set.Type.Padding), h5.NulPadded)))
	}
	return out
}

// withColumns adds the names of columns to a field's attributes.
func withColumns(attrs map[string]string, names []string, field *shardify.Field) map[string]string {
	n := 1
	if len(field.Shape) > 0 {
		n = field.Shape[len(field.Shape)-1]
	}
	text := strings.Join(names, shardify.LabelSeparator)
	if len(names) == 0 || len(names) != n || strings.Count(text, shardify.LabelSeparator) != n-1 || !validText(text) || len(text) > 1<<18 {
		return attrs
	}
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs[columnsAttr] = text
	return attrs
}
