package mrc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/mrc"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Format is the readers' table's line for MRC.
var Format = format.Input{
	Name: "mrc", Words: []string{"mrcs", "map", "ccp4"},
	Help:    "MRC files of electron microscopy: volumes and stacks of images, also .gz",
	Sniff:   sniff,
	Bytes:   true,
	Reads:   reads,
	Options: kind.Options(),
	Again:   labels.Again,
	Open:    kind.Open,
}

const bySection = "section"

var kind = arrayfile.Kind{
	Name: "mrc", Title: "MRC", Key: "mrc 1", Look: look,
	Own: []format.Option{
		{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", bySection, sampleaxis.SampleFile},
			Help: "what one sample is. auto: a section of a stack (.mrcs, or space group 0), a whole file of a volume; section: always a section; file: always a file"},
	},
}

// sniff knows the magic, and by name alone what no other format has.
func sniff(head []byte, name string) bool { return named(head, name, ".mrc", ".mrcs") }

// reads takes extensions, too, that files of other kinds have.
func reads(head []byte, name string) bool {
	return named(head, name, ".mrc", ".mrcs", ".map", ".ccp4", ".rec", ".st", ".ali")
}

func named(head []byte, name string, exts ...string) bool {
	stem, gz := strings.CutSuffix(strings.ToLower(name), ".gz")
	is := slices.ContainsFunc(exts, func(ext string) bool { return strings.HasSuffix(stem, ext) })
	switch {
	case len(head) == 0:
		return is
	case gz:
		return is && strings.HasPrefix(string(head), "\x1f\x8b")
	}
	return mrc.Is(head) || is && (strings.HasSuffix(stem, ".mrc") || strings.HasSuffix(stem, ".mrcs"))
}

func look(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) {
	b, err := f.Head(mrc.Bytes)
	if err != nil {
		return nil, err
	}
	h, err := mrc.Parse(b)
	if err != nil {
		return nil, err
	}
	out := &arrayfile.Header{Whole: true, Lines: []string{describe(h)}}
	image := arrayfile.Array{Field: shardify.Field{Name: "image", DType: h.DType}, At: h.Offset}
	image.Shape, out.Sections = samples(h, o[sampleaxis.SampleOption], f.Name)
	if h.Complex {
		image.Shape, image.Attrs = append(image.Shape, 2), map[string]string{"complex": "true"}
	}
	if h.Big {
		image.Swap = h.DType.Size()
	}
	if h.Guessed {
		out.Remark = "no machine stamp says the byte order, it follows from the mode"
	}
	out.Arrays = []arrayfile.Array{image, arrayfile.Numbers("image.spacing", []int{3}, h.Spacing[:]...), arrayfile.Numbers("image.origin", []int{3}, h.Origin[:]...)}
	return out, nil
}

// samples are the shape of a sample, and how many sections are samples; 0 where the file is one.
func samples(h *mrc.Header, by, name string) (shape []int, sections int64) {
	section := []int{h.NY, h.NX}
	stack := h.Stack() || strings.Contains(strings.ToLower(name), ".mrcs")
	switch volumes := h.Volumes(); {
	case by == bySection:
		return section, int64(h.NZ)
	case volumes > 0 && by == sampleaxis.SampleFile:
		return []int{volumes, h.MZ, h.NY, h.NX}, 0
	case volumes > 0:
		return []int{h.MZ, h.NY, h.NX}, int64(volumes)
	case h.Stack() && h.NZ == 1:
		return section, 0
	case stack && by != sampleaxis.SampleFile:
		return section, int64(h.NZ)
	}
	return []int{h.NZ, h.NY, h.NX}, 0
}

// describe says what inspect shows of a file.
func describe(h *mrc.Header) string {
	what := "a volume"
	switch {
	case h.Volumes() > 0:
		what = "a stack of volumes"
	case h.Stack():
		what = "a stack of images"
	}
	s := fmt.Sprintf("MRC, %s, mode %d, %d x %d x %d (z, y, x), spacing %.4g x %.4g x %.4g Angstrom (x, y, z)", what, h.Mode, h.NZ, h.NY, h.NX, h.Spacing[0], h.Spacing[1], h.Spacing[2])
	if h.Axes != [3]int{1, 2, 3} {
		s += fmt.Sprintf(", columns, rows and sections are the axes %v", h.Axes)
	}
	return s
}
