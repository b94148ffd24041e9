package parquet

import (
	"context"
	"fmt"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
	"github.com/shardify/shardify/storage"
)

// outline lists the columns of a file and what becomes of them.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	f, err := rows.OpenFile(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := pq.Open(f, f.Size())
	if err != nil {
		return nil, err
	}
	h, err := readHints(p)
	if err != nil {
		return nil, err
	}
	x := &file{f: rows.Watch(f), pq: p}
	var left []leftOut
	x.cols, left = columnsOf(p, h, "utf8")
	lines := []string{fmt.Sprintf("%d rows, %d columns", p.Rows, len(p.Leaves))}
	lines = append(lines, x.describe()...)
	for _, l := range left {
		lines = append(lines, fmt.Sprintf("%s  left out: %s", plainName(l.name), format.Reason(l.reason)))
	}
	return lines, nil
}
