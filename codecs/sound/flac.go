package sound

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"slices"

	"github.com/shardify/shardify"
)

// flac is a file of FLAC: its STREAMINFO, and where the frames begin.
type flac struct {
	file  []byte
	begin int
	bits  uint
	total uint64 // frames of sound; 0 if that is not known
	sum   []byte // MD5 of the values; zeros if that is not known
	short bool

	r       reader
	history [][]int64 // values of a block, by channel
}

// Limits of what a file may become: silence is far smaller than its values.
const (
	freeSize  = 64 << 20
	mostTimes = 4096
)

// readFLAC reads the blocks before the frames.
func readFLAC(file []byte, short bool) (*Sound, error) {
	at := 0
	if len(file) >= 10 && string(file[:3]) == "ID3" {
		at = 10 + int(file[6]&127)<<21 + int(file[7]&127)<<14 + int(file[8]&127)<<7 + int(file[9]&127)
	}
	switch {
	case len(file) >= 4 && (string(file[:4]) == "RIFF" || string(file[:4]) == "RIFX" || string(file[:4]) == "RF64"):
		return nil, shardify.Corrupt(0, "a file of WAV, not of FLAC: --parse FIELD=wav reads it")
	case len(file) >= 4 && string(file[:4]) == "OggS":
		return nil, shardify.Hint(shardify.Unsupported("a file of Ogg, not of FLAC"), "convert the files: ffmpeg -i IN.ogg OUT.flac")
	case len(file) < at+42 || string(file[at:at+4]) != "fLaC" || file[at+4]&0x7f != 0 || binary.BigEndian.Uint32(file[at+4:])&0xffffff != 34:
		return nil, shardify.Corrupt(int64(min(at, len(file))), "no FLAC and STREAMINFO of 34 bytes at the beginning")
	}
	info := file[at+8 : at+42]
	x := binary.BigEndian.Uint64(info[10:])
	f := &flac{file: file, bits: uint(x>>36&31) + 1, total: x & (1<<36 - 1), sum: info[18:34], short: short}
	s := &Sound{DType: shardify.I16, Width: 2, Rate: int64(x >> 44), Channels: int(x>>41&7) + 1, flac: f}
	if f.bits > 16 {
		s.DType, s.Width = shardify.I32, 4
	}
	if f.bits < 4 {
		return nil, shardify.Corrupt(int64(at+20), "%d bits", f.bits)
	}
	for at += 4; ; {
		if len(file)-at < 4 {
			return nil, shardify.Corrupt(int64(len(file)), "the file ends among the blocks before the frames")
		}
		block := binary.BigEndian.Uint32(file[at:])
		if at += 4 + int(block&0xffffff); at > len(file) {
			return nil, shardify.Corrupt(int64(len(file)), "the file ends within a block before the frames")
		}
		if block>>31 != 0 {
			f.begin = at
			return s, s.format(int64(f.begin))
		}
	}
}

// decode gives the values of all frames, little-endian.
func (f *flac) decode(s *Sound) (out []byte, err error) {
	frame := uint64(s.Channels * s.Width)
	if want, most := f.total*frame, uint64(freeSize+mostTimes*len(f.file)); want > most {
		return nil, shardify.Corrupt(-1, "%d frames of sound in a file of %d bytes", f.total, len(f.file))
	} else if f.total > 0 {
		out = make([]byte, 0, min(want, uint64(freeSize)))
	}
	f.history = make([][]int64, s.Channels)
	f.r = reader{data: f.file, at: f.begin}
	for done := uint64(0); ; done = uint64(len(out)) / frame {
		at := f.r.byte()
		if f.total > 0 && done == f.total || f.total == 0 && at == len(f.file) {
			break
		}
		n, err := f.block(s, at)
		if err != nil && f.short && f.r.over {
			f.sum = make([]byte, md5.Size)
			break
		}
		if err != nil {
			return nil, err
		}
		if f.total > 0 && uint64(n) > f.total-done {
			return nil, shardify.Corrupt(int64(at), "a block of %d frames, after %d of %d", n, done, f.total)
		}
		if out = f.interleave(out, s, n); len(out) > freeSize+mostTimes*len(f.file) {
			return nil, shardify.Corrupt(int64(at), "more than %d frames of sound in a file of %d bytes", uint64(len(out))/frame, len(f.file))
		}
	}
	s.Frames = int64(uint64(len(out)) / frame)
	return out, f.check(out, s.Width)
}

// interleave appends a block of n frames; the values are the upper bits of their type.
func (f *flac) interleave(out []byte, s *Sound, n int) []byte {
	shift := uint(8*s.Width) - f.bits
	out = slices.Grow(out, n*s.Channels*s.Width)
	for i := range n {
		for _, h := range f.history {
			if x := h[i] << shift; s.Width == 2 {
				out = binary.LittleEndian.AppendUint16(out, uint16(x))
			} else {
				out = binary.LittleEndian.AppendUint32(out, uint32(x))
			}
		}
	}
	return out
}

