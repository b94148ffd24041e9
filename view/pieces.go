package view

import (
	"bytes"
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/sound"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect"
)

// shown is a sample as the page shows it.
type shown struct {
	Sample int64   `json:"n"`
	Key    string  `json:"key,omitempty"`
	Error  string  `json:"error,omitempty"`
	Pieces []piece `json:"pieces,omitempty"`
}

// piece is a field of a sample, or several fields whose lists have the same length.
type piece struct {
	Field string `json:"field"`
	Type  string `json:"type,omitempty"`
	// Kind is number, text, image, sound, bytes, array, plot, table or nothing.
	Kind  string     `json:"kind"`
	Text  string     `json:"text,omitempty"`
	Bytes int64      `json:"bytes,omitempty"`
	Unit  string     `json:"unit,omitempty"`
	Depth []int      `json:"depth,omitempty"` // of array: the lengths of the axes with a slider
	Names []string   `json:"names,omitempty"` // of these axes, or of the lines, columns
	Range reals      `json:"range,omitempty"` // of array: what black and white are
	Map   *grid      `json:"map,omitempty"`
	Lines []reals    `json:"lines,omitempty"`
	Of    int64      `json:"of,omitempty"` // values of a line or rows of a table, of which some are shown
	Rows  [][]string `json:"rows,omitempty"`
	// Points are x, y, and perhaps a third value that has a colour: Axes names the columns.
	Points []reals  `json:"points,omitempty"`
	Axes   []string `json:"axes,omitempty"`
}

// reals are numbers in JSON, where what is no number is null.
type reals []float64

// MarshalJSON implements json.Marshaler.
func (r reals) MarshalJSON() ([]byte, error) {
	out := []byte{'['}
	for i, x := range r {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, x, 'g', 7, 64)
	}
	return append(out, ']'), nil
}

// room is how much of a sample is sent: less on a page of many.
type room struct{ text, points, rows int }

var (
	few  = room{text: 400, points: 160, rows: 6}
	full = room{text: 256 << 10, points: 2000, rows: 1000}
)

const (
	scatterPoints = 10       // times points
	mostFrames    = 64 << 20 // values of a recording that is drawn
)

// pieces makes the pieces of sample i of a batch.
func (p *part) pieces(b *shardify.Batch, i int, r room) (out []piece) {
	said := inspect.Show(b, i)
	coords := p.coords()
	done := map[string]bool{}
	for _, v := range said.Values {
		k := column(b, v.Field)
		c := &b.Columns[k]
		if done[v.Field] {
			continue
		}
		x := piece{Field: v.Field, Type: v.Type, Bytes: v.Bytes, Text: v.Text, Unit: c.Attrs["unit"]}
		lo, hi := c.Range(i, i+1)
		switch {
		case c.Valid != nil && c.Valid[i] == 0:
			x.Kind = "nothing"
		case c.Levels == 2:
			x.Kind = "text"
		case c.Media != "":
			x.media(c, c.Data[lo:hi], r)
		case c.Levels == 1 && !c.Ragged:
			x.list(b, c, i, r, done)
		default:
			x.array(c, shape(b, c, i), c.Data[lo:hi], coords, r)
		}
		out = append(out, x)
	}
	return out
}

func column(b *shardify.Batch, name string) int {
	return slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == name })
}

// shape is that of an array; nil if the sizes contradict each other.
func shape(b *shardify.Batch, c *shardify.Column, i int) []int {
	list := c.Shape
	lo, hi := c.Range(i, i+1)
	if c.Ragged {
		k := column(b, c.Name+shardify.ShapeSuffix)
		if k < 0 {
			return nil
		}
		list = nil
		from, to := b.Columns[k].Range(i, i+1)
		for _, n := range shardify.View[int64](b.Columns[k].Data)[from/8 : to/8] {
			list = append(list, int(n))
		}
		list = append(list, c.Shape...)
	}
	n, all := 1, (hi-lo)/c.DType.Size()
	for _, d := range list {
		if d < 0 || d > all && all > 0 {
			return nil
		}
		if n *= d; n > all {
			return nil
		}
	}
	if n != all {
		return nil
	}
	return list
}

