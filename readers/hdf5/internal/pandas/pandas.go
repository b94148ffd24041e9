// Package pandas reads what pandas writes beside its tables in HDF5 files: the texts of missing
// values, and the names of columns.
package pandas

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// missingText is what pandas writes for a missing text unless a table has a nan_rep.
const missingText = "nan"

// Missing finds the text of missing values in the columns of the data set at a path, as
// pandas.read_hdf does. A table's columns have that of the table; its index and the arrays of
// fixed frames have "nan". A column too narrow for it has no missing values.
func Missing(f *h5.File, p string, addr int64, r element.Rules, leaves []element.Leaf) error {
	found, err := f.Lookup(path.Dir(p))
	if err != nil || found.External {
		return err
	}
	var lists [2]element.Attributes
	for i, at := range []int64{found.Addr, addr} {
		o, err := f.Object(at, p)
		if err != nil {
			return err
		}
		if lists[i], err = o.Attributes(); err != nil {
			return err
		}
	}
	group, own := lists[0], lists[1]
	if group.Find("pandas_type") == nil {
		return nil
	}
	table := missingText
	if group.Find("nan_rep") != nil {
		table = group.Text(f, "nan_rep")
	}
	for i := range leaves {
		l := &leaves[i]
		if l.Kind != element.Texts || l.Err != nil {
			continue
		}
		kind, text := "kind", table
		if l.Name != "" {
			kind = cmp.Or(l.Of, l.Name) + "_kind"
		}
		switch said := own.Text(f, kind); {
		case said == "string": // one of Python: a column has a list of names
			text = missingText
		case l.Name == "" || own.Find(kind) == nil:
			continue
		}
		if len(text) <= l.Size {
			l.Missing, l.Listed, l.Fill = []byte(text), r.Chunked, r.Fill
		}
	}
	return nil
}

// errItem is that of a missing text in a list.
var errItem error = format.MissingItem("a text of a list")

// Text is a text as it is, or an empty one for a missing value, which is marked in valid. In a list
// none may be missing, unless they are filled.
func Text(l *element.Leaf, b []byte, listed bool, valid *[]byte) ([]byte, error) {
	if l.Missing == nil {
		return b, nil
	}
	mark := byte(1)
	if bytes.Equal(b, l.Missing) {
		b, mark = nil, 0
	}
	switch listed = listed || l.Listed; {
	case !listed:
		*valid = append(*valid, mark)
	case mark == 0 && !l.Fill:
		return nil, errItem
	}
	return b, nil
}

// Valid are the marks of a column, nil if nothing is missing.
func Valid(marks []byte, mem *shardify.Arena) []byte {
	if !slices.Contains(marks, 0) {
		return nil
	}
	out := mem.Alloc(len(marks))
	copy(out, marks)
	return out
}

// PickledTexts reads the one pickle that is no program: a list of texts as
// protocol 0 writes it, (lp0 Va p1 a Vb p2 a. with line feeds. Anything else,
// names with escapes too, gives nil; nothing is ever executed.
func PickledTexts(s string) (list []string) {
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
		if !ok || strings.ContainsAny(name, "\\\r") || len(list) >= element.MaxColumns {
			return nil
		}
		if _, ok := line('p'); !ok || !strings.HasPrefix(s, "a") {
			return nil
		}
		s, list = s[1:], append(list, name)
	}
	return list
}
