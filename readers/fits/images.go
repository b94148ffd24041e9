package fits

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/hdu"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

var images = arrayfile.Kind{Name: "fits", Title: "FITS", Key: "fits 1", Own: own, Look: lookImages}

// lookImages says which images a file has.
func lookImages(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) {
	c, err := newContents(f, f.Size)
	if err == nil {
		err = c.choose(o)
	}
	if err != nil {
		return nil, err
	}
	if c.kind() == hdu.Tables {
		return nil, shardify.Unsupported("%s, where other files have images", describe(c.chosen[0]))
	}
	out := &arrayfile.Header{Remark: strings.Join(c.Notes, "; ")}
	raw := !arrayfile.Scaled(o)
	for i, x := range c.chosen {
		im, err := c.Pixels(x, raw, o[optSums] != "off")
		if err != nil {
			return nil, shardify.Annotate(err, "", "", x.String())
		}
		a := arrayfile.Array{Field: shardify.Field{Name: c.fieldOf(i), DType: im.DType}, Read: im.Read}
		for _, d := range im.Shape {
			a.Shape = append(a.Shape, int(d))
		}
		if o[sampleaxis.SampleOption] == bySection {
			if len(a.Shape) < 3 {
				return nil, shardify.Unsupported("%v has %d axes, and sections are cut from cubes; --sample file reads images", x, len(a.Shape))
			}
			if out.Sections > 0 && out.Sections != im.Shape[0] {
				return nil, shardify.Unsupported("%v has %d sections, %v has %d", x, im.Shape[0], c.chosen[0], out.Sections)
			}
			a.Shape, out.Sections = a.Shape[1:], im.Shape[0]
		} else {
			a.Read = func(ctx context.Context, _, _ int64, dst []byte) error { return im.Read(ctx, 0, im.Shape[0], dst) }
		}
		if unit, ok := x.Text("BUNIT"); ok && unit != "" {
			a.Attrs = map[string]string{"unit": unit}
		}
		out.Arrays = append(out.Arrays, a)
		out.Lines = append(out.Lines, describe(x))
		if raw {
			slope, inter := im.Scale()
			s, z := arrayfile.Numbers(a.Name+".slope", nil, slope), arrayfile.Numbers(a.Name+".inter", nil, inter)
			s.Asked, z.Asked = false, false
			out.Arrays = append(out.Arrays, s, z)
		}
	}
	out.Further, out.Make = c.keywords, c.card
	return out, nil
}

// fieldOf is the name of an image's field: image, or those of the extensions where there are several.
func (c *contents) fieldOf(i int) string {
	if len(c.chosen) == 1 {
		return "image"
	}
	name := func(x *hdu.HDU) string {
		if x.Name == "" {
			return "hdu" + strconv.Itoa(x.Index)
		}
		return strings.ToLower(x.Name)
	}
	x := c.chosen[i]
	number, again := x.Ver, false
	for _, other := range c.chosen[:i] {
		if name(other) != name(x) {
			continue
		}
		if again = true; other.Ver == x.Ver {
			number = int64(x.Index)
		}
	}
	if again {
		return fmt.Sprintf("%s_%d", name(x), number)
	}
	return name(x)
}

// keywords are the names of those of the headers, for those who name them.
func (c *contents) keywords() (names []string) {
	taken := map[string]bool{}
	c.eachCard(func(name string, _ any) bool {
		if !taken[name] {
			taken[name], names = true, append(names, name)
		}
		return true
	})
	return names
}

func (c *contents) eachCard(do func(name string, value any) bool) {
	for _, x := range append([]*hdu.HDU{c.chosen[0]}, &c.HDUs[0]) {
		for _, k := range x.Header.Keywords() {
			if !do(k.Name, k.Value) {
				return
			}
		}
	}
}

// card is the field of a keyword.
func (c *contents) card(name string) (a arrayfile.Array, ok bool) {
	a = arrayfile.Array{Field: shardify.Field{Name: name}, Asked: true}
	c.eachCard(func(n string, value any) bool {
		if n != name {
			return true
		}
		ok = true
		switch v := value.(type) {
		case bool:
			a.DType, a.Value = shardify.Bool, []byte{0}
			if v {
				a.Value[0] = 1
			}
		case int64:
			a.DType, a.Value = shardify.I64, shardify.Bytes([]int64{v})
		case float64:
			a.DType, a.Value = shardify.F64, shardify.Bytes([]float64{v})
		case string:
			a.DType, a.Media, a.Levels, a.Rows, a.Value = shardify.U8, "txt", 1, int64(len(v)), []byte(v)
		}
		return false
	})
	return a, ok
}
