package main

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// numbersOf copies n whole numbers of the caller; nil if it has none. The type is as NumPy writes it; "" is i8.
func numbersOf(p unsafe.Pointer, n int64, kind string) ([]int64, error) {
	if p == nil {
		return nil, nil
	}
	if n < 0 || n > maxList {
		return nil, errors.New("an array of negative length")
	}
	switch kind {
	case "", "i8":
		return copied((*int64)(p), n)
	case "i4":
		return copied((*int32)(p), n)
	case "i2":
		return copied((*int16)(p), n)
	case "i1":
		return copied((*int8)(p), n)
	case "u8":
		return copied((*uint64)(p), n)
	case "u4":
		return copied((*uint32)(p), n)
	case "u2":
		return copied((*uint16)(p), n)
	case "u1":
		return copied((*uint8)(p), n)
	}
	return nil, fmt.Errorf("numbers of type %q", kind)
}

func copied[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](p *T, n int64) ([]int64, error) {
	list := make([]int64, n)
	for i, v := range unsafe.Slice(p, n) {
		if uint64(v) > math.MaxInt64 && v > 0 {
			return nil, fmt.Errorf("order: position %d is sample %d", i, v)
		}
		list[i] = int64(v)
	}
	return list, nil
}

// given is what shardify_order answers.
type given struct {
	Length int64  `json:"length"` // positions of the epoch
	Order  string `json:"order"`  // of a state inside the epoch
}

// give sets the samples of an epoch.
func (l *loader) give(epoch int, list []int64) (g given, err error) {
	if err := l.SetOrder(epoch, list); err != nil {
		return g, err
	}
	return given{l.Order().LenOf(epoch), l.Order().TextAt(epoch, 1)}, nil
}
