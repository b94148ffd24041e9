package fits

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/hdu"
	"github.com/shardify/shardify/format"
)

// contents are the HDUs of a file, and those that are read.
type contents struct {
	*hdu.File
	chosen []*hdu.HDU
}

func newContents(in io.ReaderAt, size int64) (*contents, error) {
	f, err := hdu.Open(in, size)
	return &contents{File: f}, err
}

// isTable reports whether rows of an HDU are samples.
func isTable(x *hdu.HDU) bool { return x.Kind == hdu.Tables || x.Kind == hdu.Texts }

// asks reports whether an error leaves a choice to the user, or says that one was wrong.
func asks(err error) bool {
	d := (*format.Ambiguous)(nil)
	return errors.As(err, &d) || errors.Is(err, shardify.ErrUsage)
}

// kind is Tables or Images, as those that were chosen.
func (c *contents) kind() hdu.Kind {
	if isTable(c.chosen[0]) {
		return hdu.Tables
	}
	return hdu.Images
}

// choose decides which HDUs are read: those of --object, the only one that has data, or all images where they are
// of one shape.
func (c *contents) choose(o format.Options) error {
	var with []*hdu.HDU // data
	tables := 0
	var left []string
	for i := range c.HDUs {
		x := &c.HDUs[i]
		switch x.Kind {
		case hdu.Images, hdu.Tiles, hdu.Tables, hdu.Texts:
			if with = append(with, x); isTable(x) {
				tables++
			}
		case hdu.Groups, hdu.Other:
			left = append(left, x.String()+": "+x.Kind.String())
		}
	}
	if text := o[optObject]; text != "" {
		return c.named(text, with)
	}
	c.chosen = with
	switch {
	case len(with) == 0 && left != nil:
		return shardify.Unsupported("%s, which is not read", strings.Join(left, "; "))
	case len(with) == 0:
		return shardify.Unsupported("no HDU has data")
	case len(with) == 1, tables == 0 && c.alike():
		return nil
	}
	return c.ambiguous(with)
}

// alike reports whether all images have one shape.
func (c *contents) alike() bool {
	for _, x := range c.chosen[1:] {
		if fmt.Sprint(shapeOf(x)) != fmt.Sprint(shapeOf(c.chosen[0])) {
			return false
		}
	}
	return true
}

func shapeOf(x *hdu.HDU) []int64 {
	im, err := x.Image(true)
	if err != nil {
		return nil
	}
	return im.Shape
}

// named chooses what --object names.
func (c *contents) named(text string, with []*hdu.HDU) error {
	for part := range strings.SplitSeq(text, ",") {
		name, ver, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.Atoi(name)
		found := false
		for _, x := range with {
			if err == nil && ver == "" && x.Index == n || strings.EqualFold(x.Name, name) && (ver == "" || ver == strconv.FormatInt(x.Ver, 10)) {
				found = true
				if !slices.Contains(c.chosen, x) {
					c.chosen = append(c.chosen, x)
				}
			}
		}
		if !found {
			return shardify.Misuse("--object %s: no HDU with data has this number or name; there are %s", part, list(with))
		}
	}
	for _, x := range c.chosen[1:] {
		if isTable(x) || isTable(c.chosen[0]) {
			return shardify.Misuse("--object %s names %s: images can be read together, a table alone", text, list(c.chosen))
		}
	}
	return nil
}

func list(all []*hdu.HDU) string {
	var names []string
	for _, x := range all[:min(len(all), 16)] {
		names = append(names, describe(x))
	}
	if more := len(all) - 16; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, "; ")
}

// describe says what an HDU holds.
func describe(x *hdu.HDU) string {
	switch x.Kind {
	case hdu.Images, hdu.Tiles:
		return fmt.Sprintf("%v: %v %v", x, x.Kind, shapeOf(x))
	case hdu.Tables, hdu.Texts:
		if t, err := x.Table(); err == nil {
			return fmt.Sprintf("%v: %v of %d rows and %d columns", x, x.Kind, t.Rows, len(t.Columns))
		}
	}
	return x.String() + ": " + x.Kind.String()
}

// ambiguous lists the HDUs that --object can name.
func (c *contents) ambiguous(with []*hdu.HDU) error {
	var ways []format.Way
	for _, x := range with {
		makes := "samples of " + describe(x)
		if t, err := x.Table(); isTable(x) && err == nil {
			makes = fmt.Sprintf("%d %s", t.Rows, makes)
		}
		ways = append(ways, format.With(optObject, strconv.Itoa(x.Index), makes))
	}
	return format.NewAmbiguous("several HDUs have data, of different kinds or shapes", ways)
}
