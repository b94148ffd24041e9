package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for plain text.
var Format = format.Input{
	Name: "text", Words: []string{"txt"},
	Help:    "plain text, also .gz and .zst: a line, a paragraph or a file is a sample (--text-docs)",
	Sniff:   sniff,
	Asked:   true,
	Options: options,
	Open:    open,
}

// Field is the name of the one field.
const Field = "text"

const optDocs = "text-docs"

var options = []format.Option{
	{Name: optDocs, Idle: format.Always, Kind: format.KindString, Help: "what of a text is a sample: line, paragraph (between blank lines), file, or separator=LINE (between such lines)"},
	lines.BadUTF8,
}

// extensions are those that texts have; files of others are named one by one, or by a pattern.
var extensions = []string{".txt", ".text", ".md", ".rst", ".tex", ".raw", ".tokens", ".train", ".dev", ".test"}

func sniff(_ []byte, name string) bool {
	name = strings.ToLower(name)
	for _, e := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, e)
	}
	return slices.Contains(extensions, path.Ext(name))
}

// source is many inputs as one table.
type source struct {
	*lines.Source
	fs   storage.FS
	docs docs
	skip bool // damaged documents are left out
	mend bool // what is not UTF-8 is replaced

	found map[string]lines.Found[*surveyed] // by path, while the inputs are surveyed
}

// surveyed is what a look at all documents of a file found.
type surveyed struct {
	size  int64 // of the file
	bytes int64 // of all documents
	index *lines.Index
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), skip: a.SkipDamaged, mend: opts.Value(&lines.BadUTF8) == "replace"}
	if s.docs, err = parseDocs(opts[optDocs]); err != nil {
		return nil, err
	}
	f := survey.Format{Name: "text", Look: s.look, Key: "1\x00" + opts[optDocs]}
	if s.mend {
		f.Key += "\x00replace"
	}
	a.Options = format.Options{survey.Option.Name: survey.Option.Default}
	if s.docs.kind == docFile {
		f.Look = s.lookWhole
		all, err := survey.Open(ctx, a, f)
		if err != nil {
			return nil, err
		}
		return newWhole(all, s.mend), nil
	}
	if a.State == nil {
		all, err := lines.Each(ctx, &a, s.survey)
		if err != nil {
			return nil, err
		}
		s.found = map[string]lines.Found[*surveyed]{}
		for i, x := range all {
			s.found[a.Table.Path(i)] = x
		}
	}
	all, err := survey.Open(ctx, a, f)
	if err != nil {
		return nil, err
	}
	s.found = nil
	if s.Source, err = lines.NewSource(all, lines.UTF8, s.parser); err == nil {
		s.Source.Replace = s.mend
	}
	return s, err
}

func field() shardify.Field {
	return shardify.Field{Name: Field, DType: shardify.U8, Levels: 1, Media: "txt"}
}

// factsOf are those about a file of size that has texts of so many bytes.
func factsOf(want *columns.Wanted, size, samples, bytes int64) *survey.Facts {
	out := &survey.Facts{Samples: samples, Size: size}
	if hit, _ := want.Match(Field); hit {
		out.Fields = []survey.Field{{Field: field(), Bytes: bytes}}
	}
	return out
}

// learner is one worker of a survey.
type learner struct {
	*source
	bytes int64
	repaired
}

