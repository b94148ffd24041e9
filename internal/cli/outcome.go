package cli

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cluster"
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

// PythonLine opens a data set of the format.
func PythonLine(format, output string) string {
	switch format {
	case index.FormatMDS:
		return "python3 -c " + Quote(fmt.Sprintf("from streaming import StreamingDataset; ds = StreamingDataset(local=%q, batch_size=1); print(len(ds), ds[0])", output))
	case index.FormatMegatron:
		return "train with " + Quote(strings.TrimSuffix(output, "/")+"/shard-000000") + " as a data prefix of Megatron-LM (one for each shard)"
	}
	return "python3 -c " + Quote(fmt.Sprintf("import shardify; ds = shardify.open(%q); print(len(ds), ds[0])", output))
}

// PeakMemory is the most memory that this process had resident. What getrusage tells
// would include what its parent held before it became this program.
func PeakMemory() string {
	if n := cluster.PeakMemory(); n > 0 {
		return Size(n)
	}
	return "unknown"
}
