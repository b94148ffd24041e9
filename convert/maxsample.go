package convert

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// sampleFits refuses a span of so many bytes whose samples take more than most on average.
// One that is too large is in a span of its own where it is known, or makes the average of
// a few exceed the bound: spans aim at SpanBytes.
func sampleFits(most int64, s shardify.Span, bytes int64, t *format.Table) error {
	if most <= 0 {
		most = DefaultMaxSample
	}
	n := max(s.Samples(), 1)
	if bytes/n <= most {
		return nil
	}
	err := &shardify.Error{Op: "read", Sample: s.Lo, Offset: -1,
		Err: fmt.Errorf("a sample of %s; at most %s are taken, --max-sample SIZE sets another bound", shardify.FormatSize(bytes/n), shardify.FormatSize(most))}
	if t != nil && int(s.Input) < t.Len() {
		err.File = t.Path(int(s.Input))
	}
	return err
}

// DefaultMaxSample is how many bytes a sample may take at the most, unless the user says
// otherwise. A small file can claim any size: a few kilobytes that decode to a terabyte
// must end with an error, not with the end of the memory.
const DefaultMaxSample = 4 << 30
