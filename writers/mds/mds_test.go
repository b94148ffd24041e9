package mds_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/mds"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, mds.Format, nil) }

// config is what a reader of MDS takes from index.json.
type config struct {
	Encodings []string `json:"column_encodings"`
	Names     []string `json:"column_names"`
	Sizes     []*int   `json:"column_sizes"`
	Raw       struct {
		Name  string `json:"basename"`
		Bytes int    `json:"bytes"`
	} `json:"raw_data"`
	Samples int    `json:"samples"`
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// TestReadersOfMDSFindEveryValue walks the shards as MosaicML Streaming does, by
// index.json and the table of places alone, and compares every value with the batch
// that was written.
func TestReadersOfMDSFindEveryValue(t *testing.T) {
	ctx := context.Background()
	for _, schema := range writertest.Schemas() {
		if mds.Format.Check(schema.Fields, schema.Keyed, nil) != nil {
			continue
		}
		t.Run(schema.Name, func(t *testing.T) {
			mem := memory.New()
			b := writertest.Batches(schema, 40, 3, 40)[0]
			want := writertest.Slice(b, 0, 40)
			sink, err := mds.Format.New(mem, format.ShardSpec{Name: "shard-000000.mds", Schema: schema.Fields, Samples: 40, Exact: true, Keyed: schema.Keyed})
			if err != nil {
				t.Fatal(err)
			}
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
			sh, err := sink.Commit(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := mds.Format.Finish(ctx, mem, format.FinishedSet{Schema: schema.Fields, Keyed: schema.Keyed, Shards: []shardify.Shard{sh}}); err != nil {
				t.Fatal(err)
			}
			files := mem.Files()
			var set struct {
				Version int      `json:"version"`
				Shards  []config `json:"shards"`
			}
			if err := json.Unmarshal(files["index.json"], &set); err != nil {
				t.Fatal(err)
			}
			c := set.Shards[0]
			file := files[c.Raw.Name]
			if set.Version != 2 || c.Format != "mds" || c.Samples != 40 || c.Raw.Bytes != len(file) || sh.Digest != index.PieceDigestOf(file) {
				t.Fatalf("index.json %+v for a file of %d bytes, digest %s", set, len(file), sh.Digest)
			}
			if n := binary.LittleEndian.Uint32(file); n != 40 {
				t.Fatalf("%d samples in the head", n)
			}
			for i := range 40 {
				lo, hi := binary.LittleEndian.Uint32(file[4+4*i:]), binary.LittleEndian.Uint32(file[8+4*i:])
				compare(t, &c, file[lo:hi], want, i)
			}
		})
	}
}

// compare checks one sample.
func compare(t *testing.T, c *config, sample []byte, want *shardify.Batch, i int) {
	t.Helper()
	sizes, at := make([]int, len(c.Names)), 0
	for k, s := range c.Sizes {
		if s != nil {
			sizes[k] = *s
			continue
		}
		sizes[k] = int(binary.LittleEndian.Uint32(sample[at:]))
		at += 4
	}
	for k, name := range c.Names {
		value := sample[at : at+sizes[k]]
		at += sizes[k]
		col := want.Keys
		if name != "__key__" {
			for j := range want.Columns {
				if want.Columns[j].Name == name {
					col = &want.Columns[j]
				}
			}
		}
		lo, hi := col.Range(i, i+1)
		data := col.Data[lo:hi]
		switch {
		case col.Levels == 2:
			var texts []string
			if err := json.Unmarshal(value, &texts); err != nil || strings.Join(texts, "") != string(data) || int64(len(texts)) != col.Offsets[0][i+1]-col.Offsets[0][i] {
				t.Fatalf("%s sample %d: %q for %q, error %v", name, i, value, data, err)
			}
			continue
		case strings.HasPrefix(c.Encodings[k], "ndarray:") && c.Sizes[k] == nil:
			dims, rest := shape(value)
			value = rest
			n := int64(col.DType.Size())
			for _, d := range dims {
				n *= d
			}
			if n != int64(len(data)) {
				t.Fatalf("%s sample %d: shape %v for %d bytes", name, i, dims, len(data))
			}
		}
		if string(value) != string(data) {
			t.Fatalf("%s (%s) sample %d: %x, want %x", name, c.Encodings[k], i, value, data)
		}
	}
	if at != len(sample) {
		t.Fatalf("sample %d: %d bytes of %d are columns", i, at, len(sample))
	}
}

// shape parses what comes before an array.
func shape(b []byte) (dims []int64, rest []byte) {
	n, size := int(b[0]>>2), 1<<(b[0]&3)
	b = b[1:]
	for range n {
		var d int64
		for k := range size {
			d |= int64(b[k]) << (8 * k)
		}
		dims, b = append(dims, d), b[size:]
	}
	return dims, b
}

func TestShapesTakeTheSmallestType(t *testing.T) {
	for text, want := range map[string]string{
		"": "00", "0": "0400", "255": "04ff", "256": "050001", "65535": "05ffff", "65536": "0600000100",
		"1 4294967295": "0a01000000ffffffff", "4294967296": "070000000001000000",
	} {
		var dims []int64
		for _, f := range strings.Fields(text) {
			d, _ := strconv.ParseInt(f, 10, 64)
			dims = append(dims, d)
		}
		if got := fmt.Sprintf("%x", mds.AppendShape(nil, dims)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestWhatMDSCannotCarryIsRefusedByName: with what helps.
func TestWhatMDSCannotCarryIsRefusedByName(t *testing.T) {
	for want, f := range map[string]shardify.Field{
		"--cast":          {Name: "x", DType: shardify.BF16},
		"lists of lists":  {Name: "x", DType: shardify.F32, Levels: 2},
		"missing values":  {Name: "x", DType: shardify.F32, Nullable: true},
		"of shape [0 3]":  {Name: "x", DType: shardify.F32, Shape: []int{0, 3}},
		"no lists of jpg": {Name: "x", DType: shardify.U8, Levels: 2, Media: "jpg"},
	} {
		err := mds.Format.Check([]shardify.Field{f}, false, nil)
		var e *shardify.Error
		if !errors.As(err, &e) || e.Field != "x" || !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
