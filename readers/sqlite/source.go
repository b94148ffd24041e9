package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for SQLite.
var Format = format.Input{
	Name: "sqlite", Words: []string{"sqlite3"},
	Help:    "SQLite databases: a table or view, FILE:TABLE; a row is a sample",
	Sniff:   sniff,
	Options: options,
	Open:    open,
	Outline: outline,
}

const (
	optObject = "object"
	optText   = "text"
	optTypes  = "sqlite"
)

var options = []format.Option{
	{Name: optObject, Idle: format.Always, Kind: format.KindString, Help: "what to read in a file that holds several things; also as FILE:OBJECT"},
	format.OptText,
	{Name: optTypes, Idle: format.Always, Kind: format.KindString, Default: "types=found",
		Help: "types of SQLite's columns: types=found, those of all values; types=declared, which is checked when samples are read; types=COLUMN:text|f64,... for some: numbers as texts, or rounded"},
	survey.Option,
	format.GroupedItems,
}

func sniff(head []byte, name string) bool {
	if len(head) > 0 {
		return strings.HasPrefix(string(head), magic)
	}
	return slices.Contains([]string{".db", ".sqlite", ".sqlite3", ".db3", ".gpkg"}, strings.ToLower(filepath.Ext(name)))
}

// settings are what the options say of types.
type settings struct {
	text     string // of --sqlite, except for types=found
	declared bool
	bytes    bool // texts are bytes
	used     *format.Used
	types    coltype.Givens
}

func parseSettings(opts format.Options) (*settings, error) {
	s := &settings{text: opts[optTypes], bytes: opts[optText] == "bytes"}
	value, ok := strings.CutPrefix(s.text, "types=")
	if !ok {
		return nil, shardify.Misuse("--%s %q: want types=found, types=declared or types=COLUMN:text|f64,...", optTypes, s.text)
	}
	if value == "found" {
		s.text = ""
	}
	for _, w := range strings.Split(strings.ReplaceAll(value, ",types=", ","), ",") {
		if w == "declared" || w == "found" {
			s.declared = w == "declared"
			continue
		}
		all, err := coltype.ParseGivens(optTypes, w, "text or f64", func(g *coltype.Given) bool {
			return !g.Nullable && (g.DType == shardify.Invalid || g.DType == shardify.F64)
		})
		if err != nil {
			return nil, err
		}
		s.types = append(s.types, all...)
	}
	return s, nil
}

// typeWays say how to give a column a type that has all numbers.
func (s *settings) typeWays(field string) []format.Way {
	return coltype.TypeWays(optTypes, s.text, coltype.PatternOf(field))
}

// source is many databases as one table. Views are runs.
type source struct {
	*set.Runs
	fs   storage.FS
	opts format.Options
	*settings
	jobs int
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), opts: opts, jobs: a.Jobs}
	if s.settings, err = parseSettings(opts); err != nil {
		return nil, err
	}
	s.used = a.Used
	if opts[optObject] == "" && s.text == "" && !s.bytes {
		if src, err := s.openAtoms(ctx, a, opts); src != nil || err != nil {
			return src, err
		}
	}
	if s.jobs <= 0 {
		s.jobs = runtime.GOMAXPROCS(0)
	}
	if a.Table != nil {
		s.jobs = max(s.jobs/max(a.Table.Len(), 1), 1)
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: "SQLite", Look: s.look, Key: strings.Join([]string{"2", opts[optObject], opts[optText], opts[optTypes]}, "\x00")})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := s.types.Unused(optTypes, all.Schema()); err != nil {
			return nil, err
		}
	}
	s.Runs, err = set.NewRuns(all, func(in *set.Input) (bool, error) {
		h, _, err := decodeState(in.Blob, in.Samples)
		return err == nil && h.View, err
	})
	return s, err
}

// outline lists the tables of a database.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	d, err := openDatabase(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, left, err := d.tables()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		t, err := d.table(n)
		if err != nil {
			return nil, err
		}
		kind := "table"
		if t.view {
			kind = "view"
		}
		out = append(out, fmt.Sprintf("%s  %s of %d columns", n, kind, len(t.columns)))
	}
	return append(out, left...), nil
}

