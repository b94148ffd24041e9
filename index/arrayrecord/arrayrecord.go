// Package arrayrecord has the bytes of ArrayRecord files, which Grain reads in any order: Riegeli files
// with a chunk for each record, uncompressed, and a footer of their places.
//
// A block header of 24 bytes is at every multiple of 64 KiB, also inside of chunks: a hash, and the
// distances to the beginning and the end of the chunk. A chunk is a header of 40 bytes (hash of the
// rest, size and hash of the data, kind and number of records, bytes of the records) and its data.
//
//	var w arrayrecord.Writer
//	file = w.Append(file, record)
//	file = w.End(file)
package arrayrecord

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/shardify/shardify"
)

const (
	block     = 64 << 10
	blockHead = 24
	chunkHead = 40
	room      = block - blockHead

	isSignature = 0x73
	isRecords   = 0x72
	isPadding   = 0x70

	// options is what the library writes for files of this form.
	options = "group_size:1,transpose:false,pad_to_block_boundary:false,uncompressed,max_parallelism:1"
	mark    = 0x71930e704fdae05e
)

// Writer makes the bytes of a file, one part after the other.
type Writer struct {
	at      int64 // bytes so far
	records int64
	places  []byte // of the records, for the footer
	sizes   []byte
	buf     []byte
}

// Append appends the chunk of a record.
func (w *Writer) Append(dst, record []byte) []byte {
	dst = w.begin(dst)
	at := w.at
	w.buf = appendSimple(w.buf[:0], binary.AppendUvarint(nil, uint64(len(record))), record)
	dst = w.chunk(dst, isRecords, w.buf, 1, len(record))
	n := len(w.places)
	w.places = binary.AppendUvarint(append(w.places, 0x08), uint64(at))
	w.places = binary.AppendUvarint(append(w.places, 0x10), uint64(len(record)))
	w.places = append(w.places, 0x18, 1)
	w.sizes = binary.AppendUvarint(w.sizes, uint64(len(w.places)-n))
	w.records++
	return dst
}

// begin appends what comes before the first record.
func (w *Writer) begin(dst []byte) []byte {
	if w.at > 0 {
		return dst
	}
	return w.chunk(dst, isSignature, nil, 0, 0)
}

// End appends what comes behind the last record.
func (w *Writer) End(dst []byte) []byte {
	dst = w.begin(dst)
	footer := w.at
	meta := binary.AppendUvarint([]byte{0x08, 1, 0x10}, uint64(w.records))
	meta = binary.AppendUvarint(append(meta, 0x18), uint64(w.records))
	meta = append(binary.AppendUvarint(append(meta, 0x22), uint64(len(options))), options...)
	first := append(binary.AppendUvarint([]byte{0x0a}, uint64(len(meta))), meta...)
	sizes := append(binary.AppendUvarint(nil, uint64(len(first))), w.sizes...)
	w.buf = appendSimple(w.buf[:0], sizes, append(first, w.places...))
	dst = w.chunk(dst, isRecords, w.buf, w.records+1, len(first)+len(w.places))
	dst = w.pad(dst)
	post := binary.AppendUvarint(append(binary.AppendUvarint([]byte{0x08}, uint64(footer)), 0x10), mark)
	n := byte(len(post))
	dst = w.chunk(dst, isRecords, appendSimple(nil, []byte{n, n, n}, bytes.Repeat(post, 3)), 3, 3*len(post))
	return w.pad(dst)
}

// pad appends a chunk of zeros up to the end of a block.
func (w *Writer) pad(dst []byte) []byte {
	left := int((block - w.at%block) % block)
	if left == 0 {
		return dst
	}
	if left < chunkHead {
		left += room
	}
	return w.chunk(dst, isPadding, make([]byte, left-chunkHead), 0, 0)
}

// appendSimple appends the data of a chunk that is not compressed.
func appendSimple(dst, sizes, values []byte) []byte {
	dst = binary.AppendUvarint(append(dst, 0), uint64(len(sizes)))
	return append(append(dst, sizes...), values...)
}

// endOf is where a chunk ends.
func endOf(begin, data, records int64) int64 {
	size := chunkHead + data
	end := begin + size + (size+(begin+room-1)%block)/room*blockHead
	p := begin + records
	left := (block - p%block) % block
	return max(end, p+max(0, left-room+1))
}

