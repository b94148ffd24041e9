package hdu

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/readat"
)

// Tiled is an image that is stored as compressed tiles: the rows of a table.
type Tiled struct {
	*Image
	table            *Table
	tile             []int64 // axes of a tile, slowest first
	grid             []int64 // tiles along each axis
	method           string
	width, every     int64 // of RICE_1: bytes of a number, numbers of a block
	quantised        bool
	dither           int
	seed             int64
	scale, zero      float64 // where no column has them
	blank            int64
	data, gz, plain  *Column
	scaleAt, zeroAt  *Column
	blankAt          *Column
	bitpix, elements int64 // elements of a whole tile
}

// tiledAxes reads the type and the axes of a compressed image.
func (x *HDU) tiledAxes() (bitpix int64, shape []int64, err error) {
	if bitpix, err = x.must("ZBITPIX"); err != nil {
		return 0, nil, err
	}
	if _, ok := storedTypes[bitpix]; !ok {
		return 0, nil, x.corrupt("ZBITPIX", "8, 16, 32, 64, -32 or -64")
	}
	n, err := x.must("ZNAXIS")
	if err != nil {
		return 0, nil, err
	}
	if n < 0 || n > 999 {
		return 0, nil, x.corrupt("ZNAXIS", "a number from 0 to 999")
	}
	shape, err = x.dims("ZNAXIS", n)
	if err == nil {
		_, err = x.size(shape, 0, 1, abs(bitpix)/8)
	}
	return bitpix, shape, err
}

// Tiled reads how the tiles of an HDU are stored.
func (x *HDU) Tiled(raw bool) (*Tiled, error) {
	im, err := x.Image(raw)
	if err != nil {
		return nil, err
	}
	t := &Tiled{Image: im, every: 32, scale: 1}
	t.bitpix = x.whole1("ZBITPIX")
	if t.table, err = x.Table(); err != nil {
		return nil, err
	}
	t.method, _ = x.Text("ZCMPTYPE")
	switch t.method {
	case "RICE_1", "RICE_ONE", "GZIP_1", "GZIP_2", "NOCOMPRESS":
	case "PLIO_1":
		if im.Stored.IsFloat() {
			return nil, shardify.Unsupported("tiles of PLIO_1 of floats")
		}
	case "HCOMPRESS_1":
		return nil, shardify.Unsupported("tiles of %s are not decoded; funpack FILE writes an image without compression", t.method)
	default:
		return nil, shardify.Unsupported("tiles of %.40q are unknown (ZCMPTYPE)", t.method)
	}
	if err := t.tiles(x); err != nil {
		return nil, err
	}
	if err := t.parameters(x); err != nil {
		return nil, err
	}
	return t, t.columns(x)
}

// whole1 is a keyword that was read before.
func (x *HDU) whole1(key string) int64 { n, _ := x.whole(key, 0); return n }

// tiles reads the axes of the tiles: by default each is one row of the image.
func (t *Tiled) tiles(x *HDU) error {
	n := len(t.Shape)
	t.tile, t.grid = make([]int64, n), make([]int64, n)
	for i := range t.tile {
		d := int64(1)
		if i == n-1 {
			d = t.Shape[i]
		}
		key := "ZTILE" + strconv.Itoa(n-i)
		v, err := x.whole(key, d)
		if err != nil {
			return err
		}
		if v < 1 && t.Shape[i] > 0 {
			return x.corrupt(key, "a length")
		}
		t.tile[i] = max(min(v, t.Shape[i]), 1)
		t.grid[i] = (t.Shape[i] + t.tile[i] - 1) / t.tile[i]
	}
	all, ok := product(t.grid)
	if !ok || all != t.table.Rows {
		return shardify.Corrupt(x.at, "%d rows for %v tiles of %v in an image of %v", t.table.Rows, t.grid, t.tile, t.Shape)
	}
	if t.elements, ok = product(t.tile); !ok || t.elements > 1<<31 {
		return shardify.Unsupported("tiles of %v numbers", t.tile)
	}
	return nil
}

