package op

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
)

// List cuts at commas and line feeds, and trims.
func List(s string) []string {
	var out []string
	for _, p := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// CutLast cuts around the last separator. Without one all of s is before it.
func CutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// FlagError names the flag that an error is about.
func FlagError(flag, text string, err error) error {
	if err == nil {
		return nil
	}
	return shardify.Annotate(err, "--"+flag+" '"+strings.ReplaceAll(text, "\n", "' --"+flag+" '")+"'", "", "")
}

// TextError names the expression or rule of its flag that an error is about.
func TextError(text string, err error) error {
	if err == nil {
		return nil
	}
	if text = strings.ReplaceAll(text, "\n", ", "); strings.HasPrefix(err.Error(), text+": ") || strings.HasPrefix(err.Error(), text+" is ") {
		return err // it names it already
	}
	return fmt.Errorf("%s: %w", text, err)
}
