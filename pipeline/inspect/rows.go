package inspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// repeats reports whether rows seem to belong together: a field with the name of an index whose
// values repeat in rows that follow each other, and come only once. It looks at the first rows.
func repeats(ctx context.Context, src shardify.Source) string {
	if format.HasFiles(src) {
		return ""
	}
	var indexes []int
	for i, f := range src.Schema() {
		if indexLike(&f) {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return ""
	}
	b, mem := firstRows(ctx, src)
	if b == nil {
		return ""
	}
	defer mem.Release()
	for _, i := range indexes {
		c := &b.Columns[i]
		if n := runsOf(c, b.Samples); n > 1 && n <= b.Samples/2 {
			return fmt.Sprintf("%s is the same in about %d rows each: --group-rows %s makes them one sample", c.Name, b.Samples/n, c.Name)
		}
	}
	return ""
}

// indexLike reports whether a field has the type and the name of an index.
func indexLike(f *shardify.Field) bool {
	if f.Levels > 0 || len(f.Shape) > 0 || !f.DType.IsInt() && !f.DType.IsFloat() {
		return false
	}
	name := strings.ToLower(f.Name)
	for _, end := range []string{"event", "eventnumber", "event_no", "evt", "_id", "_index", "_number", "session", "patient"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "id" || name == "index"
}

// firstRows reads the first rows; nil if that is not quick.
func firstRows(ctx context.Context, src shardify.Source) (*shardify.Batch, *shardify.Arena) {
	const most = 4096
	for sp, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil || sp.Run > 0 {
			return nil, nil
		}
		if sp.Samples() == 0 {
			continue
		}
		r, err := src.Reader(0)
		if err != nil {
			return nil, nil
		}
		defer r.Close()
		sp = plan.Sub(sp, sp.Lo, min(sp.Hi, sp.Lo+most))
		mem, err := shardify.NewPool(64<<20).Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, nil
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			mem.Release()
			return nil, nil
		}
		return b, mem
	}
	return nil, nil
}

// runsOf counts the stretches of equal values; 0 if a value comes again.
func runsOf(c *shardify.Column, rows int) (n int) {
	size := c.ElemBytes()
	seen := map[string]bool{}
	last := ""
	for i := range rows {
		v := string(c.Data[i*size : (i+1)*size])
		if i > 0 && v == last {
			continue
		}
		if seen[v] {
			return 0
		}
		seen[v], last = true, v
		n++
	}
	return n
}
