package coltype

import (
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Given is a type that users give to columns, by a pattern of names.
type Given struct {
	Pattern  string
	DType    shardify.DType // Invalid is text
	Nullable bool

	used *atomic.Bool
}

// Givens are several; the first that matches counts.
type Givens []Given

// ParseGivens reads COLUMN:TYPE,... of an option, with the types that ok is true of; want lists
// them.
func ParseGivens(option, text, want string, ok func(g *Given) bool) (all Givens, err error) {
	for _, w := range strings.Split(text, ",") {
		at := strings.LastIndexByte(w, ':')
		if at <= 0 {
			return nil, shardify.Misuse("--%s types: %q: want COLUMN:TYPE", option, w)
		}
		g, kind := Given{Pattern: w[:at], used: new(atomic.Bool)}, w[at+1:]
		if _, err := path.Match(g.Pattern, ""); err != nil {
			return nil, shardify.Misuse("--%s types: %q: want COLUMN:TYPE", option, w)
		}
		if kind, g.Nullable = strings.CutSuffix(kind, "?"); kind != "text" && kind != "txt" {
			g.DType, err = shardify.ParseDType(kind)
		}
		if err != nil || !ok(&g) {
			return nil, shardify.Misuse("--%s types: %q: want %s", option, w, want)
		}
		all = append(all, g)
	}
	return all, nil
}

// Of is the given type of a column; nil without one.
func (all Givens) Of(name string) *Given {
	for i := range all {
		if ok, _ := path.Match(all[i].Pattern, name); ok || all[i].Pattern == name {
			return &all[i]
		}
	}
	return nil
}

// String is the type as it is written.
func (g *Given) String() string {
	if g.DType == shardify.Invalid {
		return "text"
	}
	return g.DType.String()
}

// Use notes that a column has the type.
func (g *Given) Use() { g.used.Store(true) }

// Unused is the error of a type that none of the columns took. What * takes may be nothing.
func (all Givens) Unused(option string, columns []shardify.Field) error {
	for i := range all {
		if g := &all[i]; g.Pattern != "*" && !g.used.Load() {
			const most = 12
			var list []string
			for k := range columns[:min(len(columns), most)] {
				list = append(list, columns[k].Name)
			}
			if len(columns) > most {
				list = append(list, "...")
			}
			return shardify.Misuse("--%s types: no column %q; there is %s", option, g.Pattern, strings.Join(list, ", "))
		}
	}
	return nil
}

// PatternOf is a pattern that a name matches, without the characters that mean something else
// in a list of types.
func PatternOf(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`,*?[]\`, r) {
			return '?'
		}
		return r
	}, name)
}

// MaxExact is the largest number up to which f64 has all whole numbers.
const MaxExact = 1 << 53

// Met is where a value was met first.
type Met struct {
	At   int64  // line or row; 0: unknown
	Text string // the value
	File string // "" if there is one alone
}

// Join keeps the first of two in the same file.
func (m *Met) Join(o Met) {
	if o.At > 0 && (m.At == 0 || o.At < m.At) {
		*m = o
	}
}

func (m *Met) text(unit string) string {
	switch {
	case m.At == 0:
		return m.Text
	case m.File == "":
		return fmt.Sprintf("%s in %s %d", m.Text, unit, m.At)
	}
	return fmt.Sprintf("%s in %s %d of %s", m.Text, unit, m.At, m.File)
}

// Inexact is the error about a column that has whole numbers beyond MaxExact, of which wide is
// one, and others, of which float is one: no type has all of them.
//
// Where both are in one file, it is for the caller to name it.
func Inexact(name, unit string, wide, float Met, ways ...format.Way) error {
	if wide.File == float.File {
		wide.File, float.File = "", ""
	}
	return format.Cure(shardify.Mismatch("column %s has %s, a whole number beyond 2^53 that f64 may not hold, and %s, which no whole type holds",
		name, wide.text(unit), float.text(unit)), ways...)
}

// Setting is the way of a flag with a setting behind those that it has already.
func Setting(flag, has, setting, makes string) format.Way {
	if has != "" {
		has += ","
	}
	return format.With(flag, has+setting, makes)
}

// TypeWays are the settings that give columns one of the types that have numbers of any kind.
func TypeWays(flag, has, pattern string) []format.Way {
	return []format.Way{
		Setting(flag, has, "types="+pattern+":text", "all digits, as text"),
		Setting(flag, has, "types="+pattern+":f64", "numbers rounded to f64"),
	}
}
