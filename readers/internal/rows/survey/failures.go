package survey

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// failures counts the files that something is wrong with and keeps the first ones.
type failures struct {
	count     int64
	first     []failure // by input
	skippable bool      // all of them are
}

// skippable reports whether an input is left out for an error where damage is skipped: what no code
// reads is as lost as what is damaged.
func skippable(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported)
}

type failure struct {
	input uint32
	err   error
}

// shown is how many examples a message has.
const shown = 3

func (f *failures) add(input uint32, err error) {
	f.count++
	f.skippable = (f.skippable || f.count == 1) && skippable(err)
	at, _ := slices.BinarySearchFunc(f.first, input, func(a failure, b uint32) int { return int(a.input) - int(b) })
	f.first = slices.Insert(f.first, at, failure{input, err})
	f.first = f.first[:min(len(f.first), shown)]
}

// err is one error about all bad files: it is as the first one, and says the number
// of the others and the reasons of some.
func (f *failures) err(t *format.Table) error {
	if f.count == 0 {
		return nil
	}
	var e *shardify.Error
	if !errors.As(f.first[0].err, &e) || f.count == 1 {
		return f.first[0].err
	}
	var others []string
	for _, x := range f.first[1:] {
		others = append(others, x.err.Error())
	}
	more := ""
	if n := f.count - int64(len(f.first)); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	c := *e
	c.Err = fmt.Errorf("%w; %d of %d inputs are bad, also: %s%s", e.Err, f.count, t.Len(), strings.Join(others, "; "), more)
	return &c
}

// examples lists the first names of count: "a, b, c, ...".
func examples(names []string, count int) string {
	s := strings.Join(names[:min(len(names), shown)], ", ")
	if count > min(len(names), shown) {
		s += ", ..."
	}
	return s
}

func shapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

type errText string

func (e errText) Error() string { return string(e) }
