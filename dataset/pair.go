package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
)

// TokensName is the field of pairs of Megatron-LM that have no manifest.
const TokensName = "tokens"

// pair is what an index of Megatron-LM says of the tokens beside it.
type pair struct {
	megatron.Head
	index io.ReaderAt
	size  int64     // of the tokens
	walks sync.Pool // of *megatron.Walk
}

// offsets reads where documents from lo on begin, in tokens.
func (p *pair) offsets(dst []int64, lo int64) error {
	if err := p.ReadDocuments(p.index, lo, dst); err != nil {
		return err
	}
	w, _ := p.walks.Get().(*megatron.Walk)
	if w == nil {
		w = &megatron.Walk{}
	}
	defer p.walks.Put(w)
	start, err := w.Offsets(context.Background(), p.index, &p.Head, dst, p.size)
	if err != nil {
		return err
	}
	start /= int64(p.DType.Size())
	for i := range dst {
		dst[i] += start
	}
	return nil
}

// OpenPair holds an index and the size of its tokens against the record of the pair and the layout
// of its set: a shard whose offsets are those of the index.
func OpenPair(tokens, idx storage.File, record *shardify.Shard, set *index.Layout) (*Mmap, error) {
	beside, err := IndexOf(record)
	if err != nil {
		return nil, err
	}
	h, err := checkIndex(idx, beside)
	if err != nil {
		return nil, shardify.Annotate(err, "", "", beside.Name)
	}
	if h.Documents != record.Samples {
		return nil, shardify.Corrupt(-1, "samples: the manifest says %d, the index %d", record.Samples, h.Documents)
	}
	s := &index.MmapShard{Layout: set, Samples: h.Documents, Places: make([]index.Tensor, len(set.Tensors)), Counts: make([]int64, len(set.Tensors))}
	for i := range set.Tensors {
		t := &set.Tensors[i]
		s.Places[i] = index.Tensor{Name: t.Name, Hi: record.Bytes}
		switch {
		case t.Lead == index.LeadOffsets:
			s.Places[i].Hi, s.Counts[i] = 0, h.Documents+1
		case t.DType != h.DType || len(set.Schema) != 1 || t.Row == 0:
			return nil, shardify.Corrupt(-1, "the index has tokens of type %s, the manifest says otherwise", h.DType)
		default:
			s.Counts[i] = record.Bytes / t.Row
		}
	}
	p := &pair{Head: h, index: idx, size: record.Bytes}
	if set.Columns[0].Offsets < 0 { // documents of one length
		if err := p.fixed(int32(set.Schema[0].Elem())); err != nil {
			return nil, shardify.Annotate(err, "", "", beside.Name)
		}
	}
	return &Mmap{MmapShard: s, File: tokens, pair: p}, nil
}

// fixed checks that each sequence is a document of n tokens.
func (p *pair) fixed(n int32) error {
	var w megatron.Walk
	odd := int64(-1)
	seq := int64(0)
	_, err := w.Lengths(context.Background(), p.index, &p.Head, 0, p.Sequences, p.size, func(length int32) {
		if length != n && odd < 0 {
			odd = seq
		}
		seq++
	})
	if err == nil && (odd >= 0 || p.Sequences != p.Documents || p.size != p.Documents*int64(n)*int64(p.DType.Size())) {
		err = shardify.Corrupt(-1, "sequence %d of %d in %d documents: want one of %d tokens in each", max(odd, 0), p.Sequences, p.Documents, n)
	}
	return err
}

// IndexOf is the record of the index that belongs to a pair.
func IndexOf(record *shardify.Shard) (*shardify.File, error) {
	for i := range record.Files {
		if strings.HasSuffix(record.Files[i].Name, megatron.IndexExt) {
			return &record.Files[i], nil
		}
	}
	return nil, shardify.Corrupt(-1, "the manifest names no index of shard %s", record.Name)
}

// checkIndex reads an index whole and compares its digest.
func checkIndex(f storage.File, want *shardify.File) (h megatron.Head, err error) {
	if err := CheckWhole(f, want); err != nil {
		return h, err
	}
	return megatron.ReadHead(f, f.Size())
}

// IsPairIndex reports whether a file may, by its name, be the index of a pair of Megatron-LM.
func IsPairIndex(base string) bool {
	return filepath.Ext(base) == megatron.IndexExt && !strings.HasSuffix(base, ".tar"+tar.IndexExt)
}