func (s *source) survey(ctx context.Context, name string, workers int) (*surveyed, error) {
	f, err := rows.OpenFile(ctx, s.fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	learners := make([]learner, workers)
	for i := range learners {
		learners[i].source = s
	}
	x := &surveyed{size: f.Size()}
	x.index, err = lines.Survey{Workers: workers, Encoding: lines.UTF8, End: s.docs.end, Replace: s.mend, Work: func(w int, p *lines.Piece) (int64, error) { return learners[w].piece(p) }}.Run(ctx, f)
	if err != nil {
		return nil, err
	}
	if left := x.index.Left; len(left) > 0 && x.index.Rows() == 0 { // most likely it is no text
		return nil, damaged(left[0].Why)
	}
	for i := range learners {
		x.bytes += learners[i].bytes
	}
	return x, nil
}

// look gives package rows what the survey found.
func (s *source) look(_ context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	x, err := s.found[name].At, s.found[name].Err
	if err != nil {
		return nil, err
	}
	out := factsOf(want, x.size, x.index.Rows(), x.bytes)
	out.Borders, out.Blob, out.Skipped = x.index.Borders(), x.index.Append(nil), x.index.Skipped()
	return out, nil
}

// damaged makes an error about a text one that --on-error skip leaves out.
func damaged(err error) error {
	if errors.Is(err, shardify.ErrCorrupt) {
		return err
	}
	return shardify.Amend(err, func(e *shardify.Error) { e.Err = fmt.Errorf("%w: %w", e.Err, shardify.ErrCorrupt) })
}

// piece looks at all documents of a piece.
func (l *learner) piece(p *lines.Piece) (n int64, err error) {
	bad := l.check(p, 0, len(p.Data))
	if bad != nil && !l.skip {
		return 0, bad
	}
	for i := 0; ; n++ {
		lo, hi, after := l.docs.next(p.Data, i)
		if lo < 0 {
			return n, nil
		}
		if i = after; bad != nil {
			if err := l.check(p, lo, hi); err != nil {
				p.Leave(lo, err)
				n--
				continue
			}
		}
		doc, _ := l.repaired.of(p, lo, hi)
		l.bytes += int64(len(doc))
	}
}

// check refuses what is no text, unless it is to be replaced.
func (s *source) check(p *lines.Piece, lo, hi int) error {
	switch {
	case s.mend:
		return nil
	case s.skip:
		return p.CheckRecord(lo, hi, "")
	}
	return p.CheckRecord(lo, hi, lines.Cure)
}

// repaired holds a document that is not UTF-8.
type repaired []byte

// of is the document Data[lo:hi] with U+FFFD in the place of what is not UTF-8, and how many.
func (m *repaired) of(p *lines.Piece, lo, hi int) (doc []byte, n int64) {
	if !p.Dirty {
		return p.Data[lo:hi], 0
	}
	*m, n = lines.Valid((*m)[:0], p.Data[lo:hi])
	return *m, n
}

var errState = shardify.Corrupt(-1, "survey of the plan: fields")

// parser makes the parser of a file from what the plan has of it, which may be damaged.
func (s *source) parser(own []byte, _ *set.Input, columns []shardify.Column) (lines.Parser, error) {
	if len(own) > 0 || !isText(columns) {
		return nil, errState
	}
	return &parser{docs: s.docs}, nil
}

// isText reports whether the schema is that of texts.
func isText(columns []shardify.Column) bool {
	want := field()
	return len(columns) == 1 && columns[0].Name == Field && columns[0].DType == want.DType && columns[0].Levels == want.Levels && columns[0].Media == want.Media && len(columns[0].Shape) == 0
}

// parser is a lines.Parser.
type parser struct {
	docs
	texts    lines.Collector
	replaced int64
	repaired
}

// Held implements lines.Parser.
func (x *parser) Held() int64 { return x.texts.Held() + int64(cap(x.repaired)) }

// Begin implements lines.Parser.
func (x *parser) Begin(*shardify.Batch, *shardify.Arena) error {
	x.texts.Reset()
	x.replaced = 0
	return nil
}

// Parse implements lines.Parser.
func (x *parser) Parse(p *lines.Piece, skip, take int64, last bool) error {
	i := 0
	for n := int64(0); n < skip+take || last; {
		lo, hi, after := x.docs.next(p.Data, i)
		if lo < 0 {
			if n < skip+take {
				return lines.Changed(p)
			}
			return nil
		}
		if i = after; p.Left(lo) {
			continue
		}
		if n == skip+take {
			return lines.Changed(p)
		}
		if n++; n <= skip {
			continue
		}
		doc, replaced := x.repaired.of(p, lo, hi)
		x.texts.Data = append(x.texts.Data, doc...)
		x.texts.End()
		x.replaced += replaced
	}
	return nil
}

// End implements lines.Parser.
func (x *parser) End(b *shardify.Batch, mem *shardify.Arena) error {
	c := &b.Columns[0]
	data, ends := x.texts.Move(mem)
	c.Data, c.Offsets = data, [][]int64{ends}
	countReplaced(b, x.replaced)
	return rows.CheckText(c, 0)
}

// countReplaced notes how much was replaced.
func countReplaced(b *shardify.Batch, replaced int64) {
	if replaced > 0 {
		b.Counts = append(b.Counts, shardify.Count{Name: lines.Replaced(Field), N: replaced})
	}
}

// number reads a number of a plan.
func number(b []byte) (n int64, rest []byte, ok bool) {
	v, k := binary.Uvarint(b)
	if k <= 0 || v > 1<<50 {
		return 0, nil, false
	}
	return int64(v), b[k:], true
}
