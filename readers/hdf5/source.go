package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/anndata"
	"github.com/shardify/shardify/readers/internal/chunks"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for HDF5.
var Format = format.Input{
	Name: "hdf5", Words: []string{"h5", "netcdf", "netcdf4", "nc"},
	Help:    "HDF5 files: NetCDF-4, PyTables, pandas, MATLAB v7.3 and plain ones",
	Sniff:   sniff,
	Options: options,
	Again:   again,
	Open:    open,
	Outline: outline,
}

// again: the files hold the names of samples that are data sets.
func again(o format.Options, schema []shardify.Field, keyed bool) format.Options {
	return labels.Again(o, schema, keyed && o["sample"] != string(tree.ByItem))
}

var options = slices.Concat([]format.Option{
	{Name: "object", Idle: "no data set and no group has the name", Kind: format.KindString,
		Help: "data sets or groups to read, as globs of their paths separated by commas: /train/*"},
	{Name: "sample", Idle: format.Always, Kind: format.KindEnum, Default: "auto", Values: []string{"auto", string(tree.ByAxis), sampleaxis.SampleChunk, string(tree.ByGroup), "group-axis", string(tree.ByItem), string(tree.ByFile)},
		Help: "what one sample is: a row (axis 0), the rows of a chunk, a group, a row of the arrays in a group (group-axis), a data set (its name is the key), or a whole file"},
	{Name: sampleaxis.AxisOption, Idle: "no array has two axes or more", Kind: format.KindString, Default: "auto",
		Help: "the axis of the samples, 0 being the first and -1 the last: auto is 0, and that of the rows in MATLAB's files"},
	lists.Option,
	{Name: "frame", Idle: "there is no pandas frame", Kind: format.KindEnum, Default: "auto", Values: []string{"auto", "columns", "blocks"},
		Help: "fields of a pandas frame. auto: its columns, but blocks of more than 128 columns stay one field; columns: always its columns; blocks: its blocks"},
	survey.Option,
	format.GroupedItems,
	{Name: "external", Idle: format.Permission, Kind: format.KindBool, Default: "false",
		Help: "follow links and read raw data in other files below the input's folder"},
	{Name: "cf", Idle: format.Permission, Kind: format.KindEnum, Default: "on", Off: []string{"off"}, Values: []string{"on", "off"},
		Help: "on: decode values as their CF attributes say (scale_factor, add_offset, _FillValue, times); off: keep stored values"},
	grid.SelOption,
	grid.ChannelsOption,
	format.OptText,
}, anndata.Options, labels.Options)

const signature = "\x89HDF\r\n\x1a\n"

