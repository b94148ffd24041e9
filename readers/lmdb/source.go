package lmdb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/readers/lmdb/entries"
	"github.com/shardify/shardify/readers/lmdb/mdb"
	"github.com/shardify/shardify/readers/lmdb/values"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/readers/xyz"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for LMDB.
var Format = format.Input{
	Name: "lmdb", Words: []string{"aselmdb"},
	Help:    "LMDB databases, a file or a folder with data.mdb; FILE:NAME is a named one; an entry is a sample",
	Sniff:   sniff,
	Roots:   []string{"data.mdb"},
	StandIn: standIn,
	Options: options,
	Open:    open,
	Outline: outline,
}

const (
	optObject = "object"
	optType   = "value-type"
)

var options = []format.Option{
	{Name: optObject, Idle: format.Always, Kind: format.KindString, Quiet: true, Help: "what to read in a file that holds several things; also as FILE:OBJECT"},
	{Name: optType, Idle: format.Always, Kind: format.KindString, Quiet: true,
		Help: "what the values of LMDB are, where their bytes do not say it: f32[6], f32[] (any number), text, bytes, image"},
	format.GroupedItems,
	survey.Option,
}

func sniff(head []byte, name string) bool {
	name = strings.ToLower(name)
	return mdb.Is(head) || strings.HasSuffix(name, ".lmdb") || strings.HasSuffix(name, ".aselmdb") || name == "data.mdb"
}

// standIn is the database that a lock belongs to.
func standIn(base string) string {
	if base == "lock.mdb" {
		return "data.mdb"
	}
	name, ok := strings.CutSuffix(base, "-lock")
	if ext := strings.ToLower(filepath.Ext(name)); ok && (ext == ".lmdb" || ext == ".aselmdb" || ext == ".mdb") {
		return name
	}
	return ""
}

// source is many databases as one table.
type source struct {
	*set.Table[*open1]
	fs    storage.FS
	name  string // of the named database that is asked for
	asked *values.Kind
	kinds []*values.Kind // by part; nil until there was an entry
	parts []entries.Part
}

// open1 is an open file.
type open1 struct {
	storage.File
	db   *mdb.File
	plan *entries.Plan
	own  []leaf
}

// Unwrap is the file below.
func (o *open1) Unwrap() any { return o.File }

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), name: opts[optObject]}
	if opts[optType] != "" {
		if s.asked, err = values.Parse(opts[optType]); err != nil {
			return nil, err
		}
	}
	key := "1\x00" + opts[optObject] + "\x00" + opts[optType]
	text := &made.Text{Name: "LMDB", Record: "entry", Key: key, Look: s.lookText, Open: s.openText}
	inner := format.Options{survey.Option.Name: opts[survey.Option.Name], format.NullItems.Name: cmp.Or(opts[format.NullItems.Name], "fail")}
	as := func(read func(context.Context, format.OpenArgs, *made.Text) (shardify.Source, error)) (shardify.Source, error) {
		b := a
		b.Options = inner
		return read(ctx, b, text)
	}
	own := func() (shardify.Source, error) {
		b := a
		b.Options = format.Options{survey.Option.Name: inner[survey.Option.Name]}
		all, err := survey.Open(ctx, b, survey.Format{Name: "LMDB", Look: s.look, Key: key})
		if err != nil {
			return nil, err
		}
		s.Table = set.NewTable(all, s.openFile, func() shardify.Reader { return set.NewReader(s.Table, &worker{}) })
		return s, nil
	}
	if a.State != nil { // which package made it, its key says
		src, err := own()
		for _, read := range []func(context.Context, format.OpenArgs, *made.Text) (shardify.Source, error){jsonl.Open, xyz.Open} {
			if err != nil {
				if other, e := as(read); e == nil {
					return other, nil
				}
			}
		}
		return src, err
	}
	if err := s.learn(ctx, &a); err != nil {
		return nil, err
	}
	switch is := s.first(); {
	case is == values.Atoms:
		return as(xyz.Open)
	case s.text():
		return as(jsonl.Open)
	}
	return own()
}

// first is what the values are, of one part.
func (s *source) first() string {
	if len(s.kinds) != 1 {
		return ""
	}
	return s.kinds[0].Is
}

// text reports whether the values become lines.
func (s *source) text() bool {
	return slices.Contains([]string{values.JSON, values.Msgpack}, s.first())
}

// most is how many entries say what all are.
const most = 16

// learn finds out what the values are, by the first ones of the first input that has any.
func (s *source) learn(ctx context.Context, a *format.OpenArgs) error {
	for i := range a.Table.Len() {
		err := s.learnFrom(ctx, a.Table.Path(i), a.SkipDamaged)
		if err != nil && a.SkipDamaged && errors.Is(err, shardify.ErrCorrupt) {
			continue
		}
		if err != nil || s.kinds != nil {
			return shardify.Annotate(err, "open", a.Table.Shown(i), "")
		}
	}
	return nil
}