// check compares the MD5 of the values.
func (f *flac) check(out []byte, width int) error {
	if bytes.Count(f.sum, []byte{0}) == len(f.sum) {
		return nil
	}
	sum, size := md5.New(), int(f.bits+7)/8
	shift := uint(8*width) - f.bits
	if shift == 0 {
		sum.Write(out)
	} else {
		var buf []byte
		for values := range slices.Chunk(out, 1<<12) {
			buf = buf[:0]
			for ; len(values) > 0; values = values[width:] {
				x := int32(int16(binary.LittleEndian.Uint16(values)))
				if width == 4 {
					x = int32(binary.LittleEndian.Uint32(values))
				}
				x >>= shift
				buf = append(buf, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))[:len(buf)+size]
			}
			sum.Write(buf)
		}
	}
	if got := sum.Sum(nil); !bytes.Equal(got, f.sum) {
		return shardify.Corrupt(-1, "the values have the MD5 %x; the file says %x", got, f.sum)
	}
	return nil
}

// Ways to store two channels.
const (
	leftSide  = 8
	sideRight = 9
	midSide   = 10
)

// block reads a frame of FLAC that begins at an offset, into the history.
func (f *flac) block(s *Sound, at int) (n int, err error) {
	r := &f.r
	n, mode, err := f.blockHeader(s, at)
	if err != nil {
		return 0, err
	}
	for c := range s.Channels {
		width := f.bits
		if mode == sideRight && c == 0 || (mode == leftSide || mode == midSide) && c == 1 {
			width++
		}
		f.history[c] = slices.Grow(f.history[c][:0], n)[:n]
		if err := f.subframe(f.history[c], width); err != nil {
			return 0, err
		}
	}
	r.align()
	end := r.byte()
	if sum := r.bits(16); r.over {
		return 0, f.cut()
	} else if got := crc16(f.file[at:end]); uint64(got) != sum {
		return 0, shardify.Corrupt(int64(at), "a frame whose CRC is %04x; want %04x", got, sum)
	}
	if mode >= leftSide {
		correlate(mode, f.history[0], f.history[1])
	}
	low := int64(-1) << (f.bits - 1)
	for _, h := range f.history {
		for _, x := range h {
			if x < low || x > ^low {
				return 0, shardify.Corrupt(int64(at), "the value %d, which is not of %d bits", x, f.bits)
			}
		}
	}
	return n, nil
}

func (f *flac) cut() error {
	return shardify.Corrupt(int64(len(f.file)), "the file ends within a frame")
}

// correlate makes left and right of what is stored.
func correlate(mode uint64, a, b []int64) {
	for i := range a {
		switch mode {
		case leftSide:
			b[i] = a[i] - b[i]
		case sideRight:
			a[i] += b[i]
		default:
			mid := a[i]<<1 | b[i]&1
			a[i], b[i] = (mid+b[i])>>1, (mid-b[i])>>1
		}
	}
}

var (
	blockSizes  = [16]int{0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}
	blockRates  = [12]int64{0, 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000}
	blockWidths = [8]uint{0, 8, 12, 0, 16, 20, 24, 32}
)

// blockHeader reads how many values a channel has, and how two channels are stored.
func (f *flac) blockHeader(s *Sound, at int) (n int, mode uint64, err error) {
	r := &f.r
	bad := func(format string, args ...any) (int, uint64, error) {
		if r.over {
			return 0, 0, f.cut()
		}
		return 0, 0, shardify.Corrupt(int64(at), format, args...)
	}
	if sync := r.bits(15); sync != 0x7ffc {
		return bad("no frame of FLAC begins here")
	}
	r.bits(1)
	size, rate := r.bits(4), r.bits(4)
	mode = r.bits(4)
	width, reserved := r.bits(3), r.bits(1)
	for ones := r.bits(8); ones&0x40 != 0 && ones&0x80 != 0; ones <<= 1 { // the number of the frame, as UTF-8
		r.bits(8)
	}
	switch n = blockSizes[size]; size {
	case 6:
		n = int(r.bits(8)) + 1
	case 7:
		n = int(r.bits(16)) + 1
	}
	hertz := s.Rate
	switch {
	case rate == 12:
		hertz = int64(r.bits(8)) * 1000
	case rate == 13:
		hertz = int64(r.bits(16))
	case rate == 14:
		hertz = int64(r.bits(16)) * 10
	case rate == 15:
		hertz = -1
	case rate > 0:
		hertz = blockRates[rate]
	}
	end := r.byte()
	sum := r.bits(8)
	channels := int(mode) + 1
	if mode >= leftSide {
		channels = 2
	}
	switch {
	case r.over:
		return bad("")
	case uint64(crc8(f.file[at:end])) != sum:
		return bad("a frame whose header has another CRC")
	case n == 0 || mode > midSide || width == 3 || reserved != 0:
		return bad("a frame whose header has reserved values")
	case channels != s.Channels || hertz != s.Rate || width != 0 && blockWidths[width] != f.bits:
		return bad("a frame of %d channels, %d bits, %d per second, in a file of %d, %d and %d", channels, blockWidths[width], hertz, s.Channels, f.bits, s.Rate)
	}
	return n, mode, nil
}

