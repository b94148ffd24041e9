package array

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// piece is a part of a contiguous data set in a raw file.
type piece struct {
	f          storage.File
	name       string
	start, end int64 // bytes of the data set
	off        int64 // in the file
}

// newPieces opens the raw files of a data set.
func newPieces(a *Array) ([]piece, error) {
	list := a.Set.External
	if !a.File.external {
		return nil, shardify.Unsupported("its values are in the file %s; --external reads files below the input's folder", list[0].Name)
	}
	f := a.File
	f.mu.Lock()
	defer f.mu.Unlock()
	total := a.Rows * a.RowBytes
	var out []piece
	var at int64
	for _, e := range list {
		if at >= total {
			break
		}
		r := f.raws[e.Name]
		if r == nil {
			if len(f.raws) >= maxOthers {
				return nil, shardify.Unsupported("more than %d external files", maxOthers)
			}
			var err error
			if r, _, err = f.openBelow(e.Name); err != nil {
				return nil, err
			}
			f.raws[e.Name] = r
		}
		n := total - at
		if e.Size >= 0 {
			n = min(n, e.Size)
		}
		if e.Offset < 0 {
			return nil, shardify.Corrupt(-1, "external file %s from byte %d on", e.Name, e.Offset)
		}
		out = append(out, piece{r, e.Name, at, at + n, e.Offset})
		at += n
	}
	return out, nil
}

// readPieces reads bytes of the data set. What a raw file lacks is zero, as for
// the reference library.
func (a *Array) readPieces(dst []byte, at int64) error {
	clear(dst)
	for i := range a.pieces {
		p := &a.pieces[i]
		lo, hi := max(at, p.start), min(at+int64(len(dst)), p.end)
		if lo >= hi {
			continue
		}
		b, off := dst[lo-at:hi-at], p.off+lo-p.start
		n, err := p.f.ReadAt(b, off)
		if want := min(int64(len(b)), max(p.f.Size()-off, 0)); int64(n) < want && (err == nil || err == io.EOF) {
			err = shardify.Corrupt(off+int64(n), "the external file %s ends here, it had %d bytes", p.name, p.f.Size())
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}
