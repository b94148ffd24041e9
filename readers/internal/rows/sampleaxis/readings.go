package sampleaxis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// AxisOption is the option that names the axis of the arrays that is the axis of the samples.
const AxisOption = "axis"

// AutoAxis leaves the axis of the samples to the format.
const AutoAxis = math.MinInt

// ParseAxis reads the value of AxisOption. No format has arrays of more than 64 axes.
func ParseAxis(text string) (int, error) {
	if text == "" || text == "auto" {
		return AutoAxis, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -64 || n > 63 {
		return 0, shardify.Misuse("--axis %q is neither auto nor the number of an axis", text)
	}
	return n, nil
}

// PlaceOfAxis converts the number of an axis, which may count from the end, to the axis of an array
// of a rank of 2 or more.
func PlaceOfAxis(axis, rank int) (int, bool) {
	if axis == AutoAxis {
		return 0, true
	}
	if axis < 0 {
		axis += rank
	}
	return axis, axis >= 0 && axis < rank
}

// SampleOption is the option that says what a sample is: SampleAxis, SampleChunk or SampleFile.
const (
	SampleOption = "sample"
	SampleAxis   = "axis"
	SampleChunk  = "chunk"
	SampleFile   = "file"
)

// Array is a column of one input with all its dimensions, which are samples and what each
// holds, or those of one sample.
type Array struct {
	Name, Type string
	Shape      []int64
}

// Readings is several inputs that may be one sample each, or have a sample in each row.
type Readings struct {
	Files, Rows int64
	Equal       bool // all files have as many rows
	Arrays      []Array
}

// doubtful reports whether nothing says that rows are the samples: no array is a list of
// values along them, and files have single values beside the arrays, or look alike and
// have the rank of images and volumes.
func (r *Readings) doubtful() bool {
	rank, single := 0, false
	for i := range r.Arrays {
		switch n := len(r.Arrays[i].Shape); n {
		case 0:
			single = true
		case 1:
			return false
		default:
			rank = max(rank, n)
		}
	}
	return r.Files > 1 && r.Rows > r.Files && (single && rank > 1 || r.Equal && rank > 2)
}

// ReadingsOf are those of a set of inputs that are read by rows.
func ReadingsOf(s *set.Set, arrays []Array) *Readings {
	r := &Readings{Rows: s.Samples(), Equal: true, Arrays: arrays}
	n := int64(-1)
	for in := range s.Inputs() {
		r.Files++
		r.Equal = r.Equal && (n < 0 || in.Samples == n)
		n = in.Samples
	}
	return r
}

// Settle leaves it to the user what a sample is, where nothing says it. If users have chosen rows
// it notes the other way.
func (r *Readings) Settle(chosen bool) (notes []string, err error) {
	switch {
	case !r.doubtful():
		return nil, nil
	case chosen:
		return []string{r.note()}, nil
	}
	return nil, r.ask()
}

// ask is the error that leaves the choice to the user.
func (r *Readings) ask() error {
	way := func(sample, makes string) format.Way {
		return format.Way{Options: format.Options{SampleOption: sample}, Makes: makes}
	}
	return format.NewAmbiguous("a sample may be a row or a file", []format.Way{way(SampleAxis, r.axis()), way(SampleFile, r.file())})
}

// note describes the other way to read inputs whose rows are samples.
func (r *Readings) note() string {
	return fmt.Sprintf("each row is a sample, %s; --sample file makes %s", r.axis(), r.file())
}

func (r *Readings) file() string {
	return fmt.Sprintf("%d samples of %s", r.Files, r.list(func(a *Array) string { return a.text(a.Shape) }))
}

func (r *Readings) axis() string {
	return fmt.Sprintf("%d of %s", r.Rows, r.list(func(a *Array) string {
		if len(a.Shape) == 0 {
			return a.text(nil) + " repeated"
		}
		return a.text(a.Shape[1:])
	}))
}

// list is the first arrays in words.
func (r *Readings) list(text func(a *Array) string) string {
	const most = 4
	var out []string
	for i := range r.Arrays[:min(len(r.Arrays), most)] {
		out = append(out, text(&r.Arrays[i]))
	}
	if n := len(r.Arrays) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, ", ")
}

func (a *Array) text(shape []int64) string {
	s := a.Name
	if a.Type != "" {
		s += " " + a.Type
	}
	if len(shape) > 0 {
		s += " " + strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
	}
	return s
}
