package csv

import (
	"context"
	"encoding/binary"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for CSV.
var Format = format.Input{
	Name: "csv", Words: []string{"tsv"},
	Help:      "CSV and TSV, also .gz and .zst: tables of numbers and texts, a line a sample",
	Sniff:     sniff,
	Companion: true,
	Options:   options,
	Open:      open,
}

const optCSV = "csv"

var options = []format.Option{{Name: optCSV, Idle: format.Always, Kind: format.KindString, Help: help, Settings: settingNames}, survey.Option, format.GroupedItems}

// source is many inputs as one table.
type source struct {
	*lines.Source
	fs       storage.FS
	settings *settings
	wanted   *columns.Wanted
	found    map[string]*surveyed // by path, while the inputs are surveyed
	columns  map[string]column    // by name, of all inputs
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table)}
	if s.settings, err = parseSettings(opts[optCSV]); err != nil {
		return nil, err
	}
	if s.wanted, err = columns.New(a.Columns); err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := s.survey(ctx, &a); err != nil {
			return nil, err
		}
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	set, err := survey.Open(ctx, a, survey.Format{Name: "CSV", Look: s.look, Key: "1\x00" + opts[optCSV]})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := s.settings.types.Unused(optCSV, set.Schema()); err != nil {
			return nil, err
		}
	}
	s.found = nil
	s.Source, err = lines.NewSource(set, s.settings.encoding, s.parser)
	return s, err
}

// want reports whether the cells of a column are to be looked at: it is wanted, and its type is
// not given.
func (s *source) want(name string) bool {
	given := s.settings.types.Of(format.PlainName(name))
	if given != nil {
		given.Use()
	}
	hit, _ := s.wanted.Match(name)
	return (hit || s.settings.wide != "") && given == nil
}

// survey looks at all inputs: a type is that of all cells in all of them.
func (s *source) survey(ctx context.Context, a *format.OpenArgs) error {
	all, err := lines.Each(ctx, a, func(ctx context.Context, name string, workers int) (*surveyed, error) {
		return s.surveyFile(ctx, name, filepath.Base(name), workers)
	})
	if err != nil {
		return err
	}
	s.found, s.columns = map[string]*surveyed{}, map[string]column{}
	sums := map[string]*sum{}
	var order []string
	for i, f := range all {
		x := f.At
		if f.Err != nil {
			x = &surveyed{err: f.Err}
		}
		s.found[a.Table.Path(i)] = x
		for c, name := range x.names {
			if x.read[c] {
				if sums[name] == nil {
					sums[name] = &sum{}
					order = append(order, name)
				}
				sums[name].add(&x.sums[c], a.Table, i)
			} else if g := s.settings.types.Of(name); g != nil {
				s.columns[name] = givenColumn(g)
			}
		}
	}
	for _, name := range order {
		x := sums[name]
		if inexact(x.seen) {
			err := s.inexact(name, x)
			if x.wide.File == x.float.File {
				err = shardify.Annotate(err, "open", x.wide.File, "")
			}
			return err
		}
		s.columns[name] = decide(x.seen)
	}
	return s.doubtful(order, sums)
}

// doubtful is the error about columns of numbers but for words such as NA: texts, or missing values.
func (s *source) doubtful(order []string, sums map[string]*sum) error {
	var first *sum
	var which string
	var words, types []string
	text := ":text"
	if s.settings.na != nil {
		text = ":text?"
	}
	for _, name := range order {
		if x := sums[name]; doubtful(x.seen) {
			if first == nil {
				first, which = x, name
			}
			words, types = append(words, x.words...), append(types, coltype.PatternOf(name)+text)
		}
	}
	if first == nil {
		return nil
	}
	slices.Sort(words)
	err := shardify.Mismatch("column %s has numbers and %s in line %d: a missing value, or a text?", which, first.word.Text, first.word.At)
	if n := len(types) - 1; n > 0 {
		err = shardify.Mismatch("column %s and %d more have numbers and words such as %s in line %d: missing values, or texts?", which, n, first.word.Text, first.word.At)
	}
	return shardify.Annotate(format.Cure(err,
		coltype.Setting(optCSV, s.settings.text, "na="+strings.Join(slices.Compact(words), ","), "numbers, and missing values"),
		coltype.Setting(optCSV, s.settings.text, "types="+strings.Join(types, ","), "texts")), "open", first.word.File, "")
}

