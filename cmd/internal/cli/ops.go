package cli

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/expr"
)

// operations is the plan's operations for people, in the order in which they run.
func operations(p *pipeline.Prepared) (out [][2]string) {
	for _, op := range p.Plan.Steps.Ops {
		for _, text := range transform.Shown(op) {
			out = append(out, [2]string{op.Name, text})
		}
	}
	h := slices.DeleteFunc(slices.Clone(p.Plan.Steps.Helpers), expr.IsGlob) // the fields that they match follow
	if len(h) > 0 {
		out = append(out, [2]string{"not kept", join(h) + ": read for the operations alone"})
	}
	return out
}

// join lists names, the first few of many.
func join(names []string) string {
	const most = 4
	out := ""
	for i, n := range names[:min(len(names), most)] {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	if n := len(names) - most; n > 0 {
		out += " and " + printable.Count(int64(n)) + " more"
	}
	return out
}

// halves names the columns of f64, and what halves them.
func halves(p *pipeline.Prepared) string {
	var wide []string
	for i := range p.Plan.Sample.Schema {
		if p.Plan.Sample.Schema[i].DType == shardify.F64 {
			wide = append(wide, p.Plan.Sample.Schema[i].Name)
		}
	}
	switch len(wide) {
	case 0:
		return ""
	case 1:
		return wide[0] + " is f64: --cast f64=f32 halves it"
	}
	return join(wide) + " are f64: --cast f64=f32 halves them"
}
