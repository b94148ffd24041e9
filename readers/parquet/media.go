package parquet

import (
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
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
