package xyz

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/readers/xyz/internal/frame"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for XYZ.
var Format = format.Input{
	Name: "xyz", Words: []string{"extxyz"},
	Help:    "atoms in XYZ and extended XYZ, also .gz and .zst: a frame is a sample",
	Sniff:   sniff,
	Options: options,
	Open:    open,
}

var options = []format.Option{format.NullItems, survey.Option}

// sniff takes texts whose first line is a number of atoms: others called .xyz are points.
func sniff(head []byte, name string) bool {
	name = strings.ToLower(name)
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	if !strings.HasSuffix(plain, ".xyz") && !strings.HasSuffix(plain, ".extxyz") {
		return false
	}
	if plain != name || len(head) == 0 {
		return true
	}
	line, _, _ := bytes.Cut(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), []byte{'\n'})
	_, ok := frame.Integer(bytes.TrimSpace(line))
	return ok
}

// source is many inputs as one table.
type source struct {
	*lines.Source
	fs    storage.FS
	fill  bool // NaN for arrays that frames lack
	shown func(i int) string
	made  *made.Text                        // nil: the files are texts
	found map[string]lines.Found[*surveyed] // by path, while the inputs are surveyed
	all   *seen
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) { return Open(ctx, a, nil) }

// Open opens frames; with text, those that are made of the records of other files. Their quoted values are texts.
func Open(ctx context.Context, a format.OpenArgs, text *made.Text) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), fill: format.FillsItems(opts), shown: a.Table.Shown, made: text}
	name, key := "XYZ", "1\x00"+opts[format.NullItems.Name]
	if text != nil {
		text.End = frame.End
		name, key = text.Name, key+"\x00frames\x00"+text.Key
	}
	if a.State == nil {
		if err := s.survey(ctx, &a); err != nil {
			return nil, err
		}
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: name, Look: s.look, Key: key})
	if err != nil {
		return nil, err
	}
	s.found, s.all = nil, nil
	if s.Source, err = lines.NewSource(all, lines.UTF8, s.parser); err == nil {
		s.Source.Made = text
	}
	return s, err
}

// Where the values of a field are.
const (
	ofKey     = "k" // in comment lines
	ofComment = "c" // comment lines are
	ofArray   = "a" // in columns of atoms
	ofZ       = "z" // made of species, or the column Z
)

// leaf is a value that becomes a field.
type leaf struct {
	Of       string         `json:"o"`
	Key      string         `json:"k,omitempty"` // as the file has it
	DType    shardify.DType `json:"t"`
	Text     bool           `json:"x,omitempty"`
	Shape    []int          `json:"s,omitempty"` // of a key
	Lists    int            `json:"l,omitempty"` // a vector whose length differs
	Count    int            `json:"c,omitempty"` // columns of an array
	Nullable bool           `json:"n,omitempty"`
	Name     string         `json:"f"`
}

func (g *gather) blob() []byte {
	b, _ := json.Marshal(g.leaves) // numbers and texts
	return b
}

// dtype is the type of a column's values.
func dtype(c *frame.Column) shardify.DType {
	return map[byte]shardify.DType{'R': shardify.F64, 'I': shardify.I64, 'L': shardify.Bool, 'S': shardify.U8}[c.Type]
}

// counter is the length that all arrays share.
const counter = "atoms"

func (l *leaf) field() shardify.Field {
	f := shardify.Field{Name: l.Name, DType: l.DType, Shape: l.Shape, Levels: l.Lists, Nullable: l.Nullable}
	if l.Of == ofArray || l.Of == ofZ {
		f.Levels, f.Counter = 1, counter
		if l.Count > 1 {
			f.Shape = []int{l.Count}
		}
	}
	if l.Text {
		f.Media = "txt"
		f.Levels++
	}
	if l.Of == ofZ {
		f.Attrs = map[string]string{"long_name": "atomic number"}
	}
	return f
}

var errState = shardify.Corrupt(-1, "survey of the plan: fields")

// parser makes the parser of a file from what the plan has of it, which may be damaged.
func (s *source) parser(own []byte, in *set.Input, columns []shardify.Column) (lines.Parser, error) {
	var leaves []leaf
	if json.Unmarshal(own, &leaves) != nil {
		return nil, errState
	}
	x := &parser{fill: s.fill, line: frame.Comment{Quoted: s.made != nil}, keys: map[string]*sink{}, arrays: map[string]*sink{}}
	for i := range columns {
		c, k := &columns[i], in.Field(i)
		if k < 0 {
			x.of = append(x.of, nil)
			continue
		}
		if k >= len(leaves) {
			return nil, errState
		}
		l := leaves[k]
		f := l.field()
		if f.DType != c.DType || f.Levels != c.Levels || f.Media != c.Media || f.Counter != c.Counter || l.Nullable && !c.Nullable || !slices.Equal(f.Shape, c.Shape) || !x.add(&l) {
			return nil, errState
		}
	}
	return x, nil
}
