package parquet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	meta "github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
	"github.com/shardify/shardify/storage"
)

// bytes estimates the decoded bytes of a jagged column: values are counted, bytes of
// text are known from newer writers alone.
func (f *file) bytes(c *column) int64 {
	if c.field.Levels == 0 {
		return 0
	}
	sum := int64(0)
	for g := range len(f.pq.Groups) - 1 {
		sum += f.groupBytes(c, g)
	}
	return max(sum, 0)
}

// borders are the ends of row groups. A long one is cut inside, where pages end, more
// or less: those of different columns end in different places.
func (f *file) borders() set.Borders {
	b := set.Borders{At: f.pq.Groups[1:], Inside: 1}
	g := f.longest()
	if g < 0 {
		return b
	}
	rows := f.pq.Groups[g+1] - f.pq.Groups[g]
	sum, weight, bytes := 0.0, 0.0, int64(0)
	ends := map[int64]bool{}
	for i := range f.cols {
		c := &f.cols[i]
		n := f.pageRows(c, g)
		w := float64(f.pq.Chunk(c.leaf, g).Uncompressed)
		sum, weight = sum+float64(w*float64(n)), weight+w
		bytes += f.groupBytes(c, g)
		if n < rows {
			ends[n] = true
		}
	}
	b.Inside = int64(4 * sum / max(weight, 1)) // several pages, so that few of them are cut
	if len(ends) == 1 {
		for b.Inside = range ends { // they end together
		}
	}
	// What a span may take limits that, but not below one page.
	one := max(int64(sum/max(weight, 1)), 1)
	b.Inside = max(min(b.Inside, int64(float64(rows)*spanBytes/float64(max(bytes, 1)))), min(one, b.Inside), 1)
	return b
}

// spanBytes is the most that a span should take because of long pages.
const spanBytes = 32 << 20

// announce passes to a file of another machine which pages the survey looks at, so that they
// arrive at once.
func (f *file) announce() {
	var list []storage.Range
	add := func(off, end int64) { list = append(list, storage.Range{Off: off, Len: min(headGuess, end-off)}) }
	for i := range f.cols {
		if len(f.pq.Groups) < 2 || f.cols[i].page.Form.Width > 0 {
			continue
		}
		if x := f.pq.Chunk(f.cols[i].leaf, 0); x.ValueBytes == 0 && x.Dictionary {
			add(x.Off, x.End) // for dictMean
		}
	}
	storage.Announce(f.f, slices.Values(list))
	g := f.longest()
	if list = list[:0]; g < 0 {
		return
	}
	for i := range f.cols {
		x := f.pq.Chunk(f.cols[i].leaf, g)
		add(x.Off, x.End)
		add(x.Data, x.End)
	}
	storage.Announce(f.f, slices.Values(list))
}

// longest is the row group of the most bytes, if any is long enough to be cut.
func (f *file) longest() int {
	most, at := int64(minCut), -1
	for g := range len(f.pq.Groups) - 1 {
		sum := int64(0)
		for i := range f.cols {
			sum += f.groupBytes(&f.cols[i], g)
		}
		if sum > most {
			most, at = sum, g
		}
	}
	return at
}

// minCut is fewer bytes than those of any row group that is cut.
const minCut = 1 << 20

// groupBytes estimates the decoded bytes of a column in a row group.
func (f *file) groupBytes(c *column, g int) int64 {
	x := f.pq.Chunk(c.leaf, g)
	n := 8 * x.Values * int64(max(c.field.Levels-1, 0))
	switch {
	case c.page.Form.Width > 0:
		n += x.Values * int64(c.page.Form.Width)
	default:
		n += f.valueBytes(c, g)
	}
	return max(n, 0)
}

// valueBytes estimates the bytes of the values of any length in a row group. Newer
// writers say; else it is those of the pages, or of as many values of a dictionary.
func (f *file) valueBytes(c *column, g int) int64 {
	x := f.pq.Chunk(c.leaf, g)
	if x.ValueBytes > 0 {
		return x.ValueBytes
	}
	n := x.Uncompressed
	if x.Dictionary {
		n = max(n, int64(f.dictMean(c, g)*float64(x.Values)))
	}
	return n
}

// dictMean is the mean length of the values in the dictionary of a chunk, of the first
// one that was asked about. More than a page of a dictionary is not believed.
func (f *file) dictMean(c *column, g int) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok := f.means[c.leaf]; ok {
		return m
	}
	x := f.pq.Chunk(c.leaf, g)
	w := window{r: f.f}
	var h pq.PageHeader
	mean := 0.0
	if _, err := w.header(context.Background(), x.Off, headGuess, x.End, &h); err == nil && h.Type == meta.DictionaryPage && h.Values > 0 {
		mean = min(float64(h.Uncompressed), 64<<20) / float64(h.Values)
	}
	if f.means == nil {
		f.means = map[int]float64{}
	}
	f.means[c.leaf] = mean
	return mean
}

// pageRows is the number of rows in the first page of a column in a row group, about.
func (f *file) pageRows(c *column, g int) int64 {
	x := f.pq.Chunk(c.leaf, g)
	rows := f.pq.Groups[g+1] - f.pq.Groups[g]
	w := window{r: f.f}
	off := x.Off
	for range 2 { // a dictionary, a page
		var h pq.PageHeader
		n, err := w.header(context.Background(), off, headGuess, x.End, &h)
		if err != nil {
			return rows
		}
		if b := int64(h.Uncompressed); b > f.pieceBytes {
			f.piece, f.pieceBytes = "a page of "+c.field.Name, b
		}
		if h.Type == meta.DictionaryPage {
			off += n + int64(h.Compressed)
			continue
		}
		if h.Rows >= 0 {
			return min(int64(h.Rows), rows)
		}
		return min(int64(float64(h.Values)*float64(rows)/float64(max(x.Values, 1))), rows)
	}
	return rows
}

// describe says what inspect prints about the first file.
func (f *file) describe() []string {
	codecs := map[string]bool{}
	for _, c := range f.cols {
		for g := range len(f.pq.Groups) - 1 {
			codecs[strings.ToLower(codecName(f.pq.Chunk(c.leaf, g).Codec))] = true
		}
	}
	names := slices.Sorted(maps.Keys(codecs))
	n := len(f.pq.Groups) - 1
	line := fmt.Sprintf("row groups: %d", n)
	if n > 0 {
		line += fmt.Sprintf(" of about %d rows", f.pq.Rows/int64(n))
	}
	if len(names) > 0 {
		line += ", compressed by " + strings.Join(names, ", ")
	}
	out := []string{line}
	if f.pq.CreatedBy != "" {
		out = append(out, "written by "+printable(f.pq.CreatedBy))
	}
	return out
}

func printable(s string) string {
	return strings.Trim(fmt.Sprintf("%.80q", s), `"`)
}

func codecName(c meta.CompressionCodec) string {
	if c == meta.Uncompressed {
		return "nothing"
	}
	return c.String()
}
