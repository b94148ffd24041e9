package format

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// CutTable separates a table that is named with options of its own, FILE[ KEY=VALUE]...: those
// words at the end whose key one of the formats knows.
func CutTable(text string, formats []*Input) (name string, own []string) {
	words := strings.Split(text, " ")
	n := len(words)
	for ; n > 1; n-- {
		key, _, ok := strings.Cut(words[n-1], "=")
		if words[n-1] != "" && (!ok || !slices.ContainsFunc(formats, func(in *Input) bool { return in.setting(key) != nil })) {
			break
		}
	}
	own = slices.DeleteFunc(slices.Clone(words[n:]), func(w string) bool { return w == "" })
	return strings.Join(words[:n], " "), own
}

// setting is the option that a key is the name of, or that is written KEY=VALUE,... with it.
func (in *Input) setting(key string) *Option {
	i := slices.IndexFunc(in.Options, func(o Option) bool { return o.Name == key || slices.Contains(o.Settings, key) })
	if i < 0 {
		return nil
	}
	return &in.Options[i]
}

// TableOptions are the options that CutTable found, of a table of this format.
func (in *Input) TableOptions(own []string) (Options, error) {
	out := Options{}
	for _, word := range own {
		key, value, _ := strings.Cut(word, "=")
		o := in.setting(key)
		switch {
		case o == nil:
			return nil, shardify.Misuse("%s: a table of format %s has no option %s", word, in.Name, key)
		case o.Name != key && out[o.Name] != "":
			out[o.Name] += "," + word
		case o.Name != key:
			out[o.Name] = word
		case out[key] != "":
			return nil, shardify.Misuse("%s: %s is given twice", word, key)
		default:
			out[key] = value
		}
	}
	return out, nil
}

// tableError is an error about a table beside the inputs.
type tableError struct {
	error
	text string
}

func (e *tableError) Error() string { return e.text }

// Unwrap is the error of the reader.
func (e *tableError) Unwrap() error { return e.error }

// TableError rewrites what an error of a table advises, --OPTION KEY=VALUE, as what gives the
// table that option: --FLAG 'TABLE KEY=VALUE'. table has the options it was named with.
func (in *Input) TableError(err error, flag, table string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for i := range in.Options {
		if o := &in.Options[i]; o.Settings != nil {
			advice := regexp.MustCompile(`--` + o.Name + ` ((?:` + strings.Join(o.Settings, "|") + `)=[^\s;]+?)([,;:]?(?:\s|$))`)
			text = advice.ReplaceAllStringFunc(text, func(s string) string {
				m := advice.FindStringSubmatch(s)
				return "--" + flag + " '" + table + " " + m[1] + "'" + m[2]
			})
		}
	}
	if text == err.Error() {
		return err
	}
	return &tableError{err, text}
}
