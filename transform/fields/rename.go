package fields

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Rename is other names.
var Rename = op.Kind{Name: "rename", Value: "NEW=OLD,...", Example: "pt=Jet_pt", Help: "other names",
	Phase: op.AtEnd, Keeps: true, Texts: op.Joined(","), New: op.Of(newRename), Fields: op.FieldsOf(newRename)}

// renameFields gives fields other names.
type renameFields struct {
	text     string
	from, to []string
	names    []string // of the columns, after
}

// newRename parses NEW=OLD,...
func newRename(_ *op.Env, text string) (*renameFields, error) {
	r := &renameFields{text: text}
	for _, p := range op.List(text) {
		to, from, ok := strings.Cut(p, "=")
		if !ok || to == "" || from == "" {
			return nil, op.FlagError("rename", text, fmt.Errorf("%q: want NEW=OLD", p))
		}
		if err := shardify.ValidName(to); err != nil {
			return nil, op.FlagError("rename", text, err)
		}
		if slices.Contains(r.from, from) {
			return nil, op.FlagError("rename", text, fmt.Errorf("%s is renamed twice", from))
		}
		r.from, r.to = append(r.from, from), append(r.to, to)
	}
	if len(r.from) == 0 {
		return nil, op.FlagError("rename", text, fmt.Errorf("want NEW=OLD"))
	}
	return r, nil
}

func (r *renameFields) Fields() op.Fields {
	f := op.Fields{Named: r.from, Old: map[string]string{}}
	for k, to := range r.to {
		f.Old[to] = r.from[k]
	}
	return f
}

// Schema renames, companions with the field they describe.
func (r *renameFields) Schema(in []shardify.Field) ([]shardify.Field, error) {
	out := slices.Clone(in)
	for k, from := range r.from {
		i, err := op.Lookup(in, from)
		if err != nil {
			if strings.Contains(err.Error(), "did you mean") || shardify.FieldIndex(in, r.to[k]) < 0 {
				return nil, op.TextError(r.text, err)
			}
			return nil, op.TextError(r.text, fmt.Errorf("no field %s; the order is NEW=OLD: %s=%s", from, from, r.to[k]))
		}
		if shardify.Companion(in, i) {
			return nil, op.TextError(r.text, fmt.Errorf("%s belongs to another field: rename that", from))
		}
		out[i].Name = r.to[k]
		for _, suffix := range []string{shardify.ShapeSuffix, shardify.ExtSuffix} {
			if j := shardify.FieldIndex(in, in[i].Name+suffix); j >= 0 && shardify.Companion(in, j) {
				out[j].Name = r.to[k] + suffix
			}
		}
	}
	for i := range out {
		if j := shardify.FieldIndex(out, out[i].Name); j != i {
			return nil, op.TextError(r.text, fmt.Errorf("two fields would be named %s", out[i].Name))
		}
	}
	r.names = nil
	for i := range out {
		r.names = append(r.names, out[i].Name)
	}
	return out, nil
}

// Cost is zero.
func (*renameFields) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{} }

// Apply renames.
func (r *renameFields) Apply(b *shardify.Batch, _ uint64, _ *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, len(r.names)); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for i := range out.Columns {
		out.Columns[i].Name = r.names[i]
	}
	return out, nil
}
