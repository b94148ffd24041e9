package format

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
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
	// List: the option may be given several times; the values are joined by commas.
	List bool
	// Decides: inputs for which the option is given are of this format, unless the user names another.
	Decides bool
	// Settings are the keys of a value that is written KEY=VALUE,...
	Settings []string
	// Off are values that switch the thing off, each of which is satisfied where it is not there.
	Off []string
	// Idle says what the inputs lack where another value than the default has no effect, which is
	// an error: the code that opens them reports an effect to OpenArgs.Used. Or it is Always or
	// Permission.
	Idle string
}

// Values of Option.Idle where there is nothing to report.
const (
	Always     = "it has an effect whatever the inputs are, or is refused"
	Permission = "it says what to do with inputs that need not be there"
)

// Used collects which options had an effect while inputs were opened. A nil one ignores them.
type Used struct {
	names sync.Map
	parts map[string][]string // by option
}

// Mark reports an effect of an option.
func (u *Used) Mark(option string) {
	if u != nil {
		u.names.Store(option, true)
	}
}

// Expect says, before the inputs are opened, that each of these parts of an option's value is to
// have an effect, which MarkPart reports.
func (u *Used) Expect(option string, parts []string) {
	if u != nil {
		u.parts = map[string][]string{option: parts}
	}
}

// MarkPart reports an effect of a part of an option's value.
func (u *Used) MarkPart(option, part string) { u.Mark(option + " " + part) }

// Idle is the error of an option that was given and had no effect.
func (u *Used) Idle(decl []Option, given Options) error {
	for i := range decl {
		o := &decl[i]
		v, ok := given[o.Name]
		if !ok || o.Satisfied(v) || o.Idle == Always || o.Idle == Permission {
			continue
		}
		for i, part := range u.parts[o.Name] {
			if _, ok := u.names.Load(o.Name + " " + part); !ok {
				rest := strings.Join(slices.Delete(slices.Clone(u.parts[o.Name]), i, i+1), ",")
				return &Cured{shardify.Usage("--%s: %s has no effect: %s", o.Name, part, o.Idle), []Way{{Options: Options{o.Name: rest}, Makes: "without it"}}}
			}
		}
		if _, ok := u.names.Load(o.Name); !ok && u.parts[o.Name] == nil {
			return &Cured{shardify.Usage("--%s %s has no effect: %s", o.Name, v, o.Idle), []Way{{Without: o.Name, Makes: "without it"}}}
		}
	}
	return nil
}

// OptText is the option of formats that have texts.
var OptText = Option{Name: "text", Kind: KindEnum, Default: "utf8", Values: []string{"utf8", "bytes"}, Idle: "no field that is read is text",
	Help: "utf8: strings are text and must be UTF-8; bytes: strings are any bytes"}

// Satisfied reports whether a value asks for nothing: it is the default, or switches off what
// need not be there.
func (o *Option) Satisfied(v string) bool { return v == o.Default || slices.Contains(o.Off, v) }

// Check reports whether s is a value of the option.
func (o *Option) Check(s string) error {
	var err error
	switch o.Kind {
	case KindBool:
		_, err = strconv.ParseBool(s)
	case KindInt:
		_, err = strconv.ParseInt(s, 10, 64)
	case KindSize:
		_, err = shardify.ParseSize(s)
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

// Options are settings by name, as text; a missing one has its default.
type Options map[string]string

// Value is a checked option's value.
func (o Options) Value(decl *Option) string { return cmp.Or(o[decl.Name], decl.Default) }

// Bool returns a checked option's value; a missing one is false.
func (o Options) Bool(name string) bool { b, _ := strconv.ParseBool(o[name]); return b }

// Int returns a checked option's value; a missing one is 0.
func (o Options) Int(name string) int64 { n, _ := strconv.ParseInt(o[name], 10, 64); return n }

// Size returns a checked option's value in bytes; a missing one is 0.
func (o Options) Size(name string) int64 { n, _ := shardify.ParseSize(o[name]); return n }

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
