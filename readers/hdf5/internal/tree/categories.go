package tree

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/zeebo/xxh3"
)

// AnnData keeps a column of categories as codes, places in a list of names, of which -1 is
// a missing value:
//
//	obs/cell_type, a group of encoding-type categorical: codes, categories
//	before 0.8     obs/cell_type with the codes, obs/__categories/cell_type
const oldCategories = "__categories"

// hasLink reports whether a group of these links, which are sorted, has a member of its own.
func hasLink(links []h5.Link, name string) bool {
	i, ok := slices.BinarySearchFunc(links, name, func(l h5.Link, name string) int { return strings.Compare(l.Name, name) })
	return ok && links[i].Kind == h5.HardLink && links[i].Err == nil
}

// categories notes where the names are that codes in a group stand for.
func (s *scanner) categories(g *h5.Object, prefix string, links []h5.Link) {
	note := func(codes, names string) {
		s.tree.categories[codes] = names
	}
	switch {
	case path.Base(prefix) == oldCategories:
		for i := range links {
			note(path.Dir(prefix)+"/"+links[i].Name, prefix+"/"+links[i].Name)
		}
	case hasLink(links, "codes") && hasLink(links, "categories") && element.TextOf(s.tree.File.H5, g, "encoding-type") == "categorical":
		note(prefix+"/codes", prefix+"/categories")
	}
}

// onlyColumn reports whether no other column of codes that was met has the same name.
func (t *Tree) onlyColumn(p string) bool {
	for codes := range t.categories {
		if column, ok := strings.CutSuffix(codes, "/codes"); ok && column != p && path.Base(column) == path.Base(p) {
			return false
		}
	}
	return true
}

// differentCategories says which categories there are where they are not labels.
const differentCategories = "categories"

// withNames adds what codes stand for to a field's attributes: as its labels or, where
// they are too many or cannot be written so, as a digest. Codes that stand for other names in
// another file are no column with these.
func withNames(f *column.File, attrs map[string]string, p string) map[string]string {
	a, err := f.Dataset(p)
	if err != nil || a.Rows == 0 {
		return attrs
	}
	var names []string
	size, digest := 0, xxh3.New()
	whole := f.Each(a, func(text string) bool {
		digest.WriteString(text)
		digest.WriteString("\x00")
		if size += len(text); size <= element.MaxText && len(names) < element.MaxColumns {
			names = append(names, text)
		}
		return true
	})
	if whole && int64(len(names)) == a.Rows {
		attrs = element.WithCategories(attrs, names)
	}
	if _, ok := attrs["labels"]; ok || !whole {
		return attrs
	}
	return element.WithAttr(attrs, differentCategories, fmt.Sprintf("%d, xxh3:%016x", a.Rows, digest.Sum64()))
}
