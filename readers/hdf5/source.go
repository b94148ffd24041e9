package hdf5

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
)

// Format is the readers' table's line for HDF5.
var Format = shardify.SourceFormat{
	Name:    "hdf5",
	Help:    "HDF5 files: NetCDF-4, PyTables, pandas, MATLAB v7.3 and plain ones",
	Sniff:   sniff,
	Options: options,
	Open:    open,
}

var options = []shardify.Option{
	{Name: "object", Kind: shardify.KindString,
		Help: "data sets or groups to read, as globs of their paths separated by commas: /train/*"},
	{Name: "sample", Kind: shardify.KindEnum, Default: "auto", Values: []string{"auto", string(byAxis), string(byGroup), string(byFile)},
		Help: "what is one sample: a row (axis 0), a group, or a whole file"},
	rows.Option,
	{Name: "external", Kind: shardify.KindBool, Default: "false",
		Help: "follow links and read raw data in other files below the input's folder"},
	{Name: "text", Kind: shardify.KindEnum, Default: "utf8", Values: []string{"utf8", "bytes"},
		Help: "strings are text, which must be UTF-8, or any bytes"},
}

const signature = "\x89HDF\r\n\x1a\n"

var extensions = []string{".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".mat"}

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

// settings are the options, read.
type settings struct {
	objects  []string
	sample   string
	external bool
	media    string
}

func newSettings(o shardify.Options) (*settings, error) {
	s := &settings{sample: o["sample"], external: o.Bool("external"), media: mediaText}
	if o["text"] == "bytes" {
		s.media = "bin"
	}
	for _, p := range strings.Split(o["object"], ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		p = path.Clean("/" + p)
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("--object %q: %w", p, err)
		}
		s.objects = append(s.objects, p)
	}
	return s, nil
}

// object tells whether the data set at a path is chosen: it or a group that it
// is in matches.
func (s *settings) object(p string) bool {
	if len(s.objects) == 0 {
		return true
	}
	for _, g := range s.objects {
		if g == "/" || matchPrefix(g, p, strings.Count(g, "/")) {
			return true
		}
	}
	return false
}

// below tells whether the group at a path may hold chosen objects.
func (s *settings) below(p string) bool {
	if s.object(p) {
		return true
	}
	n := strings.Count(p, "/")
	for _, g := range s.objects {
		if parts := strings.Split(g, "/"); len(parts) > n {
			if ok, _ := path.Match(strings.Join(parts[:n+1], "/"), p); ok {
				return true
			}
		}
	}
	return false
}

// matchPrefix matches a glob with the first n parts of a path.
func matchPrefix(glob, p string, n int) bool {
	at := 0
	for range n {
		k := strings.IndexByte(p[at+1:], '/')
		if k < 0 {
			at = len(p)
			break
		}
		at += k + 1
	}
	if strings.Count(p[:at], "/") != n {
		return false
	}
	ok, _ := path.Match(glob, p[:at])
	return ok || glob == p[:at]
}

// key is what the survey depends on beside the files.
func (s *settings) key() string {
	return fmt.Sprintf("hdf5 1 object=%q sample=%s external=%v text=%s", s.objects, s.sample, s.external, s.media)
}

// source implements shardify.Source.
type source struct {
	*rows.Set
	opts    *settings
	handles *rows.Handles[*input]
}

func open(ctx context.Context, a shardify.OpenArgs) (shardify.Source, error) {
	o, err := shardify.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	a.Options = o
	s := &source{}
	if s.opts, err = newSettings(o); err != nil {
		return nil, err
	}
	sv := &survey{opts: s.opts, inputs: a.Table.Len()}
	if a.State == nil {
		if err := sv.decide(ctx, a); err != nil {
			return nil, err
		}
	}
	f := rows.Format{Name: "HDF5", Look: sv.look, Key: s.opts.key(), Ragged: true}
	if s.Set, err = rows.Open(ctx, a, f); err != nil {
		return nil, err
	}
	s.handles = rows.NewHandles(s.openInput)
	return s, nil
}

// Close implements shardify.Source.
func (s *source) Close() error { return s.handles.Close() }

// Describe implements shardify.Describer.
func (s *source) Describe() []string {
	var out []string
	for in := range s.Inputs() {
		var b blob
		if json.Unmarshal(in.Blob, &b) == nil && b.Why != "" {
			out = append(out, b.Why)
		}
		break
	}
	return append(out, s.Set.Describe()...)
}

// survey looks into the inputs.
type survey struct {
	opts   *settings
	inputs int
	choice *choice
}

// maxLooks bounds the inputs that are tried for what the samples are.
const maxLooks = 64

// decide finds what the samples are from the first input that tells.
func (s *survey) decide(ctx context.Context, a shardify.OpenArgs) error {
	var firstErr error
	for i := range min(a.Table.Len(), maxLooks) {
		c, err := s.decideBy(ctx, a, i)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			if firstErr == nil {
				firstErr = shardify.Annotate(err, "open", a.Table.Name(i), "")
			}
			continue
		}
		s.choice = c
		return nil
	}
	if firstErr != nil {
		return firstErr
	}
	return shardify.Unsupported("no HDF5 files")
}

func (s *survey) decideBy(ctx context.Context, a shardify.OpenArgs, i int) (*choice, error) {
	want, err := rows.NewWanted(a.Columns)
	if err != nil {
		return nil, err
	}
	f, err := s.file(a.Table.Path(i))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := scan(ctx, f, s.opts, want)
	if err != nil {
		return nil, err
	}
	if len(t.objects) == 0 {
		return nil, t.nothing()
	}
	return t.choose(s.opts.sample, s.inputs)
}

// nothing says why a file has no data sets to offer.
func (t *tree) nothing() error {
	if t.kind.keras {
		return shardify.Unsupported("the weights of a Keras model, which are no samples")
	}
	if left := t.left.all(); len(left) > 0 {
		return shardify.Unsupported("no data sets to read: %s: %s", left[0].Name, left[0].Reason)
	}
	return shardify.Mismatch("there are no data sets that --object and --columns want")
}

func (s *survey) file(name string) (*file, error) {
	osf, size, err := rows.OpenFile(name, -1)
	if err != nil {
		return nil, err
	}
	f, err := newFile(osf, size, name, s.opts.external)
	if err != nil {
		osf.Close()
		return nil, err
	}
	return f, nil
}

// look implements rows.Format.
func (s *survey) look(ctx context.Context, name string, want *rows.Wanted) (*rows.Facts, error) {
	f, err := s.file(name)
	if err != nil {
		return foreign(name, err)
	}
	defer f.Close()
	t, err := scan(ctx, f, s.opts, want)
	if err != nil {
		return nil, err
	}
	if t.kind.keras {
		return nil, shardify.Unsupported("the weights of a Keras model, which are no samples")
	}
	return t.facts(ctx, s.choice, s.opts)
}

// foreign leaves a file out that is no HDF5 and is not named so.
func foreign(name string, err error) (*rows.Facts, error) {
	if !errors.Is(err, shardify.ErrCorrupt) || slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
		return nil, err
	}
	head := make([]byte, len(signature))
	f, e := os.Open(name)
	if e != nil {
		return nil, e
	}
	defer f.Close()
	for off := int64(0); ; off = max(512, 2*off) {
		if _, e := f.ReadAt(head, off); e != nil {
			return &rows.Facts{Foreign: "no HDF5 file"}, nil
		}
		if string(head) == signature {
			return nil, err
		}
	}
}