// parameters reads what says how a tile is decoded.
func (t *Tiled) parameters(x *HDU) (err error) {
	t.width = 4
	for i := 1; ; i++ {
		name, ok := x.Text("ZNAME" + strconv.Itoa(i))
		if !ok || i > 99 {
			break
		}
		v, err := x.whole("ZVAL"+strconv.Itoa(i), 0)
		if err != nil {
			continue // of another method: those of HCOMPRESS are not whole
		}
		switch name {
		case "BLOCKSIZE":
			t.every = v
		case "BYTEPIX":
			t.width = v
		}
	}
	if strings.HasPrefix(t.method, "RICE") {
		if t.every < 1 || t.every > 1<<16 {
			return shardify.Corrupt(x.at, "blocks of %d numbers (BLOCKSIZE)", t.every)
		}
		if t.width != 1 && t.width != 2 && t.width != 4 {
			return shardify.Corrupt(x.at, "numbers of %d bytes (BYTEPIX)", t.width)
		}
	}
	switch q, _ := x.Text("ZQUANTIZ"); q {
	case "SUBTRACTIVE_DITHER_1":
		t.dither = 1
	case "SUBTRACTIVE_DITHER_2":
		t.dither = 2
	case "", "NO_DITHER", "NONE":
	default:
		return shardify.Unsupported("numbers quantised by %.40q (ZQUANTIZ)", q)
	}
	if t.dither > 0 {
		if t.seed, err = x.must("ZDITHER0"); err != nil {
			return err
		}
		if t.seed < 1 || t.seed > 10000 {
			return x.corrupt("ZDITHER0", "a number from 1 to 10000")
		}
	}
	if t.scale, err = x.number("ZSCALE", 1); err != nil {
		return err
	}
	if t.zero, err = x.number("ZZERO", 0); err != nil {
		return err
	}
	t.blank, err = x.whole("ZBLANK", math.MinInt32+1)
	return err
}

// columns finds the columns of the tiles.
func (t *Tiled) columns(x *HDU) error {
	for i := range t.table.Columns {
		c := &t.table.Columns[i]
		list := c.elem != 0 && strings.IndexByte("BIJKED", c.elem) >= 0
		number := c.elem == 0 && c.repeat == 1 && strings.IndexByte("BIJKED", c.code) >= 0
		switch name := strings.ToUpper(c.Field.Name); {
		case name == "COMPRESSED_DATA" && list:
			t.data = c
		case name == "GZIP_COMPRESSED_DATA" && list:
			t.gz = c
		case name == "UNCOMPRESSED_DATA" && list:
			t.plain = c
		case name == "ZSCALE" && number:
			t.scaleAt = c
		case name == "ZZERO" && number:
			t.zeroAt = c
		case name == "ZBLANK" && number:
			t.blankAt = c
		}
	}
	return t.check(x)
}

// check refuses what does not fit together.
func (t *Tiled) check(x *HDU) error {
	if t.data == nil && t.gz == nil && t.plain == nil {
		return shardify.Corrupt(x.at, "a compressed image without a column COMPRESSED_DATA")
	}
	_, given := x.values["ZSCALE"]
	quantiz, _ := x.Text("ZQUANTIZ")
	t.quantised = t.bitpix < 0 && quantiz != "NONE" && (t.scaleAt != nil || given)
	if t.quantised && t.form == scaled {
		return shardify.Unsupported("quantised numbers with BSCALE or BZERO")
	}
	if n, ok := product(t.Shape); !ok || n > (x.Size+block)*maxRatio {
		return shardify.Corrupt(x.at, "an image of %v in %d bytes of tiles", t.Shape, x.Size)
	}
	return nil
}

// maxRatio is how many numbers a byte of tiles may become: more than gzip can make of it.
const maxRatio = 1100

// Decoder decodes tiles. It keeps its memory.
type Decoder struct{ packed, big, out []byte }

// Decode makes planes [lo, hi) of the slowest axis: those of one tile or more.
func (t *Tiled) Decode(r io.ReaderAt, d *Decoder, dst []byte, lo, hi int64) error {
	if len(t.Shape) == 0 || hi <= lo {
		return nil
	}
	rows := make([]byte, t.table.Width)
	inner := int64(1) // tiles of one step of the slowest axis
	for _, g := range t.grid[1:] {
		inner *= g
	}
	place := make([]int64, len(t.grid))
	for k := lo / t.tile[0] * inner; k < (hi+t.tile[0]-1)/t.tile[0]*inner; k++ {
		if err := readat.Full(r, rows, t.table.RowsAt(k)); err != nil {
			return err
		}
		rest, n := k, int64(1)
		for i := len(place) - 1; i >= 0; i-- {
			place[i] = rest % t.grid[i]
			rest /= t.grid[i]
			n *= min(t.tile[i], t.Shape[i]-place[i]*t.tile[i])
		}
		if err := t.one(r, d, rows, k, n); err != nil {
			return shardify.Annotate(err, "", "", "tile "+strconv.FormatInt(k+1, 10))
		}
		t.put(dst, d.out, place, lo, hi)
	}
	return nil
}