// inexact is the error about a column of floats that do not have all of its whole numbers.
func (s *source) inexact(name string, x *sum) error {
	ways := coltype.TypeWays(optCSV, s.settings.text, coltype.PatternOf(name))
	if x.seen&seenFloat == 0 && s.settings.na == nil {
		ways = append(ways, coltype.Setting(optCSV, s.settings.text, "na=nan,NaN,NAN", "missing values for such cells"))
	}
	return coltype.Inexact(name, "line", x.wide, x.float, ways...)
}

// look gives package rows what the survey found.
func (s *source) look(ctx context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	x := s.found[name]
	if x == nil { // called again for all names
		var err error
		if x, err = s.surveyFile(ctx, name, path.Base(filepath.ToSlash(name)), 1); err != nil {
			return nil, err
		}
	}
	if x.err != nil {
		return nil, x.err
	}
	facts := &survey.Facts{Samples: x.index.Rows(), Size: x.size, Borders: x.index.Borders()}
	facts.Lines = x.describe()
	if s.settings.wide != "" {
		if hit, _ := want.Match(s.settings.wide); !hit {
			return facts, nil
		}
		return facts, s.wide(facts, x)
	}
	own := binary.AppendUvarint(nil, uint64(len(x.names)))
	for i, name := range x.names {
		if hit, _ := want.Match(x.raw[i]); !hit {
			continue
		}
		c, ok := s.columns[name]
		if !ok {
			c = decide(x.sums[i].seen)
		}
		if c.kind == voidKind {
			facts.Void = append(facts.Void, name)
			continue
		}
		f := survey.Field{Field: c.field(name)}
		if f.Bytes = x.sums[i].bytes; c.kind == textKind && !x.read[i] {
			f.Bytes = x.size / int64(len(x.names))
		}
		facts.Fields = append(facts.Fields, f)
		own = appendColumn(own, i, &c)
		if y := x.sums[i].text; c.kind == textKind && x.sums[i].seen&^(seenText|seenEmpty) != 0 && y.At > 0 {
			facts.Lines = append(facts.Lines, fmt.Sprintf("%s is text because of %s in line %d", name, y.Text, y.At))
		}
	}
	facts.Blob = x.index.Append(own)
	return facts, nil
}

// appendColumn encodes a column: the place of it in the file, kind, type, and whether cells may
// be missing.
func appendColumn(b []byte, at int, c *column) []byte {
	b = binary.AppendUvarint(b, uint64(at))
	nullable := byte(0)
	if c.nullable {
		nullable = 1
	}
	return append(b, byte(c.kind), byte(c.dtype), nullable)
}

// wide makes one field of all columns.
func (s *source) wide(facts *survey.Facts, x *surveyed) error {
	var all sum
	var one column
	for i, name := range x.names {
		c := s.columns[name]
		if c.kind == textKind {
			return shardify.Mismatch("--csv wide: column %s is text (%s in line %d)", name, x.sums[i].text.Text, x.sums[i].text.At)
		}
		if g := s.settings.types.Of(name); g != nil {
			if one.kind != skipKind && one != givenColumn(g) {
				return shardify.Misuse("--csv wide: its columns are given several types")
			}
			one = givenColumn(g)
		} else {
			all.add(&x.sums[i], nil, 0)
			all.seen |= seenOf(&c)
		}
	}
	if one.kind == skipKind {
		if one = decide(all.seen); inexact(all.seen) {
			if all.float.At == 0 {
				all.float.Text = "floats in other files"
			}
			return coltype.Inexact("*", "line", all.wide, all.float, coltype.TypeWays(optCSV, s.settings.text, "*")[1:]...)
		}
	} else if all.seen != 0 {
		return shardify.Misuse("--csv wide: a type is given for some of its columns alone")
	}
	if one.kind == textKind || one.kind == voidKind {
		return shardify.Mismatch("--csv wide: its columns have no type in common")
	}
	if one.nullable && one.kind != floatKind {
		return shardify.Mismatch("--csv wide: a missing %s has no place in a row of values; --csv types=*:f64? makes it NaN", one.dtype)
	}
	f := one.field(s.settings.wide)
	f.Nullable, f.Shape = false, []int{len(x.names)}
	f.Attrs = map[string]string{"labels": strings.Join(x.names, shardify.LabelSeparator)}
	facts.Fields = []survey.Field{{Field: f}}
	own := binary.AppendUvarint(nil, uint64(len(x.names)))
	own = appendColumn(own, len(x.names), &one)
	facts.Blob = x.index.Append(own)
	return nil
}

