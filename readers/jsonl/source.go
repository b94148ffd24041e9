package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for JSON lines.
var Format = format.Input{
	Name: "jsonl", Words: []string{"ndjson", "json"},
	Help:      "JSON lines, JSON arrays and COCO, also .gz and .zst: an object is a sample",
	Sniff:     sniff,
	Reads:     reads,
	Companion: true,
	Options:   options,
	Open:      open,
	Outline:   outline,
}

const (
	optTypes  = "jsonl"
	optObject = "object"
)

var options = []format.Option{
	format.NullItems,
	{Name: optObject, Idle: format.Always, Kind: format.KindString, Quiet: true, Help: "what to read in a file that holds several things; also as FILE:OBJECT"},
	{Name: optTypes, Idle: format.Always, Kind: format.KindString, Quiet: true, Settings: []string{"types"}, Help: "types=COLUMN:text|f64,...: the type of numbers; patterns match, the first one counts. text: as they are written, among strings, too; f64: rounded"},
	lines.BadUTF8,
	survey.Option,
}

// settings are what --jsonl says.
type settings struct {
	text   string
	object string // the member of an object that is the table
	types  coltype.Givens
}

func parseSettings(text string) (*settings, error) {
	s := &settings{text: text}
	value, ok := strings.CutPrefix(text, "types=")
	if !ok && text != "" {
		return nil, shardify.Misuse("--%s %q: want types=COLUMN:text or types=COLUMN:f64", optTypes, text)
	}
	for ok { // types= again
		var list string
		list, value, ok = strings.Cut(value, ",types=")
		all, err := coltype.ParseGivens(optTypes, list, "text or f64", func(g *coltype.Given) bool {
			return !g.Nullable && (g.DType == shardify.Invalid || g.DType == shardify.F64)
		})
		if err != nil {
			return nil, err
		}
		s.types = append(s.types, all...)
	}
	return s, nil
}

// typeWays say how to give a field a type that has all numbers.
func (s *settings) typeWays(field string) []format.Way {
	return coltype.TypeWays(optTypes, s.text, coltype.PatternOf(field))
}

func tooManyNames(at string) error {
	return shardify.Hint(shardify.Unsupported("%smore than %d names in objects: are they data?", at, maxNames),
		"jq -c '{items: to_entries}' FILE.jsonl > NEW.jsonl makes a list of names and values of each line")
}

// reads takes arrays, whatever else is in a folder of .json files.
func reads(head []byte, name string) bool {
	return isJSON(name) && (len(head) == 0 || beginsWith(head) != '{' && sniff(head, name))
}

// beginsWith is the first byte of a text that is not blank.
func beginsWith(head []byte) byte {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 {
		return 0
	}
	return text[0]
}

func sniff(head []byte, name string) bool {
	if name == index.ManifestName { // of a set that other programs read
		return false
	}
	if isJSON(name) && len(head) > 0 { // by the name alone it may be part of a sample
		c := beginsWith(head)
		return c == '[' || c == '{' || !strings.HasSuffix(strings.ToLower(name), ".json")
	}
	name = strings.ToLower(name)
	for _, e := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, e)
	}
	ext := filepath.Ext(name)
	return ext == ".jsonl" || ext == ".ndjson"
}

// surveyed is what a look at all lines of a file found.
type surveyed struct {
	size  int64
	root  *node
	index *lines.Index
	array bool // the records are its items
	made  *made.Text
	left  []format.Leftover // other members of the object that has it
}

// record is what records are called.
func (x *surveyed) record() string {
	if x.made != nil {
		return x.made.Record
	}
	return (&lines.Piece{Items: x.array}).Record()
}

// source is many inputs as one table.
type source struct {
	*lines.Source
	fs storage.FS
	*settings
	fill  bool
	skip  bool                              // damaged lines are left out
	mend  bool                              // what is not UTF-8 is replaced
	made  *made.Text                        // nil: the files are texts
	found map[string]lines.Found[*surveyed] // by path, while the inputs are surveyed
	all   union
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) { return Open(ctx, a, nil) }

