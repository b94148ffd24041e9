package dcm

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// The elements that say what the pixels are.
const (
	tagSamples     Tag = 0x00280002
	tagPhotometric Tag = 0x00280004
	tagPlanar      Tag = 0x00280006
	tagFrames      Tag = 0x00280008
	tagRows        Tag = 0x00280010
	tagColumns     Tag = 0x00280011
	tagAllocated   Tag = 0x00280100
	tagStored      Tag = 0x00280101
	tagHigh        Tag = 0x00280102
	tagSigned      Tag = 0x00280103
	tagIntercept   Tag = 0x00281052
	tagSlope       Tag = 0x00281053
	tagCharset     Tag = 0x00080005
	// Of a series.
	TagSeries      Tag = 0x0020000e
	TagInstance    Tag = 0x00200013
	TagPosition    Tag = 0x00200032
	TagOrientation Tag = 0x00200037
	TagSpacing     Tag = 0x00280030
	TagThickness   Tag = 0x00180050
)

var described = setOf(tagSamples, tagPhotometric, tagPlanar, tagFrames, tagRows, tagColumns, tagAllocated, tagStored, tagHigh, tagSigned, tagIntercept, tagSlope, tagCharset)

// tagSet is a set of tags. A bit of most that are not in it says so.
type tagSet struct {
	bits [64]uint64
	all  map[Tag]bool
}

func setOf(tags ...Tag) *tagSet {
	s := &tagSet{all: map[Tag]bool{}}
	for _, t := range tags {
		h := t.hash()
		s.bits[h>>6] |= 1 << (h & 63)
		s.all[t] = true
	}
	return s
}

func (t Tag) hash() uint32 { return uint32(t>>16*29^t) & 4095 }

func (s *tagSet) has(t Tag) bool {
	h := t.hash()
	return s.bits[h>>6]>>(h&63)&1 != 0 && s.all[t]
}

var named = func() *tagSet {
	tags := make([]Tag, len(Elements))
	for i := range Elements {
		tags[i] = Elements[i].Tag
	}
	return setOf(tags...)
}()

// Named reports whether a tag is one of Elements.
func Named(t Tag) bool { return named.has(t) }

// String writes a tag as (0028,0010).
func (t Tag) String() string { return fmt.Sprintf("(%04X,%04X)", uint32(t)>>16, uint32(t)&0xffff) }

// Form is how the value of an element is written.
type Form byte

// The forms: texts, numbers as text, and whole numbers as text or as 16 bits.
const (
	Text Form = iota
	Decimals
	Whole
	Short
)

// Element is a tag that has a name.
type Element struct {
	Tag  Tag
	Name string // its keyword
	Form Form
	N    int // numbers of its value
	// Technical: it is about the pixels, and never about a person.
	Technical bool
}

