// Package pq reads the metadata of Parquet files: footer, schema, where the chunks of
// a column are, page headers. It decodes no values.
//
//	offset     width
//	  0          4     magic PAR1 (PARE: encrypted)
//	  4          ...   column chunks: a dictionary page if there is one, data pages
//	  end-8-n    n     FileMetaData (thrift, compact protocol)
//	  end-8      4     n, little-endian
//	  end-4      4     magic PAR1 (PARE: encrypted footer)
//
// The thrift structures are those of parquet-go, which follows the specification; what
// they take in memory is bounded before they are decoded.
package pq

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// File is the metadata of one file.
type File struct {
	Size      int64
	Rows      int64
	CreatedBy string
	Root      *Node
	Leaves    []*Node
	// Groups has the first row of each row group and, as its last entry, Rows.
	Groups []int64
	// KeyValue is the file's own metadata.
	KeyValue map[string]string
	chunks   [][]Chunk // by leaf and row group
}

// Chunk is where the pages of a leaf in a row group are, and what is known of them.
type Chunk struct {
	Off, End     int64 // of the pages in the file
	Data         int64 // of the first page behind the dictionary, as the metadata say
	Values       int64 // entries: values, nulls and empty lists
	Uncompressed int64 // bytes of all pages, as the metadata say
	Codec        format.CompressionCodec
	Dictionary   bool // there may be a dictionary
	// NoNulls: the statistics say so. NullsKnown: they say anything at all.
	Nulls      int64
	NullsKnown bool
	Levels     []int64 // how many entries have each definition level; nil if not known
	ValueBytes int64   // of byte arrays, decoded; 0 if not known
	Index      Extent  // of the OffsetIndex; none if it has no bytes
	Bad        error   // why the chunk cannot be read
}

// Extent is bytes of the file.
type Extent struct {
	Off   int64
	Bytes int32
}

const (
	magicPlain     = "PAR1"
	magicEncrypted = "PARE"
	tailBytes      = 8
)

// maxFooter bounds the footer, which is held in memory as a whole.
const maxFooter = 1 << 30

// Open reads the footer.
func Open(r io.ReaderAt, size int64) (*File, error) {
	md, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{Size: size, CreatedBy: md.CreatedBy, KeyValue: map[string]string{}}
	for _, kv := range md.KeyValueMetadata {
		f.KeyValue[kv.Key] = kv.Value
	}
	if err := f.tree(md.Schema); err != nil {
		return nil, err
	}
	return f, f.groups(md)
}

func readFooter(r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	if size < 2*tailBytes-4 {
		return nil, shardify.Corrupt(-1, "%d bytes are not a Parquet file", size)
	}
	var head [4]byte
	if err := readAt(r, head[:], 0); err != nil {
		return nil, err
	}
	guess := make([]byte, min(size, 64<<10))
	if err := readAt(r, guess, size-int64(len(guess))); err != nil {
		return nil, err
	}
	tail := guess[len(guess)-tailBytes:]
	switch {
	case string(tail[4:]) == magicEncrypted || string(head[:]) == magicEncrypted:
		return nil, shardify.Unsupported("the file is encrypted")
	case string(head[:]) != magicPlain:
		return nil, shardify.Corrupt(0, "it begins with %q, a Parquet file with %q", head[:], magicPlain)
	case string(tail[4:]) != magicPlain:
		return nil, shardify.Corrupt(size-4, "it ends with %q, a Parquet file with %q: it is cut off, or its writer did not finish", tail[4:], magicPlain)
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > size-tailBytes-4 {
		return nil, shardify.Corrupt(size-tailBytes, "footer of %d bytes in a file of %d", n, size)
	}
	if n > maxFooter {
		return nil, shardify.Unsupported("footer of %s", shardify.FormatSize(n))
	}
	off := size - tailBytes - n
	var b []byte
	if n+tailBytes <= int64(len(guess)) {
		b = bytes.Clone(guess[int64(len(guess))-n-tailBytes:][:n])
	} else {
		b = make([]byte, n)
		if err := readAt(r, b, off); err != nil {
			return nil, err
		}
	}
	md := &format.FileMetaData{}
	// A signature may follow the structure.
	if _, err := decode(b, md); err != nil {
		return nil, located(err, off, "the footer")
	}
	return md, nil
}

// readAt reads all of b, which the file's size says is there.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return shardify.Corrupt(off+int64(n), "the file ends")
	}
	return err
}

// located gives an error about damaged metadata a place.
func located(err error, off int64, what string) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = shardify.Corrupt(off, "%s ends too early", what)
	}
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Offset < 0 {
			e.Offset = off
		}
	})
}

