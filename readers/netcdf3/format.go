package netcdf3

import (
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Format is the readers' table's line for netCDF-3.
var Format = format.Input{
	Name: "netcdf3", Words: []string{"nc3", "cdf"},
	Help:    "netCDF-3 files: classic, 64-bit offset and CDF-5",
	Sniff:   sniff,
	Options: kind.Options,
	Open:    kind.Source,
	Outline: kind.Outline,
}

var kind = arrays.Kind{
	Name: "netcdf3", Title: "netCDF-3", Key: "netcdf3 1", One: "file",
	Open: open, Scan: scan, Reopen: reopen,
	Options: []format.Option{
		{Name: "object", Idle: "no variable has the name", Kind: format.KindString, Help: "variables to read, as globs of their names separated by commas: t2m,tp"},
		{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", sampleaxis.SampleAxis, sampleaxis.SampleFile},
			Help: "what one sample is: a row of the variables (axis 0, that of the records if there is one), or a whole file"},
		arrays.OptAxis,
		lists.Option,
		survey.Option,
		{Name: "cf", Idle: format.Permission, Kind: format.KindEnum, Default: "on", Off: []string{"off"}, Values: []string{"on", "off"},
			Help: "on: decode values as their CF attributes say (scale_factor, add_offset, _FillValue, times); off: keep stored values"},
		format.OptText,
		grid.SelOption,
		grid.ChannelsOption,
	},
}

// sniff knows the magic number, of any version, and by name alone what HDF5 does not take.
func sniff(head []byte, name string) bool {
	if len(head) > 0 {
		return len(head) > 3 && strings.HasPrefix(string(head), "CDF") && head[3] > 0 && head[3] < '\t'
	}
	return slices.Contains([]string{".nc", ".nc3", ".cdf"}, strings.ToLower(path.Ext(name)))
}
