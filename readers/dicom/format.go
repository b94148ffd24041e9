package dicom

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/dcm"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Format is the readers' table's line for DICOM.
var Format = format.Input{
	Name: "dicom", Words: []string{"dcm"},
	Help:    "DICOM images, without the data of patients",
	Sniff:   sniff,
	Reads:   reads,
	Options: kind("").Options(),
	Again:   labels.Again,
	Open:    openAll,
}

const byFrame = "frame"

func kind(personal string) *arrayfile.Kind {
	return &arrayfile.Kind{
		Name: "dicom", Title: "DICOM", Key: "dicom 1",
		Look:   func(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) { return look(f, o, personal) },
		Groups: groups,
		Own: []format.Option{
			{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: sampleaxis.SampleFile, Values: []string{sampleaxis.SampleFile, byFrame, bySeries},
				Help: "what one sample is: all frames of a file, each of them, or the files of a series as a volume, in the order of their positions"},
			{Name: arrayfile.OptScaled.Name, Idle: format.Permission, Kind: format.KindEnum, Default: "no", Off: []string{"no"}, Values: []string{"no", "yes"},
				Help: "no: the stored numbers; yes: f64 by RescaleSlope and RescaleIntercept, as Hounsfield units"},
		},
	}
}

// sniff knows the mark behind the preamble, and the name; names often have no extension.
func sniff(head []byte, name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".dcm" || ext == ".dicom" || dcm.Sniff(head) && !strings.EqualFold(name, "DICOMDIR")
}

// reads takes files without an extension, too, and those that are called by a number of dots and digits.
func reads(head []byte, name string) bool {
	switch {
	case strings.EqualFold(name, "DICOMDIR"):
		return false
	case len(head) > 0:
		return dcm.Sniff(head)
	}
	return sniff(nil, name) || strings.Trim(path.Ext(name), ".0123456789") == ""
}

// openAll warns of fields that lead to a person.
func openAll(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	var names []string
	for _, c := range a.Columns {
		for i := range dcm.Elements {
			if e := &dcm.Elements[i]; e.Name == c && !e.Technical {
				names = append(names, c)
			}
		}
	}
	return kind(strings.Join(names, ", ")).Open(ctx, a)
}

// open parses a file.
func open(f *arrayfile.File) (*dcm.File, *dcm.Image, error) {
	if f.Packed {
		return nil, nil, shardify.Unsupported("it is packed by gzip; unpack it first, with gunzip")
	}
	file, err := dcm.Parse(f, f.Size, dcm.Named)
	if err != nil {
		return nil, nil, err
	}
	im, err := file.Image()
	return file, im, err
}

func look(f *arrayfile.File, o format.Options, personal string) (*arrayfile.Header, error) {
	if o[sampleaxis.SampleOption] == bySeries {
		return lookSeries(f, o, personal)
	}
	file, im, err := open(f)
	if err != nil {
		return nil, err
	}
	x := &pixels{file: f, im: im}
	image := arrayfile.Array{Field: shardify.Field{Name: "image", DType: im.DType, Shape: im.Shape()}, Read: x.read}
	out := &arrayfile.Header{}
	if o[sampleaxis.SampleOption] == byFrame {
		if x.frames, out.Sections = true, int64(im.Frames); im.Frames > 1 {
			image.Shape = image.Shape[1:]
		}
	}
	if arrayfile.Scaled(o) {
		if err := x.scale(file); err != nil {
			return nil, err
		}
		image.DType = shardify.F64
	}
	out.Arrays = []arrayfile.Array{image}
	out.Further, out.Make = further(file, nil), func(name string) (arrayfile.Array, bool) { return element(file, name) }
	out.Lines = []string{fmt.Sprintf("%s, %d x %d pixels, %d frames, transfer syntax %s", im.Photometric, im.Rows, im.Columns, im.Frames, file.Syntax)}
	out.Remark = remark(im, personal)
	return out, nil
}

// remark is what the plan says of many files.
func remark(im *dcm.Image, personal string) string {
	switch {
	case personal != "":
		return "fields that are about a person, or lead to one, go into the set (" + personal + ")"
	case im.Photometric == "MONOCHROME1":
		return "MONOCHROME1, where 0 is white; the numbers are not turned"
	case im.Photometric == "PALETTE COLOR":
		return "PALETTE COLOR, whose numbers are places in a palette that is not applied"
	}
	return ""
}

