package cli

import (
	"errors"
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

// Set reads "512MiB". No size is 0: that stands for the default.
func (v *SizeValue) Set(s string) error {
	n, err := shardify.ParseSize(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: want a size, such as 512MiB; without the flag there is a default", s)
	}
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

// leastMemory is what nothing works in less of.
const leastMemory = 1 << 20

// MemoryValue is a flag of memory.
type MemoryValue int64

// Set reads "8GiB". A number without a unit is bytes, which few people mean.
func (v *MemoryValue) Set(s string) error {
	n, err := shardify.ParseSize(s)
	if err != nil {
		return err
	}
	if n < leastMemory {
		text := fmt.Sprintf("%q: %s is too little to work in; want %s or more", s, shardify.FormatSize(n), shardify.FormatSize(leastMemory))
		if _, err := strconv.ParseFloat(s, 64); err == nil && n > 0 {
			text += ", or a unit, as in " + s + "GiB"
		}
		return errors.New(text)
	}
	*v = MemoryValue(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *MemoryValue) String() string { return (*SizeValue)(v).String() }

// Type is shown in help.
func (v *MemoryValue) Type() string { return "SIZE" }

// CountValue is a flag that counts from 1.
type CountValue int64

// Set reads a whole number. It is not 0: that stands for the default.
func (v *CountValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number", s)
	}
	if n == 0 {
		return fmt.Errorf("%q: want 1 or more; without the flag there is a default", s)
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

// NumberValue is a flag that is counted from 0.
type NumberValue int64

// Set reads a whole number.
func (v *NumberValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number, from 0", s)
	}
	*v = NumberValue(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *NumberValue) String() string { return (*CountValue)(v).String() }

// Type is shown in help.
func (v *NumberValue) Type() string { return "N" }

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
