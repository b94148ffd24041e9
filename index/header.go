package index

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// Constants of a safetensors file.
const (
	// maxHeader is the longest header text that is read and written. Safetensors
	// allows 100 MB; a hostile one of that length unpacks to a gigabyte, and real
	// ones of a hundred thousand tensors take 12 MB.
	maxHeader = 32 << 20
	// maxSchema bounds the schema in it, which may unpack to twelve times its
	// length.
	maxSchema = 8 << 20
	// maxRank bounds the dimensions of a tensor: as in PyTorch.
	maxRank = 64
	// maxMetadata bounds the entries of __metadata__.
	maxMetadata = 1 << 16
	// page is what 8 + n is a multiple of in our shards.
	page = 4096
	// lengthBytes is the width of n.
	lengthBytes = 8
)

// Keys of __metadata__ in an mmap shard.
const (
	metaName    = "__metadata__"
	metaVersion = "shardify"
	metaSamples = "shardify.samples"
	metaSchema  = "shardify.schema"
	metaCRC32C  = "shardify.crc32c"
)

// headerText writes the JSON of a shard's header. With worst set, every number
// that depends on the data takes the 20 digits it may need at most.
type headerText struct {
	b     []byte
	worst bool
}

func (h *headerText) raw(s string) { h.b = append(h.b, s...) }

func (h *headerText) string(s string) { h.b = appendString(h.b, s) }

func (h *headerText) int(n int64) {
	if h.worst {
		h.raw("99999999999999999999")
		return
	}
	h.b = strconv.AppendInt(h.b, n, 10)
}

// appendString writes a JSON string: only the quote, the backslash and control
// characters are escaped, in one way each, so that the text is canonical.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, `\u00`...)
			b = append(b, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// text writes the header of a shard whose tensors have the given first
// dimensions and checksums.
func (l *Layout) text(h *headerText, samples int64, counts []int64, crcs []uint32) error {
	sums := []byte{'{'}
	for i := range l.Tensors {
		if i > 0 {
			sums = append(sums, ',')
		}
		sums = appendString(sums, l.Tensors[i].Name)
		sums = fmt.Appendf(sums, `:"%08x"`, crcs[i])
	}
	sums = append(sums, '}')

	h.raw(`{"` + metaName + `":{"` + metaVersion + `":"` + strconv.Itoa(version) + `","` + metaSamples + `":"`)
	h.int(samples)
	h.raw(`","` + metaSchema + `":`)
	h.string(l.schemaText)
	h.raw(`,"` + metaCRC32C + `":`)
	h.string(string(sums))
	h.raw(`}`)
	lo := int64(0)
	for i := range l.Tensors {
		hi, err := l.End(i, lo, counts[i])
		if err != nil {
			return err
		}
		l.tensorText(h, &l.Tensors[i], counts[i], lo, hi)
		lo = hi
	}
	h.raw("}")
	return nil
}

func (l *Layout) tensorText(h *headerText, t *TensorSpec, count, lo, hi int64) {
	h.raw(",")
	h.string(t.Name)
	h.raw(`:{"dtype":"` + t.DType.Tensor() + `","shape":[`)
	h.int(count)
	for _, d := range t.Inner {
		h.raw("," + strconv.Itoa(d))
	}
	h.raw(`],"data_offsets":[`)
	h.int(lo)
	h.raw(",")
	h.int(hi)
	h.raw("]}")
}

// sizeHeader sets HeaderBytes.
func (l *Layout) sizeHeader() error {
	h := headerText{worst: true}
	if err := l.text(&h, 0, make([]int64, len(l.Tensors)), make([]uint32, len(l.Tensors))); err != nil {
		return err
	}
	n := int64(lengthBytes + len(h.b))
	n = (n + page - 1) / page * page
	if n-lengthBytes > maxHeader {
		return shardify.Unsupported("the schema takes a header of %d bytes; at most %d are read", n, maxHeader)
	}
	l.HeaderBytes = n
	return nil
}

// Header is bytes [0, HeaderBytes) of a shard: its tensors' first dimensions and
// CRC-32Cs are given in data order.
func (l *Layout) Header(samples int64, counts []int64, crcs []uint32) ([]byte, error) {
	h := headerText{b: make([]byte, lengthBytes, l.HeaderBytes)}
	if err := l.text(&h, samples, counts, crcs); err != nil {
		return nil, err
	}
	if int64(len(h.b)) > l.HeaderBytes || !utf8.Valid(h.b[lengthBytes:]) {
		panic("shardify: header text larger than its bound")
	}
	for int64(len(h.b)) < l.HeaderBytes {
		h.b = append(h.b, ' ')
	}
	binary.LittleEndian.PutUint64(h.b, uint64(l.HeaderBytes-lengthBytes))
	return h.b, nil
}
