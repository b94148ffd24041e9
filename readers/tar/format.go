// Package tar reads tars from any tool as WebDataset's readers see them: members with one
// name up to the first dot of its last part are a sample.
//
//	cats/0001.jpg  cats/0001.json  cats/0001.seg.png
//
// is the sample cats/0001 with the fields jpg, json and seg.png. Package wds reads data
// sets of shardify, whose schema it knows; here everything is found out by a survey of all
// headers. A tar.gz or tar.zst must be decompressed for it, which is one time more than a
// conversion needs.
//
// Understood are v7, USTAR, PAX and GNU tars. Links, devices and sparse members are refused
// by name. Folders, hidden files (._*), names without an extension and names of the form
// __x__ are left out and counted, as loaders do. A sample whose members are in several
// places of a tar is put together, although loaders would split it into several; a member
// that comes twice is refused.
//
// Members *.npy are arrays where all agree in type and number of dimensions: of
// fixed size where they agree in shape, jagged where only the first dimension
// varies, else ragged. Members cls are integers. Everything else is opaque bytes.
package tar

import (
	"bytes"
	"context"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// The names of the options.
const (
	optMissing = "missing"
	optKeys    = "keys"
	optText    = "text"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name: "tar", Words: []string{"webdataset", "tars"},
	Help:    "WebDataset tars from any tool: .tar, .tar.gz, .tar.zst; members with one name are one sample",
	Sniff:   sniff,
	Options: options,
	Open:    func(ctx context.Context, a format.OpenArgs) (shardify.Source, error) { return open(ctx, a) },
	Elsewhere: map[string]string{
		"labels": "--pair reads the members of a tar as files, to which --labels joins tables: with the folder of photos.tar as INPUT, --pair image=photos.tar --labels 'FILE on=COLUMN'",
	},
}

// textOption is format.OptText of members.
var textOption = func() format.Option {
	o := format.OptText
	o.Help = "members txt and json are text, which must be UTF-8, or any bytes"
	return o
}()

var options = []format.Option{
	{Name: optMissing, Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "drop", "fill"}, Help: "samples that lack a member which others have: refuse, leave out, or write an empty value"},
	{Name: optKeys, Idle: format.Always, Kind: format.KindEnum, Default: "path", Values: []string{"path", "shard", "ordinal"}, Help: "names of samples: as in the tars, with the tar's name before them, or a number"},
	textOption,
	format.GroupedItems,
}

// extensions of the tars that are read.
var extensions = []string{".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"}

func sniff(head []byte, name string) bool {
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return true
	}
	return stem(name) != name
}

// stem is a name without the extension of a tar.
func stem(name string) string {
	for _, e := range extensions {
		if n := len(name) - len(e); n > 0 && strings.EqualFold(name[n:], e) {
			return name[:n]
		}
	}
	return name
}

// The forms of compression.
const (
	plain = iota
	gzipped
	zstandard
)

// packingOf returns how a file is compressed, by its first bytes.
func packingOf(head []byte) uint8 {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return gzipped
	case len(head) >= 4 && (string(head[1:4]) == "\xb5\x2f\xfd" && head[0] == 0x28 || string(head[1:4]) == "\x2a\x4d\x18" && head[0]>>4 == 5):
		return zstandard
	}
	return plain
}
