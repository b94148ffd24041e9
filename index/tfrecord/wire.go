package tfrecord

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/protowire"
)

// Entry is an entry of a map: a key, and the message of a feature, or of a list of features.
type Entry struct{ Key, Value []byte }

// Example is a record: an Example, or a SequenceExample, which has Lists, too. Entries are in the
// order of the record; of several with one key the last counts.
type Example struct {
	Features []Entry
	Lists    []Entry
	// Sequence: it has the field of the lists, which an Example has not.
	Sequence bool
}

// Parse reads a record. What it finds are parts of b. The error's offset counts from b.
func (x *Example) Parse(b []byte) error {
	x.Features, x.Lists, x.Sequence = x.Features[:0], x.Lists[:0], false
	f := protowire.Fields{B: b}
	for f.Next() {
		if f.Wire != protowire.Bytes || f.Num > 2 {
			continue
		}
		to := &x.Features
		if f.Num == 2 {
			to, x.Sequence = &x.Lists, true
		}
		if err := entries(to, f.Val, f.I-len(f.Val)); err != nil {
			return err
		}
	}
	return f.Err
}

func entries(to *[]Entry, b []byte, base int) error {
	f := protowire.Fields{B: b}
	for {
		if e, n := usual(b[f.I:]); n > 0 {
			*to = append(*to, e)
			f.I += n
			continue
		}
		if !f.Next() {
			break
		}
		if f.Num != 1 || f.Wire != protowire.Bytes {
			continue
		}
		e, err := entry(f.Val)
		if err != nil {
			return shifted(err, base+f.I-len(f.Val))
		}
		*to = append(*to, e)
	}
	return shifted(f.Err, base)
}

// entry reads an entry in any form.
func entry(b []byte) (e Entry, err error) {
	f, values := protowire.Fields{B: b}, 0
	for f.Next() {
		if f.Wire != protowire.Bytes {
			continue
		}
		switch f.Num {
		case 1:
			e.Key = f.Val
		case 2:
			e.Value = f.Val
			values++
		}
	}
	if f.Err == nil && values > 1 {
		return e, shardify.Unsupported("the feature %.100q has several messages", e.Key)
	}
	return e, f.Err
}

// usual reads an entry in the form that all programs write: a short key, then the value. n is its length, 0 where it
// is of another form, or damaged.
func usual(b []byte) (e Entry, n int) {
	if len(b) < 2 || b[0] != 0x0a {
		return e, 0
	}
	size, k := uint64(b[1]), 1
	if size >= 0x80 {
		size, k = binary.Uvarint(b[1:])
	}
	if n = 1 + k; k <= 0 || size > uint64(len(b)-n) {
		return e, 0
	}
	in := b[n : n+int(size)]
	if len(in) < 2 || in[0] != 0x0a || in[1] >= 0x80 || len(in) < int(in[1])+3 {
		return e, 0
	}
	at := 2 + int(in[1])
	value, ok := rest(in[at+1:])
	if !ok || in[at] != 0x12 {
		return e, 0
	}
	return Entry{in[2:at], value}, n + int(size)
}

// shifted adds to the offset of an error of a message inside of another one.
func shifted(err error, by int) error {
	if err == nil {
		return nil
	}
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Offset >= 0 {
			e.Offset += int64(by)
		}
	})
}

// CheckKey refuses a key that Protocol Buffers have not.
func CheckKey(key []byte) error {
	if !utf8.Valid(key) {
		return shardify.Corrupt(-1, "the key %.100q is not UTF-8", key)
	}
	return nil
}

// numbers counts the numbers in b, and reports whether the last one is whole. A number of more
// than ten bytes is an error.
func numbers(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	if b[len(b)-1] >= 0x80 {
		return 0, shardify.Corrupt(-1, "a number is cut")
	}
	i := 0
	for ; i+8 <= len(b); i += 8 {
		n += 8 - bits.OnesCount64(eight(b[i:])&highBits)
	}
	for ; i < len(b); i++ {
		if b[i] < 0x80 {
			n++
		}
	}
	if len(b) >= n+10 { // otherwise none can have more than ten bytes
		run := 0
		for _, c := range b {
			if run++; run > 10 {
				return 0, shardify.Corrupt(-1, "a number of more than 10 bytes")
			}
			if c < 0x80 {
				run = 0
			}
		}
	}
	return n, nil
}
