package samples

import (
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// Where is the samples where a condition holds.
var Where = op.Kind{Name: "where", Value: "CONDITION", Example: "nJet >= 2 && max(Jet_pt) > 30", Help: "only samples where it holds",
	New: op.Of(newWhere), Fields: op.FieldsOf(newWhere)}

// whereFilter keeps the samples for which a condition holds and is not missing.
type whereFilter struct {
	text string
	expr *expr.Expr
	defs map[string]*expr.Expr
	prog *expr.Program
	keep sync.Pool // of *[]byte
}

// newWhere parses a condition. Fields that are defined later, where it names them, are
// computed from what the source has.
func newWhere(e *op.Env, text string) (*whereFilter, error) {
	w := &whereFilter{text: text, defs: map[string]*expr.Expr{}}
	var err error
	if w.expr, err = expr.Parse(text); err != nil {
		return nil, op.FlagError("where", text, err)
	}
	w.expr.Keyed = e.Keyed
	for name, def := range e.Defs {
		if w.defs[name], err = expr.Parse(def); err != nil {
			return nil, op.FlagError("define", name+"="+def, err)
		}
	}
	return w, nil
}

func (w *whereFilter) Fields() op.Fields { return op.Fields{Named: needs(w.expr, w.defs)} }

// needs follows the names of definitions.
func needs(e *expr.Expr, defs map[string]*expr.Expr) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(e *expr.Expr)
	visit = func(e *expr.Expr) {
		for _, n := range e.Names() {
			if seen[n] {
				continue
			}
			seen[n] = true
			if d := defs[n]; d != nil {
				visit(d)
				continue
			}
			out = append(out, n)
		}
	}
	visit(e)
	return out
}

// Schema binds the condition.
func (w *whereFilter) Schema(in []shardify.Field) ([]shardify.Field, error) {
	p, err := w.expr.Bind(in, w.defs)
	if err == nil {
		err = p.Condition()
	}
	if err != nil {
		return nil, op.TextError(w.text, err)
	}
	w.prog = p
	return in, nil
}

// Cost is a copy of what is kept.
func (w *whereFilter) Cost([]shardify.Field) shardify.Cost {
	return shardify.Cost{Growth: 1, Sample: 24}
}

// Apply selects.
func (w *whereFilter) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	keep := op.Marks(&w.keep, b.Samples)
	defer w.keep.Put(keep)
	if err := w.prog.Keep(b, *keep); err != nil {
		return nil, op.FlagError("where", w.text, err)
	}
	return op.Select(b, *keep, mem)
}
