package tree

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// Mode is what one sample is.
type Mode string

const (
	ByAxis  Mode = "axis"    // a row of the data sets
	ByGroup Mode = "group"   // a group
	ByItem  Mode = "dataset" // a data set, whose name is the key
	ByFile  Mode = "file"    // a whole file
)

// Settings are the options, read.
type Settings struct {
	Objects  []string // globs; none means all
	Sample   string   // the mode that was asked for
	Chunked  bool     // samples are the chunks of rows
	External bool     // files that others name are read
	frame    string
	lists    bool         // flat arrays beside offsets are lists
	ruled    []lists.Rule // or those that --lists names
	Splits   bool         // those in the files are wanted
	Skip     bool         // damaged inputs and sample groups are left out
	media    string
	cf       bool
	fill     bool // missing items of lists are empty
	axis     int  // of the samples, or sampleaxis.AutoAxis
	Sel      *grid.Selection
	Several  bool // there are several inputs
	Channels *grid.Channels
	// Alone: of other fields only the coordinate of the samples is read.
	Alone bool
	Used  *format.Used
}

// NewSettings reads the options of the format.
func NewSettings(o format.Options) (*Settings, error) {
	s := &Settings{Sample: o["sample"], External: o.Bool("external"), media: element.MediaText, cf: o["cf"] != "off", lists: o["lists"] != "off", frame: o["frame"], fill: format.FillsItems(o)}
	if s.Chunked = s.Sample == sampleaxis.SampleChunk; s.Chunked {
		s.Sample = string(ByAxis)
	}
	var err error
	if s.axis, err = sampleaxis.ParseAxis(o[sampleaxis.AxisOption]); err != nil {
		return nil, err
	}
	if s.Sel, err = grid.Parse(o[grid.SelOption.Name]); err != nil {
		return nil, err
	}
	if s.Channels, err = grid.ParseChannels(o[grid.ChannelsOption.Name]); err != nil {
		return nil, err
	}
	if s.ruled, err = lists.Parse(o["lists"]); err != nil {
		return nil, err
	}
	if s.ruled != nil {
		if s.Sample != "auto" && s.Sample != "" && s.Sample != string(ByAxis) || s.Chunked || s.Sel != nil || s.Channels != nil {
			return nil, errors.New("--lists names lists, which are samples: it does not go with another --sample than axis, --sel or --channels; --lists off with those reads the data sets as they are")
		}
		s.Sample, s.lists = string(ByAxis), false
	}
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
		s.Objects = append(s.Objects, p)
	}
	return s, nil
}

// Plain are the rules for values that are read as they are stored; f may be nil.
func (s *Settings) Plain(f *column.File) element.Rules {
	r := element.Rules{Media: s.media}
	if f != nil {
		r.RefSize = f.H5.RefSize()
	}
	return r
}

// object reports whether the data set at a path is chosen: it or a group that it
// is in matches.
func (s *Settings) object(p string) bool {
	if len(s.Objects) == 0 {
		return true
	}
	chosen := false
	for _, g := range s.Objects {
		if g == "/" || matchPrefix(g, p, strings.Count(g, "/")) {
			s.Used.MarkPart("object", g)
			chosen = true
		}
	}
	return chosen
}

// below reports whether the group at a path may hold chosen objects.
func (s *Settings) below(p string) bool {
	if s.object(p) {
		return true
	}
	n := strings.Count(p, "/")
	for _, g := range s.Objects {
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

// Key is what the survey depends on beside the files.
func (s *Settings) Key() string {
	key := fmt.Sprintf("hdf5 6 object=%q sample=%s external=%v text=%s cf=%v lists=%v frame=%s axis=%d", s.Objects, s.Sample, s.External, s.media, s.cf, s.lists, s.frame, s.axis)
	if s.Chunked {
		key += " chunks"
	}
	if s.fill {
		key += " fill"
	}
	if s.Sel != nil {
		key += fmt.Sprintf(" sel=%q", s.Sel.Text())
	}
	if s.Channels != nil {
		key += fmt.Sprintf(" channels=%q alone=%v", s.Channels.Text, s.Alone)
	}
	return key
}
