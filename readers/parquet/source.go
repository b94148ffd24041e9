package parquet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for Parquet files.
var Format = format.Input{
	Name:    "parquet",
	Help:    "Parquet files: tables with numbers, text, bytes, lists and structs",
	Sniff:   sniff,
	StandIn: func(string) string { return "" }, // the folder of a set, for its manifest
	Options: options,
	Open:    open,
	Outline: outline,
}

var options = []format.Option{
	format.OptText,
	format.NullItems,
	survey.Option,
}

var magic = []byte("PAR1")

// setFormat is the format of sets of ours.
const setFormat = "parquet"

var ours = dataset.Sniffer(setFormat)

func sniff(head []byte, name string) bool {
	if len(head) > 0 {
		return ours(head, name) || bytes.HasPrefix(head, magic) || bytes.HasPrefix(head, []byte("PARE"))
	}
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".parquet" || ext == ".parq" || ext == ".pq"
}

// source is many inputs as one table.
type source struct {
	*set.Table[*file]
	fs        storage.FS
	want      *columns.Wanted
	opts      format.Options
	fillItems bool
	parts     *partitions
	media     map[string]string // of fields that hold images
	used      *format.Used
}

var errState = errors.New("the plan does not fit the file: other columns than at the survey")

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := checkFolders(ctx, a.Table); err != nil {
			return nil, err
		}
	}
	s := &source{fs: storages.Of(a.Table), opts: opts, fillItems: format.FillsItems(opts), parts: findPartitions(a.Table), used: a.Used}
	if s.want, err = columns.New(a.Columns); err != nil {
		return nil, err
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{
		Name: "Parquet", Look: s.look, Oversize: oversize,
		Key: fmt.Sprintf("1\x00%s\x00%s", opts["text"], opts[format.NullItems.Name]),
	})
	if err != nil {
		return nil, err
	}
	if a.State == nil {
		if err := (&dataset.Besides{Format: setFormat}).Whole(ctx, a.Table); err != nil {
			return nil, err
		}
	}
	s.Table = set.NewTable(all, s.acquire, func() shardify.Reader { return &mediaReader{set.NewReader(s.Table, &reader{s: s}), s} })
	return s, s.findMedia()
}

// oversize is how many targets a row group may be long before it is cut inside.
const oversize = 24

// blob is what a plan keeps of a file.
type blob struct {
	// Media of fields whose bytes were found to be images.
	Media map[string]string `json:"media,omitempty"`
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	if why := s.parts.unread(path); why != "" {
		return &survey.Facts{Foreign: why}, nil
	}
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	w := rows.Watch(f)
	p, err := pq.Open(w, w.Size())
	if err != nil {
		return nil, err
	}
	x := &file{f: w, pq: p}
	facts := &survey.Facts{Samples: p.Rows, Size: w.Size()}
	out, err := s.choose(p, want)
	if err != nil {
		return nil, err
	}
	x.cols, facts.Left, facts.Void = out.cols, out.left, out.void
	x.announce()
	var state blob
	for i := range x.cols {
		c := &x.cols[i]
		if c.sniff {
			if m := x.sniffMedia(ctx, c); m != "" {
				if state.Media == nil {
					state.Media = map[string]string{}
				}
				state.Media[c.field.Name] = m
			}
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: c.field, Bytes: x.bytes(c)})
	}
	for _, h := range s.parts.of(path, x.cols) {
		if hit, _ := want.Match(h.key); hit {
			facts.Fields = append(facts.Fields, h.field(p.Rows))
		}
	}
	facts.Borders = x.borders()
	facts.Piece, facts.PieceBytes = x.piece, x.pieceBytes
	if facts.Blob, err = json.Marshal(state); err != nil {
		return nil, err
	}
	facts.Lines = x.describe()
	return facts, w.Failed()
}

// chosen is the wanted columns of a file, and the others.
type chosen struct {
	cols []column
	left []format.Leftover
	void []string
}

// choose makes the wanted columns of a file.
func (s *source) choose(p *pq.File, want *columns.Wanted) (x chosen, err error) {
	h, err := readHints(p)
	if err != nil {
		return x, err
	}
	all, out := columnsOf(p, h, s.opts["text"])
	for _, c := range all {
		if hit, _ := want.Match(append(c.aliases, c.field.Name)...); hit {
			x.cols = append(x.cols, c)
			if c.field.Media == "bin" && !c.sniff { // texts
				s.used.Mark("text")
			}
		}
	}
	for _, l := range out {
		switch hit, _ := want.Match(l.name, l.alias, plainName(l.name)); {
		case !hit:
		case l.void:
			x.void = append(x.void, plainName(l.name))
		default:
			x.left = append(x.left, format.Unread(plainName(l.name), l.reason))
		}
	}
	return x, nil
}

// acquire opens a file for reading.
func (s *source) acquire(ctx context.Context, f storage.File, in *set.Input) (*file, error) {
	p, err := pq.Open(f, in.Size)
	if err != nil {
		return nil, err
	}
	if p.Rows != in.Samples {
		return nil, errState
	}
	x := &file{f: rows.Watch(f), pq: p}
	out, err := s.choose(p, s.want)
	if err != nil {
		return nil, err
	}
	x.cols = out.cols
	for _, h := range s.parts.of(in.Path(), x.cols) {
		if hit, _ := s.want.Match(h.key); hit {
			x.parts = append(x.parts, h)
		}
	}
	var keep []int
	for i := range x.cols {
		keep = append(keep, x.cols[i].leaf)
	}
	p.Keep(keep)
	return x, nil
}