func (s *source) learnFrom(ctx context.Context, path string, skip bool) error {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return err
	}
	defer f.Close()
	seen := map[string]*values.Kind{}
	var kinds []*values.Kind
	var keys []string
	p, _, err := s.plan(ctx, f, func(key, v []byte) error {
		prefix := string(key[:strings.LastIndexByte(string(key), '-')+1])
		k, err := values.Guess(v, fmt.Sprintf("the value of the key %.80q", key))
		if err == nil {
			kinds, keys = append(kinds, k), append(keys, string(key))
		}
		for _, at := range []string{prefix, ""} {
			if was := seen[at]; err == nil && was != nil && seen[at] != k {
				if joined := was.Join(k); joined != nil || at != "" {
					seen[at] = joined
				} else {
					seen[at] = &values.Kind{Is: values.Bytes}
				}
			} else if err == nil {
				seen[at] = k
			}
		}
		if s.asked != nil {
			return nil
		}
		return err
	})
	if err != nil || p.Samples() == 0 {
		return err
	}
	if s.asked == nil && len(p.Parts) == 1 {
		most, odd := values.Most(kinds)
		if odd >= 0 && !skip {
			return shardify.Corrupt(-1, "the value of the key %.80q is %s, those of most other keys are %s; --value-type bytes takes all as they are", keys[odd], kinds[odd], most)
		} else if odd >= 0 {
			seen[p.Parts[0].Prefix] = most // the others are skipped where they are read
		}
	}
	s.parts = p.Parts
	for _, part := range p.Parts {
		k := seen[part.Prefix]
		if s.asked != nil {
			k = s.asked
		}
		if k == nil || len(p.Parts) > 1 && slices.Contains([]string{values.JSON, values.Msgpack, values.Atoms}, k.Is) {
			k = &values.Kind{Is: values.Bytes}
		}
		s.kinds = append(s.kinds, k)
	}
	return nil
}

// plan looks at the keys of a database: of the one that is asked for, of the only one.
func (s *source) plan(ctx context.Context, f storage.File, see func(key, v []byte) error) (*entries.Plan, *mdb.File, error) {
	db, err := mdb.Open(f, f.Size())
	if err != nil {
		return nil, nil, err
	}
	name := s.name
	if name == "" {
		names, trees, others, err := db.Named(1000)
		if err != nil {
			return nil, nil, err
		}
		if len(names) > 0 && (len(names) > 1 || others > 0) {
			var ways []format.Way
			for i, n := range names {
				ways = append(ways, format.Way{Options: format.Options{optObject: n}, Makes: fmt.Sprintf("the %d entries of %s", trees[i].Entries, n)})
			}
			what := "several named databases"
			if others > 0 {
				what = "named databases beside entries"
			}
			return nil, nil, format.NewAmbiguous(what, ways)
		}
		name = strings.Join(names, "")
	}
	p, err := entries.Look(ctx, db, name, most, see)
	return p, db, err
}

// leaf is a field.
type leaf struct {
	Part int          `json:"p"` // -1: the key
	Of   string       `json:"o,omitempty"`
	Kind *values.Kind `json:"k,omitempty"`
	shardify.Field
}

// look surveys a file whose values are fields as they are.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, _, err := s.plan(ctx, f, func(_, _ []byte) error { return nil })
	if err != nil {
		return nil, err
	}
	facts := &survey.Facts{Samples: p.Samples(), Size: f.Size(), Borders: set.Borders{At: p.Rows()[1:], Inside: 1}, Left: p.Left, Remark: p.Remark}
	if p.Samples() > 0 && !slices.Equal(p.Parts, s.parts) {
		return nil, shardify.Mismatch("its keys are of another form than those of the first input")
	}
	var kept []leaf
	for _, l := range s.leaves(p) {
		if hit, _ := want.Match(l.Name); hit {
			kept = append(kept, l)
			facts.Fields = append(facts.Fields, survey.Field{Field: l.Field, Bytes: p.Bytes / int64(len(p.Parts))})
		}
	}
	state, err := p.Encode()
	if err == nil {
		var own []byte
		own, err = json.Marshal(kept)
		facts.Blob = made.Join(state, own)
	}
	return facts, err
}

// leaves are the fields of a database.
func (s *source) leaves(p *entries.Plan) (all []leaf) {
	if p.Samples() == 0 {
		return nil
	}
	switch {
	case p.Keyed() && p.Numbers():
		t := shardify.I64
		if p.Integer > 0 {
			t = shardify.U64
		}
		all = append(all, leaf{Part: -1, Field: shardify.Field{Name: "key", DType: t}})
	case p.Keyed():
		all = append(all, leaf{Part: -1, Field: shardify.Field{Name: "key", DType: shardify.U8, Levels: 1, Media: "txt"}})
	}
	for i, part := range p.Parts {
		k := s.kinds[i]
		l := leaf{Part: i, Kind: k, Field: shardify.Field{Name: format.PlainName(strings.TrimSuffix(part.Prefix, "-")), DType: shardify.U8, Levels: 1}}
		if part.Prefix == "" {
			l.Name = "value"
		}
		switch k.Is {
		case values.Numbers:
			if l.DType, l.Levels, l.Shape = k.DType, 0, k.Shape; k.Shape == nil {
				l.Levels = 1
			}
		case values.Text:
			l.Media = "txt"
		case values.Image, values.File:
			if l.Media = cmp.Or(k.Ext, "image"); part.Prefix == "" {
				l.Name = l.Media
			}
		case values.Datum:
			own := l
			if own.Of = "data"; part.Prefix == "" {
				own.Name = "data"
			}
			if own.Media = k.Ext; k.Ext == "" {
				own.DType, own.Levels, own.Shape = k.DType, 0, k.Shape
			}
			all = append(all, own)
			l.Of, l.Name, l.DType, l.Levels = "label", "label", shardify.I64, 0
			if part.Prefix != "" {
				l.Name = own.Name + ".label"
			}
		default:
			l.Media = "bin"
		}
		if len(l.Shape) == 0 {
			l.Shape = nil
		}
		all = append(all, l)
	}
	return all
}

// outline lists the named databases.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	f, err := rows.OpenFile(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	db, err := mdb.Open(f, f.Size())
	if err != nil {
		return nil, err
	}
	names, trees, others, err := db.Named(1000)
	var out []string
	for i, n := range names {
		out = append(out, fmt.Sprintf("%s  %d entries", n, trees[i].Entries))
	}
	if others > 0 {
		out = append(out, fmt.Sprintf("%d entries", others))
	}
	return out, err
}