// Open opens JSON lines; with text, those that are made of the records of other files.
func Open(ctx context.Context, a format.OpenArgs, text *made.Text) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), fill: format.FillsItems(opts), skip: a.SkipDamaged && text == nil, mend: opts.Value(&lines.BadUTF8) == "replace", made: text}
	if s.settings, err = parseSettings(opts[optTypes]); err != nil {
		return nil, err
	}
	s.object = opts[optObject]
	if a.State == nil {
		if err := s.survey(ctx, &a); err != nil {
			return nil, err
		}
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	key := "1\x00" + opts[format.NullItems.Name]
	if s.text != "" {
		key += "\x00" + s.text
	}
	if s.mend {
		key += "\x00replace"
	}
	if s.object != "" {
		key += "\x00object " + s.object
	}
	name := "JSON lines"
	if text != nil {
		name, key = text.Name, key+"\x00made\x00"+text.Key
	}
	set, err := survey.Open(ctx, a, survey.Format{Name: name, Look: s.look, Key: key})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := s.types.Unused(optTypes, set.Schema()); err != nil {
			return nil, err
		}
	}
	s.found, s.all.root, s.all.gather = nil, nil, gather{}
	if s.Source, err = lines.NewSource(set, lines.UTF8, s.parser); err == nil {
		s.Source.Replace, s.Source.Items, s.Source.Made = s.mend, isArray, text
	}
	return s, err
}

// learner is one worker of a survey.
type learner struct {
	scanner
	root *node
	skip bool // damaged lines are left out
}

func newRoot() *node { return &node{first: 1 << 62, stamp: -1} }

func (s *source) surveyFile(ctx context.Context, path string, workers int) (*surveyed, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	has := &contents{}
	if s.made == nil {
		if has, err = s.contentsOf(ctx, f, path); err != nil {
			return nil, err
		}
	}
	learners := make([]learner, workers)
	for i := range learners {
		learners[i] = learner{scanner: scanner{learns: true, coco: has.coco() && s.object == "annotations", repair: s.mend, file: path}, root: newRoot(), skip: s.skip}
	}
	x := &surveyed{size: f.Size(), root: newRoot(), array: has.array != nil, made: s.made, left: has.left}
	x.index, err = lines.Survey{Workers: workers, Encoding: lines.UTF8, Array: has.array, Replace: s.mend, Made: s.made, Path: path, Work: func(w int, p *lines.Piece) (int64, error) { return learners[w].piece(p) }}.Run(ctx, f)
	if err != nil {
		return nil, err
	}
	if left := x.index.Left; len(left) > 0 && x.index.Rows() == 0 { // most likely its format is another
		return nil, left[0].Why
	}
	names := 0
	for i := range learners {
		x.root.merge(learners[i].root, 0, &names)
	}
	if names > maxNames {
		return nil, tooManyNames("")
	}
	x.root.sort()
	return x, nil
}

// piece looks at all lines of a piece.
func (l *learner) piece(p *lines.Piece) (records int64, err error) {
	cure := lines.Cure
	if l.skip {
		cure = ""
	}
	bad := p.Check(cure)
	if bad != nil && !l.skip {
		return 0, bad
	}
	l.p, l.b = p, p.Data
	counted := 0
	l.line = p.Line + 1
	for i := 0; ; records++ {
		if i = next(p, i); i < 0 {
			return records, nil
		}
		for ; counted < i; counted++ {
			if l.b[counted] == '\n' {
				l.line++
			}
		}
		from := i
		if l.skip {
			err = l.sound(i, bad != nil)
		}
		if err == nil {
			i, err = l.record(i, l.root)
		}
		if err != nil {
			if !l.skip || !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				return records, err
			}
			p.Leave(from, err)
			i, err = behind(l.b, from), nil
			records--
		}
		l.line++
		counted = i
	}
}

// sound is the error of a line that nothing is to be learned from.
func (l *learner) sound(i int, check bool) error {
	if check {
		if err := l.p.CheckRecord(i, behind(l.b, i), ""); err != nil {
			return err
		}
	}
	_, err := l.record(i, nil)
	return err
}

// behind is where the line after b[i] begins.
func behind(b []byte, i int) int { return i + bytes.IndexByte(b[i:], '\n') + 1 }

// survey looks at all inputs: the schema is the union of them.
func (s *source) survey(ctx context.Context, a *format.OpenArgs) error {
	all, err := lines.Each(ctx, a, s.surveyFile)
	if err != nil {
		return err
	}
	s.found = map[string]lines.Found[*surveyed]{}
	root, shift, names := newRoot(), int64(0), 0
	s.all.record = "line"
	for i, f := range all {
		s.found[a.Table.Path(i)] = f
		if x := f.At; f.Err == nil {
			if root.merge(x.root, shift, &names); names > maxNames {
				return shardify.Annotate(tooManyNames(""), "open", a.Table.Shown(i), "")
			}
			if x.array || x.made != nil {
				s.all.record = x.record()
			}
			shift += x.index.Off[len(x.index.Off)-1]
		}
	}
	root.sort()
	s.all.root = root
	return nil
}

// union is what is in all inputs.
type union struct {
	root   *node
	record string // what records are called

	mu     sync.Mutex
	want   *columns.Wanted // that the rest is for
	gather gather
	blob   []byte // as the plan keeps it
}