// groups checks the row groups and finds the chunks.
func (f *File) groups(md *format.FileMetaData) error {
	f.chunks = make([][]Chunk, len(f.Leaves))
	for i := range f.chunks {
		f.chunks[i] = make([]Chunk, len(md.RowGroups))
	}
	f.Groups = append(f.Groups, 0)
	for g := range md.RowGroups {
		rg := &md.RowGroups[g]
		if rg.NumRows < 0 || rg.NumRows > maxRows-f.Rows {
			return shardify.Corrupt(-1, "row group %d: %d rows", g, rg.NumRows)
		}
		if len(rg.Columns) != len(f.Leaves) {
			return shardify.Corrupt(-1, "row group %d: %d columns, the schema has %d", g, len(rg.Columns), len(f.Leaves))
		}
		for i := range rg.Columns {
			c, err := f.chunk(&rg.Columns[i], f.Leaves[i], rg.NumRows)
			if err != nil {
				err.Object = f.Leaves[i].Path()
				return err
			}
			f.chunks[i][g] = c
		}
		f.Rows += rg.NumRows
		f.Groups = append(f.Groups, f.Rows)
	}
	if md.NumRows != f.Rows {
		return shardify.Corrupt(-1, "%d rows, those of the row groups are %d", md.NumRows, f.Rows)
	}
	return nil
}

// maxRows bounds the rows of a file: a larger count is damage.
const maxRows = 1 << 50

func (f *File) chunk(c *format.ColumnChunk, leaf *Node, rows int64) (Chunk, *shardify.Error) {
	m := &c.MetaData
	if c.CryptoMetadata.Value != nil || len(c.EncryptedColumnMetadata) > 0 {
		return Chunk{Bad: shardify.Unsupported("the column is encrypted")}, nil
	}
	if c.FilePath != "" {
		return Chunk{Bad: shardify.Unsupported("its data are in another file, %.80q", c.FilePath)}, nil
	}
	x := Chunk{Off: m.DataPageOffset, Data: m.DataPageOffset, Values: m.NumValues, Uncompressed: m.TotalUncompressedSize, Codec: m.Codec}
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < x.Off {
		x.Off = m.DictionaryPageOffset
	}
	for _, e := range m.Encoding {
		x.Dictionary = x.Dictionary || e == format.RLEDictionary || e == PlainDictionary
	}
	switch {
	case m.Type != leaf.Type:
		return x, shardify.Corrupt(-1, "pages of %v, the schema says %v", m.Type, leaf.Type)
	case m.TotalCompressedSize < 0 || x.Off < 0 || x.Uncompressed < 0:
		return x, shardify.Corrupt(-1, "pages of %d bytes at %d", m.TotalCompressedSize, x.Off)
	case x.Values < rows || x.Values > maxRows, leaf.MaxRep == 0 && x.Values != rows:
		return x, shardify.Corrupt(-1, "%d values for %d rows", x.Values, rows)
	case m.TotalCompressedSize > f.Size-tailBytes-x.Off || x.Off < 4 && x.Values > 0:
		return x, shardify.Corrupt(x.Off, "pages of %d bytes at %d in a file of %d", m.TotalCompressedSize, x.Off, f.Size)
	case x.Values > 0 && m.TotalCompressedSize == 0:
		return x, shardify.Corrupt(x.Off, "%d values in no pages", x.Values)
	}
	x.End = x.Off + m.TotalCompressedSize
	x.statistics(m)
	if c.OffsetIndexLength > 0 && c.OffsetIndexOffset > 0 && c.OffsetIndexOffset <= f.Size-int64(c.OffsetIndexLength) {
		x.Index = Extent{c.OffsetIndexOffset, c.OffsetIndexLength}
	}
	return x, nil
}

// statistics takes over what is known about missing values. That there are no
// statistics shows by there being nothing else in them.
func (x *Chunk) statistics(m *format.ColumnMetaData) {
	s := &m.Statistics
	if s.NullCount > 0 || s.MinValue != nil || s.MaxValue != nil || s.Min != nil || s.Max != nil || s.DistinctCount > 0 {
		x.Nulls, x.NullsKnown = s.NullCount, true
	}
	z := &m.SizeStatistics
	if h := z.DefinitionLevelHistogram; len(h) > 0 {
		sum, ok := int64(0), true
		for _, n := range h[:len(h)-1] {
			ok = ok && n >= 0 && n <= x.Values
			sum += n
		}
		if ok && h[len(h)-1] == x.Values-sum {
			x.Nulls, x.NullsKnown, x.Levels = sum, true, h
		}
	}
	x.ValueBytes = max(z.UnencodedByteArrayDataBytes, 0)
}

// Chunk of a leaf in a row group.
func (f *File) Chunk(leaf, group int) *Chunk { return &f.chunks[leaf][group] }

// Bad says why a leaf cannot be read; nil if it can.
func (f *File) Bad(leaf int) error {
	for i := range f.chunks[leaf] {
		if err := f.chunks[leaf][i].Bad; err != nil {
			return err
		}
	}
	return nil
}

// Keep forgets the chunks of all other leaves.
func (f *File) Keep(leaves []int) {
	all := f.chunks
	f.chunks = make([][]Chunk, len(all))
	for _, i := range leaves {
		f.chunks[i] = all[i]
	}
}
