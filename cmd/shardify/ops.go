package main

import (
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/transform"
	"github.com/spf13/pflag"
)

// opsFlags are the flags that change samples.
type opsFlags map[string]*[]string

func addOps(fs *pflag.FlagSet) opsFlags {
	f := opsFlags{}
	for i := range transform.Table {
		k := &transform.Table[i]
		f[k.Name] = fs.StringArray(k.Name, nil, k.Usage())
	}
	f[checkImages] = new([]string)
	fs.BoolFunc(checkImages, "decode images without changing them: a damaged one is an error, or left out with --on-error skip; as --augment check in front", func(string) error {
		*f[checkImages] = []string{"check"}
		return nil
	})
	return f
}

// checkImages is the flag that is short for an operation.
const checkImages = "check-images"

// given is the flags that were used.
func (f opsFlags) given() transform.Settings {
	s := transform.Settings{}
	for name, texts := range f {
		if name != checkImages && len(*texts) > 0 {
			s[name] = *texts
		}
	}
	if check := *f[checkImages]; check != nil {
		s[transform.Augment] = append(check, s[transform.Augment]...)
	}
	return s
}

// happened tells what the operations did to samples and values.
func (p *program) happened(m *index.Manifest) {
	if m.Dropped > 0 {
		of := m.Samples - m.Copied + m.Dropped
		p.Result("kept: %s of %s, %.1f %%", cli.Count(of-m.Dropped), cli.Of(of, "sample"), 100*float64(of-m.Dropped)/float64(of))
	}
	for _, c := range m.Counts {
		p.Result("  %s: %s", c.Name, cli.Count(c.N))
	}
}
