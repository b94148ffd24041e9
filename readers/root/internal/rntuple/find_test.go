package rntuple

import (
	"bytes"
	"encoding/binary"

	"github.com/shardify/shardify/readers/root/internal/block"
)

// key is where an anchor's payload is.
type key struct {
	name    string
	start   int
	keyLen  int
	objLen  int
	payload []byte
}

// findAnchors looks for keys of class ROOT::RNTuple by their bytes: enough for
// tests, which need no directories.
func findAnchors(file []byte) []key {
	be := binary.BigEndian
	class := []byte("\x0dROOT::RNTuple")
	var all []key
	for at := 0; ; at++ {
		i := bytes.Index(file[at:], class)
		if i < 0 {
			return all
		}
		at += i
		for _, wide := range []bool{true, false} {
			start, seek := at-26, 0
			if wide {
				start = at - 34
			}
			if start < 0 {
				continue
			}
			if seek = int(be.Uint32(file[start+18:])); wide {
				seek = int(be.Uint64(file[start+18:]))
			}
			if (be.Uint16(file[start+4:]) > 1000) != wide || seek != start {
				continue // an image in a key list, or chance
			}
			k := key{start: start, keyLen: int(be.Uint16(file[start+14:])), objLen: int(be.Uint32(file[start+6:]))}
			name := file[at+len(class):]
			k.name = string(name[1 : 1+name[0]])
			payload := file[start+k.keyLen : start+int(be.Uint32(file[start:]))]
			k.payload = payload
			if k.objLen > len(payload) {
				k.payload = make([]byte, k.objLen)
				if err := block.Decode(k.payload, payload); err != nil {
					panic(err)
				}
			}
			all = append(all, k)
		}
	}
}
