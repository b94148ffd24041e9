package page

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// packed is data in every compression.
func packed(t testing.TB, data []byte) map[format.CompressionCodec][]byte {
	var gz, br bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(data)
	w.Close()
	b := brotli.NewWriter(&br)
	b.Write(data)
	b.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	block := make([]byte, lz4.CompressBlockBound(len(data)))
	n, err := lz4.CompressBlock(data, block, nil)
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	sizes := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(data))), uint32(n))
	return map[format.CompressionCodec][]byte{
		format.Uncompressed: data, format.Snappy: snappy.Encode(nil, data), format.Gzip: gz.Bytes(), format.Brotli: br.Bytes(),
		format.Zstd: z.EncodeAll(data, nil), format.Lz4Raw: block[:n], lz4Hadoop: append(sizes, block[:n]...),
	}
}

func compressible(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var data []byte
	for len(data) < n {
		if len(data) > 10 && rng.IntN(2) == 0 {
			at := rng.IntN(len(data))
			data = append(data, data[at:min(len(data), at+1+rng.IntN(300))]...)
			continue
		}
		for range rng.IntN(100) {
			data = append(data, byte(rng.Uint32()))
		}
	}
	return data[:n]
}

func TestPrefixIsTheBeginOfAPage(t *testing.T) {
	for _, size := range []int{500, 70_000, 300_000} {
		data := compressible(size)
		for c, b := range packed(t, data) {
			for _, n := range []int{0, 1, 13, 400, size - 1, size, size + 10} {
				dst := make([]byte, n)
				// The rest of the file follows.
				k, err := Prefix(c, dst, bytes.NewReader(b))
				if want := min(n, size); err != nil || k != want || !bytes.Equal(dst[:k], data[:k]) {
					t.Errorf("%v: %d of %d bytes: %d, %v", c, n, size, k, err)
				}
			}
		}
	}
}

func FuzzPrefix(f *testing.F) {
	for c, b := range packed(f, compressible(900)) {
		f.Add(uint8(c), b)
	}
	f.Fuzz(func(t *testing.T, c uint8, b []byte) {
		dst := make([]byte, 1000)
		if n, _ := Prefix(format.CompressionCodec(c%8), dst, bytes.NewReader(b)); n < 0 || n > len(dst) {
			t.Fatal(n)
		}
	})
}
