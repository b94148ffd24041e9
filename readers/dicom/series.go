package dicom

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/dcm"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// bySeries makes a sample of the files of one SeriesInstanceUID.
const bySeries = "series"

type vector [3]float64

func (a vector) dot(b vector) float64 {
	return float64(a[0]*b[0]) + float64(a[1]*b[1]) + float64(a[2]*b[2])
}

func (a vector) cross(b vector) vector {
	return vector{
		float64(a[1]*b[2]) - float64(a[2]*b[1]),
		float64(a[2]*b[0]) - float64(a[0]*b[2]),
		float64(a[0]*b[1]) - float64(a[1]*b[0]),
	}
}

// plus is a + k*b.
func (a vector) plus(k float64, b vector) vector {
	for i := range a {
		a[i] += float64(k * b[i])
	}
	return a
}

func (a vector) length() float64 { return math.Sqrt(a.dot(a)) }

// slice is what a file says of its place in a series.
type slice struct {
	input       uint32
	kind        string // of its pixels
	across      vector // unit vectors: along a row, and along a column
	down        vector
	position    vector
	placed      bool // there are a position and both vectors
	number      int64
	numbered    bool
	thickness   float64
	rowDistance float64 // between rows, 0 if unknown
	colDistance float64
	at          float64 // along the normal
}

// finite reads n numbers; nil without them.
func finite(f *dcm.File, tag dcm.Tag, n int) []float64 {
	v, err := f.Numbers(tag, n)
	if err != nil || slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return nil
	}
	return v
}

// sliceOf finds the place of a file.
func sliceOf(input uint32, f *dcm.File, im *dcm.Image) slice {
	s := slice{input: input, kind: fmt.Sprintf("%s of %v", im.DType, im.Shape())}
	p, o := finite(f, dcm.TagPosition, 3), finite(f, dcm.TagOrientation, 6)
	if p != nil && o != nil {
		s.placed, s.position, s.across, s.down = true, vector(p), vector(o[:3]), vector(o[3:])
		s.at = s.position.dot(s.normal())
	}
	if v := finite(f, dcm.TagSpacing, 2); v != nil {
		s.rowDistance, s.colDistance = v[0], v[1]
	}
	if v := finite(f, dcm.TagThickness, 1); v != nil {
		s.thickness = v[0]
	}
	s.number, s.numbered, _ = f.Int(&dcm.Element{Tag: dcm.TagInstance, Form: dcm.Whole})
	return s
}

func (s *slice) normal() vector { return s.across.cross(s.down) }

// series is the files of one SeriesInstanceUID.
type series struct {
	slices []slice
	values map[string]string // of elements that are equal in all files so far
	varied map[string]bool   // elements that are not
}

// add adds a file, with the elements that may be fields.
func (s *series) add(one slice, elements []arrayfile.Array) {
	now := map[string]string{}
	for i := range elements {
		now[elements[i].Name] = string(elements[i].Value)
	}
	if len(s.slices) == 0 {
		s.values = now
	}
	for name := range s.values {
		if v, ok := now[name]; !ok || v != s.values[name] {
			s.varied[name] = true
		}
	}
	for name := range now {
		if _, ok := s.values[name]; !ok {
			s.varied[name] = true
		}
	}
	s.slices = append(s.slices, one)
}

// volume is what is known of all slices of a series: it is kept in the plan.
type volume struct {
	Spacing []float64 `json:"spacing,omitempty"` // between slices, rows and columns, in mm
	Affine  []float64 `json:"affine,omitempty"`  // 4 x 4: slice, row and column to places in mm
	Varied  []string  `json:"varied,omitempty"`  // elements in which slices differ
	Note    string    `json:"note,omitempty"`
}

// groups finds the series of the inputs. Files that cannot be read are in none of them; Look says why.
func groups(_ context.Context, a *format.OpenArgs, each func(see func(i uint32, f *arrayfile.File)) error) ([]arrayfile.Group, error) {
	if a.Options[sampleaxis.SampleOption] != bySeries {
		return nil, nil
	}
	var mu sync.Mutex
	all := map[string]*series{}
	err := each(func(i uint32, f *arrayfile.File) {
		file, im, err := open(f)
		if err != nil {
			return
		}
		uid, ok := file.Text(dcm.TagSeries)
		if !ok || im.Frames > 1 {
			return
		}
		one, fields := sliceOf(i, file, im), elements(file)
		mu.Lock()
		defer mu.Unlock()
		if all[uid] == nil {
			all[uid] = &series{varied: map[string]bool{}}
		}
		all[uid].add(one, fields)
	})
	if err != nil {
		return nil, err
	}
	out := make([]arrayfile.Group, 0, len(all))
	for _, s := range all {
		v, err := s.volume(a.Table.Shown)
		g := arrayfile.Group{Err: err}
		if g.Facts, err = json.Marshal(v); err != nil {
			return nil, err
		}
		for i := range s.slices {
			g.Inputs = append(g.Inputs, s.slices[i].input)
		}
		out = append(out, g)
	}
	return out, nil
}

