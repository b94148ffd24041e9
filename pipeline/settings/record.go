package settings

import (
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// Kept says where a finished set records a setting. Recipe and Operations write it, Restore reads
// it back, and no setting has code of its own for either.
type Kept int

// Where settings are recorded.
const (
	_           Kept = iota
	NotKept          // what to read, where to write and how to run; also what goes with a setting that is Alone
	InRecipe         // the recipe of the plan, and so of the manifest
	InPlan           // a field of the plan, which writes it into the recipe of the manifest
	AsOperation      // an operation
	AsCheck          // the operation check in front of those of --augment; it is read back as --augment check
	AsFormat         // the format of the inputs or of the set
)

// Recipe is what the plan records of the settings that decide bytes.
func (s *Settings) Recipe() map[string]string {
	r := map[string]string{}
	for i := range Keys {
		if k := &Keys[i]; k.Kept == InRecipe && k.Given(s) {
			r[k.Name] = value.Record(k.Of(s))
		}
	}
	return r
}

// Operations is what is done to samples.
func (s *Settings) Operations() transform.Settings {
	out := transform.Settings{}
	for i := range Keys {
		k := &Keys[i]
		switch list, several := k.Of(s).(Several); {
		case k.Kept == AsCheck && k.Given(s):
			out[transform.Augment] = slices.Insert(out[transform.Augment], 0, "check")
		case k.Kept != AsOperation || !k.Given(s):
		case several:
			out[k.Name] = append(out[k.Name], list.All()...)
		default:
			out[k.Name] = []string{k.Of(s).String()}
		}
	}
	return out
}

// Restore sets what a part of a set was made with.
func (s *Settings) Restore(set *index.Manifest, part *index.Part) error {
	formats := map[string]string{"from": part.Inputs.Format, "format": set.Format}
	for i := range Keys {
		k, text := &Keys[i], ""
		switch k.Kept {
		case InRecipe, InPlan:
			text = part.Recipe[k.Name]
		case AsFormat:
			text = formats[k.Name]
		}
		if text == "" {
			continue
		}
		if err := value.Restore(k.Of(s), text); err != nil {
			return shardify.Unsupported("its recipe: %s: %v", k.Name, err)
		}
	}
	for _, o := range part.Operations {
		k := Lookup(o.Op)
		if k == nil || k.Kept != AsOperation {
			return shardify.Unsupported("operation %q", o.Op)
		}
		for _, text := range transform.Shown(plan.Op{Text: o.Text}) {
			if err := k.Of(s).Set(text); err != nil {
				return err
			}
		}
	}
	return s.restoreOptions(set, part)
}

// restoreOptions sets the options of the formats.
func (s *Settings) restoreOptions(set *index.Manifest, part *index.Part) error {
	src, ok := readers.Lookup(s.From)
	if !ok {
		return shardify.Unsupported("input format %q", s.From)
	}
	sink, ok := writers.Lookup(s.Format)
	if !ok {
		return shardify.Unsupported("format %q", s.Format)
	}
	s.Options = map[string]string{}
	for _, o := range slices.Concat(src.Options, sink.Options) {
		if v, ok := part.Recipe[o.Name]; ok && v != o.Default {
			s.Options[o.Name] = v
		}
	}
	if src.Again != nil {
		maps.Copy(s.Options, src.Again(s.Options, set.Schema, set.Keyed))
	}
	return nil
}