// subframe reads the values of a channel.
func (f *flac) subframe(out []int64, width uint) error {
	r := &f.r
	start := int64(r.byte())
	kind := r.bits(7) // the first is 0
	wasted := uint(0)
	if r.bits(1) == 1 {
		if wasted = uint(min(r.zeros(), 64)) + 1; wasted >= width {
			return shardify.Corrupt(start, "%d bits of %d are left out", wasted, width)
		}
		width -= wasted
	}
	var err error
	switch {
	case kind == 0:
		x := r.signed(width)
		for i := range out {
			out[i] = x
		}
	case kind == 1:
		for i := range out {
			out[i] = r.signed(width)
		}
	case kind >= 8 && kind <= 12:
		err = f.predicted(out, width, fixed[kind-8], start)
	case kind >= 32 && kind < 64:
		err = f.linear(out, width, int(kind-31), start)
	default:
		err = shardify.Corrupt(start, "values of the kind %d, which is reserved", kind)
	}
	if r.over {
		return f.cut()
	}
	if wasted > 0 {
		for i := range out {
			out[i] <<= wasted
		}
	}
	return err
}

// fixed are the coefficients that have a number; the first is of the value before.
var fixed = [5][]int64{{}, {1}, {2, -1}, {3, -3, 1}, {4, -6, 4, -1}}

// linear reads coefficients and what they predict; the first values come before.
func (f *flac) linear(out []int64, width uint, order int, start int64) error {
	if order > len(out) {
		return shardify.Corrupt(start, "a prediction of %d values by %d", len(out), order)
	}
	r := &f.r
	for i := range order {
		out[i] = r.signed(width)
	}
	precision := uint(r.bits(4)) + 1
	shift := r.signed(5)
	if precision == 16 || shift < 0 {
		return shardify.Corrupt(start, "coefficients with reserved values")
	}
	var c [32]int64
	for i := range order {
		c[i] = r.signed(precision)
	}
	return f.residuals(out, c[:order], uint(shift), start)
}

// predicted reads the first values and what fixed coefficients predict.
func (f *flac) predicted(out []int64, width uint, c []int64, start int64) error {
	if len(c) > len(out) {
		return shardify.Corrupt(start, "a prediction of %d values by %d", len(out), len(c))
	}
	for i := range c {
		out[i] = f.r.signed(width)
	}
	return f.residuals(out, c, 0, start)
}

// residuals reads the differences from what is predicted.
func (f *flac) residuals(out []int64, c []int64, shift uint, start int64) error {
	r := &f.r
	method, parts := r.bits(2), int(1)<<r.bits(4)
	if method > 1 || len(out)%parts != 0 || len(out)/parts < len(c) {
		return shardify.Corrupt(start, "differences of the method %d in %d parts of %d values", method, parts, len(out))
	}
	paramBits := uint(4 + method)
	escape := uint64(1)<<paramBits - 1
	at := len(c)
	for p := range parts {
		end := len(out) / parts * (p + 1)
		switch k := uint(r.bits(paramBits)); {
		case r.over:
			return nil
		case uint64(k) == escape:
			k = uint(r.bits(5))
			for i := at; i < end; i++ {
				if out[i] = 0; k > 0 {
					out[i] = r.signed(k)
				}
			}
		default:
			for i := at; i < end; i++ {
				q := r.zeros()
				if q>>32 != 0 {
					return shardify.Corrupt(start, "a difference of more than 32 bits")
				}
				x := q<<k | r.bits(k)
				out[i] = int64(x>>1) ^ -int64(x&1)
			}
		}
		if r.over {
			return nil // subframe says so
		}
		restore(out, at, end, c, shift)
		at = end
	}
	return nil
}

// restore adds what is predicted to the differences from one index up to another.
func restore(out []int64, at, end int, c []int64, shift uint) {
	for i := at; i < end; i++ {
		sum := int64(0)
		before := out[i-len(c) : i]
		for j, x := range c {
			sum += x * before[len(before)-1-j]
		}
		out[i] += sum >> shift
	}
}
