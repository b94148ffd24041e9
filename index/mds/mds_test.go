package mds

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardify/shardify"
)

// TestManyColumns: the time does not grow with the square of their number.
func TestManyColumns(t *testing.T) {
	const n = 200_000
	c := config{Names: make([]string, n), Encodings: make([]string, n), Sizes: make([]*int64, n)}
	size := int64(8)
	for i := range n {
		c.Names[i], c.Encodings[i], c.Sizes[i] = fmt.Sprintf("c%06d", i), "int", &size
	}
	began := time.Now()
	if list, err := columnsOf(&c); err != nil || len(list) != n {
		t.Fatal(len(list), err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("%v for %d columns", took, n)
	}
	c.Names[n-1] = c.Names[0]
	if _, err := columnsOf(&c); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("two of a name: %v", err)
	}
}

// FuzzArray takes any bytes as a value of each encoding.
func FuzzArray(f *testing.F) {
	f.Add([]byte{33, 4, 2, 1, 0, 0, 0, 2, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'})
	f.Add(append([]byte{1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0}, "RGBabc"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, encoding := range []string{"ndarray", "ndarray:int32", "ndarray:uint8:2,2", "ndarray::2", "str_int", "str_float", "jpeg_array", "list[png]", "pil", "str"} {
			var c Column
			if c.Fixed = -1; c.understand(encoding) >= 0 {
				continue
			}
			err := error(nil)
			if !c.Known() {
				err = c.Settle(b)
			}
			if err == nil {
				err = checkValue(t, &c, b)
			}
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatal(encoding, err)
			}
		}
	})
}

// checkValue fills what Measure says.
func checkValue(t *testing.T, c *Column, b []byte) error {
	dims := make([]int64, c.Rank)
	n, size, err := c.Measure(b, dims)
	if err != nil {
		return err
	}
	if n < 0 || size < 0 || c.Field.Levels < 2 && size != n*int64(c.Field.ElemBytes()) {
		t.Fatalf("%d elements in %d bytes", n, size)
	}
	if c.Field.Levels == 2 {
		k, total := int64(0), int64(0)
		err = c.Items(b, func(p []byte) { k, total = k+1, total+int64(len(p)) })
		if k != n || total != size {
			t.Fatalf("%d items of %d bytes, want %d of %d", k, total, n, size)
		}
		return err
	}
	return c.Fill(make([]byte, size), b)
}

// FuzzParse takes any text as an index, and any bytes as a shard and a sample of it.
func FuzzParse(f *testing.F) {
	const head = `{"version":2,"shards":[{"column_encodings":["int","str"],"column_names":["a","b"],"column_sizes":[8,null],"compression":null,"format":"mds","hashes":[],`
	shard := []byte("\x01\x00\x00\x00\x0c\x00\x00\x00\x1b\x00\x00\x00\x03\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00abc")
	f.Add([]byte(head+`"raw_data":{"basename":"s.mds","bytes":27,"hashes":{}},"samples":1,"size_limit":null,"version":2,"zip_data":null}]}`), shard)
	f.Add([]byte(head+`"raw_data":{"basename":"../s.mds","bytes":99999999999,"hashes":{}},"samples":-1,"version":2,"zip_data":null}]}`), shard)
	f.Fuzz(func(t *testing.T, text, b []byte) {
		bad := func(err error) bool {
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
				t.Fatal(err)
			}
			return err != nil
		}
		x, err := Parse(text)
		if bad(err) || len(x.Shards) == 0 {
			return
		}
		sh := &x.Shards[0]
		if sh.Raw.Bytes > int64(len(b)) {
			return
		}
		at, err := Places([]int64(nil), bytes.NewReader(b), int64(len(b)), sh.Samples, 0, sh.Samples)
		if bad(err) {
			return
		}
		for i := range sh.Samples {
			first, ends, err := Values(nil, x.Columns, b[at[i]:at[i+1]])
			if bad(err) {
				return
			}
			for k, end := range ends {
				if c := &x.Columns[k]; c.Err == nil && c.Known() {
					bad(checkValue(t, c, b[at[i]+first:at[i]+end]))
				}
				first = end
			}
		}
	})
}
