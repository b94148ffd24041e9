package fits

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/hdu"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for FITS.
var Format = format.Input{
	Name: "fits", Words: []string{"fit", "fts", "fz"},
	Help:    "FITS images, tables, and images compressed in tiles",
	Sniff:   sniff,
	Options: options,
	Again:   labels.Again,
	Open:    open,
	Outline: outline,
}

const (
	optObject  = "object"
	optSums    = "checksums"
	bySection  = "section"
	sampleAuto = "auto"
)

var own = []format.Option{
	{Name: optObject, Idle: format.Always, Kind: format.KindString, Help: "HDUs to read: numbers or names (EXTNAME, NAME:VERSION) separated by commas"},
	{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: sampleAuto, Values: []string{sampleAuto, sampleaxis.SampleFile, bySection},
		Help: "what one sample of images is: a whole file (auto), or a section along the first axis; of tables it is a row"},
	arrayfile.OptScaled,
	{Name: optSums, Idle: format.Permission, Kind: format.KindEnum, Default: "on", Off: []string{"off"}, Values: []string{"on", "off"},
		Help: "compare the data with DATASUM and CHECKSUM, where a header has them"},
}

// rowsOnly are the options of tables.
var rowsOnly = []format.Option{format.OptText, format.NullItems}

var options = slices.Concat(images.Options(), rowsOnly)

// sniff knows the first card, and names of files that are packed.
func sniff(head []byte, name string) bool {
	stem, gz := strings.CutSuffix(strings.ToLower(name), ".gz")
	named := slices.Contains([]string{".fits", ".fit", ".fts", ".fz"}, path.Ext(stem))
	switch {
	case len(head) == 0:
		return named
	case gz && named:
		return strings.HasPrefix(string(head), "\x1f\x8b")
	}
	return strings.HasPrefix(string(head), "SIMPLE  = ")
}

// open reads images or rows, as the first file has them.
func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	o, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	if a.State != nil {
		if s, err := openRows(ctx, a, o); err == nil { // the state of images is another one
			return s, nil
		}
		return openImages(ctx, a, o)
	}
	kind, err := firstKind(ctx, &a, o)
	if err != nil {
		return nil, err
	}
	if kind == hdu.Tables {
		return openRows(ctx, a, o)
	}
	return openImages(ctx, a, o)
}

// firstKind says what the first file has. What is wrong with it, the survey of all files says.
func firstKind(ctx context.Context, a *format.OpenArgs, o format.Options) (hdu.Kind, error) {
	if a.Table == nil || a.Table.Len() == 0 {
		return hdu.Images, nil
	}
	for i := range min(a.Table.Len(), 64) {
		f, err := rows.OpenFile(ctx, storages.Of(a.Table), a.Table.Path(i), -1)
		if err != nil {
			continue
		}
		c, err := newContents(f, f.Size())
		if err == nil {
			err = c.choose(o)
		}
		f.Close()
		if err != nil && asks(err) {
			return 0, shardify.Annotate(err, "open", a.Table.Shown(i), "")
		}
		if err == nil {
			return c.kind(), nil
		}
	}
	return hdu.Images, nil
}

func openImages(ctx context.Context, a format.OpenArgs, o format.Options) (shardify.Source, error) {
	a.Options = format.Options{}
	for name, v := range o {
		if name != format.OptText.Name && name != format.NullItems.Name {
			a.Options[name] = v
		}
	}
	return images.Open(ctx, a)
}

// outline lists the HDUs of a file.
func outline(ctx context.Context, fs storage.FS, name string) ([]string, error) {
	f, err := rows.OpenFile(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := newContents(f, f.Size())
	if err != nil {
		return nil, err
	}
	var lines []string
	for i := range c.HDUs {
		lines = append(lines, describe(&c.HDUs[i]))
	}
	return lines, nil
}

// openRows reads tables.
func openRows(ctx context.Context, a format.OpenArgs, o format.Options) (shardify.Source, error) {
	if v := o[sampleaxis.SampleOption]; v != sampleAuto {
		return nil, shardify.Misuse("--sample %s is for images; a row of a table is a sample", v)
	}
	if err := labels.None(o); err != nil {
		return nil, err
	}
	if key := o["key"]; key != "" {
		return nil, shardify.Misuse("--key %s is for images with --labels FILE; --join adds columns of other tables to rows", key)
	}
	s := &source{fs: storages.Of(a.Table), o: o, used: a.Used}
	var err error
	if s.want, err = columns.New(a.Columns); err != nil {
		return nil, err
	}
	key := "fits rows 1"
	for _, d := range slices.Concat(own, rowsOnly) {
		key += "\x00" + o[d.Name]
	}
	a.Options = format.Options{survey.Option.Name: o[survey.Option.Name]}
	return s, s.open(ctx, a, survey.Format{Name: "FITS", Look: s.look, Key: key})
}
