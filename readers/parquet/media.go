package parquet

import (
	"context"
	"encoding/binary"
	"io"
	"iter"
	"slices"
	"strings"

	meta "github.com/parquet-go/parquet-go/format"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// images are the first bytes of formats that columns of bytes are known to hold, and
// their extensions.
var images = []struct{ magic, media string }{
	{"\xff\xd8\xff", "jpg"}, {"\x89PNG\r\n\x1a\n", "png"}, {"GIF8", "gif"}, {"II*\x00", "tif"}, {"MM\x00*", "tif"},
	{"fLaC", "flac"}, {"OggS", "ogg"}, {"ID3", "mp3"},
}

func mediaOf(b []byte) string {
	for _, m := range images {
		if strings.HasPrefix(string(b[:min(len(b), 8)]), m.magic) {
			return m.media
		}
	}
	if len(b) >= 12 && string(b[:4]) == "RIFF" {
		switch string(b[8:12]) {
		case "WEBP":
			return "webp"
		case "WAVE":
			return "wav"
		}
	}
	return ""
}

// sniffMedia looks at the values of a column's first page: what they are if all are
// of one kind, "" if not.
func (f *file) sniffMedia(ctx context.Context, c *column) (media string) {
	r := &reader{window: window{r: f.f}}
	for g := range len(f.pq.Groups) - 1 {
		if f.pq.Chunk(c.leaf, g).Values == 0 {
			continue
		}
		if h, off, ok := f.largePage(ctx, c, g); ok {
			return f.sniffPrefix(c, g, &h, off)
		}
		cur := &cursor{r: r, f: f, col: c, group: -1}
		if cur.seek(ctx, f.pq.Groups[g]) != nil {
			return "" // the error will come when the column is read
		}
		vals, n := &cur.page.Vals, cur.page.Values
		for i := range n {
			k := i
			if cur.page.Index != nil {
				vals, k = &cur.dict.Vals, int(cur.page.Index[i])
			}
			m := mediaOf(vals.Value(k))
			if m == "" || media != "" && m != media {
				return ""
			}
			media = m
		}
		if n > 0 {
			return media
		}
	}
	return ""
}

// sniffWhole is the size of a page up to which it is decoded to look at its values: a plan
// must not take more memory the larger the pages are. sniffBytes is how much of the values
// of a larger one is looked at.
var sniffWhole int64 = 8 << 20

const sniffBytes = 1 << 20

// largePage is the page that holds the first values of a column in a row group, and where
// its bytes are, if it or its dictionary is large.
func (f *file) largePage(ctx context.Context, c *column, g int) (h pq.PageHeader, off int64, ok bool) {
	x := f.pq.Chunk(c.leaf, g)
	w := window{r: f.f}
	n, err := w.header(ctx, x.Off, headGuess, x.End, &h)
	if off = x.Off + n; err != nil || h.Type != meta.DictionaryPage || int64(h.Uncompressed) > sniffWhole {
		return h, off, err == nil && int64(h.Uncompressed) > sniffWhole
	}
	var page pq.PageHeader
	_, err = w.header(ctx, off+int64(h.Compressed), headGuess, x.End, &page)
	return h, off, err == nil && int64(page.Uncompressed) > sniffWhole
}

// sniffPrefix is sniffMedia by the first values of a page.
func (f *file) sniffPrefix(c *column, g int, h *pq.PageHeader, off int64) (media string) {
	for v, whole := range f.firstValues(c, g, h, off) {
		if !whole && len(v) < 12 {
			break // too little of it to decide
		}
		m := mediaOf(v)
		if m == "" || media != "" && m != media {
			return ""
		}
		media = m
	}
	return media
}

// firstValues are those that the first bytes of a page hold; the last may be cut.
func (f *file) firstValues(c *column, g int, h *pq.PageHeader, off int64) iter.Seq2[[]byte, bool] {
	return func(yield func(v []byte, whole bool) bool) {
		b := f.prefix(c, g, h, off)
		for range h.Values {
			size := int64(c.page.Width)
			if c.page.Width == 0 {
				if len(b) < 4 {
					return
				}
				size, b = int64(binary.LittleEndian.Uint32(b)), b[4:]
			}
			v := b[:min(size, int64(len(b)))]
			if whole := int64(len(v)) == size; !yield(v, whole) || !whole {
				return
			}
			b = b[len(v):]
		}
	}
}

// prefix is the first values of a page as they are stored, nil where their place is unknown.
func (f *file) prefix(c *column, g int, h *pq.PageHeader, off int64) []byte {
	if h.Encoding != meta.Plain && h.Encoding != pq.PlainDictionary {
		return nil
	}
	codec, levels := f.pq.Chunk(c.leaf, g).Codec, int64(0)
	if h.V2() {
		if levels = int64(h.RepLen + h.DefLen); !h.ValuesCompressed {
			codec = meta.Uncompressed
		}
	}
	b := make([]byte, min(sniffBytes, int64(h.Uncompressed)))
	n, err := page.Prefix(codec, b, io.NewSectionReader(f.f, off+levels, max(int64(h.Compressed)-levels, 0)))
	if b = b[:n]; err != nil {
		return nil
	}
	if h.Type != meta.DictionaryPage && !h.V2() && c.page.MaxDef > 0 {
		if h.DefEncoding != meta.RLE || len(b) < 4 {
			return nil
		}
		b = b[min(int64(len(b)), 4+int64(binary.LittleEndian.Uint32(b))):]
	}
	return b
}

// previews is in how many row groups values are looked at.
const previews = 4

// Preview implements format.Previewer: it yields bytes that come first in row groups. Texts may
// be numbers that are stored otherwise.
func (s *source) Preview(ctx context.Context, field string, values int, yield func(value []byte)) {
	i := slices.IndexFunc(s.Set.Schema(), func(f shardify.Field) bool { return f.Name == field && f.Media != "txt" })
	var inputs []set.Input
	for in := range s.Inputs() {
		if in.Samples > 0 && i >= 0 {
			inputs = append(inputs, in)
		}
	}
	n := min(len(inputs), previews)
	for k := range n {
		in := &inputs[k*len(inputs)/n]
		s.preview(ctx, in, in.Field(i), previews/n, max(values/previews, 1), yield)
	}
}

// preview shows the first values of some row groups of a file. What cannot be read is left
// to those who read all.
func (s *source) preview(ctx context.Context, in *set.Input, col, groups, values int, yield func(value []byte)) {
	h, err := s.Acquire(ctx, in)
	if err != nil {
		return
	}
	defer h.Release()
	f := h.Value
	if col < 0 || col >= len(f.cols) || len(f.cols[col].lists) > 0 {
		return
	}
	c, all := &f.cols[col], len(f.pq.Groups)-1
	groups = min(groups, all)
	for k := range groups {
		g := k * all / groups
		x := f.pq.Chunk(c.leaf, g)
		w := window{r: f.f}
		var head pq.PageHeader
		n, err := w.header(ctx, x.Off, headGuess, x.End, &head)
		if err != nil || x.Values == 0 {
			continue
		}
		left := values
		for v := range f.firstValues(c, g, &head, x.Off+n) {
			if yield(v); left == 1 {
				break
			}
			left--
		}
	}
}

// findMedia decides which fields are images: those that are of one kind in all files.
// Files in which nothing was found do not count if they have no samples.
func (s *source) findMedia() error {
	var fields []string
	for _, f := range s.Set.Schema() {
		if f.Media == "bin" {
			fields = append(fields, f.Name)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	seen := map[string]map[string]bool{}
	blobs := map[string]bool{}
	for in := range s.Inputs() {
		if in.Samples == 0 || blobs[string(in.Blob)] {
			continue
		}
		blobs[string(in.Blob)] = true
		state, err := parseBlob(in.Blob)
		if err != nil {
			return err
		}
		for _, name := range fields {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][state.Media[name]] = true
		}
	}
	for name, m := range seen {
		if len(m) != 1 {
			continue
		}
		for media := range m {
			if media != "" && knownMedia(media) {
				if s.media == nil {
					s.media = map[string]string{}
				}
				s.media[name] = media
			}
		}
	}
	return nil
}

func knownMedia(m string) bool {
	return m == "webp" || m == "wav" || slices.ContainsFunc(images, func(x struct{ magic, media string }) bool { return x.media == m })
}

// Schema implements shardify.Source: what the survey says, and what bytes are.
func (s *source) Schema() []shardify.Field {
	schema := s.Set.Schema()
	for i := range schema {
		if m, ok := s.media[schema[i].Name]; ok {
			schema[i].Media = m
		}
	}
	return schema
}

// setMedia does so in a batch.
func (s *source) setMedia(b *shardify.Batch) {
	if len(s.media) == 0 {
		return
	}
	for i := range b.Columns {
		if m, ok := s.media[b.Columns[i].Name]; ok {
			b.Columns[i].Media = m
		}
	}
}
