package sampleaxis

import (
	"cmp"
	"slices"
	"strings"
)

// SplitNames are the splits that names of arrays can mean, in their order.
var SplitNames = []string{"train", "val", "dev", "test"}

// splitWords are the words that name splits.
var splitWords = []struct{ word, split string }{
	{"train", "train"}, {"training", "train"},
	{"val", "val"}, {"valid", "val"}, {"validation", "val"},
	{"dev", "dev"},
	{"test", "test"}, {"testing", "test"},
}

// SplitOf finds the split in the path of an array, and the path without it.
func SplitOf(p string) (split, rest string) {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		split, without := splitWord(part)
		if split == "" {
			continue
		}
		parts[i] = without
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		return split, "/" + cmp.Or(strings.Join(parts, "/"), "data")
	}
	return "", ""
}

// splitWord finds a split in one name: a word between separators, or at either end.
func splitWord(name string) (split, rest string) {
	isSep := func(c byte) bool { return c == '_' || c == '-' || c == '.' || c == ' ' }
	lower := strings.ToLower(name)
	for _, w := range splitWords {
		for at := 0; ; {
			k := strings.Index(lower[at:], w.word)
			if k < 0 {
				break
			}
			at += k
			end := at + len(w.word)
			before, after := at == 0 || isSep(name[at-1]), end == len(name) || isSep(name[end])
			camel := func(c byte) bool { return 'A' <= c && c <= 'Z' }
			before = before || after && (at == 1 || camel(name[at]))
			after = after || at == 0 && camel(name[end])
			if before && after {
				left, right := strings.TrimRight(name[:at], "_-. "), strings.TrimLeft(name[end:], "_-. ")
				if head, tail, ok := strings.Cut(right, "_"); ok && strings.EqualFold(head, "set") {
					right = tail
				}
				if left != "" && right != "" {
					left += "_"
				}
				return w.split, left + right
			}
			at = end
		}
	}
	return "", ""
}
