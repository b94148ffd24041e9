package convert

import (
	"errors"
	"slices"
)

// joiner is an error about many inputs that takes in one of its kind, about further
// ones.
type joiner interface {
	error
	Join(more error) bool
}

// faults are the errors of parts. Those that concern many samples are reported together.
type faults struct{ by map[int]error }

// set replaces the fault of a part; an error that cannot be joined comes back at once.
func (f *faults) set(part int, err error) error {
	if err == nil {
		delete(f.by, part)
		return nil
	}
	var j joiner
	if !errors.As(err, &j) {
		return err
	}
	if f.by == nil {
		f.by = map[int]error{}
	}
	f.by[part] = err
	return nil
}

// err joins all faults of the kind of the first one.
func (f *faults) err() error {
	if len(f.by) == 0 {
		return nil
	}
	var parts []int
	for part := range f.by {
		parts = append(parts, part)
	}
	slices.Sort(parts)
	var first joiner
	errors.As(f.by[parts[0]], &first)
	for _, part := range parts[1:] {
		first.Join(f.by[part])
	}
	return f.by[parts[0]]
}