// seenOf is cells that a type is of.
func seenOf(c *column) seen {
	return [...]seen{0, seenBool, seenInt, seenBig, seenFloat, seenText, 0}[c.kind]
}

// describe says how a file is written.
func (x *surveyed) describe() []string {
	line := fmt.Sprintf("%d columns separated by %q", len(x.names), x.sep)
	if x.sep == ' ' {
		line = fmt.Sprintf("%d columns separated by blanks", len(x.names))
	}
	if x.quote != 0 {
		line += fmt.Sprintf(", quotes are %c", x.quote)
	} else {
		line += ", no quotes"
	}
	if x.header == "none" {
		line += ", no header"
	}
	if x.encoding != lines.UTF8 {
		line += ", " + x.encoding
	}
	return []string{line}
}

var errState = shardify.Corrupt(-1, "survey of the plan: columns")

// restore makes the sinks of columns that a plan has, and lists the columns.
func (x *parser) restore(own []byte) (columns []int, err error) {
	n := uint64(len(x.sinks))
	for len(own) > 0 {
		at, k := binary.Uvarint(own)
		if k <= 0 || at > n || len(own) < k+3 {
			return nil, errState
		}
		one := sink{kind: kind(own[k]), dtype: shardify.DType(own[k+1]), nullable: own[k+2] != 0}
		own = own[k+3:]
		c := column{kind: one.kind, dtype: one.dtype}
		if one.kind == skipKind || one.kind > lastKind || !c.sound() || at == n && one.kind == textKind {
			return nil, errState
		}
		if at < n {
			x.sinks[at] = one
		} else { // all columns are one field
			one.holes, x.wide = one.kind == floatKind, true
			for i := range x.sinks {
				x.sinks[i] = one
			}
		}
		columns = append(columns, int(at))
	}
	return columns, nil
}

// parser makes the parser of a file from what the plan has of it, which may be damaged.
func (s *source) parser(own []byte, in *set.Input, columns []shardify.Column) (lines.Parser, error) {
	n, k := binary.Uvarint(own)
	if k <= 0 || n == 0 || n > 1<<24 {
		return nil, errState
	}
	own = own[k:]
	d, err := s.settings.of(filepath.Base(in.Path()))
	if err != nil {
		return nil, err
	}
	x := &parser{scanner: scanner{dialect: d, columns: int(n)}, sinks: make([]sink, n)}
	fields, err := x.restore(own)
	if err != nil {
		return nil, err
	}
	x.texts = make([]lines.Collector, len(fields))
	for i := range columns {
		c, k := &columns[i], in.Field(i)
		if k < 0 {
			x.first = append(x.first, -1)
			continue
		}
		if k >= len(fields) {
			return nil, errState
		}
		at := fields[k]
		if x.wide {
			if len(fields) != 1 || c.DType != x.sinks[0].dtype || c.Elem() != int(n) || c.Levels != 0 {
				return nil, errState
			}
			x.first = append(x.first, 0)
			continue
		}
		one := &x.sinks[at]
		want := column{kind: one.kind, dtype: one.dtype}
		if f := want.field(c.Name); f.DType != c.DType || f.Levels != c.Levels || len(c.Shape) > 0 || one.nullable && !c.Nullable || one.name != "" {
			return nil, errState
		}
		one.name, one.text = c.Name, &x.texts[k]
		x.first = append(x.first, at)
	}
	if !x.wide {
		for i := range x.sinks {
			if x.sinks[i].name == "" {
				x.sinks[i] = sink{}
			}
		}
	}
	return x, nil
}

// sound reports whether values of a kind can be of the type.
func (c *column) sound() bool {
	switch c.kind {
	case boolKind:
		return c.dtype == shardify.Bool
	case intKind:
		return c.dtype >= shardify.I8 && c.dtype <= shardify.I64
	case uintKind:
		return c.dtype >= shardify.U8 && c.dtype <= shardify.U64
	case floatKind:
		return c.dtype == shardify.F32 || c.dtype == shardify.F64
	}
	return c.dtype == shardify.U8
}
