package transform

import (
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/expr"
)

// whereFilter keeps the samples for which a condition holds. Those for which it is missing
// go, too.
type whereFilter struct {
	text string
	expr *expr.Expr
	defs map[string]*expr.Expr
	prog *expr.Program
	keep sync.Pool // of *[]byte
}

// newWhere parses a condition. defs are the expressions of fields that are defined
// later: where they are named, they are computed from what the source has.
func newWhere(text string, defs map[string]*expr.Expr) (*whereFilter, error) {
	e, err := expr.Parse(text)
	if err != nil {
		return nil, said("where", text, err)
	}
	return &whereFilter{text: text, expr: e, defs: defs}, nil
}

func (w *whereFilter) fields() fields { return fields{named: needs(w.expr, w.defs)} }

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
		return nil, within(w.text, err)
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
	keep := marks(&w.keep, b.Samples)
	defer w.keep.Put(keep)
	if err := w.prog.Keep(b, *keep); err != nil {
		return nil, said("where", w.text, err)
	}
	return selected(b, *keep, mem)
}

func marks(pool *sync.Pool, n int) *[]byte {
	m, _ := pool.Get().(*[]byte)
	if m == nil {
		m = new([]byte)
	}
	if cap(*m) < n {
		*m = make([]byte, n)
	}
	*m = (*m)[:n]
	return m
}
