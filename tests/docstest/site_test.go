package docstest

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// markdown lists the pages of docs/, and those beside them that people read.
func markdown(t *testing.T) (docs, all []string) {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil || len(docs) < 30 {
		t.Fatalf("%d pages, %v", len(docs), err)
	}
	all = slices.Clone(docs)
	for _, pattern := range []string{"*.md", "python/*.md", "packaging/*.md", "bench/*.md"} {
		more, _ := filepath.Glob(filepath.Join(root, pattern))
		all = append(all, more...)
	}
	return docs, all
}

// TestSiteNamesEveryPage: each page of docs/ has one place in the navigation of the site, which
// names no page that is not there.
func TestSiteNamesEveryPage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "packaging/site/mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var site struct {
		Nav yaml.Node `yaml:"nav"`
	}
	if err := yaml.Unmarshal(b, &site); err != nil {
		t.Fatal(err)
	}
	var named []string
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode && n.Content[1].Kind == yaml.ScalarNode {
			named = append(named, n.Content[1].Value)
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(&site.Nav)
	docs, _ := markdown(t)
	for _, page := range docs {
		name, _ := filepath.Rel(filepath.Join(root, "docs"), page)
		n := 0
		for _, x := range named {
			if x == name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the navigation of packaging/site/mkdocs.yml names docs/%s %d times", name, n)
		}
	}
	for _, x := range named {
		if made := x == "index.md" || x == "reference/commands" || x == "reference/python.md"; !made && !slices.Contains(docs, filepath.Join(root, "docs", x)) {
			t.Errorf("packaging/site/mkdocs.yml names %s, which is not there", x)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)|(?:src|srcset)="([^"]*)"`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// anchors are the names of a page's headings, as GitHub and the site make them.
func anchors(text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(m[1]))
		out = append(out, name)
	}
	return out
}

// TestLinksLeadSomewhere: files that pages link to are there, and so are the headings.
func TestLinksLeadSomewhere(t *testing.T) {
	_, pages := markdown(t)
	seen := 0
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(b), ""), -1) {
			target, err := url.PathUnescape(m[1] + m[2])
			if err != nil || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			seen++
			name, anchor, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			text, err := os.ReadFile(file)
			if info, e := os.Stat(file); e == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			} else if anchor != "" && strings.HasSuffix(file, ".md") && !slices.Contains(anchors(string(text)), anchor) {
				t.Errorf("%s links to %s: there is no such heading", page, target)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d links were found", seen)
	}
}
