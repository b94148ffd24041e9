package annotations

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/shardify/shardify"
)

// MaxNames bounds a file with the names of classes.
const MaxNames = 2 << 20

// ReadNames takes in the file of names: the list or table `names` of data.yaml, or a name in each line.
func (s *Spec) ReadNames(data []byte) (err error) {
	if len(data) > MaxNames {
		return shardify.Unsupported("%d bytes of names; at most %s", len(data), shardify.FormatSize(MaxNames))
	}
	switch strings.ToLower(path.Ext(s.File)) {
	case ".yaml", ".yml":
		s.Names, err = s.yamlNames(data)
	default:
		text := strings.TrimRight(strings.TrimPrefix(string(data), "\ufeff"), " \t\r\n")
		for line := range strings.SplitSeq(text, "\n") {
			s.Names = append(s.Names, strings.TrimSpace(line))
		}
	}
	if err == nil {
		err = checkNames(s.Names)
	}
	return err
}

// checkNames refuses what cannot be the names of codes.
func checkNames(names []string) error {
	if len(names) == 0 {
		return shardify.Corrupt(-1, "no names of classes")
	}
	seen := map[string]int{}
	for i, n := range names {
		if err := className([]byte(n)); err != nil {
			return fmt.Errorf("the name of class %d: %w", i, err)
		}
		if k, ok := seen[n]; ok {
			return shardify.Corrupt(-1, "the classes %d and %d are both called %q", k, i, n)
		}
		seen[n] = i
	}
	return nil
}

// yamlNames finds `names`: a list, or a table from numbers 0, 1, ... to names; and kpt_shape.
func (s *Spec) yamlNames(data []byte) ([]string, error) {
	var file struct {
		Names yaml.Node `yaml:"names"`
		Count *int      `yaml:"nc"`
		Shape yaml.Node `yaml:"kpt_shape"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	if x := &file.Shape; s.form == "yolo-pose" && x.Kind != 0 {
		given := s.shape
		if x.Kind != yaml.SequenceNode || len(x.Content) != 2 || !s.keypoints(x.Content[0].Value+"x"+x.Content[1].Value) {
			return nil, shardify.Corrupt(-1, "line %d: kpt_shape; want [NUMBER, 2] or [NUMBER, 3]", x.Line)
		}
		if given != nil && !slices.Equal(given, s.shape) {
			return nil, shardify.Corrupt(-1, "line %d: kpt_shape is %v, and keypoints=%dx%d", x.Line, s.shape, given[0], given[1])
		}
	}
	n := &file.Names
	var names []string
	switch n.Kind {
	case yaml.SequenceNode:
		for _, x := range n.Content {
			names = append(names, x.Value)
		}
	case yaml.MappingNode:
		names = make([]string, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			code, err := strconv.Atoi(n.Content[i].Value)
			if err != nil || code < 0 || code >= len(names) || names[code] != "" {
				return nil, shardify.Corrupt(-1, "line %d: names has %.40q; want each of 0 to %d once", n.Content[i].Line, n.Content[i].Value, len(names)-1)
			}
			names[code] = n.Content[i+1].Value
		}
	default:
		return nil, shardify.Corrupt(-1, "no list or table `names`")
	}
	if i := slices.IndexFunc(n.Content, func(x *yaml.Node) bool { return x.Kind != yaml.ScalarNode }); i >= 0 {
		return nil, shardify.Corrupt(-1, "line %d: names has more than texts", n.Content[i].Line)
	}
	if file.Count != nil && *file.Count != len(names) {
		return nil, shardify.Corrupt(-1, "nc is %d, and there are %d names", *file.Count, len(names))
	}
	return names, nil
}
