package star

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
)

const optObject = "object"

// Format is the readers' table's line for STAR.
var Format = format.Input{
	Name:      "star",
	Help:      "STAR tables of electron microscopy: a row is a sample",
	Sniff:     sniff,
	Companion: true,
	Options:   options,
	Open:      open,
}

var options = []format.Option{
	{Name: optObject, Idle: format.Always, Kind: format.KindString, Quiet: true, Help: "what to read in a file that holds several things; also as FILE:OBJECT"},
	{Name: optStacks, Idle: format.Always, Kind: format.KindString, Help: "folder that the paths in rlnImageName are below: the section that a row names becomes its field image"},
	survey.Option,
}

// sniff looks at the name: other kinds of files begin with data_, too.
func sniff(head []byte, name string) bool {
	return strings.EqualFold(path.Ext(name), ".star") && (len(head) == 0 || bytes.Contains(head, []byte("data_")))
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	a.Options = format.Options{survey.Option.Name: o[survey.Option.Name]}
	object := o[optObject]
	rows := func(a format.OpenArgs) (shardify.Source, error) {
		return jsonl.Open(ctx, a, &made.Text{
			Name: "STAR", Record: "row", Key: "1\x00" + object,
			Look: func(_ context.Context, f storage.File, _ string) (*made.Pieces, error) { return look(f, object) },
			Open: openText,
		})
	}
	if folder := o[optStacks]; folder != "" {
		return openSections(ctx, a, folder, rows)
	}
	src, err := rows(a)
	if err == nil && shardify.FieldIndex(src.Schema(), nameField) >= 0 {
		return named{src.(table)}, nil
	}
	return src, err
}

// maxFile bounds a file: it is in memory while it is surveyed.
const maxFile = 2 << 30

// particles is the block that counts where there are several, as in files of RELION 3.1.
const particles = "particles"

func look(f storage.File, object string) (*made.Pieces, error) {
	if f.Size() > maxFile {
		return nil, shardify.Unsupported("a STAR file of %s; at most %s are read", shardify.FormatSize(f.Size()), shardify.FormatSize(maxFile))
	}
	b := make([]byte, f.Size())
	if err := readat.Full(f, b, 0); err != nil {
		return nil, err
	}
	all, err := parse(b)
	if err != nil {
		return nil, err
	}
	var of []*loop
	var names []string
	for _, l := range all {
		names = append(names, l.Block)
		if l.Block == cmp.Or(object, particles) || object == "" && len(all) == 1 {
			of = append(of, l)
		}
	}
	switch {
	case len(all) == 0:
		return nil, shardify.Unsupported("it has no table (loop_)")
	case len(of) == 0 && object == "":
		return nil, shardify.Unsupported("it has several tables; --object NAME takes one: %s", strings.Join(names, ", "))
	case len(of) == 0:
		return nil, shardify.Unsupported("it has no table data_%s; there is %s", object, strings.Join(names, ", "))
	case len(of) > 1:
		return nil, shardify.Unsupported("it has several tables data_%s", of[0].Block)
	}
	state, err := json.Marshal(of[0])
	out := &made.Pieces{Rows: of[0].Rows, State: state}
	if n := of[0].comments; n > 0 {
		out.Remark = fmt.Sprintf("comments among the rows are no samples: %d in this file", n)
	}
	return out, err
}

// text makes JSON lines of a file.
type text struct {
	f storage.File
	l loop
	b []byte
}

func openText(_ context.Context, f storage.File, _ string, state []byte) (made.Maker, error) {
	m := &text{f: f}
	if json.Unmarshal(state, &m.l) != nil || !m.l.valid(f.Size()) {
		return nil, shardify.Corrupt(-1, "survey of the plan: the table of a STAR file")
	}
	return m, nil
}

// Close implements made.Maker.
func (m *text) Close() error { return nil }

// Piece implements made.Maker.
func (m *text) Piece(_ context.Context, k int, _, _ int64, b []byte) ([]byte, error) {
	if k < 0 || k+1 >= len(m.l.Offset) {
		return b, shardify.Corrupt(-1, "survey of the plan: piece %d of a STAR file", k)
	}
	at := m.l.Offset[k]
	m.b = append(m.b[:0], make([]byte, m.l.Offset[k+1]-at)...)
	if err := readat.Full(m.f, m.b, at); err != nil {
		return b, err
	}
	return m.l.append(b, m.b, at)
}
