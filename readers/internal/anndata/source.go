package anndata

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// source implements shardify.Source.
type source struct {
	*set.Table[*input]
	fs    storage.FS
	c     *Container
	genes genes
	used  *format.Used
	once  []string            // columns of genes that are stored once
	one   map[string][]string // tables of categories by field, where inputs have one

	mu     sync.Mutex
	spools map[place]*spool
	store  storage.Store // of scratch files
}

// input is an open input.
type input struct {
	Tree
	model *model
	by    []int32 // where the columns of genes go; nil: they stay
}

// mark begins a state of AnnData.
const mark = "\x01AnnData"

// Open opens inputs the first of which is an AnnData. o are the options of the format. A plan's state of
// other inputs gives neither a source nor an error.
func Open(ctx context.Context, a format.OpenArgs, c *Container, o format.Options) (shardify.Source, error) {
	if a.State != nil && !bytes.HasPrefix(a.State, []byte(mark)) {
		return nil, nil
	}
	c.transpose, c.union = o["csc"] == "transpose", o["categories"] == "union"
	s := &source{fs: storages.Of(a.Table), c: c, used: a.Used, store: a.Scratch}
	s.genes.how, s.genes.drop, s.genes.add = o["genes"], o["gene-versions"] == "drop", o["gene-duplicates"] == "add"
	if s.genes.how == "" && (s.genes.drop || s.genes.add) {
		return nil, shardify.Misuse("--gene-versions and --gene-duplicates go with --genes, which finds genes by name")
	}
	key := fmt.Sprintf("AnnData 1 %s objects=%q genes=%q %v %v %v %v", c.Key, c.Objects, s.genes.how, s.genes.drop, s.genes.add, c.transpose, c.union)
	if a.State != nil {
		if err := s.restore(&a); err != nil {
			return nil, err
		}
	} else if err := s.decide(ctx, &a); err != nil {
		return nil, err
	}
	a.Options = format.Options{survey.Option.Name: o[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: c.Name, Look: s.look, Key: key})
	if err != nil && !c.union && errors.Is(err, shardify.ErrSchema) && strings.Contains(err.Error(), "differs in labels") {
		err = fmt.Errorf("%w; --categories union makes one table of the names", err)
	}
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, s.openInput, func() shardify.Reader { return set.NewReader(s.Table, &reader{src: s}) })
	return s, nil
}

// decided is what the plan has of all inputs together.
type decided struct {
	Genes      []string            `json:"genes"`
	Categories map[string][]string `json:"categories,omitempty"`
}

// restore takes the genes and categories from a plan's state.
func (s *source) restore(a *format.OpenArgs) error {
	bad := shardify.Corrupt(-1, "the survey of AnnData in the plan")
	var known decided
	rest := a.State[len(mark):]
	n, w := binary.Uvarint(rest)
	if w <= 0 || n > uint64(len(rest)-w) || json.Unmarshal(rest[w:w+int(n)], &known) != nil {
		return bad
	}
	s.genes.want, s.one = known.Genes, known.Categories
	a.State = rest[w+int(n):]
	return nil
}

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	b, err := s.Set.State()
	if err != nil {
		return nil, err
	}
	known := decided{Categories: s.one}
	if s.genes.byName() {
		known.Genes = s.genes.want
	}
	text, err := json.Marshal(known)
	return append(append(binary.AppendUvarint([]byte(mark), uint64(len(text))), text...), b...), err
}

// look surveys one input.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	t, err := s.tree(ctx, path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	facts := &survey.Facts{Size: t.Size()}
	m, err := build(ctx, t, s.c, s.used)
	if err != nil {
		return nil, err
	}
	if m.known {
		s.used.Mark("genes")
	}
	by, err := s.genes.fit(m)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(s.genes.apply(m, by), s.recode(m)); err != nil {
		return nil, err
	}
	facts.Samples = m.rows
	var known blob
	var spooled []*matrix
	for i := range m.fields {
		f := &m.fields[i]
		hit, exact := want.Match(append([]string{f.Name, "/" + f.Name}, f.also...)...)
		switch {
		case !hit:
		case f.kind != refused:
			facts.Fields = append(facts.Fields, survey.Field{Field: f.Field, Bytes: f.bytes})
			known.Names = append(known.Names, f.Name)
			if x := f.matrix; x != nil && x.entries != nil && !slices.Contains(spooled, x) {
				spooled, known.Scratch = append(spooled, x), known.Scratch+spoolBytes(x.stored, x.value.Size())
			}
		case errors.Is(f.err, shardify.ErrCorrupt):
			facts.Damaged = append(facts.Damaged, survey.Damage{Object: f.Name, Err: f.err})
		default:
			_ = exact
			return nil, shardify.Annotate(f.err, "", "", f.Name)
		}
	}
	for _, l := range m.left {
		if hit, exact := want.Match(l.Name, "/"+l.Name); exact && l.Unreadable {
			return nil, shardify.Annotate(shardify.Unsupported("%s", l.Reason), "", "", l.Name)
		} else if hit {
			facts.Left = append(facts.Left, l)
		}
	}
	facts.Lines = m.describe()
	facts.Borders = m.borders()
	facts.Blob, err = json.Marshal(known)
	return facts, err
}

// What is decoded together is at most slabBytes; readers keep about keepBytes from span to span.
const (
	slabBytes   = 512 << 20
	keepBytes   = 8 << 20
	joinedBytes = 16 << 20
)

// describe says what an input holds.
func (m *model) describe() []string {
	what := m.layout
	if _, ok := m.tree.(Lister); ok {
		what = tenx
	}
	out := []string{fmt.Sprintf("samples are %s: %s of %s", what, printable.Of(m.rows, "cell"), printable.Of(int64(len(m.genes)), "gene"))}
	for i := range m.fields {
		f := &m.fields[i]
		if x := f.matrix; x != nil && f.kind == data {
			line := fmt.Sprintf("/%s: a sparse matrix by rows: %d rows, %d columns, %d values", x.path, x.rows, x.columns, x.stored)
			if x.entries != nil {
				line = fmt.Sprintf("/%s: a sparse matrix whose rows come together in %s of scratch files: %d rows, %d columns, %d values", x.path, shardify.FormatSize(spoolBytes(x.stored, x.value.Size())), x.rows, x.columns, x.stored)
			}
			if x.rows > 0 && x.columns > 0 {
				line += fmt.Sprintf(" (%.0f%%)", 100*float64(x.stored)/float64(x.rows)/float64(x.columns))
			}
			out = append(out, line)
		}
	}
	return out
}

// openInput implements the open of handles.
func (s *source) openInput(ctx context.Context, f storage.File, in *set.Input) (*input, error) {
	t, err := s.c.Open(ctx, in.Path(), f)
	if err != nil {
		return nil, err
	}
	x := &input{Tree: t}
	if x.model, err = build(ctx, t, s.c, s.used); err == nil && x.model.rows != in.Samples {
		err = errChanged
	}
	if err == nil && s.genes.byName() {
		if x.by, err = s.genes.fit(x.model); err == nil {
			err = s.genes.apply(x.model, x.by)
		}
	}
	if err == nil {
		err = s.recode(x.model)
	}
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return x, nil
}

var errChanged = fmt.Errorf("%w: other cells or fields than at the survey", shardify.ErrChanged)
