package arrow

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/writers/shard"
	"github.com/shardify/shardify/writers/table"
)

// layout is what the files of a schema have around their batches.
type layout struct {
	cols   []table.Column
	fields []arrow.Field
	meta   [][2]string
	heads  *arrow.Heads
}

const magic = "ARROW1\x00\x00"

// ended is behind the last batch.
var ended = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

func newLayout(schema []shardify.Field, keyed bool) (*layout, error) {
	cols, err := table.Plan(title, schema, keyed)
	if err != nil {
		return nil, err
	}
	l := &layout{cols: cols}
	media := map[string]string{} // what Hugging Face does not say
	for i := range cols {
		c := &cols[i]
		l.fields = append(l.fields, c.Arrow())
		if c.Media != "" && c.Media != "txt" && c.Media != "bin" && c.Media != "image" {
			media[c.Name] = c.Media
		}
	}
	own, _ := json.Marshal(media) // texts
	l.meta = [][2]string{table.Metadata(cols), {"shardify", string(own)}}
	l.heads = arrow.NewHeads(l.fields)
	return l, nil
}

// begin is what comes before the first batch.
func (l *layout) begin(stream bool) []byte {
	var head []byte
	if !stream {
		head = []byte(magic)
	}
	return append(head, arrow.Schema(l.fields, l.meta, len(head))...)
}

// end is what comes behind the last one.
func (l *layout) end(stream bool, blocks []arrow.Block) []byte {
	if stream {
		return ended
	}
	return append(bytes.Clone(ended), arrow.Footer(l.fields, l.meta, blocks)...)
}

// isStream reports whether a file is a stream.
func isStream(r io.ReaderAt) (bool, error) {
	b := make([]byte, len(magic))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return false, shard.Short(err, 0)
	}
	return string(b) != magic, nil
}

// walk goes over a file of size bytes, and compares all but the values with what was written.
func (l *layout) walk(r io.ReaderAt, size int64, each func(b arrow.Block, rows int64) error) error {
	stream, err := isStream(r)
	if err != nil {
		return err
	}
	at := int64(0)
	same := func(want []byte, what string) error {
		if int64(len(want)) > size-at {
			return shardify.Corrupt(at, "%s is cut", what)
		}
		b := make([]byte, len(want))
		if n, err := r.ReadAt(b, at); n < len(b) {
			return shard.Short(err, at)
		}
		if !bytes.Equal(b, want) {
			return shardify.Corrupt(at, "%s is not that of the set", what)
		}
		at += int64(len(b))
		return nil
	}
	if err := same(l.begin(stream), "the schema"); err != nil {
		return err
	}
	var blocks []arrow.Block
	head := make([]byte, l.heads.Bytes())
	for {
		n, err := r.ReadAt(head[:min(int64(len(head)), size-at)], at)
		if n < len(ended) {
			return shard.Short(err, at)
		}
		if bytes.HasPrefix(head[:n], ended) {
			break
		}
		rows, body, ok := l.heads.Parse(head[:n])
		if !ok || body > size-at-int64(n) {
			return shardify.Corrupt(at, "the head of a batch does not fit what follows it")
		}
		blocks = append(blocks, arrow.Block{Off: at, Head: int64(n), Body: body})
		if err := each(blocks[len(blocks)-1], rows); err != nil {
			return err
		}
		at += int64(n) + body
	}
	if err := same(l.end(stream, blocks), "the end of the file"); err != nil {
		return err
	}
	if at < size {
		return shardify.Corrupt(at, "%d bytes behind the end", size-at)
	}
	return nil
}
