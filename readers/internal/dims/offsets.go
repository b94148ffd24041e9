package dims

import "strings"

// offsetWords are the names of offsets, alone or behind that of their lists.
var offsetWords = []string{"offsets", "offset", "row_splits", "indptr", "ptr"}

// OffsetsOf reports whether an array is named as offsets, and of which lists: "" are all that are
// beside it.
func OffsetsOf(name string) (of string, ok bool) {
	lower := strings.ToLower(name)
	for _, w := range offsetWords {
		switch {
		case lower == w:
			return "", true
		case strings.HasSuffix(lower, "_"+w):
			return name[:len(name)-len(w)-1], true
		}
	}
	return "", false
}

// InScope reports whether an array may hold the lists of offsets in a group, by their paths; of is
// what OffsetsOf says.
func InScope(group, of, p string) bool {
	rest := p
	if group != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(p, group+"/"); !ok {
			return false
		}
	}
	if of == "" {
		return true
	}
	rest, ok := strings.CutPrefix(rest, of)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '_')
}
