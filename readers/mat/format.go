package mat

import (
	"path"
	"strings"

	"github.com/shardify/shardify/codecs/mat5"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Format is the readers' table's line for MAT-files.
var Format = format.Input{
	Name: "mat", Words: []string{"matlab"},
	Help:    "MAT-files of MATLAB 4 to 7; those of 7.3 are HDF5",
	Sniff:   sniff,
	Options: kind.Options,
	Open:    kind.Source,
	Outline: kind.Outline,
}

var kind = arrays.Kind{
	Name: "mat", Title: "MAT", Key: "mat 1", One: "file",
	Open: open, Scan: scan, Reopen: reopen,
	Options: []format.Option{
		{Name: "object", Idle: "no variable has the name", Kind: format.KindString, Help: "variables to read, as globs of their names separated by commas: X,y,s.*"},
		{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", sampleaxis.SampleAxis, sampleaxis.SampleFile},
			Help: "what one sample is: a row of the variables (axis 0, or that of --axis), or a whole file"},
		arrays.OptAxis,
		lists.Option,
		survey.Option,
		format.OptText,
		grid.SelOption,
		grid.ChannelsOption,
	},
}

// sniff knows the header of MATLAB 5 to 7, and by name that of MATLAB 4, which has no mark.
func sniff(head []byte, name string) bool {
	named := strings.EqualFold(path.Ext(name), ".mat")
	if len(head) == 0 {
		return named
	}
	return mat5.Is(head) || named && mat5.Is4(head, 1<<62)
}
