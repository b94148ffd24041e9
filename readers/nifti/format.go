package nifti

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/nifti"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Format is the readers' table's line for NIfTI.
var Format = format.Input{
	Name: "nifti", Words: []string{"nii"},
	Help:    "NIfTI volumes: .nii, .nii.gz, pairs of .hdr and .img",
	Sniff:   sniff,
	Bytes:   true,
	Reads:   reads,
	StandIn: standIn,
	Options: kind.Options(),
	Again:   labels.Again,
	Open:    kind.Open,
}

const byVolume = "volume"

var kind = arrayfile.Kind{
	Name: "nifti", Title: "NIfTI", Key: "nifti 1", Look: look,
	Own: []format.Option{
		{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: sampleaxis.SampleFile, Values: []string{sampleaxis.SampleFile, byVolume},
			Help: "what one sample is: a whole file, or each volume of files of four dimensions"},
		arrayfile.OptScaled,
	},
}

// sniff knows the magic, and by name alone what no other format has.
func sniff(head []byte, name string) bool {
	name = strings.ToLower(name)
	if strings.HasSuffix(name, ".nii.gz") {
		return len(head) == 0 || strings.HasPrefix(string(head), "\x1f\x8b")
	}
	if len(head) > 0 {
		return nifti.Is(head)
	}
	return strings.HasSuffix(name, ".nii")
}

// reads takes the headers of pairs, too, whose extension other formats have.
func reads(head []byte, name string) bool {
	name = strings.ToLower(name)
	if len(head) > 0 && !strings.HasPrefix(string(head), "\x1f\x8b") {
		return nifti.Is(head)
	}
	return sniff(nil, name) || strings.HasSuffix(name, ".hdr") || strings.HasSuffix(name, ".hdr.gz")
}

// standIn: the header of a pair stands for its values.
func standIn(base string) string {
	return partner(base, ".img", ".hdr")
}

// partner is a name with another extension, in front of .gz; "" without the first one.
func partner(name, from, to string) string {
	stem, gz := strings.CutSuffix(name, ".gz")
	stem, ok := strings.CutSuffix(stem, from)
	if !ok || stem == "" {
		return ""
	}
	if gz {
		to += ".gz"
	}
	return stem + to
}

func look(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) {
	b, err := f.Head(nifti.Bytes)
	if err != nil {
		return nil, err
	}
	h, err := nifti.Parse(b)
	if err != nil {
		return nil, err
	}
	image := arrayfile.Array{
		Field: shardify.Field{Name: "image", DType: h.Type.DType, Shape: h.Dims},
		At:    h.Offset, Turn: true,
	}
	out := &arrayfile.Header{Whole: true, Lines: []string{describe(h)}}
	if image.In, err = values(f, h); err != nil {
		return nil, err
	}
	if o[sampleaxis.SampleOption] == byVolume {
		if image.Shape, out.Sections, err = volumes(h.Dims); err != nil {
			return nil, err
		}
		h.Spacing = h.Spacing[:min(len(h.Spacing), len(image.Shape))]
	}
	if h.Type.Parts > 0 {
		image.Shape, image.Inner = append(image.Shape[:len(image.Shape):len(image.Shape)], h.Type.Parts), 1
	}
	if h.Type.Complex() {
		image.Attrs = map[string]string{"complex": "true"}
	}
	if h.Big {
		image.Swap = h.Type.DType.Size()
	}
	scaled := arrayfile.Scaled(o)
	if scaled && h.Scaled {
		image.Kernel = voxels.Scale(h.Type.DType, h.Slope, h.Inter, h.Type.Complex())
		image.DType, image.Width = shardify.F64, h.Type.DType.Size()
	}
	out.Arrays = append([]arrayfile.Array{image}, small(h, scaled)...)
	if h.Bits != 8*h.Type.DType.Size()*max(h.Type.Parts, 1) {
		out.Remark = fmt.Sprintf("bitpix is %d and the datatype %s, which holds", h.Bits, h.Type.Name)
	}
	return out, nil
}

// values is the file that has the values.
func values(f *arrayfile.File, h *nifti.Header) (*arrayfile.File, error) {
	if !h.Pair {
		return f, nil
	}
	name := partner(f.Name, ".hdr", ".img")
	if name == "" {
		return nil, shardify.Unsupported("the header of a pair, in a file that is not called .hdr")
	}
	return f.Beside(name)
}

// volumes are the shape of a volume and how many there are.
func volumes(dims []int) (shape []int, n int64, err error) {
	if len(dims) <= 3 {
		return dims, 1, nil
	}
	for _, d := range dims[4:] {
		if d > 1 {
			return nil, 0, shardify.Unsupported("%d dimensions %v, of which --sample volume cuts the fourth; --sample file reads them", len(dims), dims)
		}
	}
	return dims[:3], int64(dims[3]), nil
}

// small are the fields that are no voxels.
func small(h *nifti.Header, scaled bool) []arrayfile.Array {
	affine := make([]float64, 0, 16)
	for _, row := range h.Affine() {
		affine = append(affine, row[:]...)
	}
	units := h.UnitNames()
	out := []arrayfile.Array{
		arrayfile.Numbers("image.affine", []int{4, 4}, affine...),
		arrayfile.Numbers("image.spacing", []int{len(h.Spacing)}, h.Spacing...),
		{Field: shardify.Field{Name: "image.units", DType: shardify.U8, Levels: 1, Media: "txt"}, Rows: int64(len(units)), Value: []byte(units), Asked: true},
	}
	if !scaled {
		slope, inter := 1.0, 0.0
		if h.Scaled {
			slope, inter = h.Slope, h.Inter
		}
		a, b := arrayfile.Numbers("image.slope", nil, slope), arrayfile.Numbers("image.inter", nil, inter)
		a.Asked, b.Asked = false, false
		out = append(out, a, b)
	}
	return out
}

// describe says what inspect shows of a file.
func describe(h *nifti.Header) string {
	var spacing []string
	for _, d := range h.Spacing[:min(len(h.Spacing), 3)] {
		spacing = append(spacing, fmt.Sprintf("%.4g", d))
	}
	s := fmt.Sprintf("%s, shape %v, spacing %s (%s)", h.Layout(), h.Dims, strings.Join(spacing, " x "), h.UnitNames())
	if h.Scaled {
		s += fmt.Sprintf(", scaled by %v and %v", h.Slope, h.Inter)
	}
	return s
}
