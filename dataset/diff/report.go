package diff

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/shardify/shardify/internal/printable"
)

// Change is what happened to a sample or a field from the first set to the second.
type Change string

// The changes.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
)

// What samples are found by, if not by a field.
const (
	ByName     = "name"
	ByContents = "contents"
)

// SplitField is the name in Sample.Fields of the split of a sample.
const SplitField = "(split)"

// Report is how two sets differ.
type Report struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// Same: samples, order, fields and attributes are the same.
	Same bool `json:"same"`
	// By is the field that finds a sample in the other set, ByName or ByContents; "" if the ids are equal
	// and nothing was read.
	By      string `json:"by"`
	Equal   int64  `json:"equal"`
	Changed int64  `json:"changed"`
	Added   int64  `json:"added"`
	Removed int64  `json:"removed"`
	// Moved is how many samples are at another place, where none was added or removed.
	Moved int64 `json:"moved"`
	// MovedSplit is how many samples are in another split.
	MovedSplit int64 `json:"moved_to_another_split"`
	// Ambiguous are those of Changed whose key comes more than once: they are not counted by field.
	Ambiguous int64    `json:"changed_with_repeated_key"`
	Fields    []Field  `json:"fields"`
	Classes   []Class  `json:"classes"`
	Samples   []Sample `json:"samples"` // the first of each kind

	moved int64
}

// Side is one of the two sets.
type Side struct {
	Name     string `json:"name"`
	ID       string `json:"id"`
	Samples  int64  `json:"samples"`
	Repeated int64  `json:"repeated_keys"` // keys that come more than once

	starts []int64 // of the splits
	splits []string
}

// place is the split of a sample, and its number there.
func (s *Side) place(row int64) (string, int64) {
	if row < 0 {
		return "", row
	}
	k := sort.Search(len(s.starts), func(i int) bool { return s.starts[i] > row }) - 1
	return s.splits[k], row - s.starts[k]
}

// Field is a field of either set.
type Field struct {
	Name string `json:"name"`
	// Change is "" if name, type and attributes are the same in both.
	Change Change   `json:"change,omitempty"`
	A      string   `json:"a,omitempty"` // type in the first set
	B      string   `json:"b,omitempty"`
	Attrs  []string `json:"attrs,omitempty"` // that differ
	// Uncompared: the types differ, and values were not compared.
	Uncompared bool `json:"not_compared,omitempty"`
	// Samples is how many samples with a key of their own have another value.
	Samples int64 `json:"samples_changed"`
}

// Class is how often a value of a field comes: by its name, if the field has names of codes.
type Class struct {
	Field string `json:"field"`
	Name  string `json:"name,omitempty"`
	Value int64  `json:"value"` // of the first set that has it
	A     int64  `json:"a"`
	B     int64  `json:"b"`
}

// Sample is a sample that is not in both sets as it is.
type Sample struct {
	Change Change `json:"change"`
	Key    string `json:"key,omitempty"`
	SplitA string `json:"split_a,omitempty"`
	A      int64  `json:"number_a"` // in its set or split; -1: it is not there
	SplitB string `json:"split_b,omitempty"`
	B      int64  `json:"number_b"`
	// Fields are those that have another value; nil where the key comes more than once.
	Fields []string `json:"fields,omitempty"`
	// Values are those of Fields, abbreviated, in both sets.
	Values [][2]string `json:"values,omitempty"`

	fields []int
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) {
	for _, s := range []*Side{&r.A, &r.B} {
		printable.Fprintf(w, "%s: %s  %s\n", s.Name, printable.Of(s.Samples, "sample"), s.ID)
	}
	if r.By == "" {
		printable.Fprintf(w, "the same: the ids are equal, nothing was read\n")
		return
	}
	printable.Fprintf(w, "\nsamples by %s: %s equal, %s changed, %s added, %s removed\n", r.by(), printable.Count(r.Equal), printable.Count(r.Changed), printable.Count(r.Added), printable.Count(r.Removed))
	if r.Moved > 0 {
		printable.Fprintf(w, "  %s at another place: the order differs\n", printable.Of(r.Moved, "sample"))
	}
	if r.MovedSplit > 0 {
		printable.Fprintf(w, "  %s in another split\n", printable.Of(r.MovedSplit, "sample"))
	}
	for _, s := range []*Side{&r.A, &r.B} {
		if s.Repeated > 0 && r.By != ByContents {
			printable.Fprintf(w, "  %s of %s more than once\n", printable.Of(s.Repeated, "key"), s.Name)
		}
	}
	if r.Ambiguous > 0 {
		printable.Fprintf(w, "  %s with such a key changed: they are not counted by field\n", printable.Of(r.Ambiguous, "sample"))
	}
	r.writeFields(w)
	r.writeClasses(w)
	r.writeSamples(w)
	if r.Same {
		printable.Fprintf(w, "the same: samples, order and fields\n")
	}
}