// union is what becomes of the tree of all inputs.
func (s *source) union(want *columns.Wanted) (*gather, []byte, error) {
	u := &s.all
	u.mu.Lock()
	defer u.mu.Unlock()
	var err error
	if u.want != want {
		u.gather = s.gather(u.root, u.record, want)
		u.blob, err = json.Marshal(u.gather.leaves)
		u.want = want
	}
	return &u.gather, u.blob, err
}

// gather is what becomes of a tree.
func (s *source) gather(root *node, record string, want *columns.Wanted) gather {
	g := gather{record: record, settings: s.settings, want: func(name string) bool { hit, _ := want.Match(name); return hit }}
	g.walk(root, nil, false, "", 0)
	return g
}

// look gives package rows what the survey found. The fields are those of all inputs.
func (s *source) look(ctx context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	x, err := s.found[name].At, s.found[name].Err
	if err != nil {
		return nil, err
	}
	own := s.gather(x.root, x.record(), want)
	if own.bad != nil {
		return nil, own.bad
	}
	all, blob, err := s.union(want)
	if err == nil {
		err = all.bad
	}
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: x.index.Rows(), Size: x.size, Borders: x.index.Borders(), Left: slices.Concat(x.left, all.left), Void: all.void, Skipped: x.index.Skipped()}
	if p := x.index.Pieces; p != nil {
		facts.Left, facts.Remark = append(facts.Left, p.Left...), p.Remark
	}
	bytes := map[string]int64{}
	for i := range own.leaves {
		bytes[own.leaves[i].name] = own.leaves[i].bytes
	}
	for i := range all.leaves {
		l := &all.leaves[i]
		facts.Fields = append(facts.Fields, survey.Field{Field: l.field(), Bytes: bytes[l.name]})
	}
	if x.array {
		blob = append([]byte{'i'}, blob...)
	}
	facts.Blob = x.index.Append(blob)
	return facts, nil
}

var errState = shardify.Corrupt(-1, "survey of the plan: fields")

// isArray reports whether the records of a file are the items of an array.
func isArray(own []byte) bool { return len(own) > 0 && own[0] == 'i' }

// parser makes the parser of a file from what the plan has of it, which may be damaged.
func (s *source) parser(own []byte, in *set.Input, columns []shardify.Column) (lines.Parser, error) {
	var leaves []leaf
	if isArray(own) {
		own = own[1:]
	}
	if json.Unmarshal(own, &leaves) != nil {
		return nil, errState
	}
	x := &parser{scanner: scanner{fill: s.fill, repair: s.mend}}
	x.root.stamp = -1
	for i := range columns {
		c, k := &columns[i], in.Field(i)
		if k < 0 {
			x.of = append(x.of, -1)
			continue
		}
		if k >= len(leaves) {
			return nil, errState
		}
		l := leaves[k]
		l.name = c.Name
		if f := l.field(); f.DType != c.DType || f.Levels != c.Levels || f.Media != c.Media || f.Levels > 2 || l.Nullable && !c.Nullable || !slices.Equal(f.Shape, c.Shape) {
			return nil, errState
		}
		sink := &sink{leaf: l, dtype: l.DType, class: number}
		switch {
		case l.Text:
			sink.class = text
		case l.DType == shardify.Bool:
			sink.class = boolean
		case l.DType != shardify.F64 && l.DType != shardify.F32 && l.DType != shardify.I64 && l.DType != shardify.U64:
			return nil, errState
		}
		if l.Shape != nil {
			sink.fixed = 1
			for _, n := range l.Shape {
				if n <= 0 || n > maxFixed/sink.fixed || l.Lists == 0 || l.Text {
					return nil, errState
				}
				sink.fixed *= n
			}
		}
		if sink.Text != (l.DType == shardify.U8) || !x.root.place(sink) {
			return nil, errState
		}
		x.of = append(x.of, len(x.sinks))
		x.sinks = append(x.sinks, sink)
	}
	return x, nil
}

// place makes the nodes on the way to a leaf; false if the ways of leaves contradict each other.
func (n *node) place(k *sink) bool {
	for at, step := range k.Path {
		if step == "" || n.sink != nil || at > 2*maxDepth {
			return false
		}
		items := step[0] == 'l'
		if items && n.parent == nil {
			return false
		}
		if items {
			n.leaves = append(n.leaves, k)
		}
		c := n.of
		if !items {
			c = nil
			for _, x := range n.children {
				if x.name == step[1:] {
					c = x
				}
			}
		}
		if c == nil {
			c = n.add(step[1:], items, 0)
		}
		if k.Mask && at == 0 {
			c.rule = ruleMask
		}
		n = c
	}
	if n.parent == nil || n.sink != nil || len(n.children) > 0 || n.of != nil || n.lists != k.Lists {
		return false
	}
	n.sink = k
	return true
}
