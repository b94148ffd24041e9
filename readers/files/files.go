// Package files reads folders of files: images with their labels, texts and
// masks. Files with one stem are one sample, each of them a field of opaque
// bytes:
//
//	cats/0001.jpg  cats/0001.json  cats/0001.seg.png
//
// is the sample cats/0001 with the fields jpg, json and seg.png, and, if every
// sample is below a folder such as cats, a field cls with the folder's
// number among all. Nothing is decoded: bytes go from the file into the column
// with three system calls a file.
//
// With --pair (pairs.go), the files of a sample are in parallel folders: images/1.jpg and
// masks/1.png are the sample 1 with the fields image and mask.
//
// A sample's input is always 0 and its number counts over all inputs, since a
// span should hold many files; its own name is its key.
//
// Labels may also come from a table (package labels): a field for each column, joined
// by names.
//
// docs/formats/inputs.md has all rules in order. Those for names: extensions count in lower case; jpeg and jpe are jpg,
// tiff is tif. Image types that differ between samples are one field "image",
// whose companion "image.ext" says which. A file without an extension has the
// field bin. A cls file stays as it is, opaque bytes.
package files

import (
	"bytes"
	"context"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
)

// ErrChanged is shardify.ErrChanged.
var ErrChanged = shardify.ErrChanged

// The names of the options.
const (
	optStem    = "stem"
	optPair    = "pair"
	optLabels  = "labels"
	optKey     = "key"
	optMissing = "missing"
	optKeys    = "keys"
	optText    = "text"
	optAssume  = "assume-size"
)

// stemAuto is the value of --stem that looks at the names.
const stemAuto = "auto"

// stemOf is the rule that a value of --stem asks for; auto begins with the first dot.
func stemOf(o format.Options) labels.Stem {
	switch o[optStem] {
	case "number":
		return labels.Number
	case "last":
		return labels.Last
	}
	return labels.First
}

// pairStem is the rule for the names of files in pairs: that of --stem, or the last dot.
func pairStem(o format.Options) labels.Stem {
	if o[optStem] == stemAuto {
		return labels.Last
	}
	return stemOf(o)
}

// Format is the line of the readers' table.
var Format = format.Input{
	Name: "files", Words: []string{"imagefolder", "folder", "images"},
	Help:    "folders of files; files with one stem are one sample (0001.jpg, 0001.json)",
	Sniff:   sniff,
	Whole:   true,
	Options: options,
	Again:   labels.ClassesAgain,
	Parts:   parts,
	Tars:    pairs.InTars,
	Open:    func(ctx context.Context, a format.OpenArgs) (shardify.Source, error) { return open(ctx, a) },
}

// options are the settings of the format.
// textOption is format.OptText of files.
var textOption = func() format.Option {
	o := format.OptText
	o.Help = "files txt and json are text, which must be UTF-8, or any bytes"
	return o
}()

var options = []format.Option{
	{Name: optStem, Idle: format.Always, Kind: format.KindEnum, Default: stemAuto, Values: []string{stemAuto, "first", "number", "last"}, Help: "a sample's name ends at the first or the last dot of the file name; number: at the first dot without a digit behind it; auto: first, or number where that makes other samples, unless all then have the same extensions and none is a number"},
	{Name: optPair, Idle: format.Always, Kind: format.KindString, Quiet: true, List: true, Decides: true, Help: "`FIELD=FOLDER[:SUFFIX],...`: files in parallel folders are the fields of one sample if their paths are equal without the folder, the suffix and the extension, as images/a/1.jpg and masks/a/1_mask.png by image=images,mask=masks:_mask"},
	{Name: optLabels, Idle: "the folders are no classes", Kind: format.KindString, Default: "auto", Off: []string{labels.Never}, List: true, Help: labels.Help},
	{Name: optKey, Idle: format.Always, Kind: format.KindString, Help: "column of --labels FILE with the names of the samples: paths or file names, with or without extension"},
	{Name: optMissing, Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "drop", "fill"}, Help: "samples that lack a file which others have, or their labels: refuse, leave out, or write an empty value"},
	{Name: optKeys, Idle: format.Always, Kind: format.KindEnum, Default: "path", Values: []string{"path", "ordinal"}, Help: "names of samples: the path below the input, or a number"},
	textOption,
	{Name: optAssume, Idle: format.Always, Kind: format.KindSize, Default: "0", Help: "plan with this size for every file instead of asking the file system; 0 asks"},
}

// imageTypes are the extensions that may stand for each other in one field.
var imageTypes = map[string]bool{
	"jpg": true, "png": true, "gif": true, "bmp": true, "webp": true, "tif": true, "ppm": true, "pgm": true, "pbm": true, "pnm": true,
	"avif": true, "heic": true, "jp2": true, "jxl": true,
}

// magics are the first bytes of image types.
var magics = []string{"\xff\xd8\xff", "\x89PNG\r\n\x1a\n", "GIF8", "BM", "II*\x00", "MM\x00*"}

// sniff takes images: by their first bytes, or by name if those are not known.
func sniff(head []byte, name string) bool {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m)) {
			return true
		}
	}
	var buf [nameMax]byte
	base := []byte(name)
	return imageTypes[string(exts.Normalise(buf[:0], base[labels.Last.End(base):]))]
}

// media is the Media of a field with an extension: its last part, and of packed files also the one before, as nii.gz.
func media(ext string) string {
	at := strings.LastIndexByte(ext, '.')
	last := ext[at+1:]
	if at > 0 && pairs.Packed(last) {
		last = ext[strings.LastIndexByte(ext[:at], '.')+1:]
	}
	if last == "" || last == "image" { // "image" says that the type varies
		return "bin"
	}
	return last
}