// alike is how far unit vectors, and gaps in parts of the usual one, may be from each other.
const (
	alike  = 1e-4
	uneven = 0.01
	absent = 1.5 // gaps: at least a slice is missing
)

// volume orders the slices, and says why they are no volume.
func (s *series) volume(name func(input int) string) (volume, error) {
	slices.SortFunc(s.slices, func(a, b slice) int { return cmp.Compare(a.input, b.input) })
	v := volume{}
	for n := range s.varied {
		v.Varied = append(v.Varied, n)
	}
	slices.Sort(v.Varied)
	called := func(i int) string { return name(int(s.slices[i].input)) }
	first, placed := &s.slices[0], 0
	for i := range s.slices {
		x := &s.slices[i]
		if x.kind != first.kind {
			return v, shardify.Unsupported("slices of one series differ: %s has %s, %s has %s; --sample file reads each by itself", called(0), first.kind, called(i), x.kind)
		}
		if x.placed {
			placed++
		}
	}
	switch {
	case len(s.slices) == 1:
		v.place(s.slices, first.normal().plus(first.thickness-1, first.normal()))
		return v, nil
	case placed == 0:
		return v, s.byNumber(&v, called)
	case placed < len(s.slices):
		at := slices.IndexFunc(s.slices, func(x slice) bool { return !x.placed })
		return v, shardify.Unsupported("%s has no position (ImagePositionPatient, ImageOrientationPatient), other slices of the series have; --sample file reads each by itself", called(at))
	}
	for i := range s.slices {
		x := &s.slices[i]
		if x.across.plus(-1, first.across).length() > alike || x.down.plus(-1, first.down).length() > alike {
			return v, shardify.Unsupported("slices of one series have different directions: %s in %v, %s in %v (ImageOrientationPatient); --sample file reads each by itself", called(0), []vector{first.across, first.down}, called(i), []vector{x.across, x.down})
		}
		x.at = x.position.dot(first.normal())
	}
	slices.SortFunc(s.slices, func(a, b slice) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.input, b.input)) })
	return v, s.byPosition(&v, called)
}

// byPosition checks the distances of slices that are in order.
func (s *series) byPosition(v *volume, called func(i int) string) error {
	n := len(s.slices)
	gaps := make([]float64, 0, n-1)
	for i := 1; i < n; i++ {
		gaps = append(gaps, s.slices[i].at-s.slices[i-1].at)
	}
	sorted := slices.Sorted(slices.Values(gaps))
	usual := sorted[(len(sorted)-1)/2]
	if span := s.slices[n-1].at - s.slices[0].at; usual <= uneven*span/float64(n) { // most are at one place
		usual = span / float64(n-1)
	}
	step := s.slices[n-1].position.plus(-1, s.slices[0].position)
	for k := range step {
		step[k] /= float64(n - 1)
	}
	for i, gap := range gaps {
		switch {
		case gap <= uneven*usual:
			return shardify.Unsupported("%s and %s are slices of one series at one place, %.6g mm along the normal: two phases or echoes, or a copy; --sample file reads each by itself, with image.location and InstanceNumber", called(i), called(i+1), s.slices[i].at)
		case gap > absent*usual:
			return shardify.Unsupported("slices of a series are missing: %s and %s follow each other at %.6g and %.6g mm, where the usual distance is %.6g mm; --sample file reads each by itself", called(i), called(i+1), s.slices[i].at, s.slices[i+1].at, usual)
		case math.Abs(gap-usual) > uneven*usual || s.slices[i].position.plus(-1, s.slices[0].position.plus(float64(i), step)).length() > usual/2:
			v.Note = "slices are not at even distances; spacing and affine are means"
		}
	}
	v.place(s.slices, step)
	return nil
}

