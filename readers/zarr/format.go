package zarr

import (
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/anndata"
	"github.com/shardify/shardify/readers/internal/arrays"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	sel "github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Format is the readers' table's line for Zarr.
var Format = format.Input{
	Name:      "zarr",
	Help:      "Zarr stores of formats 2 and 3: folders, zip files",
	Sniff:     sniff,
	Companion: true,
	Roots:     store.Roots,
	Options:   options,
	Open:      kind.Source,
	Outline:   kind.Outline,
}

var kind = arrays.Kind{
	Name: "zarr", Title: "Zarr", Key: "zarr 2", One: "store",
	Options: options, Cells: true,
	Open:   store.Open,
	Scan:   store.Scan,
	Reopen: store.Reopen,
}

var options = slices.Concat([]format.Option{
	{Name: "object", Idle: "no array and no group has the name", Kind: format.KindString,
		Help: "arrays or groups to read, as globs of their paths separated by commas: /train/*"},
	{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", sampleaxis.SampleAxis, sampleaxis.SampleChunk, sampleaxis.SampleFile},
		Help: "what one sample is: a row of the arrays (axis 0), the rows of a chunk, or a whole store"},
	arrays.OptAxis,
	lists.Option,
	survey.Option,
	{Name: "missing-chunks", Idle: format.Permission, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", "fail", "fill"},
		Help: "chunks that a store does not have. fill: they are the array's fill_value; fail: an error; auto: fail where an array ends early"},
	{Name: "cf", Idle: "no attributes say how to decode values", Kind: format.KindEnum, Default: "auto", Off: []string{"off"}, Values: []string{"auto", "on", "off"},
		Help: "auto: decode values as their CF attributes say (scale_factor, add_offset, _FillValue, times); on: elements that equal the fill_value of format 2 are missing, too; off: keep stored values"},
	format.OptText,
	sel.SelOption,
	sel.ChannelsOption,
}, anndata.Options)

func sniff(head []byte, name string) bool {
	if slices.Contains(store.Roots, name) {
		return true
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".zarr" || ext == ".zip" && (head == nil || strings.HasPrefix(string(head), "PK"))
}
