package convert

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// origins adds the column to a batch.
func origins(b *shardify.Batch, f shardify.Field, mem *shardify.Arena) {
	n := f.Shape[0]
	data := mem.Alloc(b.Samples * n * 8)
	for i := range b.Samples {
		id := b.ID(i)
		at := data[i*n*8:]
		binary.LittleEndian.PutUint64(at, uint64(id.Input))
		binary.LittleEndian.PutUint64(at[8:], uint64(id.Sample))
		if n > 2 {
			binary.LittleEndian.PutUint64(at[16:], uint64(id.Copy))
		}
	}
	b.Columns = append(b.Columns[:len(b.Columns):len(b.Columns)], shardify.Column{Field: f, Data: data})
}

// listInputs publishes the list.
func listInputs(p *plan.Plan, ctx context.Context, store storage.Store) (shardify.File, error) {
	out, err := store.Create(index.InputsName)
	if err != nil {
		return shardify.File{}, err
	}
	defer out.Abort()
	var d index.Digest
	var n int64
	var lines []byte
	flush := func() error {
		d.Write(lines)
		n += int64(len(lines))
		_, err := out.Write(lines)
		lines = lines[:0]
		return err
	}
	object := p.In.Options["object"]
	for i := range p.In.Table.Len() {
		lines = append(lines, `{"file":`...)
		lines = appendJSON(lines, p.In.Table.Name(i))
		if object != "" {
			lines = appendJSON(append(lines, `,"object":`...), object)
		}
		if lines = append(lines, "}\n"...); len(lines) > 256<<10 {
			if err := flush(); err != nil {
				return shardify.File{}, err
			}
		}
	}
	if err := flush(); err != nil {
		return shardify.File{}, err
	}
	return shardify.File{Name: index.InputsName, Bytes: n, Digest: d.String()}, out.Commit(ctx)
}

func appendJSON(dst []byte, s string) []byte {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		panic("convert: text to JSON: " + err.Error())
	}
	return append(dst, b...)
}