// imageType is what browsers show, by its first bytes; "" for all else. SVG is not: it may hold programs.
func imageType(data []byte) string {
	switch t := http.DetectContentType(data[:min(len(data), 512)]); t {
	case "image/png", "image/jpeg", "image/gif", "image/bmp", "image/webp":
		return t
	}
	return ""
}

// soundType is what browsers play, by its first bytes.
func soundType(data []byte) string {
	switch {
	case len(data) > 12 && bytes.HasPrefix(data, []byte("RIFF")) && bytes.Equal(data[8:12], []byte("WAVE")):
		return "audio/wav"
	case bytes.HasPrefix(data, []byte("fLaC")):
		return "audio/flac"
	}
	return ""
}

func (x *piece) media(c *shardify.Column, data []byte, r room) {
	switch {
	case format.IsText(c.Media) || c.Media == "cls":
		x.Kind = "text"
		if utf8.Valid(data) {
			x.Text = cutText(string(data), r.text)
		}
	case imageType(data) != "":
		x.Kind = "image"
	case soundType(data) != "":
		x.Kind = "sound"
		x.wave(data, r)
	default:
		x.Kind = "bytes"
	}
}

// wave is the loudness of a recording over time.
func (x *piece) wave(data []byte, r room) {
	form := strings.TrimPrefix(soundType(data), "audio/")
	s, err := sound.Read(form, data, true)
	if err != nil || s.Channels < 1 || s.Frames > mostFrames/int64(s.Channels) {
		return
	}
	mixed, err := s.Append(nil, shardify.F32, true)
	if err != nil {
		return
	}
	v := make([]float32, len(mixed)/4)
	copy(shardify.Bytes(v), mixed)
	x.Of, x.Names = int64(len(v)), []string{strconv.FormatInt(s.Rate, 10) + " Hz", printable.Of(int64(s.Channels), "channel")}
	x.Lines = []reals{line(&values{t: shardify.F32, data: shardify.Bytes(v)}, 0, 1, len(v), r.points)}
}

// cutText is the beginning of a text.
func cutText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + " …"
}

// array is a number, a plot or a picture.
func (x *piece) array(c *shardify.Column, shape []int, data []byte, coords map[string]format.Coord, r room) {
	v := &values{t: c.DType, data: data}
	if fr := frameOf(&c.Field, shape, coords); fr != nil {
		x.Kind, x.Depth, x.Map = "array", fr.depths(), fr.grid
		if dims := c.Dims(); len(dims) == len(shape) {
			for _, a := range fr.steps {
				x.Names = append(x.Names, dims[a])
			}
		}
		if c.DType != shardify.U8 {
			lo, hi := v.span()
			x.Range = reals{lo, hi}
		}
		return
	}
	long := slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	switch {
	case len(long) == 1 && long[0] > leastSide:
		x.Kind, x.Of = "plot", int64(long[0])
		x.Lines = []reals{line(v, 0, 1, long[0], r.points)}
	case len(long) == 2 && max(long[0], long[1]) > leastSide:
		x.Kind = "plot"
		n, lines, step, next := long[0], long[1], long[1], 1
		if long[0] < long[1] {
			n, lines, step, next = long[1], long[0], 1, long[1]
		}
		x.Of = int64(n)
		for k := range min(lines, leastSide) {
			x.Lines = append(x.Lines, line(v, k*next, step, n, r.points))
		}
	default:
		x.Kind = "number"
		if len(shape) == 0 && c.DType == shardify.I64 && v.len() == 1 {
			x.Text += when(int64(v.whole(0)), c.Attrs["time"])
		}
	}
}

