package writertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
)

// moves: a shard that moved into another set is the one that its sink would have written
// there. Without a Move, shards may not contain anything that would have to change.
func (c *contract) moves(t *testing.T) {
	mem := memory.New()
	spec := c.spec(samples, true)
	from := c.mustWrite(t, mem, spec, 7)

	m := format.Move{From: c.schema.Fields, To: slices.Clone(c.schema.Fields), Keyed: c.schema.Keyed, Inputs: 3}
	for i := range m.To {
		f := &m.To[i]
		if strings.HasSuffix(f.Name, shardify.ExtSuffix) {
			continue // its labels are names of members
		}
		f.Attrs = maps.Clone(f.Attrs)
		for k, v := range f.Attrs {
			f.Attrs[k] = v + "\nmore"
		}
		if f.DType == shardify.I64 && f.Levels == 0 && len(f.Shape) > 0 && !shardify.Companion(m.To, i) && c.format.Move != nil && m.Origin == "" {
			m.Origin = f.Name
		}
	}
	batches := Batches(c.schema, samples, 1, 7)
	for _, b := range batches {
		b.First.Input += uint32(m.Inputs)
		for i := range b.Columns {
			col := &b.Columns[i]
			col.Field = m.To[i]
			if col.Name == m.Origin {
				for at := 0; at < len(col.Data); at += col.ElemBytes() {
					binary.LittleEndian.PutUint64(col.Data[at:], binary.LittleEndian.Uint64(col.Data[at:])+uint64(m.Inputs))
				}
			}
		}
	}
	there := memory.New()
	other := spec
	other.Schema = m.To
	want, err := c.write(there, other, batches)
	if err != nil {
		t.Fatal(err)
	}

	var rewrite format.Rewrite
	if c.format.Move != nil {
		rewrite, _ = c.format.Move(m)
	}
	if rewrite == nil {
		if diff := differ(mem.Files(), there.Files()); diff != "" {
			t.Errorf("the shard holds attributes of fields or numbers of inputs, and Move does not say so: %s", diff)
		}
		return
	}
	in, err := mem.Open(from.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := mem.Create("moved")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	size, digest, err := rewrite(context.Background(), in, from, out)
	if err == nil {
		err = out.Commit(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mem.Files()["moved"], there.Files()[want.Name]) || size != want.Bytes || digest != want.Digest {
		t.Errorf("a moved shard of %d bytes, %s, is not the one that is written there: %d bytes, %s", size, digest, want.Bytes, want.Digest)
	}
}
