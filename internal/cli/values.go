package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Trimmed is a list of words as people write it, with a blank behind each comma.
func Trimmed(words []string) []string {
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words
}

// SizeValue is a flag of bytes with an optional unit.
type SizeValue int64

// Set reads "512MiB".
func (v *SizeValue) Set(s string) error {
	n, err := shardify.ParseSize(s)
	*v = SizeValue(n)
	return err
}

// String is empty for 0, which means the default.
func (v *SizeValue) String() string {
	if *v == 0 {
		return ""
	}
	return shardify.FormatSize(int64(*v))
}

// Type is shown in help.
func (v *SizeValue) Type() string { return "SIZE" }

// CountValue is a flag that counts; not negative.
type CountValue int64

// Set reads a whole number.
func (v *CountValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number", s)
	}
	*v = CountValue(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *CountValue) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

// Type is shown in help.
func (v *CountValue) Type() string { return "N" }

// RangeValue is samples [Lo, Hi); Hi 0 means to the end.
type RangeValue struct{ Lo, Hi int64 }

// Set reads "100:200", ":200" or "100:".
func (v *RangeValue) Set(s string) error {
	bad := fmt.Errorf("%q: want LO:HI, samples from LO up to but without HI", s)
	lo, hi, ok := strings.Cut(s, ":")
	if !ok {
		return bad
	}
	var r RangeValue
	for _, x := range []struct {
		s string
		n *int64
	}{{lo, &r.Lo}, {hi, &r.Hi}} {
		if x.s == "" {
			continue
		}
		n, err := strconv.ParseInt(x.s, 10, 64)
		if err != nil || n < 0 {
			return bad
		}
		*x.n = n
	}
	if hi != "" && r.Hi <= r.Lo {
		return fmt.Errorf("%q: the range is empty", s)
	}
	*v = r
	return nil
}

// String is empty for everything.
func (v *RangeValue) String() string {
	switch {
	case *v == RangeValue{}:
		return ""
	case v.Hi == 0:
		return fmt.Sprintf("%d:", v.Lo)
	}
	return fmt.Sprintf("%d:%d", v.Lo, v.Hi)
}

// Type is shown in help.
func (v *RangeValue) Type() string { return "LO:HI" }

// EnumValue is a flag with few values, the first of which is the default.
type EnumValue struct {
	Values []string
	Value  string
}

// Set takes one of the values.
func (v *EnumValue) Set(s string) error {
	for _, x := range v.Values {
		if s == x {
			v.Value = s
			return nil
		}
	}
	return fmt.Errorf("%q: want one of %s", s, strings.Join(v.Values, ", "))
}

// String is the value.
func (v *EnumValue) String() string { return v.Value }

// Type is shown in help.
func (v *EnumValue) Type() string { return strings.Join(v.Values, "|") }
