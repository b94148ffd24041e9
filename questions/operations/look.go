package operations

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/transform/annotations"
)

// look completes a text of --parse whose files must be of one type: the first that can be read has it.
func look(ctx context.Context, c *ask.Conversion, text string) (string, error) {
	spec, err := annotations.ParseSpec(text)
	if err == nil && !spec.Keeps {
		c.Parsed = append(c.Parsed, spec.Field)
	}
	if err != nil || !spec.Looks {
		return text, err
	}
	src := c.Opened.Source
	col := shardify.FieldIndex(src.Schema(), spec.Field)
	if col < 0 || src.Schema()[col].Media == "" {
		return text, nil // the operation refuses it
	}
	l := looker{src: src, pool: c.Pool(), col: col, spec: &spec}
	defer l.close()
	for sp, err := range src.Spans(ctx, 1) {
		if err == nil {
			err = l.read(ctx, sp)
		}
		if err != nil || !spec.Looks {
			return spec.Text(), c.Opened.Args.Table.Locate(err)
		}
	}
	if l.failed == nil {
		l.failed = shardify.Unsupported("--parse %s: no sample has a file", text)
	}
	return "", l.failed
}

// looker reads files until one says its type.
type looker struct {
	src    shardify.Source
	pool   *shardify.Pool
	col    int
	spec   *annotations.Spec
	reader shardify.Reader
	run    uint32
	failed error // of the first file that does not
}

func (l *looker) close() {
	if l.reader != nil {
		l.reader.Close()
		l.reader = nil
	}
}

// read looks at the files of a span. One that is damaged is the matter of the conversion, where it may be left out.
func (l *looker) read(ctx context.Context, sp shardify.Span) (err error) {
	if l.reader == nil || l.run != sp.Run {
		l.close()
		if l.reader, err = l.src.Reader(sp.Run); err != nil {
			l.reader = nil
			return err
		}
		l.run = sp.Run
	}
	mem, err := l.pool.Grant(ctx, sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := l.reader.Read(ctx, sp, mem)
	if err != nil {
		return err
	}
	file := &b.Columns[l.col]
	for i := 0; i < b.Samples && l.spec.Looks; i++ {
		if file.Valid != nil && file.Valid[i] == 0 {
			continue
		}
		lo, hi := file.Range(i, i+1)
		err := l.spec.Look(file.Data[lo:hi])
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			return err
		}
		if err != nil && l.failed == nil {
			l.failed = shardify.Amend(err, func(e *shardify.Error) {
				e.Op, e.Field, e.Sample, e.At, e.File = "parse", l.spec.Field, b.ID(i).Sample, new(b.ID(i)), string(b.Key(i))
			})
		}
	}
	return nil
}
