package split

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzLists: any file is a list of cleaned names, each once and none empty of those that have one, or an
// error; a list and its lines in another order have the same names.
func FuzzLists(f *testing.F) {
	for _, s := range []string{
		"000012\nb/000012.jpg\n", "\ufeff000012  -1\r\n000013   1\n", "/home/me/../x/a.jpg\n\\\\a\\b.png\n a b.txt \n", "..\n/\n.\n", "a\na\n./a\n", "a\x00b\n", "\n\n", "a 1\nb\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		names := func(text []byte) ([]string, error) {
			l := &lists{files: []string{"x.txt"}, names: make([]int, 1), again: make([]int, 1)}
			if err := l.add(0, text); err != nil {
				return nil, err
			}
			var out []string
			for _, e := range l.entries {
				if e.name != cleaned(e.name) || strings.HasPrefix(e.name, "/") || e.list != 0 || e.sample != nothing {
					t.Fatalf("%q: %+v", text, e)
				}
				for _, s := range stems(e.name, 3) {
					if !strings.HasPrefix(e.name, s) {
						t.Fatalf("%q: stem %q", e.name, s)
					}
					ends(s, func(end string, parts int) {
						if !strings.HasSuffix(s, end) || strings.Count(end, "/")+1 != parts {
							t.Fatalf("%q: end %q of %d parts", s, end, parts)
						}
					})
				}
				out = append(out, e.name)
			}
			if l.names[0] != len(out) || l.again[0] < 0 || !slices.IsSorted(out) || len(slices.Compact(slices.Clone(out))) != len(out) {
				t.Fatalf("%q: %q, %d names, %d again", text, out, l.names[0], l.again[0])
			}
			return out, nil
		}
		got, err := names(text)
		if err != nil || bytes.HasPrefix(text, []byte("\ufeff")) {
			return
		}
		lines := slices.Collect(bytes.Lines(append(slices.Clone(text), '\n')))
		slices.Reverse(lines)
		again := bytes.Join(lines, nil)
		if bytes.HasPrefix(again, []byte("\ufeff")) {
			return
		}
		if other, err := names(again); err != nil || !slices.Equal(got, other) {
			t.Fatalf("%q: %q, in another order %q: %v", text, got, other, err)
		}
	})
}
