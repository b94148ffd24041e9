package shardify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kind is the type of an option's value.
type Kind string

// The kinds of options.
const (
	KindBool   Kind = "bool"
	KindInt    Kind = "int"
	KindSize   Kind = "size" // bytes: "256MiB"
	KindString Kind = "string"
	KindEnum   Kind = "enum"
)

// Option declares one setting of a format. Flags, help, completion and recipe
// keys are made from it.
type Option struct {
	Name    string // as a flag, without dashes
	Kind    Kind
	Default string
	Values  []string // of KindEnum
	Help    string   // one line, no full stop
	// Quiet: plans and manifests name the option only where it is not its default, so that
	// those made before there was the option stay as they are. Options.Value reads it.
	Quiet bool
}

// Options are settings by name, as text; a missing one has its default.
type Options map[string]string

// Value is a checked option's value.
func (o Options) Value(decl *Option) string { return cmp.Or(o[decl.Name], decl.Default) }

// Check tells whether s is a value of the option.
func (o *Option) Check(s string) error {
	var err error
	switch o.Kind {
	case KindBool:
		_, err = strconv.ParseBool(s)
	case KindInt:
		_, err = strconv.ParseInt(s, 10, 64)
	case KindSize:
		_, err = ParseSize(s)
	case KindEnum:
		if !slices.Contains(o.Values, s) {
			err = fmt.Errorf("one of %s", strings.Join(o.Values, ", "))
		}
	}
	if err != nil {
		return fmt.Errorf("--%s %q: want %s", o.Name, s, o.want(err))
	}
	return nil
}

func (o *Option) want(err error) string {
	switch o.Kind {
	case KindBool:
		return "true or false"
	case KindInt:
		return "a whole number"
	case KindSize:
		return "a size such as 512MiB"
	}
	return err.Error()
}

// CheckOptions refuses unknown names and bad values, and returns o with every
// default filled in that is not Quiet.
func CheckOptions(decl []Option, o Options) (Options, error) {
	full := make(Options, len(decl))
	for i := range decl {
		if !decl[i].Quiet {
			full[decl[i].Name] = decl[i].Default
		}
	}
	for k, v := range o {
		i := slices.IndexFunc(decl, func(d Option) bool { return d.Name == k })
		if i < 0 {
			return nil, fmt.Errorf("unknown option %q", k)
		}
		if err := decl[i].Check(v); err != nil {
			return nil, err
		}
		if decl[i].Quiet && v == decl[i].Default {
			continue
		}
		full[k] = v
	}
	return full, nil
}

// Bool returns a checked option's value; a missing one is false.
func (o Options) Bool(name string) bool { b, _ := strconv.ParseBool(o[name]); return b }

// Int returns a checked option's value; a missing one is 0.
func (o Options) Int(name string) int64 { n, _ := strconv.ParseInt(o[name], 10, 64); return n }

// Size returns a checked option's value in bytes; a missing one is 0.
func (o Options) Size(name string) int64 { n, _ := ParseSize(o[name]); return n }

var units = []struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// ParseSize reads "512MiB", "1.5GB", "4096" (bytes). K, M, G, T are binary.
func ParseSize(s string) (int64, error) {
	num, mul := strings.TrimSpace(s), 1.0
	for _, u := range units {
		if n := len(num) - len(u.name); n > 0 && strings.EqualFold(num[n:], u.name) {
			num, mul = strings.TrimSpace(num[:n]), u.size
			break
		}
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f < 0 || math.IsNaN(f) || f*mul >= math.MaxInt64 {
		return 0, fmt.Errorf("size %q: want a number of bytes with an optional unit, such as 512MiB", s)
	}
	return int64(f * mul), nil
}

// FormatSize writes bytes for people: "512 MiB", "1.4 GiB", "37 B".
func FormatSize(n int64) string {
	f, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	if unit == "B" || f >= 100 || f == math.Trunc(f) {
		return fmt.Sprintf("%.0f %s", f, unit)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}
