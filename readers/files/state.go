package files

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
)

// survey is the part of a state that is JSON. After it are the file numbers of
// the samples, if they are not simply 0, 1, 2, ...
type survey struct {
	Version  int               `json:"version"`
	Files    int               `json:"files"` // in the table
	Samples  int               `json:"samples"`
	Members  []member          `json:"members"`
	Labels   []string          `json:"labels,omitempty"`
	Prefixes []string          `json:"prefixes,omitempty"` // of keys, per root
	Assume   int64             `json:"assume,omitempty"`
	By       labels.Stem       `json:"stem,omitempty"`
	Second   bool              `json:"second,omitempty"` // classes are the second folders
	Notes    []string          `json:"notes,omitempty"`
	Ordinal  bool              `json:"ordinal,omitempty"` // keys are numbers
	Bytes    bool              `json:"bytes,omitempty"`   // text is any bytes
	Left     []format.Leftover `json:"left,omitempty"`
	Listed   bool              `json:"listed,omitempty"` // a list of files follows
	Named    bool              `json:"named,omitempty"`  // and one of files that name samples
	Joined   []shardify.Field  `json:"joined,omitempty"` // and how many samples the pages of these have
	Unread   []string          `json:"unread,omitempty"` // columns of labels that are not wanted
	// Of inputs in parts nothing is listed: each part is grouped again, by its names.
	Parts   bool    `json:"parts,omitempty"`
	Missing string  `json:"missing,omitempty"` // the option
	Strays  []stray `json:"strays,omitempty"`
	Pair    string  `json:"pair,omitempty"` // the option
}

// stray is a kind of files that are no samples.
type stray struct {
	Exts  []string `json:"exts"`
	About bool     `json:"about,omitempty"`
}

const (
	stateVersion = 2
	pagesVersion = 3 // with the fields of a table of labels; before, their values followed
)

// State writes what Open found: no task needs to group the files again.
func (s *source) State() ([]byte, error) {
	v := s.survey
	v.Version, v.Files, v.Samples, v.Left = stateVersion, s.files.Table.Len(), s.m.samples, s.left
	v.Listed, v.Named = s.m.files != nil, s.m.first != nil
	v.Prefixes, v.Joined = s.files.Prefixes(), s.labelFields()
	if v.Joined != nil {
		v.Version = pagesVersion
	}
	head, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(nil, uint64(len(head)))
	b = append(b, head...)
	b = appendFiles(b, s.m.files)
	b = appendFiles(b, s.m.first)
	if s.joined != nil {
		b = s.joined.AppendPages(b)
	}
	return b, nil
}

// appendFiles writes each file number as the step from the one before, which is
// mostly 1 and then takes a byte. 0 is a missing file.
func appendFiles(b []byte, files []uint32) []byte {
	prev := int64(-1)
	for _, f := range files {
		if f == none {
			b = append(b, 0)
			continue
		}
		step := int64(f) - prev
		b = binary.AppendUvarint(b, 1+uint64(step<<1^step>>63))
		prev = int64(f)
	}
	return b
}

// decodeState is the inverse of State for the same table.
func decodeState(ctx context.Context, a *format.OpenArgs) (*content, error) {
	b, t, first := a.State, a.Table, a.First
	bad := func(what string) (*content, error) { return nil, shardify.Corrupt(-1, "state of the files: %s", what) }
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return bad("cut short")
	}
	c := &content{}
	if err := json.Unmarshal(b[w:w+int(n)], &c.survey); err != nil {
		return bad(err.Error())
	}
	v := &c.survey
	b = b[w+int(n):]
	if why := v.misfit(t, len(b), first); why != "" {
		return bad(why)
	}
	if err := v.check(); err != nil {
		return nil, err
	}
	if v.Parts {
		return v.openPart(ctx, t, first)
	}
	c.files, c.left = labels.NewPaths(t, v.By), v.Left
	c.files.SetPrefixes(v.Prefixes)
	list, err := pairs.Parse(v.Pair)
	if err != nil {
		return bad(err.Error())
	}
	if c.names = c.files; list != nil {
		c.names = pairs.Names(list, c.files, v.By)
	}
	c.names.Second = v.Second
	c.m = &matrix{members: len(v.Members), samples: v.Samples}
	entries := int64(v.Samples) * int64(len(v.Members))
	if !v.Listed && entries != int64(v.Files) || !v.Named && (len(v.Members) == 0) {
		return bad("impossible counts")
	}
	var ok bool
	if v.Listed {
		if c.m.files, b, ok = takeFiles(b, entries, v.Files, true); !ok {
			return bad("file numbers")
		}
	}
	if v.Named {
		if c.m.first, b, ok = takeFiles(b, int64(v.Samples), v.Files, false); !ok {
			return bad("file numbers")
		}
	}
	if v.Joined != nil {
		if c.joined, b, err = labels.ReadPages(b, v.Joined, v.Samples, a.Page); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return bad("longer than it says")
	}
	return c, c.checkHoles()
}

// misfit says why a state with rest bytes behind its head is not that of a table, "" if it may be.
func (v *survey) misfit(t *format.Table, rest int, first int64) string {
	switch {
	case v.Version != stateVersion && v.Version != pagesVersion || (v.Version == pagesVersion) != (v.Joined != nil):
		return "of another version"
	case v.Parts:
		if rest > 0 || first < 0 || len(v.Prefixes) != len(t.Roots) || len(v.Members) > exts.Max {
			return "of impossible parts"
		}
	case v.Files != t.Len():
		return "for another list of files"
	case v.Samples < 1 || int64(v.Samples) > int64(v.Files) || len(v.Members) > exts.Max:
		return "impossible counts"
	case len(v.Prefixes) != len(t.Roots):
		return "for other inputs"
	}
	return ""
}

// check looks at the members: what the schema is made of.
func (v *survey) check() error {
	if v.By > labels.Last || len(v.Strays) > maxKinds {
		return shardify.Corrupt(-1, "state of the files: the rule for names")
	}
	for _, m := range v.Members {
		if len(m.Exts) == 0 || len(m.Exts) > 255 {
			return shardify.Corrupt(-1, "state of the files: field %q", m.Field)
		}
	}
	for _, l := range v.Labels {
		if strings.Contains(l, shardify.LabelSeparator) {
			return shardify.Corrupt(-1, "state of the files: class %q", l)
		}
	}
	return nil
}

// checkHoles: a missing file needs a nullable field and a file that names the
// sample.
func (c *content) checkHoles() error {
	if c.m.files == nil {
		return nil
	}
	for k, f := range c.m.files {
		if f == none && (c.m.members == 0 || !c.Members[k%c.m.members].Nullable || (c.m.first == nil && k%c.m.members == 0)) {
			return shardify.Corrupt(-1, "state of the files: sample %d lacks a file", k/max(1, c.m.members))
		}
	}
	return nil
}

// takeFiles reads n file numbers below limit.
func takeFiles(b []byte, n int64, limit int, holes bool) (files []uint32, rest []byte, ok bool) {
	if n > int64(len(b)) { // each takes a byte
		return nil, nil, false
	}
	files = make([]uint32, n)
	prev := int64(-1)
	for i := range files {
		v, w := binary.Uvarint(b)
		if w <= 0 || (v == 0 && !holes) {
			return nil, nil, false
		}
		b = b[w:]
		if v == 0 {
			files[i] = none
			continue
		}
		v--
		prev += int64(v>>1) ^ -int64(v&1)
		if prev < 0 || prev >= int64(limit) {
			return nil, nil, false
		}
		files[i] = uint32(prev)
	}
	return files, b, true
}
