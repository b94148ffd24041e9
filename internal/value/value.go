// Package value has the kinds of values that flags and recipes take, as text.
package value

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Value is a setting as text.
type Value interface {
	Set(text string) error // adds to a list
	String() string
	Type() string
}

// Record is the text of a value in the recipe of a finished set: bytes without a unit, the words
// of a list with commas, other texts as lines. Restore reads it.
func Record(v Value) string {
	switch v := v.(type) {
	case *Size:
		return strconv.FormatInt(int64(*v), 10)
	case *Texts:
		return strings.Join(*v, "\n")
	}
	return v.String()
}

// Restore sets a value that is empty to what Record has written.
func Restore(v Value, text string) error {
	switch v := v.(type) {
	case *Texts:
		*v = strings.Split(text, "\n")
		return nil
	case *List:
		r := csv.NewReader(strings.NewReader(text))
		r.LazyQuotes = true // of recipes whose words were not quoted
		words, err := r.Read()
		*v = words
		return err
	}
	return v.Set(text)
}

// Copy sets a value to another of its type.
func Copy(to, from Value) {
	if v, ok := to.(*Enum); ok {
		*v.at = from.String()
		return
	}
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
}

// Trimmed is a list of words as people write it, with a blank behind each comma.
func Trimmed(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strings.TrimSpace(w))
	}
	return out
}

// Size is a flag of bytes with an optional unit.
type Size int64

// Set reads "512MiB". A size is not 0, which means the default.
func (v *Size) Set(s string) error {
	n, err := shardify.ParseSize(s)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q: want a size, such as 512MiB; without the flag there is a default", s)
	}
	*v = Size(n)
	return err
}

// String is empty for 0, which means the default.
func (v *Size) String() string {
	if *v == 0 {
		return ""
	}
	text := shardify.FormatSize(int64(*v))
	if n, err := shardify.ParseSize(text); err != nil || n != int64(*v) {
		return strconv.FormatInt(int64(*v), 10) // the text is rounded
	}
	return text
}

// Check refuses a negative number; 0 is the default.
func (v *Size) Check() error { return notNegative(int64(*v)) }

// Type is shown in help.
func (v *Size) Type() string { return "SIZE" }

// leastMemory is what nothing works in less of.
const leastMemory = 1 << 20

// Memory is a flag of memory.
type Memory int64

// Set reads "8GiB". A number without a unit is bytes, which few people mean.
func (v *Memory) Set(s string) error {
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
	*v = Memory(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *Memory) String() string { return (*Size)(v).String() }

// Check refuses a negative number; 0 is the default.
func (v *Memory) Check() error { return notNegative(int64(*v)) }

// Type is shown in help.
func (v *Memory) Type() string { return "SIZE" }

// Count is a flag that counts from 1.
type Count int64

// Set reads a whole number. It is not 0, which means the default.
func (v *Count) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number", s)
	}
	if n == 0 {
		return fmt.Errorf("%q: want 1 or more; without the flag there is a default", s)
	}
	*v = Count(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *Count) String() string {
	if *v == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*v), 10)
}

// Check refuses a negative number; 0 is the default.
func (v *Count) Check() error { return notNegative(int64(*v)) }

// Type is shown in help.
func (v *Count) Type() string { return "N" }

// Number is a flag that is counted from 0.
type Number int64

// Set reads a whole number.
func (v *Number) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q: want a whole number, from 0", s)
	}
	*v = Number(n)
	return nil
}

// String is empty for 0, which means the default.
func (v *Number) String() string { return (*Count)(v).String() }

// Type is shown in help.
func (v *Number) Type() string { return "N" }

// Jobs is a Count of an int.
type Jobs int

// Set reads a whole number.
func (v *Jobs) Set(s string) error {
	var n Count
	err := n.Set(s)
	*v = Jobs(n)
	return err
}

// String is empty for 0, which means the default.
func (v *Jobs) String() string { n := Count(*v); return n.String() }

// Check refuses a negative number; 0 is the default.
func (v *Jobs) Check() error { return notNegative(int64(*v)) }

// Type is shown in help.
func (v *Jobs) Type() string { return "N" }

// Seed is any whole number from 0.
type Seed uint64

// Set reads a whole number.
func (v *Seed) Set(s string) error {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return fmt.Errorf("%q: want a whole number from 0", s)
	}
	*v = Seed(n)
	return nil
}

// String is the number.
func (v *Seed) String() string { return strconv.FormatUint(uint64(*v), 10) }

// Type is shown in help.
func (v *Seed) Type() string { return "uint64" }

// Bool is a flag that is there or not.
type Bool bool

// Set reads true or false.
func (v *Bool) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return fmt.Errorf("%q: want true or false", s)
	}
	*v = Bool(b)
	return nil
}

// String is true or false.
func (v *Bool) String() string { return strconv.FormatBool(bool(*v)) }

// Type is shown in help.
func (v *Bool) Type() string { return "bool" }

// Text is any text.
type Text string

// Set takes the text.
func (v *Text) Set(s string) error { *v = Text(s); return nil }

// String is the text.
func (v *Text) String() string { return string(*v) }

// Type is shown in help.
func (v *Text) Type() string { return "string" }

// Texts are texts that are given one by one.
type Texts []string

// Set adds a text.
func (v *Texts) Set(s string) error { *v = append(*v, s); return nil }

// String is all of them, with commas.
func (v *Texts) String() string { return strings.Join(*v, ",") }

// Type is shown in help.
func (v *Texts) Type() string { return "stringArray" }

// All is the texts.
func (v *Texts) All() []string { return *v }

// List is words with commas between them.
type List []string

// Set adds words. A word with a comma is quoted.
func (v *List) Set(s string) error {
	if s == "" {
		return nil
	}
	words, err := csv.NewReader(strings.NewReader(s)).Read()
	*v = append(*v, words...)
	return err
}

// String is all of them, as Set reads them.
func (v *List) String() string { return strings.Join(v.All(), ",") }

// Type is shown in help.
func (v *List) Type() string { return "stringSlice" }

// All is the words, each as Set reads it.
func (v *List) All() (words []string) {
	for _, w := range *v {
		if strings.ContainsAny(w, ",\"\r\n") || w == "" && len(*v) == 1 {
			w = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		}
		words = append(words, w)
	}
	return words
}

// Enum is one of few values, the first of which is the default.
type Enum struct {
	Values []string
	at     *string
}

// OneOf makes an Enum of a text.
func OneOf(at *string, values ...string) *Enum {
	*at = cmp.Or(*at, values[0])
	return &Enum{values, at}
}

// Set takes one of the values.
func (v *Enum) Set(s string) error {
	if err := v.check(s); err != nil {
		return err
	}
	*v.at = s
	return nil
}

// Check refuses a text that is not one of the values; an empty one is the default.
func (v *Enum) Check() error { return v.check(v.String()) }

func (v *Enum) check(s string) error {
	if !slices.Contains(v.Values, s) {
		return fmt.Errorf("%q: want one of %s", s, strings.Join(v.Values, ", "))
	}
	return nil
}

// String is the value.
func (v *Enum) String() string { return cmp.Or(*v.at, v.Values[0]) }

// Type is shown in help.
func (v *Enum) Type() string { return strings.Join(v.Values, "|") }

func notNegative(n int64) error {
	if n < 0 {
		return fmt.Errorf("%d: want a number that is not negative", n)
	}
	return nil
}
