package node

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"testing"

	"github.com/shardify/shardify/tests/race"
)

// TestBuffersAreNotUsedTwice undoes several codecs and a transposition of one chunk.
func TestBuffersAreNotUsedTwice(t *testing.T) {
	n, err := Parse2([]byte(`{"zarr_format":2,"shape":[40,30],"chunks":[40,30],"dtype":">u2","order":"F","fill_value":0,
		"filters":[{"id":"delta","dtype":">u2"},{"id":"shuffle","elementsize":2},{"id":"adler32"},{"id":"zlib"},{"id":"base64"}],"compressor":{"id":"gzip"}}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 40*30*2)
	stored := make([]byte, len(want))
	last := uint16(0)
	for j := range 30 {
		for i := range 40 {
			v := uint16(i*i*31 + j*j*j)
			binary.LittleEndian.PutUint16(want[2*(i*30+j):], v)
			binary.BigEndian.PutUint16(stored[2*(j*40+i):], v-last)
			last = v
		}
	}
	planes := make([]byte, len(stored))
	for i := range len(stored) / 2 {
		planes[i], planes[len(stored)/2+i] = stored[2*i], stored[2*i+1]
	}
	p := append(binary.LittleEndian.AppendUint32(nil, adler32.Checksum(planes)), planes...)
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write(p)
	w.Close()
	text := base64Of(z.Bytes())
	var g bytes.Buffer
	gz := gzip.NewWriter(&g)
	gz.Write(text)
	gz.Close()
	got := make([]byte, len(want))
	var s Scratch
	for range 3 {
		clear(got)
		if err := n.Array.decode(got, g.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatal("other values")
		}
	}
}

// TestBase64OfMoreThanAChunk is an error, and writes nothing behind the chunk.
func TestBase64OfMoreThanAChunk(t *testing.T) {
	n, err := Parse2([]byte(`{"zarr_format":2,"shape":[8],"chunks":[4],"dtype":"|u1","order":"C","fill_value":0,"filters":null,"compressor":{"id":"base64"}}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 16)
	var s Scratch
	if err := n.Array.decode(all[:4], base64Of([]byte{1, 2, 3, 4}), &s); err != nil || !bytes.Equal(all[:6], []byte{1, 2, 3, 4, 0, 0}) {
		t.Error(all, err)
	}
	for _, dst := range [][]byte{all[:4], all[:4:4]} {
		if err := n.Array.decode(dst, base64Of([]byte{1, 2, 3, 4, 5, 6}), &s); err == nil || !bytes.Equal(all[4:], make([]byte, 12)) {
			t.Error(all, err)
		}
	}
}

// TestMutationsOfChunks decodes damaged chunks: an error or values, nothing else.
func TestMutationsOfChunks(t *testing.T) {
	race.Sequential(t)
	mutate(t) // SHARDIFY_MUTATIONS: how many
}

// TestIndexesHaveABound: an index is in memory as a whole.
func TestIndexesHaveABound(t *testing.T) {
	for n, good := range map[int]bool{1 << 20: true, 1 << 30: false} {
		_, err := Parse3(fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": [%d], "data_type": "uint8", "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [%d]}}, "chunk_key_encoding": {"name": "default"},
			"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}],
				"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]}`, n, n))
		if (err == nil) != good {
			t.Errorf("%d entries: %v", n, err)
		}
	}
}

// TestElementsHaveABound: metadata of a few bytes make no fill_value of a gigabyte.
func TestElementsHaveABound(t *testing.T) {
	for n, good := range map[int]bool{1 << 20: true, 1 << 30: false} {
		_, err := Parse3(fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": [4], "fill_value": "", "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": %d}},
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`, n))
		if (err == nil) != good {
			t.Errorf("elements of %d bytes: %v", n, err)
		}
	}
}
