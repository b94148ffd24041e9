package shape

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Total is a sum over another table of the inputs, such as sum(Runs:genEventSumw), which
// --set takes for a value. Totals writes what it found behind it: sum(Runs:genEventSumw)=812.5.
type Total struct{ Object, Field string }

var totalText = regexp.MustCompile(`^sum\(\s*(.+?)\s*:\s*([^:]+?)\s*\)(?:=(.+))?$`)

// parseTotal tells whether a value is a total, and what it came to, "" if that is not known.
func parseTotal(value string) (t Total, found string, ok bool) {
	m := totalText.FindStringSubmatch(value)
	if m == nil {
		return t, "", false
	}
	return Total{m[1], m[2]}, m[3], true
}

// String is the total as it is written.
func (t Total) String() string { return "sum(" + t.Object + ":" + t.Field + ")" }

// Sum is the sum over the table of one input: an integer, or a float.
type Sum struct {
	Int   int64
	Float float64
	IsInt bool
}

// HasTotals tells whether a text of --set asks for sums.
func HasTotals(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if _, _, r, err := parseSet(line); err == nil && r.total != nil {
			return true
		}
	}
	return false
}

// Totals completes the lines of --set for one field by their sums. That of a line goes over
// all inputs that the line takes, in their order.
func Totals(text string, table *shardify.Table, sums func(Total) ([]Sum, error)) (string, error) {
	if !HasTotals(text) {
		return text, nil
	}
	lines := strings.Split(text, "\n")
	rules := make([]setRule, len(lines))
	globs := make([]string, len(lines))
	for i, line := range lines {
		var err error
		if _, _, rules[i], err = parseSet(line); err != nil {
			return "", said("set", line, err)
		}
		globs[i] = rules[i].glob
	}
	if table == nil || table.Len() == 0 {
		return "", said("set", text, errors.New("a sum over another table needs files that are planned at once"))
	}
	in, err := Resolve(table, globs, true)
	if err != nil {
		return "", said("set", text, err)
	}
	for i := range rules {
		t := rules[i].total
		if t == nil || rules[i].value != "" {
			continue
		}
		each, err := sums(*t)
		if err == nil {
			var v string
			if v, err = totalOf(each, in, i); err == nil {
				at := strings.Index(lines[i], rules[i].written) + len(rules[i].written)
				lines[i] = lines[i][:at] + "=" + v + lines[i][at:]
			}
		}
		if err != nil {
			return "", said("set", lines[i], err)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// totalOf adds the sums of the inputs of one rule.
func totalOf(each []Sum, in Inputs, rule int) (string, error) {
	n, f, isInt := int64(0), 0.0, true
	for i, s := range each {
		if in.rule(uint32(i)) != rule {
			continue
		}
		isInt = isInt && s.IsInt
		f += s.Float
		if s.IsInt {
			if n+s.Int > n != (s.Int > 0) && s.Int != 0 {
				return "", errors.New("the sum leaves the range of i64")
			}
			n += s.Int
			f += float64(s.Int)
		}
	}
	if isInt {
		return strconv.FormatInt(n, 10), nil
	}
	v := strconv.FormatFloat(f, 'g', -1, 64)
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		v += ".0" // a float stays one
	}
	return v, nil
}

// noTotal is the error about a total that nobody has completed.
func noTotal(t *Total) error { return fmt.Errorf("%s is not known yet", t) }
