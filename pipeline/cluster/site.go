package cluster

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify/internal/suggest"
	"go.yaml.in/yaml/v3"
)

// SiteKeys are the flags of submit that a file of site defaults may set.
var SiteKeys = []string{
	"account", "constraint", "cpus", "directive", "elements", "image", "logs", "mail-user", "mem", "merge-mem", "merge-time", "partition", "prologue", "qos", "sbatch", "throttle", "time", "volume",
}

// several are the keys that take a list.
var several = []string{"directive", "sbatch"}

// Setting is one key of a file of site defaults.
type Setting struct {
	Key    string
	Values []string // several for some keys alone
	Line   int
}

// ParseSite reads site defaults: a YAML mapping from flags of submit to their values.
func ParseSite(r io.Reader) ([]Setting, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil // nothing but comments
	} else if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: want lines of the form \"flag: value\"", top.Line)
	}
	var out []Setting
	for i := 0; i < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		switch {
		case !slices.Contains(SiteKeys, k.Value):
			text := fmt.Sprintf("line %d: unknown key %q", k.Line, k.Value)
			if m := suggest.Word(k.Value, SiteKeys); m != "" {
				text += "; did you mean " + m
			}
			return nil, errors.New(text)
		case slices.ContainsFunc(out, func(s Setting) bool { return s.Key == k.Value }):
			return nil, fmt.Errorf("line %d: %q is given twice", k.Line, k.Value)
		}
		s, err := setting(k, v)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func setting(k, v *yaml.Node) (Setting, error) {
	s := Setting{Key: k.Value, Line: k.Line}
	list := []*yaml.Node{v}
	if v.Kind == yaml.SequenceNode && slices.Contains(several, k.Value) {
		list = v.Content
	}
	for _, x := range list {
		if x.Kind != yaml.ScalarNode || x.Tag == "!!null" {
			return s, fmt.Errorf("line %d: %s: want one value", x.Line, k.Value)
		}
		s.Values = append(s.Values, x.Value)
	}
	if (s.Key == "logs" || s.Key == "prologue") && !filepath.IsAbs(s.Values[0]) {
		return s, fmt.Errorf("line %d: %s: want an absolute path, not %s", k.Line, k.Value, s.Values[0])
	}
	return s, nil
}

// ParseTime reads a time limit as Slurm does (minutes, hours:minutes:seconds,
// days-hours, ...), or with units: 90m, 12h.
func ParseTime(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q: want a time such as 90m, 12h, 4:00:00 or 1-12:00:00", text)
	if d, err := time.ParseDuration(text); err == nil && strings.ContainsAny(text, "hms") {
		if d <= 0 {
			return 0, bad
		}
		return d, nil
	}
	days, rest, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	var n [4]int64 // days, hours, minutes, seconds
	places := map[int][]int{1: {2}, 2: {2, 3}, 3: {1, 2, 3}}[len(parts)]
	if hasDays {
		places = map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}}[len(parts)]
	}
	if places == nil {
		return 0, bad
	}
	for i, s := range append([]string{days}, parts...) {
		v, err := strconv.ParseUint(s, 10, 31)
		if err != nil {
			return 0, bad
		}
		if i == 0 {
			n[0] = int64(v)
		} else {
			n[places[i-1]] = int64(v)
		}
	}
	if n[0] > 3650 {
		return 0, bad
	}
	d := time.Duration(n[0]*86400+n[1]*3600+n[2]*60+n[3]) * time.Second
	if d <= 0 {
		return 0, bad
	}
	return d, nil
}
