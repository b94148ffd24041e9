package walk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinksLeadNoFurtherThanTheInput, unless the user says that they may: by folders and
// by patterns, with and without asking for sizes. The input itself may be a link.
func TestLinksLeadNoFurtherThanTheInput(t *testing.T) {
	dir := tree(t, "secret/key.jpg", "in/a.jpg", "in/sub/b.jpg", "in/same.jpg->sub/b.jpg", "in/around->../in/sub", "in/sub/up->..", "link->in", "in2/x.jpg->../secret/key.jpg",
		"in2/deep/y->../../secret", "in2/z.jpg", "in3/p.jpg->q.jpg", "in3/q.jpg->../secret/key.jpg")
	abs := filepath.Join(dir, "in", "abs.jpg")
	if err := os.Symlink(filepath.Join(dir, "in", "a.jpg"), abs); err != nil {
		t.Fatal(err)
	}
	inside := []string{"a.jpg", "abs.jpg", "around/b.jpg", "same.jpg", "sub/b.jpg"}
	for _, c := range []struct {
		input   string
		want    []string // all, if nothing is refused
		refused int
		follow  []string
	}{
		{"in", inside, 0, inside},
		{"link", inside, 0, inside},
		{"in2", nil, 2, []string{"deep/y/key.jpg", "x.jpg", "z.jpg"}},
		{"in2/*.jpg", nil, 1, []string{"x.jpg", "z.jpg"}},
		{"in2/**/*.jpg", nil, 3 /* one of them twice */, []string{"deep/y/key.jpg", "x.jpg", "z.jpg"}},
		{"in3", nil, 2, []string{"p.jpg", "q.jpg"}},
		{"in2/x.jpg", []string{"x.jpg"}, 0, []string{"x.jpg"}}, // named by the user
		{"in2/deep/y", []string{"key.jpg"}, 0, []string{"key.jpg"}},
	} {
		for _, follow := range []bool{false, true} {
			for _, noStat := range []bool{false, true} {
				table, _, err := Walk(context.Background(), Request{Inputs: []string{filepath.Join(dir, c.input)}, Follow: follow, NoStat: noStat})
				want, refused := c.want, c.refused
				if follow {
					want, refused = c.follow, 0
				}
				if refused > 0 {
					var bad *BadInputs
					if !errors.As(err, &bad) || bad.Count != refused || !errors.Is(err, ErrOutside) || !strings.Contains(err.Error(), "--follow-symlinks") {
						t.Errorf("%s: %v, want %d links refused", c.input, err, refused)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s, follow %v: %v", c.input, follow, err)
					continue
				}
				var got []string
				for i := range table.Len() {
					got = append(got, string(table.NameBytes(i)))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, follow %v: %v, want %v", c.input, follow, got, want)
				}
			}
		}
	}
}