// openPairs makes a set of pairs that have no manifest, as Megatron-LM, NeMo and BlendCorpus write
// them: those in a folder, in the order in which a conversion reads them, or one that is named by
// its index, its tokens, or without an extension. It reads and checks all indexes. Without pairs it
// returns nil.
func openPairs(ctx context.Context, in storage.FS, path string) (*Set, error) {
	path = Folder(path)
	st, err := in.Stat(ctx, path)
	root, file := path, ""
	switch {
	case err == nil && st.Type == storage.Folder:
	case err == nil && IsPairIndex(path):
		file = path
	case err == nil && filepath.Ext(path) == megatron.DataExt:
		file = megatron.Index(path)
	case errors.Is(err, fs.ErrNotExist):
		if st, err := in.Stat(ctx, path+megatron.IndexExt); err == nil && st.Type == storage.Regular {
			file = path + megatron.IndexExt
			break
		}
		return nil, nil
	default:
		return nil, nil
	}
	if file != "" {
		root, path = storage.Dir(file), file
	}
	t, _, err := walk.Walk(ctx, walk.Request{FS: in, Inputs: []string{path}, Keep: IsPairIndex, NoStat: true, AnyKind: true})
	if errors.Is(err, walk.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return madeOf(ctx, in, root, t)
}

// madeOf is the set of the pairs in a table.
func madeOf(ctx context.Context, in storage.FS, root string, t *format.Table) (*Set, error) {
	m := &index.Manifest{Version: 1, Format: index.FormatMegatron}
	var h xxh3.Hasher
	sets := Besides{Format: index.FormatMegatron}
	for i := range t.Len() {
		path := t.Path(i)
		if err := alone(ctx, in, &sets, path); err != nil {
			return nil, shardify.Annotate(err, "open", path, "")
		}
		sh, d, err := survey(ctx, in, path, t.Name(i))
		if err != nil {
			return nil, shardify.Annotate(err, "open", path, "")
		}
		f := shardify.Field{Name: TokensName, DType: d, Levels: 1}
		if len(m.Schema) == 0 {
			m.Schema = []shardify.Field{f}
		} else if m.Schema[0].DType != d {
			return nil, shardify.Annotate(shardify.Mismatch("tokens are %s, but %s in %s", d, m.Schema[0].DType, t.Path(0)), "open", path, "")
		}
		m.Shards = append(m.Shards, *sh)
		m.Samples, m.Bytes = m.Samples+sh.Samples, m.Bytes+sh.Bytes
		fmt.Fprintf(&h, "%s %d %s\n", sh.Name, sh.Bytes, sh.Files[0].Digest)
	}
	sum := h.Sum128().Bytes()
	m.Digest = fmt.Sprintf("%x", sum)
	s := &Set{Manifest: m, FS: in, Path: root, Foreign: true}
	var err error
	s.Layout, err = index.NewLayout(m.Schema, false)
	return s, err
}

// alone refuses a pair that belongs to a data set, or to one that is being written: other pairs of
// it may be elsewhere, or not be there yet.
func alone(ctx context.Context, in storage.FS, sets *Besides, path string) error {
	m, err := sets.Of(ctx, in, path)
	switch {
	case err != nil:
		return err
	case m != nil && Record(m, filepath.Base(path)) != nil:
		return shardify.Mismatch("it belongs to a data set: name its folder")
	case place{ctx, in}.unfinished(storage.Dir(path)):
		return shardify.Mismatch("the conversion into this folder is not finished: run its command again; shardify status shows what is missing")
	}
	return nil
}

// survey reads the index of a pair from its first entry to the last.
func survey(ctx context.Context, in storage.FS, path, name string) (*shardify.Shard, shardify.DType, error) {
	f, err := in.Open(ctx, path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	h, want, err := megatron.ReadIndex(f, f.Size())
	if err != nil {
		return nil, 0, err
	}
	if h.Modes {
		return nil, 0, shardify.Unsupported("a multimodal index, with a mode of each sequence: shardify convert %s -o FOLDER makes a data set with both fields", printable.Quote(path))
	}
	data := megatron.Data(path)
	st, err := in.Stat(ctx, data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, shardify.Corrupt(-1, "its tokens are missing: no %s beside it", filepath.Base(data))
	case err != nil:
		return nil, 0, err
	case st.Size != want:
		return nil, 0, h.Differs(want, st.Size)
	}
	var w megatron.Walk
	if _, err := w.Lengths(ctx, f, &h, 0, h.Sequences, want, func(int32) {}); err != nil {
		return nil, 0, err
	}
	if err := h.CheckDocuments(ctx, f); err != nil {
		return nil, 0, err
	}
	var sum index.Digest
	buf := make([]byte, index.PieceBytes)
	for at := int64(0); at < f.Size(); {
		b := buf[:min(int64(len(buf)), f.Size()-at)]
		if err := ReadFull(f, b, at); err != nil {
			return nil, 0, err
		}
		if sum.Write(b); ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		at += int64(len(b))
	}
	return &shardify.Shard{
		Name: megatron.Data(name), Samples: h.Documents, Bytes: want,
		Files: []shardify.File{{Name: name, Bytes: f.Size(), Digest: sum.String()}},
	}, h.DType, nil
}
