package tar

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

const (
	// maxGroups bounds the keys that are remembered.
	maxGroups = 4 << 20
	// maxFields bounds the fields of one sample that are compared.
	maxFields = 256
)

// groups follows the samples of a tar: members in a row with one key.
type groups struct {
	seen   map[uint64]struct{} // hashes of the keys so far
	full   bool
	key    []byte
	at     int64 // of the current sample; -1 before the first
	fields []string
	first  []string // of the first sample
	open   bool
}

// name judges a member's name and puts it into its sample.
func (l *linter) name(at int64, name []byte) {
	l.bytes(at, name)
	switch {
	case bytes.HasPrefix(name, []byte("./")):
		l.found(RuleDotSlash, at, name, "")
	case bytes.HasPrefix(name, []byte("/")), slices.ContainsFunc(bytes.Split(name, []byte("/")), func(p []byte) bool { return string(p) == ".." }):
		l.found(ruleOutside, at, name, "")
	}
	if reserved(name) {
		l.found(ruleReserved, at, name, "")
		return
	}
	base := name[bytes.LastIndexByte(name, '/')+1:]
	if len(base) > 0 && base[0] == '.' {
		l.found(ruleHidden, at, name, "")
	}
	key, field, ok := SplitKey(name)
	if !ok {
		if len(base) == 0 || base[0] != '.' {
			l.found(ruleNoDot, at, name, "")
		}
		return
	}
	if i := bytes.LastIndexByte(field, '.') + 1; imageTraps[string(bytes.ToLower(field[i:]))] {
		l.found(ruleImageTrap, at, name, "%s", field[i:])
	}
	if !bytes.Equal(field, bytes.ToLower(field)) {
		l.found(RuleUpperCase, at, name, "")
	}
	l.group(at, name, key, bytes.ToLower(field))
}

func (l *linter) bytes(at int64, name []byte) {
	i := oddByte(name)
	if i < 0 {
		i = bytes.IndexByte(name, '\\')
	}
	if i >= 0 {
		l.found(ruleBadByte, at, name, "%#02x at %d", name[i], i)
	}
}

// reserved reports names that webdataset skips: "__x__" or below a folder so
// named.
func reserved(name []byte) bool {
	part, _, _ := bytes.Cut(name, []byte("/"))
	return len(part) >= 4 && bytes.HasPrefix(part, []byte("__")) && bytes.HasSuffix(part, []byte("__"))
}

// group adds a member to the current sample, or ends it and begins the next.
func (l *linter) group(at int64, name, key, field []byte) {
	g := &l.groups
	if !g.open || !bytes.Equal(key, g.key) {
		l.endGroup()
		g.open, g.at, g.key, g.fields = true, at, append(g.key[:0], key...), g.fields[:0]
		l.counts.Samples++
		l.remember(at, name)
	}
	if len(g.fields) >= maxFields {
		return
	}
	if slices.Contains(g.fields, string(field)) {
		l.found(ruleDuplicate, at, name, "")
		return
	}
	g.fields = append(g.fields, string(field))
}

// remember finds keys that come again.
func (l *linter) remember(at int64, name []byte) {
	g := &l.groups
	h := xxh3.Hash(g.key)
	if _, ok := g.seen[h]; ok {
		l.found(ruleScattered, at, name, "key %q came before", g.key)
		return
	}
	if len(g.seen) < maxGroups {
		g.seen[h] = struct{}{}
	} else if !g.full {
		g.full = true
		l.found(ruleTooMany, at, name, "%d", maxGroups)
	}
}

// endGroup compares a complete sample with the first one.
func (l *linter) endGroup() {
	g := &l.groups
	if !g.open {
		return
	}
	g.open = false
	if g.first == nil {
		g.first = slices.Sorted(slices.Values(g.fields))
		return
	}
	fields := slices.Sorted(slices.Values(g.fields))
	if slices.Equal(fields, g.first) {
		return
	}
	differ := slices.DeleteFunc([]string{without("lacks", g.first, fields), without("has also", fields, g.first)}, func(s string) bool { return s == "" })
	l.found(RuleOtherField, g.at, g.key, "%s", strings.Join(differ, ", "))
}

// without lists what a has and b lacks, at most three names; "" if there is nothing.
func without(what string, a, b []string) string {
	text, n := what, 0
	for _, s := range a {
		if slices.Contains(b, s) {
			continue
		}
		if n++; n <= 3 {
			text += fmt.Sprintf(" %.40q", s)
		}
	}
	if n == 0 {
		return ""
	} else if n > 3 {
		return fmt.Sprintf("%s and %d more", text, n-3)
	}
	return text
}
