package view

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Spec is what a user says of windows: "time=2+1,step=6h,lead=1d", "3+1,stride=4", or the name of
// a view of the set, "NAME" or "NAME,out=2".
type Spec struct {
	Text string
	// View is the name of a view that the set has; then only Out may be set.
	View string
	// Axis is the field that says where rows are, by whose values the rows of a window are
	// chosen; "" is their number.
	Axis    string
	In, Out int64
	// Step is the distance of a window's rows, Lead that of the first one of Out from the anchor,
	// Stride that of the anchors. Zero is the default: the axis' spacing; Step; the spacing.
	Step, Lead, Stride Distance
	// Name is that of the view in a set.
	Name string
}

// Distance is a number of rows, or a time.
type Distance struct {
	Rows  int64
	Nanos int64 // where it is a time
}

func (d Distance) zero() bool { return d == Distance{} }

func (d Distance) String() string {
	if d.Nanos == 0 {
		return strconv.FormatInt(d.Rows, 10)
	}
	for _, u := range units {
		if d.Nanos%u.nanos == 0 {
			return strconv.FormatInt(d.Nanos/u.nanos, 10) + u.name
		}
	}
	return ""
}

// units of times, the longest first.
var units = []struct {
	name  string
	nanos int64
}{{"w", 7 * 24 * 3600e9}, {"d", 24 * 3600e9}, {"h", 3600e9}, {"min", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}

// DefaultName is the name of a view that was given none.
const DefaultName = "window"

var (
	viewName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`) })
	distance = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,18})([a-z]*)$`) })
)

// Parse reads a text.
func Parse(text string) (Spec, error) {
	s, err := parse(text)
	if err != nil {
		return s, shardify.Misuse("window %q: %v", text, err)
	}
	return s, nil
}

func parse(text string) (s Spec, err error) {
	s.Text = strings.TrimSpace(text)
	head, rest, more := strings.Cut(s.Text, ",")
	axis, size, ok := strings.Cut(head, "=")
	switch {
	case ok:
		if s.Axis = strings.TrimSpace(axis); s.Axis == "" {
			return s, fmt.Errorf("no name before =")
		}
	case viewName().MatchString(head):
		s.View = head
	default:
		size = head
	}
	if s.View == "" {
		if s.In, s.Out, err = sizes(strings.TrimSpace(size)); err != nil {
			return s, err
		}
	} else if s.Out = -1; more && !strings.HasPrefix(rest, "out=") {
		return s, fmt.Errorf("of the view %s only out=N can be chosen", s.View)
	}
	for more {
		var option string
		option, rest, more = strings.Cut(rest, ",")
		if err := s.option(strings.TrimSpace(option)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// sizes reads IN+OUT or IN.
func sizes(text string) (in, out int64, err error) {
	a, b, two := strings.Cut(text, "+")
	in, err = strconv.ParseInt(a, 10, 64)
	if err == nil && two {
		out, err = strconv.ParseInt(b, 10, 64)
	}
	if err != nil || in < 1 || in > index.MaxWindow || out < 0 || out > index.MaxWindow || in == 1 && out == 0 {
		return 0, 0, fmt.Errorf("%q: want IN+OUT rows, such as 2+1, or IN, such as 16; at most %d each", text, index.MaxWindow)
	}
	return in, out, nil
}

func (s *Spec) option(text string) (err error) {
	key, value, _ := strings.Cut(text, "=")
	switch {
	case s.View != "" && key == "out":
		if s.Out, err = strconv.ParseInt(value, 10, 64); err != nil || s.Out < 0 {
			return fmt.Errorf("%s: want a number of rows", text)
		}
	case s.View != "":
		return fmt.Errorf("%s: of the view %s only out=N can be chosen", text, s.View)
	case key == "step":
		s.Step, err = parseDistance(value)
	case key == "lead":
		s.Lead, err = parseDistance(value)
	case key == "stride":
		s.Stride, err = parseDistance(value)
	case key == "name":
		if s.Name = value; !viewName().MatchString(value) {
			return fmt.Errorf("%s: want letters, digits, _, . and -, beginning with a letter", text)
		}
	default:
		return fmt.Errorf("%s: want step=, lead=, stride= or name=", text)
	}
	return err
}

func parseDistance(text string) (d Distance, err error) {
	m := distance().FindStringSubmatch(text)
	if m == nil {
		return d, fmt.Errorf("%q: want a number of rows, such as 3, or a time, such as 6h", text)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	if m[2] == "" {
		d.Rows = n
	} else {
		for _, u := range units {
			if u.name == m[2] && n <= math.MaxInt64/u.nanos {
				d.Nanos = n * u.nanos
			}
		}
	}
	if d.zero() {
		return d, fmt.Errorf("%q: want more than nothing, in rows or in w, d, h, min, s, ms, us or ns", text)
	}
	return d, nil
}

// ParseAll reads texts that make views of one set, and gives each a name.
func ParseAll(texts []string) (list []Spec, err error) {
	for _, text := range texts {
		s, err := Parse(text)
		if err == nil && s.View != "" {
			err = shardify.Misuse("window %q: want IN+OUT rows, such as time=2+1", text)
		}
		if err != nil {
			return nil, err
		}
		if s.Name == "" {
			s.Name = DefaultName
		}
		for i := range list {
			if list[i].Name == s.Name {
				return nil, shardify.Misuse("windows %q and %q are both named %s: name=NAME names one", list[i].Text, text, s.Name)
			}
		}
		list = append(list, s)
	}
	return list, nil
}
