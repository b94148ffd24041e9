package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// tarIndex reads the offset index beside a tar, a little at a time.
type tarIndex struct {
	set     *set
	name    string
	blob    storage.Blob
	entries int64
	buf     []byte
	lo, n   int64 // entries in buf
	trusted bool  // its digest is as recorded
	wrong   bool  // one entry was reported; the rest would follow from it
}

// openIndex opens the index of a shard and digests it. What is wrong with the
// file as such is reported by checkOther; this one is for comparing.
func (s *set) openIndex(e *expected) *tarIndex {
	x := &tarIndex{set: s, name: e.Name + index.TarIndexExt}
	b, err := s.store.Open(x.name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.addError(LevelIndex, x.name, err)
		} else if e.vouched && e.file(x.name) == nil {
			s.add(simple(LevelIndex, KindMissing, x.name, "is missing, and "+e.from+" does not name it"))
		}
		return x
	}
	x.blob, x.entries = b, b.Size()/8
	if f := e.file(x.name); f != nil {
		digest, err := digestOf(b)
		if err != nil {
			s.addError(LevelIndex, x.name, err)
		}
		x.trusted = digest == f.Digest
	}
	if n := b.Size(); n%8 != 0 || e.Samples >= 0 && n != index.TarIndexBytes(e.Samples) {
		p := simple(LevelIndex, KindSize, x.name, "does not have an entry of 8 bytes for each sample and one more")
		p.Want = &Side{e.from, fmt.Sprintf("%d samples", e.Samples)}
		p.Got = &Side{"the file", fmt.Sprintf("%d bytes", n)}
		s.add(p)
	}
	return x
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
				x.set.addError(LevelIndex, x.name, &shardify.Error{Op: "read", File: x.name, Sample: -1, Offset: i * 8, Err: err})
				x.wrong = true
			}
			return 0, false
		}
	}
	v := binary.LittleEndian.Uint64(x.buf[(i-x.lo)*8:])
	return int64(v), v < 1<<63
}

// entry compares entry i with where the tar has that sample.
func (x *tarIndex) entry(w *tarWalk, i, at int64) {
	if x.blob == nil || x.wrong {
		return
	}
	v, ok := x.get(i)
	if ok && v == at || x.wrong {
		return
	}
	x.wrong = true
	p := simple(LevelIndex, KindMismatch, x.name, fmt.Sprintf("entry %d", i))
	p.Sample, p.Offset = w.e.sample(i), i*8
	p.Want, p.Got = &Side{w.e.Name, fmt.Sprint(at)}, &Side{"the index", fmt.Sprint(v)}
	if !ok {
		p.Got.Value = "no such entry"
	}
	if x.trusted { // then it is the tar that is wrong
		p.File, p.Offset = w.e.Name, at
		p.What = fmt.Sprintf("sample %d begins elsewhere", i)
		p.Want, p.Got = &Side{x.name, fmt.Sprint(v)}, &Side{"the tar", fmt.Sprint(at)}
	}
	x.set.add(p)
}
