package tree

import (
	"cmp"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// attributes are those of an object. What is damaged may say what the values mean, or
// what a sample is.
func (t *Tree) attributes(o *h5.Object, p string) element.Attributes {
	list, err := o.Attributes()
	for i := range list {
		if err == nil && list[i].Err != nil {
			err = fmt.Errorf("attribute %s: %w", list[i].Name, list[i].Err)
		}
	}
	t.File.Fault(cmp.Or(p, "/"), err)
	return list
}

// FieldAttrs gives a field what the file says about it. rows: they are the samples, and codes stand
// for names. It returns what the user should know.
func (t *Tree) FieldAttrs(field *shardify.Field, obj *h5.Object, o *Object, l *element.Leaf, opts *Settings, rows bool) (why string) {
	file := t.File
	attrs := l.CFAttrs(element.FieldAttrs(file.H5, obj, field.Attrs))
	if opts.cf && field.DType.IsInt() && (field.Levels == 0 || o.Lists != nil) {
		attrs = element.WithFlags(file.H5, obj, attrs)
	}
	if t.Kind.Pytables && l.Of == "" && !o.Wide {
		names := frameColumns(file, obj, o.Path, l.Name)
		attrs = element.WithColumns(attrs, names, field)
		if len(names) > maxFrameColumns && opts.frame == "auto" {
			why = fmt.Sprintf("; %s: %d columns of pandas' frame in one field, --frame columns makes a field of each", field.Name, len(names))
		}
	}
	if t.Kind.Pytables {
		attrs = element.WithCategories(attrs, categories(file, obj, o.Path, cmp.Or(l.Of, l.Name)))
		if field.DType == shardify.I64 {
			attrs = withTimes(attrs, file, obj, cmp.Or(l.Of, l.Name))
		}
	}
	if p := t.categories[o.Path]; p != "" && rows { // else the names are a field
		attrs = withNames(file, attrs, p)
	}
	field.Attrs = attrs
	return why
}
