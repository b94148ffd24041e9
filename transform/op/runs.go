package op

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Runs says which rule each input has: runs of inputs, in order. The last run goes
// on for inputs beyond the table. It is found once, when the plan is made: the paths of
// the inputs may be others on another machine.
type Runs []Run

// Run is the inputs up to End (and from the end of the run before), which share a rule; -1
// means no rule.
type Run struct {
	End  uint32
	Rule int
}

// Rule is the rule of an input, or -1.
func (in Runs) Rule(input uint32) int {
	if len(in) == 0 {
		return -1
	}
	k := sort.Search(len(in), func(k int) bool { return input < in[k].End })
	if k == len(in) {
		k--
	}
	return in[k].Rule
}

// Check refuses runs that are not those of so many rules.
func (in Runs) Check(rules int) error {
	for k, r := range in {
		if r.Rule >= rules || r.Rule < -1 || k > 0 && r.End <= in[k-1].End {
			return shardify.Corrupt(-1, "run %d of inputs ends at %d and has rule %d of %d", k, r.End, r.Rule, rules)
		}
	}
	return nil
}

// String writes the runs: "12*0 3*1".
func (in Runs) String() string {
	var b strings.Builder
	var from uint32
	for _, r := range in {
		fmt.Fprintf(&b, " %d*%d", r.End-from, r.Rule)
		from = r.End
	}
	return strings.TrimPrefix(b.String(), " ")
}

// ParseRuns is the inverse of String.
func ParseRuns(s string) (Runs, error) {
	in := Runs{}
	var end uint64
	for _, w := range strings.Fields(s) {
		n, r, ok := strings.Cut(w, "*")
		k, err := strconv.ParseUint(n, 10, 32)
		rule, err2 := strconv.Atoi(r)
		if end += k; !ok || err != nil || err2 != nil || end > 1<<32-1 || k == 0 && len(strings.Fields(s)) > 1 {
			return nil, shardify.Corrupt(-1, "runs of inputs: %q", w)
		}
		in = append(in, Run{uint32(end), rule})
	}
	return in, nil
}

// ByGlobs finds the glob of each input. "" takes those that no glob takes. If each of
// them must have one, an input without is an error that lists such inputs.
func ByGlobs(table *format.Table, globs []string, each bool) (Runs, error) {
	m := matcher{globs: globs, rest: -1, hits: make([]int, len(globs))}
	for i, g := range globs {
		p, err := m.parse(i, g)
		if err != nil {
			return nil, err
		}
		m.pats = append(m.pats, p)
	}
	if table == nil || table.Len() == 0 {
		if m.rest < 0 || len(globs) > 1 {
			return nil, errors.New("the inputs are not files: leave @GLOB out")
		}
		return Runs{{End: 0, Rule: m.rest}}, nil
	}
	in := Runs{}
	for i := range table.Len() {
		r := m.rule(table, i)
		if k := len(in) - 1; k >= 0 && in[k].Rule == r {
			in[k].End++
		} else {
			in = append(in, Run{uint32(i) + 1, r})
		}
	}
	return in, m.verdict(table, each)
}

// matcher finds rules, and remembers inputs without a rule or with two.
type matcher struct {
	globs []string
	pats  []*glob
	rest  int // the rule for all others, or -1
	hits  []int
	// The first few inputs with none and with two, and how many there are.
	none, two   []string
	nones, twos int
}

func (m *matcher) parse(i int, glob string) (*glob, error) {
	if glob != "" {
		return parseGlob(glob)
	}
	if m.rest >= 0 {
		return nil, errors.New("two rules without @GLOB: which is for the other inputs?")
	}
	m.rest = i
	return nil, nil
}

// rule is the rule of input i, or -1.
func (m *matcher) rule(table *format.Table, i int) int {
	r := m.rest
	parts := pathParts(table, i)
	for k, p := range m.pats {
		switch {
		case p == nil || !p.match(parts):
		case r >= 0 && r != m.rest:
			if m.twos++; len(m.two) < shown {
				m.two = append(m.two, fmt.Sprintf("%s (%s and %s)", table.Name(i), m.globs[r], m.globs[k]))
			}
		default:
			r = k
		}
	}
	if r >= 0 {
		m.hits[r]++
		return r
	}
	if m.nones++; len(m.none) < shown {
		m.none = append(m.none, table.Name(i))
	}
	return r
}

func (m *matcher) verdict(table *format.Table, each bool) error {
	switch {
	case m.twos > 0:
		return fmt.Errorf("inputs that two globs take: %s", some(m.two, m.twos))
	case m.nones > 0 && each:
		return fmt.Errorf("inputs that no glob takes: %s; a rule without @GLOB is for all others", some(m.none, m.nones))
	}
	for k, n := range m.hits {
		if n == 0 && k != m.rest {
			return fmt.Errorf("no input matches %s; the first is %s", m.globs[k], table.Path(0))
		}
	}
	return nil
}

// shown is how many inputs an error names.
const shown = 10

func some(names []string, n int) string {
	s := strings.Join(names, ", ")
	if n > len(names) {
		s += fmt.Sprintf(" and %d more", n-len(names))
	}
	return s
}

// pathParts is the parts of an input's path.
func pathParts(t *format.Table, i int) []string {
	return strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(t.Path(i))), "./"), "/")
}

// glob is a pattern for inputs: it must match the end of their path, part by part.
// ** matches any parts, and a final slash for all below.
type glob struct {
	text  string
	parts []string
	root  bool
}

// parseGlob parses a pattern.
func parseGlob(s string) (*glob, error) {
	g := &glob{text: s, root: strings.HasPrefix(s, "/")}
	p := strings.Trim(strings.TrimPrefix(s, "./"), "/")
	if strings.HasSuffix(s, "/") {
		p += "/**"
	}
	for part := range strings.SplitSeq(p, "/") {
		if _, err := path.Match(part, ""); err != nil || part == "" {
			return nil, fmt.Errorf("glob %q: %w", s, path.ErrBadPattern)
		}
		if part == "**" && len(g.parts) > 0 && g.parts[len(g.parts)-1] == "**" {
			continue
		}
		g.parts = append(g.parts, part)
	}
	return g, nil
}

// match reports whether the end of a path matches.
func (g *glob) match(parts []string) bool {
	if len(parts) > 0 && parts[0] == "" {
		parts = parts[1:]
		if g.root {
			return matchParts(g.parts, parts)
		}
	}
	for k := range parts {
		if matchParts(g.parts, parts[k:]) {
			return true
		}
	}
	return false
}

func matchParts(pat, parts []string) bool {
	for k, p := range pat {
		if p == "**" {
			for j := 0; j <= len(parts); j++ {
				if matchParts(pat[k+1:], parts[j:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 {
			return false
		}
		if ok, _ := path.Match(p, parts[0]); !ok {
			return false
		}
		parts = parts[1:]
	}
	return len(parts) == 0
}
