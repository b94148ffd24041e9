package cast

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// NaN is how to treat NaN.
var NaN = op.Kind{Name: "nan", Value: "[FIELD=]keep|fail|drop|fill=V", Example: "Jet_*=fill=0", Help: "how to treat NaN",
	Phase: op.AfterSplit, Texts: op.Joined(","), New: op.Of(newNaN)}

// nanRules decides how NaN is treated.
type nanRules struct {
	text    string
	rules   []nanRule
	helpers []string // fields that will not be in the set, and are not checked
	by      []int    // rule by column, or -1
	fill    [][]byte // by column, of rules that fill
	keep    sync.Pool
}

type nanRule struct {
	sel    string // "" is all floating fields
	action string
	value  string
}

// newNaN parses rules [FIELD=]keep|fail|drop|fill=VALUE,... FIELD is a name or a glob.
func newNaN(e *op.Env, text string) (*nanRules, error) {
	n := &nanRules{text: text, helpers: e.Helpers}
	for _, p := range op.List(text) {
		r, err := parseNaN(p)
		if err != nil {
			return nil, op.FlagError("nan", text, err)
		}
		n.rules = append(n.rules, r)
	}
	if len(n.rules) == 0 {
		return nil, op.FlagError("nan", text, fmt.Errorf("want keep, fail, drop or fill=VALUE"))
	}
	return n, nil
}

func parseNaN(p string) (nanRule, error) {
	var r nanRule
	head, value, hasValue := op.CutLast(p, "=")
	if hasValue {
		if sel, ok := strings.CutSuffix("="+head, "=fill"); ok {
			r = nanRule{strings.TrimPrefix(sel, "="), "fill", value}
			if _, err := strconv.ParseFloat(value, 64); err != nil {
				return r, fmt.Errorf("%s: %q is not a number", p, value)
			}
			return r, r.check()
		}
		r = nanRule{sel: head, action: value}
	} else {
		r = nanRule{action: p}
	}
	if !slices.Contains([]string{"keep", "fail", "drop"}, r.action) {
		return r, fmt.Errorf("%q: want keep, fail, drop or fill=VALUE, for all fields or as FIELD=WHAT", p)
	}
	return r, r.check()
}

func (r nanRule) check() error {
	_, err := path.Match(r.sel, "")
	return err
}

// Schema finds the rule of each floating field: its name goes before globs, and those
// before a rule for all.
func (n *nanRules) Schema(in []shardify.Field) ([]shardify.Field, error) {
	n.by, n.fill = make([]int, len(in)), make([][]byte, len(in))
	used := make([]bool, len(n.rules))
	for i := range in {
		f := &in[i]
		n.by[i] = -1
		if slices.Contains(n.helpers, f.Name) {
			continue
		}
		named := slices.IndexFunc(n.rules, func(r nanRule) bool { return r.sel == f.Name })
		if !f.DType.IsFloat() {
			if named >= 0 {
				return nil, op.TextError(n.text, fmt.Errorf("%s is %s and has no NaN", f.Name, f.DType))
			}
			continue
		}
		k := named
		if k < 0 {
			k = slices.IndexFunc(n.rules, func(r nanRule) bool { ok, _ := path.Match(r.sel, f.Name); return ok && r.sel != "" })
		}
		if k < 0 {
			k = slices.IndexFunc(n.rules, func(r nanRule) bool { return r.sel == "" })
		}
		if n.by[i] = k; k < 0 {
			continue
		}
		used[k] = true
		if r := n.rules[k]; r.action == "fill" {
			v, err := strconv.ParseFloat(r.value, 64)
			if err != nil {
				return nil, err
			}
			bad := fmt.Errorf("%s is %s, which does not hold %s", f.Name, f.DType, r.value)
			if n.fill[i], err = constant(shardify.Bytes([]float64{v}), shardify.F64, f.DType, bad); err != nil {
				return nil, op.TextError(n.text, err)
			}
		}
	}
	for k, r := range n.rules {
		if used[k] || r.sel == "" {
			continue
		}
		if _, err := op.Lookup(in, r.sel); err != nil {
			return nil, op.TextError(n.text, err)
		}
	}
	if !slices.ContainsFunc(in, func(f shardify.Field) bool { return f.DType.IsFloat() }) {
		return nil, op.TextError(n.text, fmt.Errorf("no field has floating numbers, and so none has NaN"))
	}
	return in, nil
}