var extensions = []string{".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".mat", ".h5ad", ".nwb"}

// sniff knows the signature, and by name the files that may have a user block
// before it. Names that other formats share count only without a head.
func sniff(head []byte, name string) bool {
	if strings.HasPrefix(string(head), signature) {
		return true
	}
	ext := strings.ToLower(path.Ext(name))
	if !slices.Contains(extensions, ext) {
		return false
	}
	switch {
	case strings.HasPrefix(string(head), "CDF"), strings.HasPrefix(string(head), "MATLAB 5"), strings.HasPrefix(string(head), "\x0e\x03\x13\x01"):
		return false // netCDF-3, older MATLAB, HDF4
	}
	return true
}

// source implements shardify.Source.
type source struct {
	*set.Table[*input]
	opts *tree.Settings
	want *columns.Wanted

	table      *format.Table
	keyed      bool          // data sets are the samples
	named      *labels.Named // files are
	prefixOnce sync.Once
	prefixes   []string // of keys, by input
	ambiguity  []string // another reading of the inputs
}

// ask leaves it to the user what a sample is, where rows are not the only way to read
// several files.
func (s *source) ask(c *look.Choice) (err error) {
	if c == nil || c.Mode != tree.ByAxis || c.Arrays == nil {
		return nil
	}
	s.ambiguity, err = sampleaxis.ReadingsOf(s.Set, c.Arrays).Settle(s.opts.Sample == string(tree.ByAxis))
	return err
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	a.Options = o
	opts, err := tree.NewSettings(o)
	if err != nil {
		return nil, err
	}
	numbers := false
	if opts.Chunked {
		if a.Splits {
			return nil, shardify.Misuse("--sample chunk and the splits in files exclude each other")
		}
		if numbers, err = chunks.Wanted(a.Columns); err != nil {
			return nil, err
		}
	}
	opts.Used = a.Used
	a.Used.Expect("object", opts.Objects)
	if a.State != nil {
		if src, err := openCells(ctx, a, opts, o); src != nil || err != nil {
			return src, err
		}
	}
	a.Columns, opts.Alone = opts.Channels.Columns(a.Columns)
	want, err := columns.New(a.Columns)
	if err != nil {
		return nil, err
	}
	s := &source{want: want, table: a.Table, opts: opts}
	s.opts.Splits, s.opts.Skip, s.opts.Several = a.Splits, a.SkipDamaged, a.Table.Len() > 1
	sv := &chooser{fs: storages.Of(a.Table), opts: s.opts, inputs: a.Table.Len(), missing: o[survey.Option.Name], want: want}
	defer sv.close()
	f := survey.Format{Name: "HDF5", Look: sv.look, Key: s.opts.Key(), Ragged: true, Channels: opts.Channels}
	if opts.Chunked {
		f.Beside = []string{chunks.Field}
	}
	if a.State == nil {
		if err := sv.decide(ctx, a); errors.Is(err, errCells) {
			return openCells(ctx, a, opts, o)
		} else if err != nil {
			return nil, err
		}
		if sv.choice != nil && sv.choice.Mode == tree.ByFile && labels.MayClass(a.Table, o) {
			f.Beside = []string{labels.ClassField}
		}
	} else if s.named, a.State, err = labels.ReadNamed(a.State, a.Table); err != nil {
		return nil, shardify.Annotate(err, "open", "", "survey of the plan")
	} else if s.named.Fields() != nil {
		f.Beside = []string{labels.ClassField}
	}
	all, err := survey.Open(ctx, a, f)
	if e := sv.twice(ctx, a); e != nil {
		return nil, e // also where it is why the inputs differ
	}
	if err == nil && a.State == nil {
		err = s.opts.Sel.Rest(a.Table.Paths())
	}
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, s.openInput, func() shardify.Reader { return &reader{src: s} })
	if err := s.ask(sv.choice); err != nil {
		return nil, err
	}
	s.keyed = s.mode() == tree.ByItem
	if err := s.name(a); err != nil || !opts.Chunked {
		return s, err
	}
	return chunks.New(s, numbers, func(in *set.Input) (*chunks.Size, error) {
		var b look.Blob
		if err := json.Unmarshal(in.Blob, &b); err != nil {
			return nil, shardify.Corrupt(-1, "state of HDF5 inputs: %v", err)
		}
		return b.Chunk, nil
	})
}

// name finds what samples are called, and their classes, where each file is one.
func (s *source) name(a format.OpenArgs) (err error) {
	if s.mode() != tree.ByFile {
		if s.named != nil {
			return shardify.Corrupt(-1, "state of HDF5 inputs: names of files that are not samples")
		}
		return labels.None(a.Options)
	}
	var files []uint32
	for in := range s.Inputs() {
		if in.Samples > 0 {
			files = append(files, in.Index)
		}
	}
	if a.State != nil {
		s.named.Inputs(files)
	} else if s.named, err = labels.Name(&a, files, s.Set.Schema()); err != nil {
		return err
	}
	if len(s.Schema()) == 0 {
		return shardify.Misuse("--columns '%s' leaves no field", strings.Join(a.Columns, ","))
	}
	return shardify.ValidateSchema(s.Schema())
}

// Schema implements shardify.Source.
func (s *source) Schema() []shardify.Field { return append(s.Set.Schema(), s.named.Fields()...) }

// State implements format.Stater.
func (s *source) State() ([]byte, error) {
	b, err := s.Set.State()
	if err != nil {
		return nil, err
	}
	return s.named.State(b)
}

// Leftovers implements format.Reporter.
func (s *source) Leftovers() []format.Leftover {
	return append(s.Set.Leftovers(), s.named.Leftovers()...)
}

// Spans implements shardify.Source.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	if s.named == nil {
		return s.Set.Spans(ctx, target)
	}
	return func(yield func(shardify.Span, error) bool) {
		for sp, err := range s.Set.Spans(ctx, target) {
			sp.Bytes += s.named.Bytes(sp.Input)
			if !yield(sp, err) {
				return
			}
		}
	}
}

// mode is what the samples are.
func (s *source) mode() tree.Mode {
	for in := range s.Inputs() {
		var b look.Blob
		if json.Unmarshal(in.Blob, &b) == nil && in.Samples > 0 {
			return b.Mode
		}
	}
	return ""
}