// Elements are the tags that may become fields.
var Elements = []Element{
	{0x00080060, "Modality", Text, 1, true},
	{TagThickness, "SliceThickness", Decimals, 1, true},
	{0x00180088, "SpacingBetweenSlices", Decimals, 1, true},
	{0x00180060, "KVP", Decimals, 1, true},
	{0x00180080, "RepetitionTime", Decimals, 1, true},
	{0x00180081, "EchoTime", Decimals, 1, true},
	{0x00180082, "InversionTime", Decimals, 1, true},
	{0x00180087, "MagneticFieldStrength", Decimals, 1, true},
	{0x00181314, "FlipAngle", Decimals, 1, true},
	{0x00185101, "ViewPosition", Text, 1, true},
	{TagInstance, "InstanceNumber", Whole, 1, true},
	{TagPosition, "ImagePositionPatient", Decimals, 3, true},
	{TagOrientation, "ImageOrientationPatient", Decimals, 6, true},
	{0x00201041, "SliceLocation", Decimals, 1, true},
	{tagPhotometric, "PhotometricInterpretation", Text, 1, true},
	{TagSpacing, "PixelSpacing", Decimals, 2, true},
	{0x00181164, "ImagerPixelSpacing", Decimals, 2, true},
	{tagStored, "BitsStored", Short, 1, true},
	{0x00281050, "WindowCenter", Decimals, 1, true},
	{0x00281051, "WindowWidth", Decimals, 1, true},
	{tagIntercept, "RescaleIntercept", Decimals, 1, true},
	{tagSlope, "RescaleSlope", Decimals, 1, true},
	// What follows is about a person, or leads to one.
	{0x00080018, "SOPInstanceUID", Text, 1, false},
	{0x00080020, "StudyDate", Text, 1, false},
	{0x00080021, "SeriesDate", Text, 1, false},
	{0x00080022, "AcquisitionDate", Text, 1, false},
	{0x00080050, "AccessionNumber", Text, 1, false},
	{0x00080070, "Manufacturer", Text, 1, false},
	{0x00080080, "InstitutionName", Text, 1, false},
	{0x00081010, "StationName", Text, 1, false},
	{0x00081030, "StudyDescription", Text, 1, false},
	{0x0008103e, "SeriesDescription", Text, 1, false},
	{0x00081090, "ManufacturerModelName", Text, 1, false},
	{0x00100010, "PatientName", Text, 1, false},
	{0x00100020, "PatientID", Text, 1, false},
	{0x00100030, "PatientBirthDate", Text, 1, false},
	{0x00100040, "PatientSex", Text, 1, false},
	{0x00101010, "PatientAge", Text, 1, false},
	{0x00101020, "PatientSize", Decimals, 1, false},
	{0x00101030, "PatientWeight", Decimals, 1, false},
	{0x00180015, "BodyPartExamined", Text, 1, false},
	{0x00181030, "ProtocolName", Text, 1, false},
	{0x00185100, "PatientPosition", Text, 1, false},
	{0x0020000d, "StudyInstanceUID", Text, 1, false},
	{TagSeries, "SeriesInstanceUID", Text, 1, false},
	{0x00200060, "Laterality", Text, 1, false},
}

// Text is the value of an element as text; false where it is absent or empty.
func (f *File) Text(tag Tag) (string, bool) {
	b, _ := f.value(tag)
	s := string(bytes.Trim(b, " \x00"))
	return s, s != ""
}

// UTF8 is Text in UTF-8, whatever the character set of the file.
func (f *File) UTF8(tag Tag) (string, bool, error) {
	s, ok := f.Text(tag)
	plain := true
	for i := range len(s) {
		plain = plain && s[i] < 0x80
	}
	set, _ := f.Text(tagCharset)
	switch {
	case plain, set == "ISO_IR 192":
	case set == "ISO_IR 100":
		var b strings.Builder
		for i := range len(s) {
			b.WriteRune(rune(s[i]))
		}
		s = b.String()
	default:
		return "", false, shardify.Unsupported("element %v is in the character set %.40q, which is not decoded", tag, set)
	}
	return s, ok, nil
}

// Numbers are those of an element, n of them; nil where it is absent or empty.
func (f *File) Numbers(tag Tag, n int) ([]float64, error) {
	s, ok := f.Text(tag)
	if !ok {
		return nil, nil
	}
	if there := 1 + strings.Count(s, `\`); there < n {
		return nil, shardify.Corrupt(-1, "element %v has %d numbers, not %d", tag, there, n)
	}
	out := make([]float64, n)
	for i := range out {
		var part string
		part, s, _ = strings.Cut(s, `\`)
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || strings.ContainsAny(part, "xXpPiInN_") {
			return nil, shardify.Corrupt(-1, "element %v: %.40q is not a number", tag, part)
		}
		out[i] = v
	}
	return out, nil
}

// Int is a whole number; false where it is absent or empty.
func (f *File) Int(e *Element) (int64, bool, error) {
	if e.Form == Short {
		n, ok, err := f.short(e.Tag)
		return int64(n), ok, err
	}
	s, ok := f.Text(e.Tag)
	if !ok {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 10, 64)
	if err != nil {
		return 0, false, shardify.Corrupt(-1, "element %v: %.40q is not a whole number", e.Tag, s)
	}
	return n, true, nil
}