func (w *Writer) chunk(dst []byte, kind byte, data []byte, records int64, decoded int) []byte {
	var head [chunkHead]byte
	le := binary.LittleEndian
	le.PutUint64(head[8:], uint64(len(data)))
	le.PutUint64(head[16:], hash64(data))
	le.PutUint64(head[24:], uint64(kind)|uint64(records)<<8)
	le.PutUint64(head[32:], uint64(decoded))
	le.PutUint64(head[:], hash64(head[8:]))
	begin, end := w.at, endOf(w.at, int64(len(data)), records)
	part := head[:]
	for w.at < end {
		if w.at%block == 0 {
			var b [blockHead]byte
			le.PutUint64(b[8:], uint64(w.at-begin))
			le.PutUint64(b[16:], uint64(end-w.at))
			le.PutUint64(b[:], hash64(b[8:]))
			dst, w.at = append(dst, b[:]...), w.at+blockHead
		}
		if len(part) == 0 {
			part, data = data, nil
		}
		n := min(block-w.at%block, end-w.at)
		if len(part) == 0 { // zeros up to the end
			dst, w.at = append(dst, make([]byte, n)...), w.at+n
			continue
		}
		n = min(n, int64(len(part)))
		dst, part, w.at = append(dst, part[:n]...), part[n:], w.at+n
	}
	return dst
}

// Check reads a file of size bytes that a Writer made, and compares each byte with what it would
// write. each gets the records.
func Check(r io.ReaderAt, size int64, each func(record []byte) error) error {
	var w Writer
	want := w.begin(nil)
	have := make([]byte, len(want))
	if n, err := r.ReadAt(have, 0); n < len(have) {
		return short(err, 0)
	}
	if !bytes.Equal(have, want) {
		return shardify.Corrupt(0, "it does not begin as an ArrayRecord file does")
	}
	var raw, data []byte
	for {
		at := w.at
		head := make([]byte, min(chunkHead+blockHead, size-at))
		if n, err := r.ReadAt(head, at); n < len(head) {
			return short(err, at)
		}
		if head = strip(nil, head, at); len(head) < chunkHead {
			return shardify.Corrupt(at, "the file ends in the head of a chunk")
		}
		n, count := int64(binary.LittleEndian.Uint64(head[8:])), int64(binary.LittleEndian.Uint64(head[24:])>>8)
		if count == w.records+1 {
			copied := w // at and records are those before the end
			want = copied.End(want[:0])
			if int64(len(want)) == size-at {
				err := same(r, at, want, &raw)
				if err == nil || count > 1 { // a single one may be the first record
					return err
				}
			}
		}
		if n < 3 || n > size-at-chunkHead || count != 1 || endOf(at, n, 1) > size {
			return shardify.Corrupt(at, "the head of a chunk does not fit the file")
		}
		raw = grow(raw, endOf(at, n, 1)-at)
		if k, err := r.ReadAt(raw, at); k < len(raw) {
			return short(err, at)
		}
		data = strip(data[:0], raw, at)[chunkHead:]
		length, k := binary.Uvarint(data[min(2, len(data)):])
		from := 2 + k
		if k <= 0 || length > uint64(len(data)-from) {
			return shardify.Corrupt(at, "the record of a chunk goes beyond its end")
		}
		record := data[from : from+int(length)]
		if want = w.Append(want[:0], record); !bytes.Equal(want, raw) {
			return shardify.Corrupt(at, "a chunk whose hashes or sizes are not those of its record")
		}
		if err := each(record); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Offset = at })
		}
	}
}

// same compares the rest of a file.
func same(r io.ReaderAt, at int64, want []byte, raw *[]byte) error {
	*raw = grow(*raw, int64(len(want)))
	if n, err := r.ReadAt(*raw, at); n < len(want) {
		return short(err, at)
	}
	if !bytes.Equal(*raw, want) {
		return shardify.Corrupt(at, "the footer is not that of the records")
	}
	return nil
}

// strip appends the bytes b at byte at of a file without the heads of blocks.
func strip(dst, b []byte, at int64) []byte {
	for len(b) > 0 {
		if at%block == 0 {
			n := min(blockHead, len(b))
			b, at = b[n:], at+int64(n)
		}
		n := min(block-at%block, int64(len(b)))
		dst, b, at = append(dst, b[:n]...), b[n:], at+n
	}
	return dst
}

func grow(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

func short(err error, at int64) error {
	if err == nil || err == io.EOF {
		return shardify.Corrupt(at, "the file ends here")
	}
	return err
}