// put copies a tile to its place among planes [lo, hi).
func (t *Tiled) put(dst, src []byte, place []int64, lo, hi int64) {
	size := int64(t.DType.Size())
	n := len(place)
	from, dims := make([]int64, n), make([]int64, n)
	for i := range place {
		from[i] = place[i] * t.tile[i]
		dims[i] = min(t.tile[i], t.Shape[i]-from[i])
	}
	run := dims[n-1] * size
	at := make([]int64, n) // of a run within the tile
	for off := int64(0); off < int64(len(src)); off += run {
		first := from[0] + at[0]
		if n == 1 {
			a, b := max(lo, from[0]), min(hi, from[0]+dims[0])
			copy(dst[(a-lo)*size:(b-lo)*size], src[(a-from[0])*size:])
			return
		}
		if first >= lo && first < hi {
			to := first - lo
			for i := 1; i < n; i++ {
				to = to*t.Shape[i] + from[i] + at[i]
			}
			copy(dst[to*size:to*size+run], src[off:])
		}
		for i := n - 2; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
	}
}

func grown(b []byte, n int64) []byte {
	if int64(cap(b)) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// one decodes a tile of n numbers into d.out.
func (t *Tiled) one(r io.ReaderAt, d *Decoder, row []byte, number, n int64) error {
	c, src, err := t.packed(r, d, row)
	if err != nil {
		return err
	}
	width := int64(t.Width)
	if c == t.data && t.quantised {
		width = 4
	}
	switch {
	case c == t.data && strings.HasPrefix(t.method, "RICE"):
		// A number takes at least 3 bits of a block's head for `every` numbers.
		if n > (int64(len(src))+8)*8*t.every {
			return shardify.Corrupt(-1, "%d bytes for %d numbers", len(src), n)
		}
		d.packed2(n * t.width)
		if err := rice(d.big, src, int(t.width), int(t.every)); err != nil {
			return err
		}
		if err := t.widen(d, n, t.width, width); err != nil {
			return err
		}
	case c == t.data && t.method == "PLIO_1":
		d.packed2(n * width)
		if err := plio(d.big, src, int(width)); err != nil {
			return err
		}
	case c == t.plain || t.method == "NOCOMPRESS" && c == t.data:
		d.packed2(n * width)
		if int64(len(src)) != n*width {
			return shardify.Corrupt(-1, "%d bytes for %d numbers of %d", len(src), n, width)
		}
		copy(d.big, src)
	default:
		have, err := t.gunzip(d, src, n, width, c == t.data && t.method == "GZIP_2")
		if err == nil {
			err = t.widen(d, n, have, width)
		}
		if err != nil {
			return err
		}
	}
	d.out = grown(d.out, n*int64(t.DType.Size()))
	if c == t.data && t.quantised {
		return t.unquantise(d, row, number, n)
	}
	return t.Convert(d.out, d.big[:n*width], 0)
}

func (d *Decoder) packed2(n int64) { d.big = grown(d.big, n) }

// widen gives big-endian numbers the width of the image's type.
func (t *Tiled) widen(d *Decoder, n, from, to int64) error {
	if from == to {
		return nil
	}
	if t.bitpix < 0 {
		return shardify.Corrupt(-1, "numbers of %d bytes in an image of %d bits", from, t.bitpix)
	}
	out := make([]byte, n*to)
	for i := range n {
		putInteger(out[i*to:], integer(d.big[i*from:], int(from)), int(to))
	}
	d.big = out
	return nil
}

func putInteger(b []byte, v int64, width int) {
	switch width {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.BigEndian.PutUint16(b, uint16(v))
	case 4:
		binary.BigEndian.PutUint32(b, uint32(v))
	default:
		binary.BigEndian.PutUint64(b, uint64(v))
	}
}

// packed finds the bytes of a tile, and the column that has them.
func (t *Tiled) packed(r io.ReaderAt, d *Decoder, row []byte) (*Column, []byte, error) {
	for _, c := range []*Column{t.data, t.gz, t.plain} {
		if c == nil {
			continue
		}
		count, from := c.place(row[c.offset:])
		if count == 0 {
			continue
		}
		size := sizes[c.elem]
		if count < 0 || from < 0 || from > t.table.heapSize || count > (t.table.heapSize-from)/size {
			return nil, nil, shardify.Corrupt(-1, "%d items at byte %d lie beyond the heap of %d bytes", count, from, t.table.heapSize)
		}
		d.packed = grown(d.packed, count*size)
		return c, d.packed, readat.Full(r, d.packed, t.table.heap+from)
	}
	return nil, nil, shardify.Corrupt(-1, "the tile has no data")
}

// gunzip inflates a tile into big-endian numbers, and returns how many bytes each has.
func (t *Tiled) gunzip(d *Decoder, src []byte, n, width int64, shuffled bool) (int64, error) {
	most := n * max(width, 4)
	if most/inflate.Most > int64(len(src)) {
		return 0, shardify.Corrupt(-1, "%d bytes for %d numbers", len(src), n)
	}
	d.packed2(most)
	have, _, err := inflate.Gzip(d.big, src)
	if err != nil {
		return 0, shardify.Corrupt(-1, "gzip: %v", err)
	}
	if n > 0 && int64(have) != n*width { // numbers may be stored in fewer bytes
		width = int64(have) / n
		if width*n != int64(have) || width != 1 && width != 2 && width != 4 && width != 8 {
			return 0, shardify.Corrupt(-1, "%d bytes for %d numbers", have, n)
		}
	}
	big := d.big[:have]
	if shuffled {
		out := make([]byte, have)
		for k := range width {
			for i := range n {
				out[i*width+k] = big[k*n+i]
			}
		}
		d.big = out
		big = out
	}
	return width, nil
}

// number is the value of a column in a row, or another one where there is no column.
func (c *Column) number(row []byte, absent float64) float64 {
	if c == nil {
		return absent
	}
	switch b := row[c.offset:]; c.code {
	case 'E':
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 'D':
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	default:
		return float64(integer(b, int(sizes[c.code])))
	}
}

// noise is the table of random numbers that writers of quantised images add.
var noise = sync.OnceValue(func() []float64 {
	out := make([]float64, 10000)
	x := int64(1)
	for i := range out {
		x = 16807 * x % (1<<31 - 1)
		out[i] = float64(float32(float64(x) / (1<<31 - 1)))
	}
	return out
})

// exact is the same table before it is rounded to f32, for the steps of the sequence.
var exact = sync.OnceValue(func() []float64 {
	out := make([]float64, 10000)
	x := int64(1)
	for i := range out {
		x = 16807 * x % (1<<31 - 1)
		out[i] = float64(x) / (1<<31 - 1)
	}
	return out
})

const zeroCode = math.MinInt32 + 2 // a zero that was kept, of SUBTRACTIVE_DITHER_2

// unquantise makes numbers of quantised ones.
func (t *Tiled) unquantise(d *Decoder, row []byte, number, n int64) error {
	scale, zero := t.scaleAt.number(row, t.scale), t.zeroAt.number(row, t.zero)
	blank := int64(t.blankAt.number(row, float64(t.blank)))
	rnd, steps := noise(), exact()
	start := (number + t.seed - 1) % 10000
	if t.seed == 0 {
		start = 0
	}
	k := int(steps[start] * 500)
	for i := range n {
		q := integer(d.big[4*i:], 4)
		var v float64
		switch {
		case q == blank:
			v = math.Float64frombits(nan)
		case t.dither == 0:
			v = float64(float64(q)*scale) + zero
		case t.dither == 2 && q == zeroCode:
		default:
			v = float64((float64(q)-rnd[k]+0.5)*scale) + zero
		}
		if t.dither > 0 {
			if k++; k == 10000 {
				start = (start + 1) % 10000
				k = int(steps[start] * 500)
			}
		}
		if t.DType == shardify.F32 {
			binary.LittleEndian.PutUint32(d.out[4*i:], math.Float32bits(float32(v)))
		} else {
			binary.LittleEndian.PutUint64(d.out[8*i:], math.Float64bits(v))
		}
	}
	return nil
}
