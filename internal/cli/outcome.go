package cli

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/writers"
)

// Size writes bytes for people.
func Size(n int64) string { return shardify.FormatSize(n) }

// Incomplete is the error of a conversion that is done but left samples out.
func Incomplete(output string, list []index.Skip, samples int64) error {
	s := list[0]
	where := s.Input
	if s.Object != "" {
		where += " " + s.Object
	}
	if s.Lo < s.Hi {
		where = fmt.Sprintf("%s at sample %d", where, s.Lo)
	}
	what := Of(samples, "sample")
	if whole := wholeInputs(list); whole > 0 {
		what += " and " + Of(whole, "input") + " of nobody knows how many"
	}
	err := fmt.Errorf("%s left out because they cannot be read, the first in %s (%s): %w", what, where, s.Reason, convert.ErrIncomplete)
	return Hint(err, fmt.Sprintf("all of them are listed under \"skipped\" in %s/%s", output, index.ManifestName))
}

// wholeInputs counts the inputs that are left out with samples that nobody could count.
func wholeInputs(list []index.Skip) (n int64) {
	for _, s := range list {
		if s.Lo == s.Hi {
			n++
		}
	}
	return n
}

// UseLine says how to use a finished data set of the format.
func UseLine(format, output string) string {
	f, ok := writers.Lookup(format)
	if !ok {
		return "shardify inspect " + Quote(output)
	}
	return f.Hint(output, Quote)
}

// PeakMemory is the most memory that this process had resident. What getrusage tells
// would include what its parent held before it became this program.
func PeakMemory() string {
	if n := cluster.PeakMemory(); n > 0 {
		return Size(n)
	}
	return "unknown"
}
