package split

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/plan/splits/column"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/transform/expr"
)

// conditions refuses those that cannot be parsed.
func conditions(x *splits.Rule) error {
	for i, text := range x.Conditions() {
		if text == "" {
			continue
		}
		if _, err := expr.Parse(text); err != nil {
			return shardify.Usage("--split %s: '%s': %v", x.Parts[i].Name, text, err)
		}
	}
	return findGap(x)
}

// names reads the column that names the splits, by itself, and makes parts of the names in it.
func names(ctx context.Context, c *ask.Conversion, x *splits.Rule) error {
	schema := c.Opened.Source.Schema()
	i := shardify.FieldIndex(schema, x.Column)
	if i < 0 {
		var known []string
		for k := range schema {
			known = append(known, schema[k].Name)
		}
		meant := suggest.Word(x.Column, known)
		err := shardify.Misused(fmt.Errorf("--split-from column=%s: %w", x.Column, &format.UnknownField{Name: x.Column, Suggest: meant}))
		if meant != "" {
			return shardify.Hint(err, "try --split-from column="+meant)
		}
		return shardify.Hint(err, "the column is a field of the inputs; for one that operations make: --split 'val="+x.Column+" == \"val\"; train=rest'")
	}
	if err := column.Check(&schema[i]); err != nil {
		return err
	}
	src, err := c.Reopen(ctx, func(a *format.OpenArgs) { a.Columns = []string{x.Column} })
	if err != nil {
		return err
	}
	defer src.Close()
	first := map[string]string{} // a sample with each name
	err = key.ReadEach(ctx, src, plan.SpanBytes, c.Pool(), func(b *shardify.Batch) error {
		k := slices.IndexFunc(b.Columns, func(col shardify.Column) bool { return col.Name == x.Column })
		if k < 0 {
			return fmt.Errorf("field %s of the inputs alone is another one: %w", x.Column, shardify.ErrChanged)
		}
		in := column.New(&b.Columns[k])
		for i := range b.Samples {
			name, ok := in.At(i)
			if !ok && c.OnError == plan.OnErrorSkip {
				continue
			}
			if !ok {
				return shardify.Hint(shardify.Misuse("--split-from column=%s: %s has no split: its %s is missing", x.Column, sample(c, b.ID(i)), x.Column),
					"leave such samples out, counted and listed: --on-error skip")
			}
			if _, ok := first[string(name)]; ok {
				continue
			}
			if first[string(name)] = sample(c, b.ID(i)); len(first) > splits.MostNames {
				return shardify.Misuse("--split-from column=%s: more than %d names: %s has %.40q", x.Column, splits.MostNames, sample(c, b.ID(i)), name)
			}
			if err := splits.CheckName(string(name)); err != nil {
				return shardify.Misused(fmt.Errorf("--split-from column=%s: %s: %w", x.Column, sample(c, b.ID(i)), err))
			}
		}
		return nil
	})
	if err != nil {
		return c.Opened.Args.Table.Locate(err)
	}
	for _, name := range c.Settings.Splits {
		first[name] = ""
	}
	if len(first) == 0 {
		return shardify.Misuse("--split-from column=%s: no sample has a name of a split", x.Column)
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		x.Parts = append(x.Parts, splits.Part{Name: name})
	}
	return shardify.Misused(x.Check())
}

// sample names a sample.
func sample(c *ask.Conversion, id shardify.ID) string {
	t := c.Opened.Args.Table
	if int64(id.Input) < int64(t.Len()) {
		return fmt.Sprintf("sample %d of %s", id.Sample, t.Path(int(id.Input)))
	}
	return fmt.Sprintf("sample %d", id.Sample)
}

// extend refuses a set whose groups are whole because all samples were looked at.
func extend(part *index.Part) error {
	group := part.Recipe["group-by"]
	if group == "" {
		return nil
	}
	x, err := splits.Parse(part.Recipe["split"])
	if err == nil && x.ByValue() || part.Recipe["split-from"] != "" {
		return shardify.Unsupported("--group-by %s with a split by values: groups of further inputs may be in other splits of the set: convert all inputs together", group)
	}
	return nil
}
