package main

import (
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/ops"
	"github.com/spf13/pflag"
)

// opsFlags are the flags that change samples.
type opsFlags map[string]*[]string

func addOps(fs *pflag.FlagSet) opsFlags {
	f := opsFlags{}
	add := func(name, help string) {
		f[name] = fs.StringArray(name, nil, help)
	}
	add(ops.Set, "a field that is constant for each input: `NAME=VALUE@GLOB`, as in 'label=1@sig/*.root'; without @GLOB for all other inputs")
	add(ops.Fraction, "a part of the samples of some inputs: `GLOB=FRACTION`, as in 'bg/*.root=0.5'")
	add(ops.Where, "only samples for which a `CONDITION` holds, as in 'nJet >= 2 && max(Jet_pt) > 30'")
	add(ops.Augment, "change images and arrays at random, resize, normalise: `[SPLIT:]NAME[=VALUE][,KEY=VALUE]...`; the list: shardify formats --augment")
	f[checkImages] = new([]string)
	fs.BoolFunc(checkImages, "decode images without changing them: a damaged one is an error, or left out with --on-error skip; as --augment check in front", func(string) error {
		*f[checkImages] = []string{"check"}
		return nil
	})
	add(ops.Copies, "make `N` samples of each, that --augment changes differently; with splits of train alone")
	add(ops.Define, "a computed field: `NAME=EXPRESSION`, as in 'ht=sum(Jet_pt)'")
	add(ops.NaN, "what NaN does: `[FIELD=]keep|fail|drop|fill=V`")
	add(ops.Encode, "codes 0, 1, ... for the values of a text or integer `FIELD`")
	add(ops.Sort, "order lists by one of them: `NAME=[-]FIELD`, as in 'Jet=-Jet_pt'")
	add(ops.Stack, "one field of several: `NAME=FIELD,...`, as in 'jets=Jet_pt,Jet_eta'")
	add(ops.Pad, "lists of one length, and a mask: `NAME=LENGTH[:VALUE]`, as in 'jets=128'")
	add(ops.Rename, "other names: `NEW=OLD,...`")
	add(ops.Cast, "other types: `FIELD=DTYPE,...`; * is all floating fields, f64=f32 goes by type")
	add(ops.Pack, "scalars as one field: `NAME=GLOB,...`")
	return f
}

// checkImages is the flag that is short for an operation.
const checkImages = "check-images"

// given is the flags that were used.
func (f opsFlags) given() ops.Settings {
	s := ops.Settings{}
	for name, texts := range f {
		if name != checkImages && len(*texts) > 0 {
			s[name] = *texts
		}
	}
	if check := *f[checkImages]; check != nil {
		s[ops.Augment] = append(check, s[ops.Augment]...)
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
