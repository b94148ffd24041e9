package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/shardify/shardify/internal/guard"
)

const (
	maxText  = 64 << 10
	maxNodes = 4000
	// maxNest bounds brackets: the parser recurses.
	maxNest = 200
)

// Expr is a parsed expression. Its types are not checked yet.
type Expr struct {
	Text string
	// Keyed: the samples have names of their own. Set it before Bind.
	Keyed bool
	root  ast.Node
}

// Parse reads an expression. Its errors give the place by column, from 1.
func Parse(text string) (*Expr, error) {
	if err := tame(text); err != nil {
		return nil, err
	}
	c := &conf.Config{MaxNodes: maxNodes, Functions: conf.FunctionsTable{}, Builtins: conf.FunctionsTable{}, Disabled: map[string]bool{}}
	// Names that the library knows as its own would be parsed by its rules.
	for _, f := range builtin.Builtins {
		c.Functions[f.Name] = f
	}
	var tree *parser.Tree
	quoted, quotes := quoteGlobs(text)
	err := guard.Do(func() (err error) {
		tree, err = parser.ParseWithConfig(quoted, c)
		return err
	})
	if err != nil {
		return nil, meant(text, parseError(err, quotes))
	}
	if tree == nil || tree.Node == nil {
		return nil, errors.New("no expression")
	}
	return &Expr{Text: text, root: tree.Node}, nil
}

// tame refuses what could exhaust the parser's stack.
func tame(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("expression of %d bytes (at most %d)", len(text), maxText)
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("no expression")
	}
	depth, unary := 0, 0
	for _, r := range text {
		switch r {
		case '(', '[', '{', '?':
			depth++
		case ')', ']', '}', ':':
			depth--
		case '!', '-', '+':
			unary++
		default:
			if r != ' ' {
				unary = 0
			}
		}
		if depth > maxNest || unary > maxNest {
			return fmt.Errorf("expression is nested deeper than %d", maxNest)
		}
	}
	if n := strings.Count(text, "not") + strings.Count(text, "**") + strings.Count(text, "if"); n > 4*maxNest {
		return fmt.Errorf("expression is nested deeper than %d", maxNest)
	}
	return nil
}

// parseError puts the place as it is without the quotes that were put in.
func parseError(err error, quotes []int) error {
	var e *file.Error
	if !errors.As(err, &e) {
		return err
	}
	msg := e.Message
	switch {
	case strings.Contains(msg, `Operator("=")`):
		msg += "; == compares"
	case strings.Contains(msg, `Operator("&")`):
		msg += "; && is and"
	case strings.Contains(msg, `Operator("|")`):
		msg += "; || is or"
	}
	column := e.Column + 1
	for _, at := range quotes {
		if at < e.Column {
			column--
		}
	}
	return fmt.Errorf("column %d: %s", column, msg)
}

// Names lists the fields that the expression names, in order, each once. A glob among the arguments
// of any_of and the like is listed as a glob: see IsGlob.
func (e *Expr) Names() []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	names(e.root, add)
	return out
}

func names(n ast.Node, add func(string)) {
	if name, ok := fieldName(n); ok {
		add(name)
		return
	}
	if _, args, ok := ofCall(n); ok {
		for _, a := range args {
			if s, ok := a.(*ast.StringNode); ok {
				add(s.Value)
			}
		}
	}
	switch n := n.(type) {
	case *ast.UnaryNode:
		names(n.Node, add)
	case *ast.BinaryNode:
		names(n.Left, add)
		names(n.Right, add)
	case *ast.MemberNode:
		names(n.Node, add)
		names(n.Property, add)
	case *ast.ChainNode:
		names(n.Node, add)
	case *ast.CallNode:
		_, _, ofText := textCall(n)
		for i, a := range n.Arguments {
			if i == 0 && ofText && isKey(a) {
				continue
			}
			names(a, add)
		}
	case *ast.ConditionalNode:
		names(n.Cond, add)
		names(n.Exp1, add)
		names(n.Exp2, add)
	case *ast.ArrayNode:
		for _, a := range n.Nodes {
			names(a, add)
		}
	}
}

// fieldName is the field that a node names: a name, a name with dots, or
// field("any name").
func fieldName(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value, true
	case *ast.MemberNode:
		part, ok := n.Property.(*ast.StringNode)
		if !ok {
			return "", false
		}
		base, ok := fieldName(n.Node)
		return base + "." + part.Value, ok
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok && id.Value == "field" && len(n.Arguments) == 1 {
			if s, ok := n.Arguments[0].(*ast.StringNode); ok {
				return s.Value, true
			}
		}
	}
	return "", false
}

// Quote writes a field name as an expression.
func Quote(name string) string {
	ok := name != ""
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		ok = ok && (letter || i > 0 && (r >= '0' && r <= '9' || r == '.'))
	}
	if ok {
		return name
	}
	return fmt.Sprintf("field(%q)", name)
}
