package cli

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// UseLine says how to use a finished data set of the format.
func UseLine(format, output string) string {
	f, ok := writers.Lookup(format)
	if !ok {
		return "shardify inspect " + printable.Quote(output)
	}
	return f.Hint(output, printable.Quote)
}

// PeakMemory is the most memory that this process had resident. The figure of getrusage would
// include memory that its parent held before it became this program.
func PeakMemory() string {
	if n := cluster.PeakMemory(); n > 0 {
		return shardify.FormatSize(n)
	}
	return "unknown"
}

// CommandLine is what the user has typed, as a shell would take it, without what signs
// addresses.
func CommandLine(args []string) string {
	var words []string
	for _, a := range storages.Arguments(args) {
		words = append(words, printable.Quote(a))
	}
	return strings.Join(words, " ")
}