// Cost is a copy.
func (n *nanRules) Cost([]shardify.Field) shardify.Cost {
	if slices.ContainsFunc(n.rules, func(r nanRule) bool { return r.action == "drop" || r.action == "fill" }) {
		return shardify.Cost{Growth: 1, Sample: 24}
	}
	return shardify.Cost{}
}

// Apply looks at every value.
func (n *nanRules) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, len(n.by)); err != nil {
		return nil, err
	}
	out := b
	var keep *[]byte
	for i, k := range n.by {
		if k < 0 {
			continue
		}
		c := &b.Columns[i]
		found := countNaN(c)
		if found == 0 {
			continue
		}
		if out == b {
			out = op.Fork(b)
		}
		switch n.rules[k].action {
		case "keep":
			op.Count(out, n.there(c, b.Samples, nil), "nan %s: kept", c.Name)
		case "fail":
			first := -1
			if n.there(c, b.Samples, func(s int) {
				if first < 0 {
					first = s
				}
			}) > 0 {
				return nil, op.FlagError("nan", n.text, op.AtSample(shardify.Mismatch("field %s is NaN", c.Name), b, first))
			}
		case "fill":
			to := &out.Columns[i]
			to.Data = mem.Alloc(len(c.Data))
			op.Count(out, n.filled(to, c, n.fill[i], b.Samples), "nan %s: filled", c.Name)
		case "drop":
			if keep == nil {
				keep = op.Marks(&n.keep, b.Samples)
				defer n.keep.Put(keep)
				for s := range *keep {
					(*keep)[s] = 1
				}
			}
			op.Count(out, n.there(c, b.Samples, func(s int) { (*keep)[s] = 0 }), "nan %s: in dropped samples", c.Name)
		}
	}
	if keep != nil {
		return op.Select(out, *keep, mem)
	}
	return out, nil
}

// there counts the NaNs of samples that have a value, and calls tell for each such sample.
func (n *nanRules) there(c *shardify.Column, samples int, tell func(sample int)) (sum int64) {
	one := *c
	for s := range samples {
		if c.Valid != nil && c.Valid[s] == 0 {
			continue
		}
		lo, hi := c.Range(s, s+1)
		one.Data = c.Data[lo:hi]
		if k := countNaN(&one); k > 0 {
			sum += k
			if tell != nil {
				tell(s)
			}
		}
	}
	return sum
}

// filled copies values with v in the place of NaN.
func (n *nanRules) filled(to, c *shardify.Column, v []byte, samples int) (sum int64) {
	copy(to.Data, c.Data)
	fill := func(lo, hi int) error {
		sum += fillNaN(c.DType, to.Data[lo*c.DType.Size():hi*c.DType.Size()], v)
		return nil
	}
	if c.Valid == nil {
		fill(0, len(c.Data)/c.DType.Size())
	} else {
		eachValid(c, samples, fill, func(int, int) {})
	}
	return sum
}

func countNaN(c *shardify.Column) (n int64) {
	switch c.DType {
	case shardify.F32:
		for _, x := range shardify.View[float32](c.Data) {
			if x != x {
				n++
			}
		}
	case shardify.F64:
		for _, x := range shardify.View[float64](c.Data) {
			if x != x {
				n++
			}
		}
	case shardify.F16:
		return halfNaNs(c.Data, 0x7c00)
	case shardify.BF16:
		return halfNaNs(c.Data, 0x7f80)
	}
	return n
}

func halfNaNs(data []byte, inf uint16) (n int64) {
	for _, x := range shardify.View[uint16](data) {
		if x&0x7fff > inf {
			n++
		}
	}
	return n
}

func fillNaN(d shardify.DType, data, v []byte) (n int64) {
	switch d {
	case shardify.F32:
		y := shardify.View[float32](v)[0]
		z := shardify.View[float32](data)
		for i, x := range z {
			if x != x {
				z[i] = y
				n++
			}
		}
	case shardify.F64:
		y := shardify.View[float64](v)[0]
		z := shardify.View[float64](data)
		for i, x := range z {
			if x != x {
				z[i] = y
				n++
			}
		}
	default:
		inf := uint16(0x7c00)
		if d == shardify.BF16 {
			inf = 0x7f80
		}
		y := shardify.View[uint16](v)[0]
		z := shardify.View[uint16](data)
		for i, x := range z {
			if x&0x7fff > inf {
				z[i] = y
				n++
			}
		}
	}
	return n
}
