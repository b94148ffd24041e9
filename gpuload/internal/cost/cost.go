// Package cost has what a budget of a batch counts of each sample: what its fields count, by
// themselves, or in a sum of products.
package cost

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
)

// Cost is what a budget counts of each sample: a field, or a sum of products of fields and whole numbers, such
// as "atoms + 2*edges".
type Cost struct {
	Text   string
	Fields []shardify.Field
	terms  []term
}

// term is a product.
type term struct {
	number int64
	fields []int // of Cost.Fields
}

// Parse finds the fields of a cost. len(x) is the same as x.
func Parse(schema []shardify.Field, text string) (*Cost, error) {
	c := &Cost{Text: text}
	var unknown []string
	factor := func(t *term, name string) bool {
		inner, list := strings.CutPrefix(name, "len(")
		if list = list && strings.HasSuffix(inner, ")"); list {
			name = strings.TrimSuffix(inner, ")")
		}
		i := shardify.FieldIndex(schema, name)
		if i < 0 || list && schema[i].Levels == 0 {
			return false
		}
		k := shardify.FieldIndex(c.Fields, name)
		if k < 0 {
			k, c.Fields = len(c.Fields), append(c.Fields, schema[i])
		}
		t.fields = append(t.fields, k)
		return true
	}
	whole := term{number: 1}
	if factor(&whole, text) {
		c.terms = []term{whole}
		return c, nil
	}
	for sum := range strings.SplitSeq(text, "+") {
		t := term{number: 1}
		for name := range strings.SplitSeq(sum, "*") {
			name = strings.TrimSpace(name)
			n, err := strconv.ParseInt(name, 10, 64)
			switch {
			case err == nil && n >= 0:
				var ok bool
				if t.number, ok = times(t.number, n); !ok {
					return nil, shardify.Usage("budget: %s is too large a number", name)
				}
			case !factor(&t, name):
				unknown = append(unknown, name)
			}
		}
		c.terms = append(c.terms, t)
	}
	if len(unknown) > 0 || len(c.Fields) == 0 {
		if len(unknown) == 0 {
			unknown = []string{text}
		}
		return nil, dataset.NoField("budget", schema, unknown...)
	}
	return c, nil
}

// Of writes the costs of samples into to, from what each field counts of them. It returns the first sample whose
// cost is too large, or -1.
func (c *Cost) Of(to []int64, lists [][]int64) int {
	for i := range to {
		sum := int64(0)
		for _, t := range c.terms {
			product, ok := t.number, true
			for _, k := range t.fields {
				if product, ok = times(product, lists[k][i]); !ok {
					return i
				}
			}
			if sum += product; sum < 0 || sum == math.MaxInt64 {
				return i
			}
		}
		to[i] = sum
	}
	return -1
}

// times multiplies two numbers that are not negative.
func times(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo < math.MaxInt64
}
