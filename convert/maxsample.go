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
	n := bytes / max(s.Samples(), 1)
	if n <= most {
		return nil
	}
	err := atSample(s, t, shardify.Unsupported("a sample of %s; at most %s are taken, --max-sample SIZE sets another bound", shardify.FormatSize(n), shardify.FormatSize(most)).Err)
	return format.Cure(err, format.With("max-sample", MemoryFor(n), "a bound above it"))
}

func atSample(s shardify.Span, t *format.Table, cause error) *shardify.Error {
	err := &shardify.Error{Op: "read", Sample: s.Lo, Offset: -1, Err: cause}
	if t != nil && int(s.Input) < t.Len() {
		err.File = t.Path(int(s.Input))
	}
	return err
}

// memoryFits refuses a span whose samples take more than twice the memory, unless they pass
// in pieces. Up to then one is held alone.
func (l *spanReader) memoryFits(s shardify.Span) error {
	each := s.Bytes / max(s.Samples(), 1)
	if p, ok := l.source.(format.Passer); ok && s.Stream {
		each = min(each, p.Held(s))
	}
	if l.memory <= 0 || each/2 <= l.memory {
		return nil
	}
	err := atSample(s, l.table, fmt.Errorf("a sample of %s takes more than twice the memory, %s", shardify.FormatSize(each), shardify.FormatSize(l.memory)))
	return shardify.Hint(format.Cure(err, format.With("memory", MemoryFor(each), "room for it")), "--columns FIELD,... takes a part of it")
}

// MemoryFor is a size of at least n bytes as users write it.
func MemoryFor(n int64) string {
	const step = 64 << 20
	return fmt.Sprintf("%dMiB", (n+step-1)/step*step>>20)
}

// DefaultMaxSample is how many bytes a sample may take at the most, unless the user says
// otherwise. A small file can claim any size: a few kilobytes that decode to a terabyte
// must end with an error, not with the end of the memory.
const DefaultMaxSample = 4 << 30
