package gpuload

import (
	"bytes"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// filler is what follows a member's data up to the next header.
var filler [index.TarBlock]byte

// walk finds the members of sample i: all of the format's, in order, under one
// key.
func (s *span) walk(i int64) error {
	f, raw := s.sh.tar, s.tar.raw
	at, end := s.h.index[s.lo+i]-s.tar.at, s.h.index[s.lo+i+1]-s.tar.at
	var key []byte
	next, seen := 0, 0
	last := -1 // member
	for at < end {
		h, err := index.ParseTarHeader(raw[at : at+index.TarBlock])
		if err != nil {
			return shift(err, s.tar.at+at)
		}
		data := at + index.TarBlock
		if h.Size > end-data {
			return shardify.Corrupt(s.tar.at+at, "tar member %s has %d bytes, %d are left", h.Name, h.Size, end-data)
		}
		if key == nil {
			if key, err = s.key(h.Name, s.tar.at+at); err != nil {
				return err
			}
			*s.entry(i, f.wanted) = tarEntry{at: at, n: int64(len(key))}
		}
		tail, ok := bytes.CutPrefix(h.Name, key)
		for next < len(f.names) && f.names[next].tail != string(tail) {
			next++
		}
		if !ok || next == len(f.names) {
			return shardify.Corrupt(s.tar.at+at, "tar member %q does not belong to sample %s", h.Name, key)
		}
		n := &f.names[next]
		next++
		if n.member == last {
			return shardify.Corrupt(s.tar.at+at, "two members of one field in sample %s", key)
		}
		last = n.member
		seen++
		if w := f.members[n.member].wanted; w >= 0 {
			e := s.entry(i, w)
			if e.at != 0 {
				return shardify.Corrupt(s.tar.at+at, "two members of one field in sample %s", key)
			}
			*e = tarEntry{at: data, n: h.Size, code: int32(n.code)}
		}
		at = data + h.Size
		pad := index.TarPad(h.Size)
		if !bytes.Equal(raw[at:at+pad], filler[:pad]) {
			return shardify.Corrupt(s.tar.at+at, "tar filler is not zeros")
		}
		at += pad
	}
	if seen != len(f.members) {
		return shardify.Corrupt(-1, "sample %s has %d members, want %d", key, seen, len(f.members))
	}
	return nil
}

// key is the name of a sample, from that of its first member.
func (s *span) key(name []byte, at int64) ([]byte, error) {
	key, _, ok := index.SplitKey(name)
	if !ok || index.CheckKey(key) != nil {
		return nil, shardify.Corrupt(at, "tar member %q: no key of this format", name)
	}
	if !s.sh.tar.keyed {
		if _, ok := index.ParseRowKey(key); !ok {
			return nil, shardify.Corrupt(at, "%s is not the name of a row", key)
		}
	}
	return key, nil
}
