package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

const (
	// maxTables bounds the members of an object of tables, maxMember the bytes of a name.
	maxTables = 1000
	maxMember = 1 << 10
)

// member is a member of an object that is a whole file.
type member struct {
	name  string
	table bool        // an array of objects, or of nothing
	in    lines.Array // where its items are
	items int64
}

// contents is what a file holds.
type contents struct {
	array   *lines.Array // the items that are samples; nil: lines
	members []member     // of an object that is the whole file, else nil
	left    []format.Leftover
}

// coco reports whether a file has the tables of COCO.
func (c *contents) coco() bool {
	has := func(name string) bool {
		return slices.ContainsFunc(c.members, func(m member) bool { return m.table && m.name == name })
	}
	return has("images") && has("annotations")
}

// isJSON reports whether a name is that of a JSON text, which need not be lines.
func isJSON(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst"), ".json")
}

// contentsOf finds out what a file holds: an array, lines, or an object of tables, which a name in
// .json or an object that is asked for make possible.
func (s *source) contentsOf(ctx context.Context, f storage.File, name string) (*contents, error) {
	if s.object == "" && !isJSON(name) {
		return &contents{}, nil
	}
	t, err := lines.Open(ctx, f, lines.UTF8)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	r := &reader{r: t, off: t.Off()}
	c, err := r.next()
	switch {
	case err == io.EOF:
		c = '\n'
	case err != nil:
		return nil, err
	}
	if c == '[' {
		if s.object != "" {
			return nil, shardify.Misuse("--%s %s: the file is an array, no object that has it", optObject, s.object)
		}
		return &contents{array: &lines.Array{Lo: r.at()}}, nil
	}
	x := &contents{}
	if c != '{' {
		if s.object != "" {
			return nil, shardify.Misuse("--%s %s: the file is no object", optObject, s.object)
		}
		return x, nil
	}
	if x.members, err = r.members(); err != nil {
		return nil, err
	}
	switch _, err := r.next(); {
	case err == nil: // lines
		if x.members = nil; s.object != "" {
			return nil, shardify.Misuse("--%s %s: the file has more than one object: lines", optObject, s.object)
		}
		return x, nil
	case err != io.EOF:
		return nil, err
	}
	return x, s.choose(x)
}

