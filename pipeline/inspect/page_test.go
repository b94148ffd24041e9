package inspect

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// statistics reads an input whole.
func statistics(t *testing.T, input string) *stats.Report {
	t.Helper()
	ctx := context.Background()
	f, _, err := readers.Choose(ctx, nil, "", []string{input})
	if err != nil {
		t.Fatal(err)
	}
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := readers.Open(ctx, f, readers.Request{Inputs: []string{input}, Options: options, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Source.Close()
	set, err := stats.Run(ctx, o.Source, shardify.NewPool(64<<20), 2, stats.Options{Duplicates: 1 << 20, Thumbnails: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := set.Report()
	NameTypes(r)
	return r
}

// folder is images of two classes, one of them damaged.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for i := range 10 {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 20+i, 30))); err != nil {
			t.Fatal(err)
		}
		if i == 7 {
			b.Truncate(10)
		}
		class := filepath.Join(dir, []string{"cat", "dog"}[i%2])
		if err := os.MkdirAll(class, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPagesOfRealInputs: the page of a ROOT file, of an HDF5 file and of a folder of images shows
// what is in them, loads nothing from elsewhere, and Chromium shows it without a complaint.
func TestPagesOfRealInputs(t *testing.T) {
	for _, c := range []struct {
		input string
		want  []string
	}{
		{"../../testdata/demo/HZZ.root", []string{"2,421 samples", "Jet_Px", "NJet (length)", "constant", "<svg"}},
		{"../../testdata/demo/digits.h5", []string{"u8 [8, 8]", "Classes", "<svg"}},
		{folder(t), []string{"0 cat", "1 dog", "data:image/png;base64,", "1 image of a kind that is not known here, or damaged", "Width"}},
	} {
		t.Run(filepath.Base(c.input), func(t *testing.T) {
			r := statistics(t, c.input)
			var b, text bytes.Buffer
			WriteStats(&text, r)
			if text.Len() == 0 || strings.Contains(text.String(), "NaN ") {
				t.Errorf("the terminal shows\n%s", &text)
			}
			if err := Page("What is in it", []string{strings.Replace(fmt.Sprint(r.Samples), "2421", "2,421", 1) + " samples"}, r).Write(&b); err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(b.String(), w) {
					t.Errorf("the page lacks %q", w)
				}
			}
			for _, bad := range []string{"http:", "https:", "%!"} {
				if strings.Contains(b.String(), bad) {
					t.Errorf("the page has %q", bad)
				}
			}
			if n := strings.Count(b.String(), "<script"); n > 1 || n == 1 && !strings.Contains(b.String(), "script-src 'sha256-") {
				t.Errorf("%d scripts", n)
			}
			shown(t, b.Bytes())
		})
	}
}

// TestAPageOfManyFields: one of 2,000 columns is small enough to be mailed, and its rows lead
// to charts that are there. Columns of NaN alone or of one value are flagged.
func TestAPageOfManyFields(t *testing.T) {
	r := statistics(t, "../../testdata/demo/HZZ.root")
	i := slices.IndexFunc(r.Fields, func(f stats.Field) bool { return f.Name == "Jet_Px" })
	var fields []stats.Field
	for k := range 2000 {
		f := r.Fields[i]
		f.Name, f.Lengths = fmt.Sprintf("column_%04d", k), nil
		switch values := *f.Values; k % 10 {
		case 3:
			f.Values = &stats.Summary{NaN: 2421}
		case 4:
			values.Min = values.Max
			f.Values = &values
		}
		fields = append(fields, f)
	}
	r.Fields = fields
	var b bytes.Buffer
	if err := Page("many", nil, r).Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if len(text) > 1<<20 {
		t.Errorf("%d bytes", len(text))
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`<section id="(\w+)"`).FindAllStringSubmatch(text, -1) {
		ids[m[1]] = true
	}
	links := regexp.MustCompile(`<a href="#(\w+)">`).FindAllStringSubmatch(text, -1)
	for _, m := range links {
		if !ids[m[1]] {
			t.Errorf("nothing is at #%s", m[1])
		}
	}
	if len(links) < 200 || strings.Count(text, "<td>all NaN</td>") != 200 || strings.Count(text, "<td>constant</td>") != 200 {
		t.Errorf("%d links, %d of NaN, %d constant", len(links), strings.Count(text, "<td>all NaN</td>"), strings.Count(text, "<td>constant</td>"))
	}
}

// shown lets Chromium render the page.
func shown(t *testing.T, page []byte) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium here")
	}
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, page, 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir="+t.TempDir(),
		"--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+name)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Skipf("chromium does not run here: %v", err)
	}
	if strings.Contains(log.String(), "CONSOLE") || !strings.Contains(out.String(), "</section>") {
		t.Errorf("chromium says:\n%s", &log)
	}
}