func (r *Report) writeFields(w io.Writer) {
	head, wide := false, 0
	for i := range r.Fields {
		wide = max(wide, len(printable.Name(r.Fields[i].Name)))
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		says := f.says()
		if says == nil {
			continue
		}
		if !head {
			printable.Fprintf(w, "\nfields:\n")
			head = true
		}
		printable.Fprintf(w, "  %-*s  %s\n", wide, f.Name, strings.Join(says, "; "))
	}
}

// says is how a field differs; nil if it does not.
func (f *Field) says() []string {
	var says []string
	switch f.Change {
	case Added, Removed:
		says = append(says, string(f.Change)+": "+f.A+f.B)
	case Changed:
		if f.Uncompared {
			says = append(says, f.A+" became "+f.B+": values were not compared")
		} else {
			says = append(says, "other "+strings.Join(f.Attrs, ", "))
		}
	}
	if f.Samples > 0 {
		says = append(says, "other values in "+printable.Of(f.Samples, "sample"))
	}
	return says
}

// writeClasses writes the classes whose counts differ.
func (r *Report) writeClasses(w io.Writer) {
	head := false
	for i := range r.Classes {
		c := &r.Classes[i]
		if c.A == c.B {
			continue
		}
		if !head {
			printable.Fprintf(w, "\nclasses:\n")
			head = true
		}
		printable.Fprintf(w, "  %s %s: %s, then %s (%+d)\n", c.Field, c.name(), printable.Count(c.A), printable.Count(c.B), c.B-c.A)
	}
}

func (c *Class) name() string {
	if c.Name == "" {
		return fmt.Sprint(c.Value)
	}
	return c.Name
}

// by is what samples are found by, for people.
func (r *Report) by() string {
	switch r.By {
	case ByName:
		return "name"
	case ByContents:
		return "all values"
	}
	return "field " + r.By
}

func (r *Report) writeSamples(w io.Writer) {
	last := Change("")
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Change != last {
			of := map[Change]int64{Added: r.Added, Removed: r.Removed, Changed: r.Changed}[s.Change]
			shown := int64(0)
			for k := range r.Samples {
				if r.Samples[k].Change == s.Change {
					shown++
				}
			}
			more := ""
			if of > shown {
				more = fmt.Sprintf(", the first %s", printable.Count(shown))
			}
			printable.Fprintf(w, "\n%s%s:\n", s.Change, more)
			last = s.Change
		}
		printable.Fprintf(w, "  %s%s\n", s.where(), s.what())
	}
}

func (s *Sample) where() string {
	at := func(split string, n int64) string {
		if split != "" {
			split += "/"
		}
		return fmt.Sprintf("%ssample %d", split, n)
	}
	text := at(s.SplitA, s.A)
	switch {
	case s.A < 0:
		text = at(s.SplitB, s.B)
	case s.B >= 0 && (s.A != s.B || s.SplitA != s.SplitB):
		text += ", then " + at(s.SplitB, s.B)
	}
	if s.Key != "" {
		text = s.Key + " (" + text + ")"
	}
	return text
}

func (s *Sample) what() string {
	var list []string
	for i, f := range s.Fields {
		if i < len(s.Values) && s.Values[i] != [2]string{} {
			f += ": " + s.Values[i][0] + " became " + s.Values[i][1]
		}
		list = append(list, f)
	}
	if list == nil {
		return ""
	}
	return "  " + strings.Join(list, "; ")
}
