package rntuple

import (
	"encoding/binary"
	"os"

	"github.com/zeebo/xxh3"
)

// sealAnchor writes an anchor's checksum.
func sealAnchor(b []byte) {
	binary.BigEndian.PutUint64(b[len(b)-sumSize:], xxh3.Hash(b[6:len(b)-sumSize]))
}

// seal writes an envelope's checksum.
func seal(b []byte) {
	le.PutUint64(b[len(b)-sumSize:], xxh3.Hash(b[:len(b)-sumSize]))
}

func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }
