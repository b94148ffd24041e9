package order

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"
)

// lists are the samples of epochs that each have a list of their own, in order.
type lists struct {
	mu sync.Mutex
	of map[int]epochList
}

type epochList struct {
	samples []int64
	digest  uint64
}

// ErrUnknown: nothing has said which samples an epoch has.
var ErrUnknown = errors.New("the epoch has no order: SetOrder gives it")

// newListed makes an order that is a list, or one that is another list in each epoch.
func newListed(o *Order, c Config) (*Order, error) {
	if c.Shuffle != None || c.Mix != nil || c.Weights != nil || c.Labels != nil || c.Indices == nil {
		return nil, fmt.Errorf("order is the samples of an epoch, one after the other: no shuffle, weights, balance and shares of inputs go with it; indices with a shuffle draw from some samples")
	}
	if o.rows = c.Rows; o.rows == 0 {
		for _, n := range c.Parts {
			o.rows += n
		}
	}
	first := c.Indices
	if !c.PerEpoch {
		if err := once(first, o.rows); err != nil {
			return nil, err
		}
		return o, o.set(&c)
	}
	o.lists, o.indices, c.Indices = &lists{of: map[int]epochList{}}, nil, nil
	if err := o.set(&c); err != nil {
		return nil, err
	}
	return o, o.Give(c.Epoch, first, c.Epoch)
}

// once refuses a list that has a number twice, or one that is not below n. It takes n/8 bytes, at most
// as many as the list.
func once(list []int64, n int64) error {
	for i, v := range list {
		if v < 0 || v >= n {
			return fmt.Errorf("order: position %d is sample %d, and samples are numbered 0 to %d", i, v, n-1)
		}
	}
	if v, ok := twice(list, n); ok {
		first := slices.Index(list, v)
		return fmt.Errorf("order: positions %d and %d are both sample %d: each may come once in an epoch", first, first+1+slices.Index(list[first+1:], v), v)
	}
	return nil
}

// twice is a number below n that a list has more than once.
func twice(list []int64, n int64) (int64, bool) {
	if n/64 > int64(len(list)) {
		list = slices.Sorted(slices.Values(list))
		for i := 1; i < len(list); i++ {
			if list[i] == list[i-1] {
				return list[i], true
			}
		}
		return 0, false
	}
	seen := make([]uint64, (n+63)/64)
	for _, v := range list {
		if seen[v>>6]>>(v&63)&1 != 0 {
			return v, true
		}
		seen[v>>6] |= 1 << (v & 63)
	}
	return 0, false
}

// Listed reports an order in which each epoch has a list of its own: PerEpoch.
func (o *Order) Listed() bool { return o.lists != nil }

// Give sets the list of an epoch, which is not changed any more, and forgets those of others but of
// one that is kept. No Cursor may be in use.
func (o *Order) Give(epoch int, list []int64, keep int) error {
	if o.lists == nil {
		return errors.New("SetOrder: the loader was not made with PerEpoch")
	}
	if err := once(list, o.rows); err != nil {
		return err
	}
	if p := o.packs; p != nil {
		if err := p.checkSizes(int64(len(list)), func(i int64) int64 { return list[i] }); err != nil {
			return err
		}
		p.forget()
	}
	l := o.lists
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.of {
		if e != keep {
			delete(l.of, e)
		}
	}
	l.of[epoch] = epochList{list, digestOf(len(list), func(i int) uint64 { return uint64(list[i]) })}
	return nil
}

// list is that of an epoch; ok: it was given.
func (o *Order) list(epoch int) (l epochList, ok bool) {
	o.lists.mu.Lock()
	defer o.lists.mu.Unlock()
	l, ok = o.lists.of[epoch]
	return l, ok
}

// Known reports whether it is known which samples an epoch has: not before Give, with PerEpoch.
func (o *Order) Known(epoch int) bool {
	if o.lists == nil {
		return true
	}
	_, ok := o.list(epoch)
	return ok
}

// LenOf is the positions of an epoch; 0 if they are not known.
func (o *Order) LenOf(epoch int) int64 {
	if o.lists == nil {
		return o.length
	}
	l, _ := o.list(epoch)
	return int64(len(l.samples))
}

// TextAt is the order at a place, as a State has it. Inside an epoch with a list of its own it has the
// digest of that list.
func (o *Order) TextAt(epoch int, position int64) string {
	if o.lists == nil || position == 0 {
		return o.text
	}
	l, _ := o.list(epoch)
	return fmt.Sprintf("%s order=%016x", o.text, l.digest)
}

func digestOf(n int, at func(int) uint64) uint64 {
	var h xxh3.Hasher
	var w [8]byte
	for i := range n {
		binary.LittleEndian.PutUint64(w[:], at(i))
		h.Write(w[:])
	}
	return h.Sum64()
}
