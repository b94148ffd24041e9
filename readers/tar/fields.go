package tar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// kind is how a field's values are read.
type kind uint8

const (
	opaque  kind = iota // the bytes of the member
	integer             // a decimal number
	array0              // an array of fixed shape
	array1              // an array whose first dimension varies
	arrayN              // an array of any shape
	shapeOf             // companion of arrayN
	extOf               // companion of an image whose type varies
)

// field is an entry of the schema and where it comes from.
type field struct {
	shardify.Field
	kind kind
	exts []uint16 // by code
	of   int      // the field that a companion is about
}

// imageTypes are the extensions that may stand for each other in one field.
var imageTypes = strings.Fields("jpg jpeg png gif bmp webp tif tiff ppm pgm pbm pnm avif heic jp2 jxl")

func lastPart(ext string) string { return ext[strings.LastIndexByte(ext, '.')+1:] }

// fields makes fields of the extensions, sorted by name.
func (s *survey) fields() []field {
	merged := map[uint16]string{}
	families := map[string][]uint16{} // by what precedes the image type
	for id, ext := range s.Exts {
		if last := lastPart(ext); slices.Contains(imageTypes, last) {
			prefix := ext[:len(ext)-len(last)]
			families[prefix] = append(families[prefix], uint16(id))
		}
	}
	for prefix, ids := range families {
		name := strings.TrimSuffix(prefix, ".")
		if name == "" {
			name = "image"
		}
		if len(ids) > 1 && len(ids) < 256 && !slices.Contains(s.Exts, name) && s.exclude(ids) {
			for _, id := range ids {
				merged[id] = name
			}
		}
	}
	var all []field
	for id := range s.Exts {
		if _, ok := merged[uint16(id)]; !ok {
			all = append(all, s.field(uint16(id)))
		}
	}
	for _, ids := range families {
		if name, ok := merged[ids[0]]; ok {
			slices.SortFunc(ids, func(a, b uint16) int { return strings.Compare(s.Exts[a], s.Exts[b]) })
			f := shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: "image"}
			all = append(all, field{Field: f, exts: ids})
		}
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return s.companions(all)
}

// companions adds the fields that say shape or type of others, behind those.
func (s *survey) companions(all []field) (out []field) {
	for _, f := range all {
		at := len(out)
		out = append(out, f)
		switch {
		case f.kind == arrayN:
			c := shardify.Field{Name: f.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{len(s.Facts[f.exts[0]].Dims)}}
			out = append(out, field{Field: c, kind: shapeOf, of: at})
		case f.Media == "image":
			var types []string
			for _, id := range f.exts {
				types = append(types, lastPart(s.Exts[id]))
			}
			c := shardify.Field{Name: f.Name + shardify.ExtSuffix, DType: shardify.U8, Attrs: map[string]string{"labels": strings.Join(types, shardify.LabelSeparator)}}
			out = append(out, field{Field: c, kind: extOf, of: at})
		}
	}
	return out
}

// exclude reports whether no sample has members of two of the extensions.
func (s *survey) exclude(ids []uint16) bool {
	in := make([]bool, len(s.Exts))
	for _, id := range ids {
		in[id] = true
	}
	for _, c := range s.tars {
		for i := range c.samples {
			n := 0
			for _, m := range c.of(int64(i)) {
				if in[m.ext] {
					n++
				}
			}
			if n > 1 {
				return false
			}
		}
	}
	return true
}

// field is the field of one extension.
func (s *survey) field(id uint16) field {
	ext, facts := s.Exts[id], &s.Facts[id]
	f := field{exts: []uint16{id}}
	switch {
	case facts.Class:
		f.Field, f.kind = shardify.Field{Name: ext, DType: shardify.I64}, integer
	case facts.Array:
		f.Field, f.kind = shardify.Field{Name: s.arrayName(ext), DType: facts.DType}, array0
		inner := facts.Dims
		switch {
		case facts.Fixed:
		case facts.Inner && !slices.Contains(facts.Dims[1:], 0):
			f.kind, f.Levels, inner = array1, 1, inner[1:]
		default:
			f.kind, f.Levels, f.Ragged, inner = arrayN, 1, true, nil
		}
		for _, d := range inner {
			f.Shape = append(f.Shape, int(d))
		}
	default:
		f.Field = shardify.Field{Name: ext, DType: shardify.U8, Levels: 1, Media: lastPart(ext)}
		if f.Media == "" || f.Media == "image" { // "image" says that the type varies
			f.Media = "bin"
		}
	}
	return f
}

// arrayName is the name of an array: without .npy, unless that is taken.
func (s *survey) arrayName(ext string) string {
	name := strings.TrimSuffix(ext, ".npy")
	if slices.Contains(s.Exts, name) {
		return ext
	}
	return name
}

// missing applies --missing to samples that lack a wanted member: it makes fields
// nullable, or returns which extensions a sample must have to be kept.
func (s *source) missing(policy string) error {
	total := s.total()
	var lacks []string
	s.need = nil
	for i := range s.cols {
		f := &s.cols[i]
		if f.kind == shapeOf || f.kind == extOf {
			continue
		}
		var have int64
		for _, id := range f.exts {
			have += s.Facts[id].Members
		}
		if have == total {
			continue
		}
		switch policy {
		case "fill":
			f.Nullable = true
		case "drop":
			s.need = append(s.need, i)
		default:
			lacks = append(lacks, fmt.Sprintf("%s in %d", f.Name, total-have))
		}
	}
	if len(lacks) > 0 {
		more := ""
		if len(lacks) > 6 {
			lacks, more = lacks[:6], " and others"
		}
		return shardify.Mismatch("of %d samples some lack a member: %s%s; --missing drop leaves them out, --missing fill writes empty values", total, strings.Join(lacks, ", "), more)
	}
	return nil
}