// choose finds the table: the one that was asked for, the only one, or the one of the most rows.
func (s *source) choose(d *database) (name string, line string, err error) {
	names, _, err := d.tables()
	if err != nil {
		return "", "", err
	}
	if object := s.opts[optObject]; object != "" {
		for _, n := range names {
			if strings.EqualFold(n, object) {
				return n, "", nil
			}
		}
		return "", "", shardify.Misuse("there is no table %s; there is %s", object, strings.Join(names[:min(len(names), 20)], ", "))
	}
	if len(names) == 0 {
		return "", "", shardify.Unsupported("no tables")
	}
	var ways []format.Way
	var total int64
	for _, n := range names {
		t, err := d.table(n)
		if err != nil {
			return "", "", err
		}
		if t.view && len(names) > 1 {
			continue
		}
		w := format.Way{Options: format.Options{optObject: n}, Makes: "samples of " + n}
		var columns []string
		for _, c := range t.columns {
			columns = append(columns, c.name)
		}
		w.Kind = strings.Join(columns, "\x00")
		ways = append(ways, w)
	}
	for i := 0; len(ways) > 1 && i < len(ways); i++ {
		w := &ways[i]
		err := d.each("SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name = "+literal(w.Options[optObject]), func(r *sqlite.Stmt) error {
			w.Bytes = r.ColumnInt64(0)
			return nil
		})
		if err != nil {
			return "", "", err
		}
		total += w.Bytes
	}
	if len(ways) == 0 { // views alone
		for _, n := range names {
			ways = append(ways, format.Way{Options: format.Options{optObject: n}, Makes: "samples of " + n, Kind: "view"})
		}
	}
	w, err := format.Decide("tables", ways, total)
	if err != nil {
		return "", "", err
	}
	name = w.Options[optObject]
	if len(names) > 1 {
		line = fmt.Sprintf("table %s, the largest of %s; FILE:TABLE reads another", name, strings.Join(names[:min(len(names), 20)], ", "))
	}
	return name, line, nil
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	d, err := openDatabase(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	name, line, err := s.choose(d)
	if err != nil {
		return nil, err
	}
	t, err := d.table(name)
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Size: d.Size(), Borders: set.Borders{Inside: 1}}
	if line != "" {
		facts.Lines = []string{line}
	}
	wanted := func(name string) bool { hit, _ := want.Match(name); return hit }
	for _, x := range t.left {
		if wanted(x.Name) {
			facts.Left = append(facts.Left, x)
		}
	}
	v := scan{database: d, table: t}
	for _, c := range t.columns {
		if wanted(c.name) {
			v.columns = append(v.columns, c)
		}
	}
	if t.view {
		err = d.quickCheck("1")
	}
	if err == nil {
		err = v.look(ctx, s.declared, s.jobs)
	}
	if err != nil {
		return nil, err
	}
	h := &head{Table: name, View: t.view, Root: t.root, Index: t.index, Stored: t.stored}
	for i := range v.columns {
		c := &v.columns[i]
		place := field{At: c.at, Rowid: c.rowid}
		if place.Added, err = v.added(i); err != nil {
			return nil, err
		}
		if t.view {
			place.Name = c.name
		}
		f, ok, err := s.field(c, &v.all[i])
		if err != nil {
			return nil, err
		}
		if !ok {
			facts.Void = append(facts.Void, f.Name)
			continue
		}
		if place.Text = f.Media == "txt" && v.all[i].what&(seenInt|seenFloat) != 0; place.Text {
			v.all[i].bytes += d.Size() // digits take about as much
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: f, Bytes: v.all[i].bytes})
		h.Fields = append(h.Fields, place)
	}
	for _, p := range v.parts {
		facts.Samples += p.rows
		facts.Borders.At = append(facts.Borders.At, facts.Samples)
	}
	if facts.Blob, err = appendState(h, v.parts); err != nil {
		return nil, err
	}
	return facts, d.unchanged()
}

// Close implements shardify.Source.
func (s *source) Close() error { return nil }

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if err := s.CheckRun(run); err != nil {
		return nil, err
	}
	return &reader{s: s, run: run}, nil
}
