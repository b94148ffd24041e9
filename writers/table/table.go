// Package table says which columns of tables the fields of a set become, for all writers of tables:
// their types in Arrow, and what Hugging Face datasets know of them.
//
//	table.go   columns, and their types
//	card.go    README.md for the whole set
package table

import (
	"encoding/json"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/arrow"
)

const (
	// Jagged is a list of any length.
	Jagged = -1
	// KeyName is the column with the names of samples.
	KeyName = "__key__"
)

// Column is how a field is written.
type Column struct {
	Name  string
	Field int            // of the schema; -1: the names of samples
	DType shardify.DType // as it is written: that of labels is i64
	From  shardify.DType
	Media string
	Lists []int // lengths of nested lists, outermost first; Jagged for any
	File  bool  // a structure of bytes and a path, as Hugging Face stores images
	// Labels are the names of classes.
	Labels []string
	Size   int // bytes of a sample's values, if all have as many
}

// isImage and isSound are what Hugging Face decodes.
func isImage(media string) bool {
	switch media {
	case "png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "image":
		return true
	}
	return false
}

func isSound(media string) bool {
	switch media {
	case "wav", "flac", "mp3", "ogg":
		return true
	}
	return false
}

// Text reports whether the values are texts.
func (c *Column) Text() bool { return c.Media == "txt" || c.Media == "json" }

// Plan are the columns of a schema. It refuses what a format of this name does not hold.
func Plan(format string, schema []shardify.Field, keyed bool) ([]Column, error) {
	var all []Column
	if keyed {
		all = append(all, Column{Name: KeyName, Field: -1, DType: shardify.U8, From: shardify.U8, Media: "txt"})
	}
	for i := range schema {
		f := &schema[i]
		if shardify.Companion(schema, i) { // an image says its kind
			continue
		}
		c, err := columnOf(format, f)
		if err != nil {
			return nil, shardify.Amend(err, func(e *shardify.Error) { e.Field = f.Name })
		}
		c.Field = i
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, shardify.Unsupported("a file of %s without columns", format)
	}
	return all, nil
}

func columnOf(format string, f *shardify.Field) (Column, error) {
	c := Column{Name: f.Name, DType: f.DType, From: f.DType, Media: f.Media}
	switch {
	case f.Ragged:
		return c, shardify.Unsupported("arrays whose shapes differ: make them equal (--pad, --augment resize), or use --format mmap")
	case f.DType == shardify.BF16:
		return c, shardify.Unsupported("%s has no bf16: --cast %s=f32, or use --format mmap", format, f.Name)
	case f.Elem() == 0:
		return c, shardify.Unsupported("arrays of shape %v: use --format mmap", f.Shape)
	}
	levels := f.Levels
	if f.Media != "" {
		levels--
		c.File = isImage(f.Media) || isSound(f.Media)
	}
	for range levels {
		c.Lists = append(c.Lists, Jagged)
	}
	c.Lists = append(c.Lists, f.Shape...)
	if names := f.Labels(); names != nil && f.DType.IsInt() && len(c.Lists) == 0 && allNamed(names) {
		c.Labels, c.DType = names, shardify.I64
	}
	if f.Levels == 0 {
		c.Size = f.Elem() * c.DType.Size()
	}
	return c, nil
}

func allNamed(names []string) bool {
	seen := map[string]bool{}
	for _, s := range names {
		if s == "" || seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}

// Unsigned reports whether a type is of whole numbers without a sign.
func Unsigned(d shardify.DType) bool { return d >= shardify.U8 && d <= shardify.U64 }

// Arrow is the type of the column there.
func (c *Column) Arrow() arrow.Field { return c.nested(c.Name, c.Lists) }

func (c *Column) nested(name string, lists []int) arrow.Field {
	f := arrow.Field{Name: name}
	switch {
	case len(lists) > 0:
		f.Kind = arrow.List
		if lists[0] != Jagged {
			f.Kind, f.Size = arrow.FixedList, lists[0]
		}
		f.Children = []arrow.Field{c.nested("element", lists[1:])}
	case c.File:
		f.Kind, f.Children = arrow.Struct, []arrow.Field{{Name: "bytes", Kind: arrow.Binary}, {Name: "path", Kind: arrow.Text}}
	case c.Text():
		f.Kind = arrow.Text
	case c.Media != "":
		f.Kind = arrow.Binary
	case c.DType == shardify.Bool:
		f.Kind = arrow.Bool
	case c.DType.IsFloat():
		f.Kind, f.Bits = arrow.Float, 8*c.DType.Size()
	default:
		f.Kind, f.Bits, f.Signed = arrow.Int, 8*c.DType.Size(), !Unsigned(c.DType)
	}
	return f
}

// Features are the columns for Hugging Face.
func Features(cols []Column) map[string]any {
	features := map[string]any{}
	for i := range cols {
		features[cols[i].Name] = cols[i].feature(cols[i].Lists)
	}
	return features
}

// Metadata is the key of a schema that says what the columns are to Hugging Face.
func Metadata(cols []Column) [2]string {
	b, _ := json.Marshal(map[string]any{"info": map[string]any{"features": Features(cols)}}) // texts and numbers
	return [2]string{"huggingface", string(b)}
}

func (c *Column) feature(lists []int) map[string]any {
	switch {
	case len(lists) > 0:
		f := map[string]any{"_type": "List", "feature": c.feature(lists[1:])}
		if lists[0] != Jagged {
			f["length"] = lists[0]
		}
		return f
	case isImage(c.Media):
		return map[string]any{"_type": "Image"}
	case isSound(c.Media):
		return map[string]any{"_type": "Audio"}
	case c.Labels != nil:
		return map[string]any{"_type": "ClassLabel", "names": c.Labels}
	}
	return map[string]any{"_type": "Value", "dtype": c.dtypeName()}
}

// dtypeName is a type as Arrow and Hugging Face call it.
func (c *Column) dtypeName() string {
	switch {
	case c.Text():
		return "string"
	case c.Media != "":
		return "binary"
	}
	return map[shardify.DType]string{
		shardify.Bool: "bool", shardify.I8: "int8", shardify.I16: "int16", shardify.I32: "int32", shardify.I64: "int64",
		shardify.U8: "uint8", shardify.U16: "uint16", shardify.U32: "uint32", shardify.U64: "uint64",
		shardify.F16: "float16", shardify.F32: "float32", shardify.F64: "float64",
	}[c.DType]
}
