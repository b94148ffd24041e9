package sampleaxis

import (
	"strings"

	"github.com/shardify/shardify/format"
)

// WholeFiles reads arrays that would be lists as they are: without lists they have no rows in common.
var WholeFiles = format.Way{Options: format.Options{"lists": "off", SampleOption: SampleFile}, Makes: "each file one sample, arrays as they are"}

// AsRows reads what would be lists of one value each as rows, without their offsets.
func AsRows(offsets, of string) format.Way {
	return format.Way{Options: format.Options{"lists": "off"}, Columns: []string{"!" + strings.TrimPrefix(offsets, "/")}, Makes: "rows of " + of}
}
