package parttest

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
)

// report is what people see of a plan and of the set that is made by it.
type report struct {
	notes    []string
	left     []format.Leftover
	dropped  string
	manifest string // counts
	err      string
}

func tell(t *testing.T, s pipeline.Settings, parts bool) (x report) {
	t.Helper()
	p, err := prepare(t, s)
	if err != nil {
		return report{err: err.Error()}
	}
	if p.Plan.Pack.InParts() != parts {
		t.Fatalf("%d parts", p.Plan.Pack.Parts())
	}
	f := p.Facts()
	x.notes, x.left, x.dropped = f.Notes, f.LeftOut, fmt.Sprint(f.Dropped)
	m, err := p.Job.Convert(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.manifest = fmt.Sprint(m.LeftOut, m.Dropped, m.Samples)
	return x
}

// TestPartsTellWhatOneTableTells: notes, counts, left-out inputs and options without effect.
func TestPartsTellWhatOneTableTells(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   func(i int) []string // of sample i of 60
		options format.Options
		says    string
	}{
		{"empty files", func(i int) []string {
			return []string{fmt.Sprintf("a/%03d.jpg", i), fmt.Sprintf("a/%03d.txt%s", i, empty(i%9 == 4))}
		}, nil, "field txt: 7 of 60 files have 0 bytes (a/004.txt, a/013.txt, a/022.txt, ...)"},
		{"one, in the last part", func(i int) []string { return []string{fmt.Sprintf("a/%03d.jpg%s", i, empty(i == 59))} },
			nil, "field jpg: 1 of 60 files has 0 bytes (a/059.jpg); --check-images"},
		{"of a field with two types", func(i int) []string {
			return []string{fmt.Sprintf("a/%03d.%s%s", i, []string{"jpg", "png"}[i/30], empty(i%10 == 5))}
		}, nil, "field image: 6 of 60 files have 0 bytes (a/005.jpg, a/015.jpg, a/025.jpg, ...)"},
		{"of samples that are dropped", func(i int) []string {
			if i < 40 {
				return []string{fmt.Sprintf("a/%03d.jpg%s", i, empty(i%2 == 0))}
			}
			return []string{fmt.Sprintf("a/%03d.jpg%s", i, empty(i%4 == 0)), fmt.Sprintf("a/%03d.txt", i)}
		}, format.Options{"missing": "drop"}, "field jpg: 5 of 20 files have 0 bytes (a/040.jpg,"},
		{"strays", func(i int) []string {
			if i == 33 {
				return []string{"a/033.jpg", "README.md"}
			}
			return []string{fmt.Sprintf("a/%03d.jpg", i)}
		}, nil, ""},
		{"names behind dots", func(i int) []string { return []string{fmt.Sprintf("a/%d.5.jpg", i+100)} }, nil, "are part of a sample's name"},
		{"kinds of files", func(i int) []string { return []string{fmt.Sprintf("a/%03d.nii", i)} }, nil, "NIfTI volumes"},
		{"names that cannot be", func(i int) []string { return []string{fmt.Sprintf("a/%03d.x#1", i)} }, nil, ""},
		{"classes that are not asked for", func(i int) []string { return []string{fmt.Sprintf("c%d/%03d.jpg", i/20, i)} }, format.Options{"labels": "none"}, ""},
		{"no text", func(i int) []string { return []string{fmt.Sprintf("a/%03d.jpg", i)} }, format.Options{"text": "bytes"}, "no effect"},
		{"no classes", func(i int) []string { return []string{fmt.Sprintf("%03d.jpg", i)} }, format.Options{"labels": "none"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "in")
			for i := range 60 {
				for _, name := range c.files(i) {
					name, void := strings.CutSuffix(name, "!")
					text := name
					if void {
						text = ""
					}
					write(t, filepath.Join(dir, name), text)
				}
			}
			s := pipeline.Settings{Inputs: []string{dir}, Options: c.options}
			readers.PartFiles = 1 << 17
			whole := tell(t, s, false)
			small(t, 10)
			got := tell(t, s, true)
			if !reflect.DeepEqual(got, whole) {
				t.Errorf("in parts  %+v\nin one    %+v", got, whole)
			}
			if text := whole.err + strings.Join(whole.notes, "\n"); !strings.Contains(text, c.says) {
				t.Errorf("%q does not say %q", text, c.says)
			}
		})
	}
}

// empty marks a file that has 0 bytes.
func empty(is bool) string {
	if is {
		return "!"
	}
	return ""
}
