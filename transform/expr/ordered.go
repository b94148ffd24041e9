package expr

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
)

// Bound is a constant that a field is compared with.
type Bound struct {
	At   *big.Rat // of a time the microseconds since 1970
	Time string   // as it was written; "" of a number
}

// Order is a condition that only compares one field by <, <=, > and >= with constants: whether it
// holds follows from the place of a value among them.
type Order struct {
	Field  string
	Bounds []Bound
	root   ast.Node
}

// Order is the expression as such a condition, or the reason why it is another one.
func (e *Expr) Order() (*Order, error) {
	o := &Order{root: e.root}
	return o, o.look(e.root)
}

func (o *Order) look(n ast.Node) error {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "!" || x.Operator == "not" {
			return o.look(x.Node)
		}
	case *ast.BinaryNode:
		switch x.Operator {
		case "&&", "and", "||", "or":
			if err := o.look(x.Left); err != nil {
				return err
			}
			return o.look(x.Right)
		}
		name, _, c, err := comparison(x)
		if err != nil {
			return err
		}
		if o.Field != "" && o.Field != name {
			return fmt.Errorf("%s: %s is another field than %s", n, name, o.Field)
		}
		o.Field, o.Bounds = name, append(o.Bounds, c)
		return nil
	}
	return fmt.Errorf("%s compares no field by <, <=, > or >= with a constant", n)
}

// comparison is a field at the left of a constant.
func comparison(x *ast.BinaryNode) (name, operator string, c Bound, err error) {
	operator = x.Operator
	name, ok := fieldName(x.Left)
	right := x.Right
	if !ok {
		name, ok = fieldName(x.Right)
		right, operator = x.Left, flipped[operator]
	}
	switch operator {
	case "<", "<=", ">", ">=":
	default:
		ok = false
	}
	if ok {
		c, ok = constant(right)
	}
	if !ok {
		return "", "", c, fmt.Errorf("%s compares no field by <, <=, > or >= with a constant", x)
	}
	if c.At == nil {
		return "", "", c, fmt.Errorf("%s: %q is no time", x, c.Time)
	}
	return name, operator, c, nil
}

// constant is a number or a time; At is nil of another text.
func constant(n ast.Node) (c Bound, ok bool) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		return Bound{At: new(big.Rat).SetInt64(int64(x.Value))}, true
	case *ast.FloatNode:
		c.At = new(big.Rat).SetFloat64(x.Value)
		return c, c.At != nil
	case *ast.StringNode:
		c.Time = x.Value
		if at, err := micros.Parse([]byte(x.Value)); err == nil {
			c.At = new(big.Rat).SetInt64(at)
		}
		return c, true
	case *ast.UnaryNode:
		if c, ok = constant(x.Node); ok && x.Operator == "-" && c.Time == "" {
			c.At.Neg(c.At)
			return c, true
		}
	}
	return c, false
}

// micros counts the times of constants: in microseconds since 1970.
var micros, _ = key.ClockOf(&shardify.Field{DType: shardify.I64, Attrs: map[string]string{"time": "us"}}, true)

// Holds reports whether the condition holds for a value, or for those right behind it.
func (o *Order) Holds(at *big.Rat, behind bool) bool { return holds(o.root, at, behind) }

func holds(n ast.Node, at *big.Rat, behind bool) bool {
	switch x := n.(type) {
	case *ast.UnaryNode:
		return !holds(x.Node, at, behind)
	case *ast.BinaryNode:
		switch x.Operator {
		case "&&", "and":
			return holds(x.Left, at, behind) && holds(x.Right, at, behind)
		case "||", "or":
			return holds(x.Left, at, behind) || holds(x.Right, at, behind)
		}
		_, op, c, err := comparison(x)
		if err != nil {
			return false
		}
		side := at.Cmp(c.At)
		if side == 0 && behind {
			side = 1
		}
		switch op {
		case "<":
			return side < 0
		case "<=":
			return side <= 0
		case ">":
			return side > 0
		}
		return side >= 0
	}
	return false
}

// Shifted writes the constant, moved, as an expression.
func (c Bound) Shifted(by *big.Rat) (string, error) {
	at := new(big.Rat).Add(c.At, by)
	if c.Time == "" {
		if at.IsInt() {
			if !at.Num().IsInt64() {
				return "", fmt.Errorf("%s is beyond 64 bits", at.Num())
			}
			return at.Num().String(), nil
		}
		f, _ := at.Float64()
		return fmt.Sprintf("%.17g", f), nil
	}
	if !at.IsInt() || !at.Num().IsInt64() {
		return "", fmt.Errorf("%s moved by %s us is no time", c.Time, by.RatString())
	}
	text := time.UnixMicro(at.Num().Int64()).UTC().Format("2006-01-02T15:04:05.999999")
	if written := strings.TrimSpace(c.Time); strings.ContainsAny(written[len("2006-01-02"):], "Zz+-") {
		text += "Z"
	}
	if _, err := micros.Parse([]byte(text)); err != nil {
		return "", fmt.Errorf("%s moved by %s us is no time", c.Time, by.RatString())
	}
	return strconv.Quote(text), nil
}
