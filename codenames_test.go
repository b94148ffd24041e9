package shardify

import (
	"slices"
	"testing"
)

func TestCodeNames(t *testing.T) {
	for _, c := range []struct {
		names      []string
		codes      []int64
		attr, text string
	}{
		{[]string{"B", "T"}, []int64{0, 1}, "labels", "B\nT"},
		{[]string{"land", "sea"}, []int64{3, 1}, "labels", "\nsea\n\nland"},
		{[]string{"a=b", "c"}, []int64{0, 1}, "labels", "a=b\nc"},
		{[]string{"low", "high"}, []int64{-3, 2}, "enum", "low=-3\nhigh=2"},
		{[]string{"a", "b"}, []int64{1, 1}, "enum", "a=1\nb=1"},
		{[]string{"far"}, []int64{1 << 40}, "enum", "far=1099511627776"},
		{[]string{"a\nb"}, []int64{0}, "", ""},
		{nil, nil, "", ""},
	} {
		if attr, text := CodeNames(c.names, c.codes); attr != c.attr || text != c.text {
			t.Errorf("%q %v: %s %q", c.names, c.codes, attr, text)
		}
	}
}

// TestCodes: what CodeNames has kept is read back, without the codes that have no name.
func TestCodes(t *testing.T) {
	for _, c := range []struct {
		names []string
		codes []int64
	}{
		{[]string{"B", "T"}, []int64{0, 1}},
		{[]string{"sea", "land"}, []int64{1, 3}},
		{[]string{"a=b", "high"}, []int64{-3, 1 << 40}},
		{nil, nil},
	} {
		f := Field{Attrs: map[string]string{}}
		if attr, text := CodeNames(c.names, c.codes); attr != "" {
			f.Attrs[attr] = text
		}
		if names, codes := f.Codes(); !slices.Equal(names, c.names) || !slices.Equal(codes, c.codes) {
			t.Errorf("%v %v: %v %v", c.names, c.codes, names, codes)
		}
	}
}