// pixels are the pixels of an open file.
type pixels struct {
	file   *arrayfile.File
	im     *dcm.Image
	frames bool // each is a sample

	scaled       bool
	slope, inter float64

	mu sync.Mutex
	d  *dcm.Decoder
}

// scale finds slope and intercept. Without them, numbers stay what they are, as f64.
func (x *pixels) scale(f *dcm.File) (err error) {
	x.scaled = true
	x.slope, x.inter, _, err = f.Rescale()
	if err == nil && x.im.Samples > 1 {
		err = shardify.Unsupported("--scaled yes is for grey pixels; these are %s", x.im.Photometric)
	}
	if err == nil && f.PerFrame() {
		err = shardify.Unsupported("slopes of single frames (5200,9230) are not read; --scaled no reads the stored numbers")
	}
	return err
}

// read decodes samples [lo, hi).
func (x *pixels) read(ctx context.Context, lo, hi int64, dst []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var err error
	if x.d == nil {
		if x.d, err = dcm.NewDecoder(x.file, x.im); err != nil {
			return err
		}
	}
	from, to := int(lo), int(hi)
	if !x.frames {
		from, to = 0, x.im.Frames
	}
	if !x.scaled {
		return x.d.Read(dst, from, to)
	}
	each := x.im.Rows * x.im.Columns
	buf := make([]byte, x.im.FrameBytes())
	for i := from; i < to; i++ {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := x.d.Read(buf, i, i+1); err != nil {
			return err
		}
		out := dst[8*each*(i-from) : 8*each*(i-from+1)]
		voxels.Scale(x.im.DType, x.slope, x.inter, false)(out, buf)
	}
	return nil
}

// further are the names of the elements that a file has, and of what is made of them, without those left out.
func further(f *dcm.File, without []string) func() []string {
	return func() (names []string) {
		for _, a := range elements(f) {
			if !slices.Contains(without, a.Name) {
				names = append(names, a.Name)
			}
		}
		return names
	}
}

// elements are the fields of all elements of a file, and its location.
func elements(f *dcm.File) []arrayfile.Array {
	out := make([]arrayfile.Array, 0, len(dcm.Elements)+1)
	for i := range dcm.Elements {
		if a, ok := fieldOf(f, &dcm.Elements[i]); ok {
			out = append(out, a)
		}
	}
	if a, ok := element(f, locationName); ok {
		out = append(out, a)
	}
	return out
}

const locationName = "image.location"

// element is a field of an element.
func element(f *dcm.File, name string) (a arrayfile.Array, ok bool) {
	if name == locationName {
		at, ok := location(f)
		return arrayfile.Numbers(name, nil, at), ok
	}
	i := slices.IndexFunc(dcm.Elements, func(e dcm.Element) bool { return e.Name == name })
	if i < 0 {
		return a, false
	}
	return fieldOf(f, &dcm.Elements[i])
}

func fieldOf(f *dcm.File, e *dcm.Element) (a arrayfile.Array, ok bool) {
	a = arrayfile.Array{Field: shardify.Field{Name: e.Name}, Asked: true}
	switch e.Form {
	case dcm.Text:
		s, ok, err := f.UTF8(e.Tag)
		if err != nil || !ok {
			return a, false
		}
		a.DType, a.Media, a.Levels, a.Rows, a.Value = shardify.U8, "txt", 1, int64(len(s)), []byte(s)
	case dcm.Decimals:
		v, err := f.Numbers(e.Tag, e.N)
		if err != nil || v == nil {
			return a, false
		}
		a.DType, a.Value = shardify.F64, shardify.Bytes(v)
		if e.N > 1 {
			a.Shape = []int{e.N}
		}
	default:
		n, ok, err := f.Int(e)
		if err != nil || !ok {
			return a, false
		}
		a.DType, a.Value = shardify.I64, binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
	return a, true
}

// location is how far an image lies along the normal of its plane, in millimetres: the order of a series.
func location(f *dcm.File) (float64, bool) {
	p, o := finite(f, dcm.TagPosition, 3), finite(f, dcm.TagOrientation, 6)
	if p == nil || o == nil {
		return 0, false
	}
	at := vector(p).dot(vector(o[:3]).cross(vector(o[3:])))
	return at, !math.IsNaN(at) && !math.IsInf(at, 0)
}