// when is a time stamp as a date; "" for a unit that is not known.
func when(n int64, unit string) string {
	each := map[string]int64{"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
	if each == 0 {
		return ""
	}
	sec := n / each
	t := time.Unix(sec, (n-sec*each)*(1e9/each)).UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return t.Format(" (2006-01-02 15:04:05.999999999)")
}

// line is n values, of which the least and the greatest of each stretch are kept if there are more than most.
func line(v *values, from, step, n, most int) (out reals) {
	if n <= most {
		for i := range n {
			out = append(out, v.at(from+i*step))
		}
		return out
	}
	half := most / 2
	for k := range half {
		lo, hi := math.Inf(1), math.Inf(-1)
		for i := k * n / half; i < (k+1)*n/half; i++ {
			x := v.at(from + i*step)
			if math.IsNaN(x) {
				continue
			}
			lo, hi = min(lo, x), max(hi, x)
		}
		out = append(out, lo, hi)
	}
	return out
}

// beside are the lists of a sample that are columns of one table: those with a common counter, or with a common
// beginning of their names and the same length.
func beside(b *shardify.Batch, c *shardify.Column, i int) (group []*shardify.Column, name string) {
	name = c.Counter
	if at := strings.LastIndexByte(c.Name, '_'); name == "" && at > 0 {
		name = c.Name[:at]
	}
	length := func(d *shardify.Column) int64 { return d.Offsets[0][i+1] - d.Offsets[0][i] }
	for k := range b.Columns {
		d := &b.Columns[k]
		if d == c || name != "" && d.Levels == 1 && d.Media == "" && !d.Ragged && d.Counter == c.Counter && length(d) == length(c) &&
			(d.Valid == nil || d.Valid[i] == 1) && (c.Counter != "" || strings.HasPrefix(d.Name, name+"_")) {
			group = append(group, d)
		}
	}
	return group, name
}

// list is a plot, or a table with the lists beside it.
func (x *piece) list(b *shardify.Batch, c *shardify.Column, i int, r room, done map[string]bool) {
	group, common := beside(b, c, i)
	n := int(c.Offsets[0][i+1] - c.Offsets[0][i])
	if len(group) == 1 && c.Elem() == 1 {
		lo, hi := c.Range(i, i+1)
		if x.Kind = "number"; n > leastSide {
			x.Kind, x.Of = "plot", int64(n)
			x.Lines = []reals{line(&values{t: c.DType, data: c.Data[lo:hi]}, 0, 1, n, r.points)}
		}
		return
	}
	x.Kind, x.Of = "table", int64(n)
	var all []values
	for _, d := range group {
		done[d.Name] = true
		lo, hi := d.Range(i, i+1)
		for e := range d.Elem() {
			name := strings.TrimPrefix(strings.TrimPrefix(d.Name, common), "_")
			if d.Elem() > 1 {
				name += "[" + strconv.Itoa(e) + "]"
			}
			x.Names = append(x.Names, cmp.Or(name, d.Name))
			all = append(all, values{t: d.DType, data: d.Data[lo:hi], from: e, by: d.Elem()})
		}
	}
	if len(group) > 1 {
		x.Field, x.Type, x.Text, x.Unit = common, "", "", ""
	}
	for row := range min(n, r.rows) {
		cells := make([]string, len(all))
		for k := range all {
			cells[k] = all[k].text(row)
		}
		x.Rows = append(x.Rows, cells)
	}
	x.scatter(all, n, r)
}

// places are pairs of columns that are a place, heights those that colour it.
var (
	places  = [][2]string{{"x", "y"}, {"eta", "phi"}, {"lon", "lat"}, {"longitude", "latitude"}, {"px", "py"}, {"col", "row"}, {"[0]", "[1]"}}
	heights = []string{"p", "polarity", "pt", "energy", "e", "t", "time", "charge", "z", "mass", "[2]"}
)

func (x *piece) scatter(all []values, n int, r room) {
	find := func(name string) int {
		return slices.IndexFunc(x.Names, func(s string) bool {
			s = strings.ToLower(s)
			return s == name || strings.HasPrefix(name, "[") && strings.HasSuffix(s, name)
		})
	}
	for _, pair := range places {
		a, b := find(pair[0]), find(pair[1])
		if a < 0 || b < 0 || n == 0 {
			continue
		}
		use := []int{a, b}
		for _, h := range heights {
			if c := find(h); c >= 0 && c != a && c != b {
				use = append(use, c)
				break
			}
		}
		step := max(n/(r.points*scatterPoints), 1)
		for _, k := range use {
			var list reals
			for i := 0; i < n; i += step {
				list = append(list, all[k].at(i))
			}
			x.Points, x.Axes = append(x.Points, list), append(x.Axes, x.Names[k])
		}
		return
	}
}