// choose finds the table that was asked for.
func (s *source) choose(x *contents) error {
	var ways []format.Way
	var names []string
	for i := range x.members {
		m := &x.members[i]
		names = append(names, m.name)
		switch {
		case m.name == s.object && s.object != "" && !m.table:
			return shardify.Misuse("--%s %s: it is no array of objects", optObject, s.object)
		case m.name == s.object && s.object != "":
			x.array = &m.in
			for k := range x.members {
				if k != i {
					x.left = append(x.left, format.Leftover{Name: x.members[k].name, Reason: "another member of the object"})
				}
			}
			return nil
		case m.table && m.items > 0:
			ways = append(ways, format.Way{Options: format.Options{optObject: m.name}, Makes: printable.Of(int64(m.items), "sample") + " of " + m.name, Bytes: m.in.Hi - m.in.Lo})
		}
	}
	if s.object != "" {
		return shardify.Misuse("there is no %s in the file; there is %s", s.object, strings.Join(names[:min(len(names), 20)], ", "))
	}
	if len(ways) == 0 {
		if slices.Contains(names, "refs") {
			return shardify.Hint(shardify.Unsupported("references to arrays in other files (kerchunk)"), `in Python: xarray.open_dataset("x.json", engine="kerchunk").to_zarr("x.zarr")`)
		}
		return nil // a line
	}
	slices.SortStableFunc(ways, func(a, b format.Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	why := "one object, with several tables"
	if len(ways) == 1 {
		why = "one object, with a table"
	}
	return format.NewAmbiguous(why, ways)
}

// IsCOCO reports whether a file has the tables of COCO.
func IsCOCO(ctx context.Context, fs storage.FS, name string) bool {
	if !isJSON(name) {
		return false
	}
	f, err := rows.OpenFile(ctx, fs, name, -1)
	if err != nil {
		return false
	}
	defer f.Close()
	s := source{settings: &settings{}}
	x, _ := s.contentsOf(ctx, f, name)
	return x != nil && x.coco()
}

// outline lists the members of an object that is a whole file.
func outline(ctx context.Context, fs storage.FS, name string) (out []string, err error) {
	f, err := rows.OpenFile(ctx, fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := source{settings: &settings{}}
	x, err := s.contentsOf(ctx, f, name)
	if x == nil {
		return nil, err
	}
	for i := range x.members {
		m := &x.members[i]
		if m.table {
			out = append(out, fmt.Sprintf("%s  table of %d items", m.name, m.items))
		} else {
			out = append(out, m.name)
		}
	}
	return out, nil
}

// reader goes through a text once.
type reader struct {
	r   io.Reader
	off int64 // of b in the text
	b   []byte
	i   int // what of b was read
	buf []byte
}

// at is the place in the text behind the byte that was read last.
func (r *reader) at() int64 { return r.off + int64(r.i) }

// more reads on, and keeps nothing of what was read.
func (r *reader) more() error {
	if r.buf == nil {
		r.buf = make([]byte, 256<<10)
	}
	r.off += int64(len(r.b))
	r.i, r.b = 0, nil
	n, err := io.ReadFull(r.r, r.buf)
	if n > 0 {
		r.b = r.buf[:n]
		return nil
	}
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	return err
}

// next is the next byte that is not blank.
func (r *reader) next() (byte, error) {
	for {
		for r.i < len(r.b) {
			c := r.b[r.i]
			r.i++
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return c, nil
			}
		}
		if err := r.more(); err != nil {
			return 0, err
		}
	}
}

// need is next where the text must go on.
func (r *reader) need(want string) (byte, error) {
	c, err := r.next()
	if err == io.EOF || err == nil && want != "" && strings.IndexByte(want, c) < 0 {
		return 0, shardify.Corrupt(r.at(), "an object that does not go on as one")
	}
	return c, err
}

// members goes through an object, behind its brace.
func (r *reader) members() (all []member, err error) {
	has := map[string]bool{}
	for want := `"}`; ; want = `"` {
		c, err := r.need(want)
		if err != nil {
			return nil, err
		}
		if c == '}' {
			return all, nil
		}
		at := r.at()
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if has[name] {
			return nil, shardify.Corrupt(at, "%.100q twice in an object", name)
		}
		if has[name] = true; len(all) == maxTables {
			return nil, shardify.Hint(shardify.Unsupported("an object of more than %d members: are they data?", maxTables), "jq -c 'to_entries[]' FILE.json > NEW.jsonl makes a line of each member")
		}
		if _, err = r.need(":"); err != nil {
			return nil, err
		}
		m := member{name: name}
		if err := r.value(&m); err != nil {
			return nil, err
		}
		all = append(all, m)
		if c, err = r.need(",}"); err != nil {
			return nil, err
		}
		if c == '}' {
			return all, nil
		}
	}
}

// name reads a string behind its quote.
func (r *reader) name() (string, error) {
	text, at := []byte{'"'}, r.at()
	for escaped := false; len(text) < maxMember; {
		if r.i == len(r.b) {
			if err := r.more(); err == io.EOF {
				return "", shardify.Corrupt(at, "a string without an end")
			} else if err != nil {
				return "", err
			}
		}
		c := r.b[r.i]
		r.i++
		text = append(text, c)
		if c == '"' && !escaped {
			var s string
			if json.Unmarshal(text, &s) != nil {
				return "", shardify.Corrupt(at, "a name that is no string")
			}
			return s, nil
		}
		escaped = c == '\\' && !escaped
	}
	return "", shardify.Unsupported("a name of more than %d bytes", maxMember)
}

// value goes over a value and says whether it is a table.
func (r *reader) value(m *member) error {
	c, err := r.need("")
	if err != nil {
		return err
	}
	switch c {
	case '"':
		return r.skipString()
	case '[':
		m.in.Lo = r.at()
		if c, err = r.need(""); err != nil {
			return err
		}
		r.i--
		m.table = c == '{' || c == ']'
		if c != ']' {
			m.items = 1
		}
		commas, err := r.skip()
		m.in.Hi, m.items = r.at(), m.items+commas
		return err
	case '{':
		_, err := r.skip()
		return err
	}
	for { // a number or a word
		if c, err = r.need(""); err != nil {
			return err
		}
		if c == ',' || c == '}' {
			r.i--
			return nil
		}
	}
}

// skip goes behind the bracket that closes what is open, and counts the commas on its level.
func (r *reader) skip() (commas int64, err error) {
	at := r.at()
	for depth := 1; ; {
		b := r.b
		for i := r.i; i < len(b); i++ {
			switch marks[b[i]] {
			case 0:
			case '"':
				r.i = i + 1
				if err := r.skipString(); err != nil {
					return 0, err
				}
				b, i = r.b, r.i-1
			case '[':
				depth++
			case ']':
				if depth--; depth == 0 {
					r.i = i + 1
					return commas, nil
				}
			case ',':
				if depth == 1 {
					commas++
				}
			}
		}
		if err := r.more(); err == io.EOF {
			return 0, shardify.Corrupt(at, "a bracket that is not closed")
		} else if err != nil {
			return 0, err
		}
	}
}

// marks are the bytes outside of strings that count.
var marks = [256]byte{'"': '"', '[': '[', '{': '[', ']': ']', '}': ']', ',': ','}

// skipString goes behind the string whose quote was read.
func (r *reader) skipString() error {
	at, escaped := r.at(), false
	for {
		for b := r.b[r.i:]; len(b) > 0; b = r.b[r.i:] {
			if escaped {
				escaped = false
				r.i++
				continue
			}
			k := bytes.IndexAny(b[:min(len(b), 1<<10)], "\"\\")
			if k < 0 {
				r.i += min(len(b), 1<<10)
				continue
			}
			if r.i += k + 1; b[k] == '"' {
				return nil
			}
			escaped = true
		}
		if err := r.more(); err == io.EOF {
			return shardify.Corrupt(at, "a string without an end")
		} else if err != nil {
			return err
		}
	}
}
