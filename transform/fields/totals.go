package fields

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// total is a sum over another table of the inputs, such as sum(Runs:genEventSumw), which --set
// takes for a value. Its result is written after it: sum(Runs:genEventSumw)=812.5.
type total struct{ Object, Field string }

var totalText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sum\(\s*(.+?)\s*:\s*([^:]+?)\s*\)(?:=(.+))?$`) })

// parseTotal reports whether a value is a total, and its result, "" if that is not known.
func parseTotal(value string) (t total, found string, ok bool) {
	m := totalText().FindStringSubmatch(value)
	if m == nil {
		return t, "", false
	}
	return total{m[1], m[2]}, m[3], true
}

// String is the total as it is written.
func (t total) String() string { return "sum(" + t.Object + ":" + t.Field + ")" }

// inputSum is the sum over the table of one input: an integer, or a float.
type inputSum struct {
	Int   int64
	Float float64
	IsInt bool
}

// HasTotals reports whether a value of --set asks for a sum over another table of the inputs.
func HasTotals(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if _, _, r, err := parseSet(line); err == nil && r.total != nil {
			return true
		}
	}
	return false
}

// Totals completes the lines of --set by sums over other tables of the inputs.
type Totals struct {
	src   format.Input
	table *format.Table
	pool  *shardify.Pool
	jobs  int
	known map[total][]inputSum
}

// NewTotals is for inputs of a table in a format.
func NewTotals(src format.Input, table *format.Table, pool *shardify.Pool, jobs int) *Totals {
	return &Totals{src: src, table: table, pool: pool, jobs: jobs, known: map[total][]inputSum{}}
}

// Complete completes the lines for one field. The sum of a line goes over all inputs that the
// line takes, in their order.
func (a *Totals) Complete(ctx context.Context, text string) (string, error) {
	if !HasTotals(text) {
		return text, nil
	}
	table := a.table
	lines := strings.Split(text, "\n")
	rules := make([]setRule, len(lines))
	globs := make([]string, len(lines))
	for i, line := range lines {
		var err error
		if _, _, rules[i], err = parseSet(line); err != nil {
			return "", op.FlagError("set", line, err)
		}
		globs[i] = rules[i].glob
	}
	if table == nil || table.Len() == 0 {
		return "", op.FlagError("set", text, errors.New("a sum over another table needs files that are planned at once"))
	}
	in, err := op.ByGlobs(table, globs, true)
	if err != nil {
		return "", op.FlagError("set", text, err)
	}
	for i := range rules {
		t := rules[i].total
		if t == nil || rules[i].value != "" {
			continue
		}
		each, err := a.sums(ctx, *t)
		if err == nil {
			var v string
			if v, err = totalOf(each, in, i); err == nil {
				at := strings.Index(lines[i], rules[i].written) + len(rules[i].written)
				lines[i] = lines[i][:at] + "=" + v + lines[i][at:]
			}
		}
		if err != nil {
			return "", op.FlagError("set", lines[i], err)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// totalOf adds the sums of the inputs of one rule.
func totalOf(each []inputSum, in op.Runs, rule int) (string, error) {
	n, f, isInt := int64(0), 0.0, true
	for i, s := range each {
		if in.Rule(uint32(i)) != rule {
			continue
		}
		isInt = isInt && s.IsInt
		f += s.Float
		if s.IsInt {
			if n+s.Int > n != (s.Int > 0) && s.Int != 0 {
				return "", errors.New("the sum leaves the range of i64")
			}
			n += s.Int
			f += float64(s.Int)
		}
	}
	if isInt {
		return strconv.FormatInt(n, 10), nil
	}
	v := strconv.FormatFloat(f, 'g', -1, 64)
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		v += ".0" // a float stays one
	}
	return v, nil
}

// noTotal is the error about a total that was not completed.
func noTotal(t *total) error { return fmt.Errorf("%s is not known yet", t) }

// sumSpan is how many bytes of another table are read at a time.
const sumSpan = 4 << 20

// sums adds up a field of another table, for each input.
func (a *Totals) sums(ctx context.Context, t total) ([]inputSum, error) {
	if s := a.known[t]; s != nil {
		return s, nil
	}
	if !slices.ContainsFunc(a.src.Options, func(o format.Option) bool { return o.Name == "object" }) {
		return nil, shardify.Misused(fmt.Errorf("%s: %s inputs have no tables beside their samples", t, a.src.Name))
	}
	source, err := a.src.Open(ctx, format.OpenArgs{Table: a.table, Columns: []string{t.Field}, Options: format.Options{"object": t.Object}, Jobs: a.jobs})
	if err != nil {
		return nil, err
	}
	defer source.Close()
	sums, err := addUp(ctx, source, a.pool, a.table.Len())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	a.known[t] = sums
	return sums, nil
}

// addUp adds the values of the only field of a source, input by input.
func addUp(ctx context.Context, source shardify.Source, pool *shardify.Pool, inputs int) ([]inputSum, error) {
	fields := source.Schema()
	if len(fields) != 1 {
		return nil, fmt.Errorf("want one field, not %d", len(fields))
	}
	if f := &fields[0]; f.Levels > 0 || f.Elem() != 1 || f.Media != "" {
		return nil, fmt.Errorf("%s is not one number an entry", f.Name)
	}
	e, err := expr.Parse(expr.Quote(fields[0].Name))
	if err != nil {
		return nil, err
	}
	values, err := e.Bind(fields, nil) // as i64 or f64
	if err != nil {
		return nil, err
	}
	sums := make([]inputSum, inputs)
	for i := range sums {
		sums[i].IsInt = !fields[0].DType.IsFloat()
	}
	var r runReader
	defer r.Close()
	for sp, err := range source.Spans(ctx, sumSpan) {
		if err == nil {
			err = r.add(ctx, source, sp, pool, values, &sums[sp.Input])
		}
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// runReader is the reader of the run that was read last.
type runReader struct {
	shardify.Reader
	run uint32
}

// Close closes it, if there is one.
func (r *runReader) Close() {
	if r.Reader != nil {
		r.Reader.Close()
	}
}

// add reads a span and adds its values.
func (r *runReader) add(ctx context.Context, source shardify.Source, sp shardify.Span, pool *shardify.Pool, values *expr.Program, sum *inputSum) error {
	if r.Reader == nil || r.run != sp.Run {
		r.Close()
		var err error
		if r.Reader, err = source.Reader(sp.Run); err != nil {
			r.Reader = nil
			return err
		}
		r.run = sp.Run
	}
	mem, err := pool.Grant(ctx, sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := r.Read(ctx, sp, mem)
	if err != nil {
		return err
	}
	c, err := values.Column(b, "", mem)
	if err == nil && slices.Contains(c.Valid, 0) {
		err = errors.New("a value is missing")
	}
	if err != nil {
		return err
	}
	return sum.addColumn(&c)
}

// addColumn adds the values of a column in their order.
func (s *inputSum) addColumn(c *shardify.Column) error {
	switch c.DType {
	case shardify.Bool:
		for _, x := range c.Data {
			s.Int += int64(x)
		}
	case shardify.I64:
		for _, x := range shardify.View[int64](c.Data) {
			if n := s.Int + x; (n > s.Int) == (x > 0) || x == 0 {
				s.Int = n
				continue
			}
			return errors.New("the sum leaves the range of i64")
		}
	default:
		for _, x := range shardify.View[float64](c.Data) {
			s.Float += x
		}
	}
	return nil
}
