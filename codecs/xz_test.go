package codecs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"testing"

	"github.com/shardify/shardify"
)

func TestXZFilesOfTheReferenceEncoder(t *testing.T) {
	data := synth(20000)
	for _, name := range []string{"crc64.xz", "two-sha256.xz", "lc0lp2pb0.xz"} {
		src := load(t, name)
		got, err := decodeInto(t, XZ, len(data), src)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %v", name, err)
		}
		for i := 0; i < len(src); i += 3 { // every byte is under a checksum, or a size that an index repeats
			bad := bytes.Clone(src)
			bad[i] ^= 0x10
			if _, err := decodeInto(t, XZ, len(data), bad); err == nil {
				t.Errorf("%s: byte %d changed: no error", name, i)
			}
		}
	}
	got, err := decodeInto(t, XZ, 3600, load(t, "noise.xz"))
	if err != nil || !bytes.Equal(got[:300], data[:300]) || !bytes.Equal(got[3300:], data[:300]) {
		t.Errorf("stored chunks: %v", err)
	}
	if _, err := decodeInto(t, XZ, 500, load(t, "delta.xz")); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("delta filter: %v, want it refused", err)
	}
}

func TestXZDictionaryDoesNotDecideMemory(t *testing.T) {
	src := load(t, "crc64.xz")
	src[12+5-1] = 40 // 4 GiB
	if src[12+2] != xzLZMA2 || src[12+3] != 1 {
		t.Fatal("the file has another header than the test expects")
	}
	head := src[12 : 12+(int(src[12])+1)*4]
	binary.LittleEndian.PutUint32(head[len(head)-4:], crc32.ChecksumIEEE(head[:len(head)-4]))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := decodeInto(t, XZ, 20000, src)
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(got, synth(20000)) {
		t.Fatal(err)
	}
	if d := after.TotalAlloc - before.TotalAlloc; d > 1<<20 {
		t.Errorf("%d bytes allocated for 20000", d)
	}
}
