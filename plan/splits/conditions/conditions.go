// Package conditions parses splits by conditions: val=event % 5 == 0; test=run >= 355000; train=rest.
package conditions

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
)

// Are is true for val=run > 3; train=rest, and false for val=0.2,train=0.8.
func Are(text string) bool {
	if len(cut(text, ';')) > 1 {
		return true
	}
	return slices.ContainsFunc(cut(text, ','), func(item string) bool {
		_, v, ok := strings.Cut(item, "=")
		return ok && strings.ContainsAny(strings.TrimSpace(v), "=<>!&|(\"' ")
	})
}

// cut divides a text at the separators outside of quotes.
func cut(text string, sep byte) (out []string) {
	from, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == sep:
			out, from = append(out, text[from:i]), i+1
		}
	}
	return append(out, text[from:])
}

// gap is the last item where it is no split.
var gap = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*gap\s*=\s*([-+.0-9][^=<>!&|()"',]*)$`) })

// CutGap takes gap=24h from the items, which is no split.
func CutGap(text string) (rest, width string) {
	var out []string
	for _, item := range cut(text, ';') {
		if m := gap().FindStringSubmatch(item); m != nil && width == "" {
			width = strings.TrimSpace(m[1])
		} else {
			out = append(out, item)
		}
	}
	if width == "" || len(out) == 0 {
		return text, ""
	}
	return strings.Join(out, ";"), width
}

// Item is a split and its condition; "" for the one that has the rest.
type Item struct{ Name, Where string }

// Parse reads val=event % 5 == 0; test=run >= 355000; train=rest. It returns nil for what is not by conditions, as shares.
func Parse(text string) ([]Item, error) {
	if !Are(text) {
		return nil, nil
	}
	var out []Item
	items := cut(text, ';')
	if n := len(items); n > 1 && strings.TrimSpace(items[n-1]) == "" {
		items = items[:n-1]
	}
	for _, item := range items {
		item = strings.TrimSpace(item)
		name, where, ok := strings.Cut(item, "=")
		name, where = strings.TrimSpace(name), strings.TrimSpace(where)
		if !ok || where == "" || where[0] == '=' || name == "" || strings.ContainsAny(name[len(name)-1:], "<>!") {
			return nil, shardify.Mismatch("split %q: want NAME=CONDITION, as in 'val=event %% 5 == 0; train=rest'", item)
		}
		if where == "rest" {
			where = ""
		} else if err := one(item, where); err != nil {
			return nil, err
		}
		out = append(out, Item{name, where})
	}
	return out, nil
}

// one refuses what is no condition, but a share or several splits.
func one(item, where string) error {
	parts := cut(where, ',')
	if _, err := strconv.ParseFloat(strings.TrimSpace(parts[0]), 64); err == nil {
		return shardify.Mismatch("split %q: splits are shares or numbers of samples, as in train=0.8,val=0.2, or conditions, as in 'val=event %% 5 == 0; train=rest', not both", item)
	}
	for _, p := range parts[1:] {
		name, v, ok := strings.Cut(p, "=")
		if name = strings.TrimSpace(name); ok && v != "" && v[0] != '=' && name != "" && !strings.ContainsAny(name, "<>!=()[]\"' ") {
			return shardify.Mismatch("split %q: a semicolon is between conditions: 'val=event %% 5 == 0; train=rest'", item)
		}
	}
	return nil
}
