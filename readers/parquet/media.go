package parquet

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
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
	if off = x.Off + n; err != nil || h.Type != format.DictionaryPage || int64(h.Uncompressed) > sniffWhole {
		return h, off, err == nil && int64(h.Uncompressed) > sniffWhole
	}
	var page pq.PageHeader
	_, err = w.header(ctx, off+int64(h.Compressed), headGuess, x.End, &page)
	return h, off, err == nil && int64(page.Uncompressed) > sniffWhole
}

// sniffPrefix is sniffMedia by the first values of a page.
func (f *file) sniffPrefix(c *column, g int, h *pq.PageHeader, off int64) (media string) {
	if h.Encoding != format.Plain && h.Encoding != pq.PlainDictionary {
		return ""
	}
	codec, levels := f.pq.Chunk(c.leaf, g).Codec, int64(0)
	if h.V2() {
		if levels = int64(h.RepLen + h.DefLen); !h.ValuesCompressed {
			codec = format.Uncompressed
		}
	}
	b := make([]byte, min(sniffBytes, int64(h.Uncompressed)))
	n, err := page.Prefix(codec, b, io.NewSectionReader(f.f, off+levels, max(int64(h.Compressed)-levels, 0)))
	if b = b[:n]; err != nil {
		return ""
	}
	if h.Type != format.DictionaryPage && !h.V2() && c.page.MaxDef > 0 {
		if h.DefEncoding != format.RLE || len(b) < 4 {
			return ""
		}
		b = b[min(int64(len(b)), 4+int64(binary.LittleEndian.Uint32(b))):]
	}
	for range h.Values {
		size := int64(c.page.Width)
		if c.page.Width == 0 {
			if len(b) < 4 {
				break
			}
			size, b = int64(binary.LittleEndian.Uint32(b)), b[4:]
		}
		v := b[:min(size, int64(len(b)))]
		whole := int64(len(v)) == size
		if !whole && len(v) < 12 {
			break // too little of it to tell
		}
		m := mediaOf(v)
		if m == "" || media != "" && m != media {
			return ""
		}
		if media = m; !whole {
			break
		}
		b = b[len(v):]
	}
	return media
}

// findMedia decides which fields are images: those that are of one kind in all files.
// Files in which nothing was found have no say if they have no samples.
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