// byNumber orders slices that have no position.
func (s *series) byNumber(v *volume, called func(i int) string) error {
	if at := slices.IndexFunc(s.slices, func(x slice) bool { return !x.numbered }); at >= 0 {
		return shardify.Unsupported("the order of a series is unknown: %s has neither a position (ImagePositionPatient, ImageOrientationPatient) nor InstanceNumber; --sample file reads each by itself", called(at))
	}
	slices.SortFunc(s.slices, func(a, b slice) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.input, b.input)) })
	for i := 1; i < len(s.slices); i++ {
		switch a, b := s.slices[i-1].number, s.slices[i].number; {
		case a == b:
			return shardify.Unsupported("%s and %s are slices of one series with InstanceNumber %d, and have no position; --sample file reads each by itself", called(i-1), called(i), a)
		case b != a+1:
			return shardify.Unsupported("slices of a series are missing: %s and %s have InstanceNumber %d and %d, and no position; --sample file reads each by itself", called(i-1), called(i), a, b)
		}
	}
	v.Note = "slices have no positions; they are in the order of InstanceNumber, without spacing"
	return nil
}

// place finds spacing and affine; step leads from a slice to the next one.
func (v *volume) place(list []slice, step vector) {
	x := &list[0]
	if !x.placed || x.rowDistance <= 0 || x.colDistance <= 0 || step.length() == 0 {
		return
	}
	v.Spacing = []float64{step.length(), x.rowDistance, x.colDistance}
	for k := range 3 {
		v.Affine = append(v.Affine, step[k], float64(x.down[k]*x.rowDistance), float64(x.across[k]*x.colDistance), x.position[k])
	}
	v.Affine = append(v.Affine, 0, 0, 0, 1)
}

// lookSeries is look for the first file of a series.
func lookSeries(f *arrayfile.File, o format.Options, personal string) (*arrayfile.Header, error) {
	file, im, err := open(f)
	switch {
	case err != nil:
		return nil, err
	case f.Group == nil && im.Frames > 1:
		return nil, shardify.Unsupported("%d frames in one file, which --sample series does not put together; --sample file reads them as they are", im.Frames)
	case f.Group == nil:
		return nil, shardify.Unsupported("it is of no series (SeriesInstanceUID); --sample file reads it")
	}
	var v volume
	if err := json.Unmarshal(f.Group.Facts, &v); err != nil || v.Spacing != nil && (len(v.Spacing) != 3 || len(v.Affine) != 16) {
		return nil, shardify.Corrupt(-1, "the series, in the plan")
	}
	x := &pixels{file: f, im: im, scaled: arrayfile.Scaled(o)}
	image := arrayfile.Array{Field: shardify.Field{Name: "image", DType: im.DType, Shape: append([]int{len(f.Group.Inputs)}, im.Shape()...)}, Read: x.readSeries}
	if x.scaled {
		image.DType = shardify.F64
	}
	out := &arrayfile.Header{Arrays: []arrayfile.Array{image}}
	if v.Spacing != nil {
		out.Arrays = append(out.Arrays, arrayfile.Numbers("image.spacing", []int{3}, v.Spacing...), arrayfile.Numbers("image.affine", []int{4, 4}, v.Affine...))
	}
	out.Further, out.Make = further(file, v.Varied), func(name string) (arrayfile.Array, bool) { return element(file, name) }
	out.Lines = []string{fmt.Sprintf("a series of %d slices, %s, %d x %d pixels, transfer syntax %s", len(f.Group.Inputs), im.Photometric, im.Rows, im.Columns, file.Syntax)}
	out.Remark = strings.Join(slices.DeleteFunc([]string{v.Note, remark(im, personal)}, func(s string) bool { return s == "" }), "; ")
	return out, nil
}

// readSeries decodes the slices of a series.
func (x *pixels) readSeries(ctx context.Context, _, _ int64, dst []byte) error {
	each := len(dst) / len(x.file.Group.Inputs)
	for i := range x.file.Group.Inputs {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		m, err := x.file.Member(i)
		if err != nil {
			return err
		}
		if err := errors.Join(x.readSlice(ctx, m, dst[i*each:(i+1)*each]), m.Close()); err != nil {
			return shardify.Annotate(err, "read", m.Name, "")
		}
	}
	return nil
}

// readSlice decodes one slice.
func (x *pixels) readSlice(ctx context.Context, f *arrayfile.File, dst []byte) error {
	file, im, err := open(f)
	if err != nil {
		return err
	}
	if !slices.Equal(im.Shape(), x.im.Shape()) || im.DType != x.im.DType {
		return fmt.Errorf("%w: its pixels are %s of %v, those of the series %s of %v", shardify.ErrChanged, im.DType, im.Shape(), x.im.DType, x.im.Shape())
	}
	one := &pixels{file: f, im: im}
	if x.scaled {
		if err := one.scale(file); err != nil {
			return err
		}
	}
	return one.read(ctx, 0, 1, dst)
}
