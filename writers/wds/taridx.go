package wds

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

// tarIndex reads the offset index beside a tar, a little at a time.
type tarIndex struct {
	*format.ShardCheck
	name    string
	blob    storage.Blob
	entries int64
	buf     []byte
	lo, n   int64 // entries in buf
	trusted bool  // its digest is as recorded
	wrong   bool  // one entry was reported; the rest would follow from it
}

// openIndex opens the index of a shard and digests it. What is wrong with the
// file as such is reported by the check of all files; this one is for comparing.
func openIndex(c *format.ShardCheck) *tarIndex {
	x := &tarIndex{ShardCheck: c, name: c.Shard.Name + tar.IndexExt}
	record := c.Shard.Record(x.name)
	b, err := c.Store.Open(x.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			x.fail(err)
		} else if c.Shard.Digest != "" && record == nil {
			c.Report(problem.New(problem.LevelIndex, problem.KindMissing, x.name, "is missing, and "+c.From+" does not name it"))
		}
		return x
	}
	x.blob, x.entries = b, b.Size()/8
	if record != nil {
		var d index.Digest
		if _, err := io.CopyBuffer(&d, io.NewSectionReader(b, 0, b.Size()), c.Buf); err != nil {
			x.fail(shardify.Annotate(err, "read", x.name, ""))
		}
		x.trusted = d.String() == record.Digest
	}
	if n := b.Size(); n%8 != 0 || c.Shard.Samples >= 0 && n != tar.IndexBytes(c.Shard.Samples) {
		p := problem.New(problem.LevelIndex, problem.KindSize, x.name, "does not have an entry of 8 bytes for each sample and one more")
		p.Want = problem.Says(c.From, fmt.Sprintf("%d samples", c.Shard.Samples))
		p.Got = problem.Says("the file", fmt.Sprintf("%d bytes", n))
		c.Report(p)
	}
	return x
}

func (x *tarIndex) fail(err error) {
	x.Report(problem.Of(problem.LevelIndex, x.name, err))
}

func (x *tarIndex) close() {
	if x.blob != nil {
		x.blob.Close()
	}
}

// get is entry i. Without one that can be read there is no more to compare.
func (x *tarIndex) get(i int64) (int64, bool) {
	if x.blob == nil || i < 0 || i >= x.entries {
		return 0, false
	}
	if i < x.lo || i >= x.lo+x.n {
		if x.buf == nil {
			x.buf = make([]byte, 32<<10)
		}
		n, err := x.blob.ReadAt(x.buf, i*8)
		if x.lo, x.n = i, int64(n/8); x.n == 0 {
			if err != nil && err != io.EOF {
				x.fail(&shardify.Error{Op: "read", File: x.name, Sample: -1, Offset: i * 8, Err: err})
				x.wrong = true
			}
			return 0, false
		}
	}
	v := binary.LittleEndian.Uint64(x.buf[(i-x.lo)*8:])
	return int64(v), v < 1<<63
}

// entry compares entry i with where the tar has that sample.
func (x *tarIndex) entry(i, at int64) {
	if x.blob == nil || x.wrong {
		return
	}
	v, ok := x.get(i)
	if ok && v == at || x.wrong {
		return
	}
	x.wrong = true
	p := problem.New(problem.LevelIndex, problem.KindMismatch, x.name, fmt.Sprintf("entry %d", i))
	p.Sample, p.Offset = i, i*8
	p.Want, p.Got = problem.Says(x.Shard.Name, fmt.Sprint(at)), problem.Says("the index", fmt.Sprint(v))
	if !ok {
		p.Got.Value = "no such entry"
	}
	if x.trusted { // then it is the tar that is wrong
		p.File, p.Offset = x.Shard.Name, at
		p.What = fmt.Sprintf("sample %d begins elsewhere", i)
		p.Want, p.Got = problem.Says(x.name, fmt.Sprint(v)), problem.Says("the tar", fmt.Sprint(at))
	}
	x.Report(p)
}

// rebuild rebuilds the offset index of a tar.
func rebuild(name string, shard shardify.Shard, r io.ReaderAt, size int64) ([]byte, error) {
	if name != shard.Name+tar.IndexExt {
		return nil, nil
	}
	var w tar.Window
	w.Reset(r, size, make([]byte, windowBytes))
	walk := tar.Walker{Window: &w}
	end := size - tar.End
	if end < 0 {
		return nil, shardify.Corrupt(0, "tar of %d bytes", size)
	}
	walk.Part(0, end)
	var key, out []byte
	for {
		t, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return tar.AppendIndex(out, end), nil
		}
		if err != nil {
			return nil, err
		}
		k, _, ok := tar.SplitKey(t.Name)
		if !ok {
			return nil, shardify.Corrupt(t.Offset, "member %q", t.Name)
		}
		if out == nil || !bytes.Equal(k, key) {
			out = tar.AppendIndex(out, t.Offset)
			key = append(key[:0], k...)
		}
	}
}
