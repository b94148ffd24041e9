package sound

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// Sound is a recording: frames with a value for each channel.
type Sound struct {
	DType    shardify.DType // of the values as they are stored: u8, i16, i32, f32, f64
	Channels int
	Rate     int64 // frames per second
	Frames   int64 // of FLAC known after Append only

	Width int   // bytes of a stored value
	At    int64 // of WAV: the byte of the first value
	Big   bool  // of WAV: values have their highest byte first

	data []byte // little-endian, of WAV
	flac *flac
}

// Read reads the header of a file in a form, "wav" or "flac". With short, the frames that are there are taken of a file that is cut.
func Read(form string, file []byte, short bool) (*Sound, error) {
	if form == "flac" {
		return readFLAC(file, short)
	}
	return readWAV(file, short)
}

// Append appends the values in a type: the one that they have, or f32, where whole numbers are from -1 up to 1. With mix, the
// mean of the channels takes their place, which is for f32.
func (s *Sound) Append(dst []byte, as shardify.DType, mix bool) (out []byte, err error) {
	stored := s.data
	if s.flac != nil {
		if stored, err = s.flac.decode(s); err != nil {
			return dst, err
		}
	}
	switch {
	case s.Channels == 1 || !mix || as != shardify.F32:
		return s.Values(dst, stored, as), nil
	}
	const block = 1 << 12 // frames
	var values []byte
	for step := block * s.Channels * s.Width; len(stored) > 0; {
		n := min(step, len(stored))
		values = s.floats(values[:0], stored[:n])
		for stored = stored[n:]; len(values) > 0; values = values[4*s.Channels:] {
			sum := 0.0
			for c := range s.Channels {
				sum += float64(math.Float32frombits(binary.LittleEndian.Uint32(values[4*c:])))
			}
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(sum/float64(s.Channels))))
		}
	}
	return dst, nil
}

// Values appends stored values, which are little-endian, in a type as Append has it.
func (s *Sound) Values(dst, stored []byte, as shardify.DType) []byte {
	if as != shardify.F32 {
		return s.integers(dst, stored)
	}
	return s.floats(dst, stored)
}

// integers appends stored values as they are; those of 24 bits are the upper ones of 32.
func (s *Sound) integers(dst, stored []byte) []byte {
	if s.Width != 3 {
		return append(dst, stored...)
	}
	dst = slices.Grow(dst, len(stored)/3*4)
	for ; len(stored) >= 3; stored = stored[3:] {
		dst = append(dst, 0, stored[0], stored[1], stored[2])
	}
	return dst
}

// floats appends stored values as f32.
func (s *Sound) floats(dst, stored []byte) []byte {
	if s.DType == shardify.F32 {
		return append(dst, stored...)
	}
	dst = slices.Grow(dst, len(stored)/s.Width*4)
	put := func(x float32) { dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x)) }
	for ; len(stored) >= s.Width; stored = stored[s.Width:] {
		switch s.Width {
		case 1:
			put((float32(stored[0]) - 128) / (1 << 7))
		case 2:
			put(float32(int16(binary.LittleEndian.Uint16(stored))) / (1 << 15))
		case 3:
			put(float32(int32(stored[0])<<8|int32(stored[1])<<16|int32(stored[2])<<24) / (1 << 31))
		case 4:
			put(float32(int32(binary.LittleEndian.Uint32(stored))) / (1 << 31))
		default:
			put(float32(math.Float64frombits(binary.LittleEndian.Uint64(stored))))
		}
	}
	return dst
}

// maxChannels bounds the channels of a recording.
const maxChannels = 1 << 10

// format checks what all recordings say.
func (s *Sound) format(at int64) error {
	switch {
	case s.Channels == 0:
		return shardify.Corrupt(at, "0 channels")
	case s.Channels > maxChannels:
		return shardify.Corrupt(at, "%d channels; at most %d", s.Channels, maxChannels)
	case s.Rate > math.MaxInt32:
		return shardify.Corrupt(at, "%d frames per second", s.Rate)
	}
	return nil
}
