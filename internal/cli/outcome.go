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
	err := fmt.Errorf("%s left out because they cannot be read, the first in %s at sample %d (%s): %w", Of(samples, "sample"), where, s.Lo, s.Reason, convert.ErrIncomplete)
	return Hint(err, fmt.Sprintf("all of them are listed under \"skipped\" in %s/%s", output, index.ManifestName))
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
