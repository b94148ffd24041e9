package rntuple

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

type taskKind uint8

const (
	valueTask  taskKind = iota // values of dtype
	indexTask                  // end offsets as int64
	nativeTask                 // decoded elements of the column
)

// task is a part of a page to decode.
type task struct {
	kind     taskKind
	dtype    shardify.DType
	column   int
	page     *page
	from, to int
	dst      []byte
}

// queue reads the pages of tasks in the order of the file, several in one call.
type queue struct {
	tasks   []task
	buf     []byte
	scratch []scratch
}

const (
	// maxGap is what is read and thrown away rather than asked for separately.
	maxGap = 256 << 10
	// maxRead is where a run of pages ends; a larger page is read alone.
	maxRead = 8 << 20
)

// run does all tasks and forgets them.
func (q *queue) run(ctx context.Context, n *Ntuple, jobs int) error {
	slices.SortFunc(q.tasks, func(a, b task) int {
		switch {
		case a.page.offset < b.page.offset:
			return -1
		case a.page.offset > b.page.offset:
			return 1
		}
		return 0
	})
	for rest := q.tasks; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t := &rest[0]; t.direct(&n.Columns[t.column]) {
			if err := t.read(n); err != nil {
				return n.columnError(t.column, err)
			}
			rest = rest[1:]
			continue
		}
		start, end := rest[0].page.offset, rest[0].page.end()
		k := 1
		for k < len(rest) && !rest[k].direct(&n.Columns[rest[k].column]) && rest[k].page.offset <= end+maxGap && (rest[k].page.end() <= end || rest[k].page.end()-start <= maxRead) {
			end = max(end, rest[k].page.end())
			k++
		}
		buf := grown(&q.buf, int(end-start))
		if err := n.readAt(buf, start); err != nil {
			return n.columnError(rest[0].column, err)
		}
		if err := q.decode(n, rest[:k], buf, start, jobs); err != nil {
			return err
		}
		rest = rest[k:]
	}
	q.tasks = q.tasks[:0]
	return nil
}

func (p *page) end() int64 { return p.offset + p.disk() }

// directSize is from where on a call of its own costs less than a copy.
const directSize = 64 << 10

// direct reports a page whose bytes in the file are the values as they are wanted.
func (t *task) direct(c *Column) bool {
	ct := &columnTypes[c.Type]
	return t.page.size >= directSize && ct.enc == stored && t.from == 0 && t.to == int(t.page.n) && t.page.size == int64(len(t.dst)) &&
		t.page.size == t.page.rawBytes(c) && (t.kind == nativeTask || t.kind == indexTask || sameValues(t.dtype, ct.dtype))
}

// read fills dst from the file.
func (t *task) read(n *Ntuple) error {
	if err := n.readAt(t.dst, t.page.offset); err != nil || !t.page.summed {
		return err
	}
	var sum [sumSize]byte
	if err := n.readAt(sum[:], t.page.offset+t.page.size); err != nil {
		return err
	}
	return t.page.check(t.dst, sum[:])
}

func (q *queue) decode(n *Ntuple, tasks []task, buf []byte, start int64, jobs int) error {
	jobs = max(min(jobs, len(tasks)/4), 1)
	for len(q.scratch) < jobs {
		q.scratch = append(q.scratch, scratch{})
	}
	if jobs == 1 {
		for i := range tasks {
			if err := tasks[i].do(n, buf, start, &q.scratch[0]); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var g errgroup.Group
	for j := range jobs {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(tasks)); i = next.Add(1) - 1 {
				if err := tasks[i].do(n, buf, start, &q.scratch[j]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func (t *task) do(n *Ntuple, buf []byte, start int64, s *scratch) error {
	p, c := t.page, &n.Columns[t.column]
	disk := buf[p.offset-start:][:p.disk()]
	var err error
	switch {
	case t.kind == valueTask:
		err = p.values(t.dst, disk, t.dtype, c, t.from, t.to, s)
	case t.kind == indexTask && c.Type.Width() == 4:
		native := grown(&s.native, len(t.dst)/2)
		if err = p.decode(native, disk, c, t.from, t.to, s); err == nil {
			numeric.Convert(t.dst, shardify.I64, native, shardify.U32)
		}
	default:
		err = p.decode(t.dst, disk, c, t.from, t.to, s)
	}
	if err != nil {
		return n.columnError(t.column, err)
	}
	return nil
}
