package megatron

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// indexExt takes the place of a shard's extension in the name of its
// index.
const indexExt = ".idx"

const magic = "MMIDIDX\x00\x00"

// typeCode is the code of a type of tokens; 0 if there is none.
func typeCode(d shardify.DType) byte {
	switch d {
	case shardify.U8:
		return 1
	case shardify.I8:
		return 2
	case shardify.I16:
		return 3
	case shardify.I32:
		return 4
	case shardify.I64:
		return 5
	case shardify.F64:
		return 6
	case shardify.F32:
		return 7
	case shardify.U16:
		return 8
	}
	return 0
}

// indexBytes is the size of the index of n sequences.
func indexBytes(n int64) int64 { return 34 + 4*n + 8*n + 8*(n+1) }

// indexOf is the index of sequences of such lengths, in tokens, that lie one
// after the other. Each is a document of its own.
func indexOf(d shardify.DType, lengths []int32) []byte {
	n := len(lengths)
	b := make([]byte, 0, indexBytes(int64(n)))
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = append(b, typeCode(d))
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = binary.LittleEndian.AppendUint64(b, uint64(n)+1)
	for _, l := range lengths {
		b = binary.LittleEndian.AppendUint32(b, uint32(l))
	}
	at, size := int64(0), int64(d.Size())
	for _, l := range lengths {
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		at += int64(l) * size
	}
	for i := range n + 1 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}
