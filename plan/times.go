package plan

import (
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// Unchanged compares what a file is with what the plan knows of it; SizeUnknown and the
// time 0 are not known.
func Unchanged(now storage.Stamp, planned, plannedTime int64, ignoreTimes bool) error {
	const layout = "2006-01-02 15:04:05.000000000"
	switch {
	case planned != format.SizeUnknown && now.Size != planned:
		return fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, now.Size, planned)
	case plannedTime != 0 && now.ModTime != 0 && now.ModTime != plannedTime && !ignoreTimes:
		return fmt.Errorf("%w: it was modified %s, and %s then", shardify.ErrChanged, time.Unix(0, now.ModTime).UTC().Format(layout), time.Unix(0, plannedTime).UTC().Format(layout))
	}
	return nil
}

// Touched are the inputs that have other times in two plans of equal content. It looks
// into the blocks that have.
func Touched(p, now *Plan) (list []int64, err error) {
	if len(p.Pack.blocks) != len(now.Pack.blocks) {
		return nil, nil
	}
	var first int64
	for k := range p.Pack.blocks {
		if p.Pack.blocks[k].listed != now.Pack.blocks[k].listed {
			a, err := p.Load(k)
			if err != nil {
				return nil, err
			}
			b, err := now.Load(k)
			if err != nil {
				return nil, err
			}
			list = appendTouched(list, first, a.Table, b.Table)
		}
		first += p.Pack.blocks[k].files
	}
	return list, nil
}

func appendTouched(list []int64, first int64, before, now *format.Table) []int64 {
	if before.Len() != now.Len() {
		return list
	}
	for i := range before.Len() {
		if a, b := before.ModTime(i), now.ModTime(i); a != b && a != 0 && b != 0 {
			list = append(list, first+int64(i))
		}
	}
	return list
}
