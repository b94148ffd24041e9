// Package filekind knows kinds of files by their first bytes and by their extensions: what
// they are, and what decodes them.
//
//	filekind.Of(file).Name  // "an AVIF image"
//	filekind.Notes(schema)  // which fields the Loader delivers as bytes
package filekind

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Decoder is what makes pixels of the files of a kind.
type Decoder uint8

// From the most to the least that is there.
const (
	ours   Decoder = iota // the conversion, and the library of the Loader
	Half                  // the conversion; for the Loader Pillow
	pillow                // for the Loader Pillow
	None                  // none: the Loader delivers the bytes
)

// Kind is a kind of files.
type Kind struct {
	Name    string // "an AVIF image", "a FITS file"
	Image   bool
	Decoder Decoder
	// Needs is which Pillow it takes, or which package of Python reads the bytes.
	Needs string
	Exts  []string
	begin []magic // any of them
}

// magic is bytes at a place.
type magic struct {
	at   int
	text string
}

// Names of kinds of which there are several forms.
const (
	pngs = "a PNG image"  // of 8 or 16 bits a channel
	WebP = "a WebP image" // of one picture or several
)

// kinds are the files that are known; the first that fits is taken.
var kinds = []Kind{
	{"a JPEG image", true, ours, "", []string{"jpg", "jpeg"}, []magic{{0, "\xff\xd8"}}},
	{pngs, true, ours, "", []string{"png"}, []magic{{0, "\x89PNG\r\n\x1a\n"}}},
	{"a GIF image", true, Half, "", []string{"gif"}, []magic{{0, "GIF8"}}},
	{WebP, true, Half, "", []string{"webp"}, []magic{{8, "WEBP"}}},
	{"a TIFF image", true, pillow, "", []string{"tif", "tiff"}, []magic{{0, "II*\x00"}, {0, "MM\x00*"}}},
	{"a BMP image", true, pillow, "", []string{"bmp"}, []magic{{0, "BM"}}},
	{"a PPM image", true, pillow, "", []string{"ppm", "pgm", "pbm", "pnm"}, []magic{{0, "P1"}, {0, "P2"}, {0, "P3"}, {0, "P4"}, {0, "P5"}, {0, "P6"}}},
	{"an AVIF image", true, pillow, "11.3 or later", []string{"avif"}, []magic{{4, "ftypavif"}, {4, "ftypavis"}}},
	{"a HEIC image", true, pillow, "and the package pillow-heif", []string{"heic", "heif"}, []magic{{4, "ftypheic"}, {4, "ftypheix"}, {4, "ftyphevc"}, {4, "ftypmif1"}, {4, "ftypmsf1"}}},
	{"a JPEG 2000 image", true, pillow, "", []string{"jp2", "j2k", "jpx", "j2c"}, []magic{{0, "\x00\x00\x00\x0cjP  "}, {0, "\xff\x4f\xff\x51"}}},
	{"a JPEG XL image", true, pillow, "and the package pillow-jxl-plugin", []string{"jxl"}, []magic{{0, "\xff\x0a"}, {0, "\x00\x00\x00\x0cJXL "}}},

	{"a FITS file", false, None, "astropy", []string{"fits", "fit", "fts", "fits.gz", "fits.fz"}, []magic{{0, "SIMPLE  ="}}},
	{"a DICOM file", false, None, "pydicom; their headers, with data of patients, go into the shards", []string{"dcm", "dicom"}, []magic{{128, "DICM"}}},
	{"a NIfTI volume", false, None, "nibabel", []string{"nii", "nii.gz"}, []magic{{344, "n+1\x00"}, {344, "ni1\x00"}}},
	{"a WAV recording", false, None, "soundfile", []string{"wav"}, []magic{{8, "WAVE"}}},
	{"a FLAC recording", false, None, "soundfile", []string{"flac"}, []magic{{0, "fLaC"}}},
	{"an Ogg recording", false, None, "soundfile", []string{"ogg", "oga", "opus"}, []magic{{0, "OggS"}}},
	{"an MP3 recording", false, None, "soundfile", []string{"mp3"}, nil},
	{"a video", false, None, "torchcodec", []string{"mp4", "mov", "avi", "mkv", "webm"}, nil},
	{"a PLY file", false, None, "plyfile", []string{"ply"}, []magic{{0, "ply\n"}, {0, "ply\r\n"}}},
	{"an MRC volume", false, None, "mrcfile", []string{"mrc", "mrcs"}, nil},
}

// Of finds the kind by the first bytes of a file; nil if they are not known.
func Of(file []byte) *Kind {
	for i := range kinds {
		for _, m := range kinds[i].begin {
			if len(file) >= m.at && bytes.HasPrefix(file[m.at:], []byte(m.text)) {
				return &kinds[i]
			}
		}
	}
	return nil
}

// NameOf is the name of the kind, by the first bytes of a file.
func NameOf(file []byte) string {
	if k := Of(file); k != nil {
		return k.Name
	}
	return "a file of an unknown kind"
}

// Ext finds the kind by an extension, which may be the last part of a longer one: seg.png. Nil
// if it is not known.
func Ext(ext string) *Kind {
	for ext = strings.ToLower(ext); ext != ""; {
		for i := range kinds {
			if slices.Contains(kinds[i].Exts, ext) {
				return &kinds[i]
			}
		}
		_, ext, _ = strings.Cut(ext, ".")
	}
	return nil
}

// IsImage reports whether a field of this Media holds files of images: of one kind, or of
// several ("image").
func IsImage(media string) bool {
	k := Ext(media)
	return media == "image" || k != nil && k.Image
}

// Notes says what the Loader delivers of the files in a schema that are neither text nor decoded by
// the library itself.
func Notes(schema []shardify.Field) []string {
	var out, unknown []string
	for i := range schema {
		f := &schema[i]
		if f.Levels != 1 || f.DType != shardify.U8 || f.Media == "" {
			continue
		}
		known := []string{f.Name}
		if f.Media == "image" { // several kinds: the companion names them
			if j := shardify.FieldIndex(schema, f.Name+shardify.ExtSuffix); j >= 0 {
				known = schema[j].Labels()
			}
		}
		for _, ext := range known {
			k := Ext(ext)
			if k == nil {
				k = Ext(f.Media)
			}
			switch {
			case k != nil && k.Decoder != ours:
				out = append(out, "field "+f.Name+": "+k.note())
			case f.Media == "npy":
				out = append(out, "files of "+f.Name+": copied byte for byte; --parse "+f.Name+"=npy reads arrays")
			case k == nil && !slices.Contains([]string{"txt", "json", "cls", "bin", "image"}, f.Media):
				unknown = append(unknown, f.Name)
			}
		}
	}
	if len(unknown) > 0 {
		more := ""
		if n := len(unknown) - 8; n > 0 {
			unknown, more = unknown[:8], fmt.Sprintf(" and %d more", n)
		}
		out = append(out, "files of "+strings.Join(unknown, ", ")+more+": copied byte for byte; the Loader delivers the bytes")
	}
	return out
}

// note is what the Loader does with files of the kind.
func (k *Kind) note() string {
	_, noun, _ := strings.Cut(k.Name, " ")
	if k.Decoder == None {
		return fmt.Sprintf("%ss, copied byte for byte; the Loader delivers the bytes, and transform= can read them with the Python package %s", noun, k.Needs)
	}
	s := noun + "s, which the Loader decodes with " + strings.TrimSpace("Pillow "+k.Needs)
	if k.Decoder == pillow {
		s += "; --augment and --check-images do not decode them"
	}
	return s
}
