package sound

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// Tags of the formats of WAV that are read.
const (
	tagPCM        = 1
	tagFloat      = 3
	tagExtensible = 0xfffe
)

// otherTags are formats that are not read.
var otherTags = map[uint32]string{2: "ADPCM", 6: "A-law", 7: "mu-law", 0x11: "IMA ADPCM", 0x31: "GSM 6.10", 0x50: "MPEG", 0x55: "MP3", 0xff: "AAC"}

// extension ends the name of a format in an extensible header.
var extension = []byte{0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71}

// wav reads the chunks of a file.
type wav struct {
	file  []byte
	order binary.ByteOrder
	data  uint64 // size of the data that RF64 says
	*Sound
}

// readWAV finds the format and the data.
func readWAV(file []byte, short bool) (*Sound, error) {
	w := &wav{file: file, order: binary.LittleEndian, Sound: new(Sound)}
	if len(file) < 12 {
		return nil, shardify.Corrupt(0, "%d bytes, too short for WAV", len(file))
	}
	switch id := string(file[:4]); id {
	case "RIFF", "RF64":
	case "RIFX":
		w.order = binary.BigEndian
	case "fLaC":
		return nil, shardify.Corrupt(0, "a file of FLAC, not of WAV: --parse FIELD=flac reads it")
	default:
		return nil, shardify.Corrupt(0, "begins with %q, not with RIFF, RIFX or RF64", id)
	}
	if kind := file[8:12]; string(kind) != "WAVE" {
		return nil, shardify.Corrupt(8, "RIFF of type %q, not WAVE", kind)
	}
	for at := 12; ; {
		if len(file)-at < 8 {
			return nil, shardify.Corrupt(int64(at), "the file ends without a data chunk")
		}
		id, size := string(file[at:at+4]), uint64(w.order.Uint32(file[at+4:]))
		at += 8
		if id == "data" {
			return w.Sound, w.found(at, size, short)
		}
		if size > uint64(len(file)-at) {
			return nil, shardify.Corrupt(int64(at-8), "the chunk %q has %d bytes, and %d are there", id, size, len(file)-at)
		}
		if err := w.chunk(id, file[at:at+int(size)], int64(at)); err != nil {
			return nil, err
		}
		at = min(at+int(size+size&1), len(file))
	}
}

// chunk takes in what is before the data.
func (w *wav) chunk(id string, c []byte, at int64) error {
	switch {
	case id == "ds64" && len(c) >= 16:
		w.data = w.order.Uint64(c[8:])
	case id == "fmt ":
		return w.header(c, at)
	}
	return nil
}

// header takes in the format.
func (w *wav) header(c []byte, at int64) error {
	if len(c) < 16 {
		return shardify.Corrupt(at, "a header of %d bytes; want 16", len(c))
	}
	tag, bits := uint32(w.order.Uint16(c)), int(w.order.Uint16(c[14:]))
	s := w.Sound
	s.Channels, s.Rate = int(w.order.Uint16(c[2:])), int64(w.order.Uint32(c[4:]))
	if tag == tagExtensible {
		if len(c) < 40 {
			return shardify.Corrupt(at, "an extensible header of %d bytes; want 40", len(c))
		}
		tag = w.order.Uint32(c[24:])
		if !bytes.Equal(c[32:40], extension) {
			return shardify.Unsupported("a format of WAV with the name %x", c[24:40])
		}
	}
	s.width = (bits + 7) / 8
	switch {
	case tag == tagPCM && s.width > 4:
		return shardify.Unsupported("whole numbers of %d bits; at most 32", bits)
	case tag == tagPCM && bits > 0:
		s.DType = []shardify.DType{shardify.U8, shardify.I16, shardify.I32, shardify.I32}[s.width-1]
	case tag == tagFloat && bits == 32:
		s.DType = shardify.F32
	case tag == tagFloat && bits == 64:
		s.DType = shardify.F64
	case tag == tagPCM || tag == tagFloat:
		return shardify.Corrupt(at+14, "%d bits", bits)
	default:
		name := otherTags[tag]
		if name == "" {
			name = "unknown"
		}
		return shardify.Hint(shardify.Unsupported("format 0x%x of WAV (%s) is not decoded", tag, name), "convert the files: ffmpeg -i IN.wav -c:a pcm_s16le OUT.wav")
	}
	if err := s.format(at + 2); err != nil {
		return err
	}
	if align := int(w.order.Uint16(c[12:])); align != s.Channels*s.width {
		return shardify.Corrupt(at+12, "frames of %d bytes; %d channels of %d bits need %d", align, s.Channels, bits, s.Channels*s.width)
	}
	return nil
}

// found takes in the data chunk at an offset.
func (w *wav) found(at int, size uint64, short bool) error {
	s := w.Sound
	if s.Channels == 0 {
		return shardify.Corrupt(int64(at-8), "the data chunk comes before the header")
	}
	there := uint64(len(w.file) - at)
	riff := uint64(w.order.Uint32(w.file[4:])) + 8
	switch {
	case size == math.MaxUint32 && w.data > 0:
		size = w.data
	case size == math.MaxUint32, size == 0 && riff <= uint64(at), size == 0 && riff == math.MaxUint32+8:
		size = there // a stream, whose header was never completed
	}
	frame := uint64(s.Channels * s.width)
	switch {
	case size > there && !short:
		return shardify.Hint(shardify.Corrupt(int64(at), "the data chunk has %d bytes, and %d are there", size, there), "--on-error skip leaves such files out; --parse 'FIELD=wav short=take' takes what is there")
	case size > there:
		size = there - there%frame
	}
	if size%frame != 0 {
		if !short {
			return shardify.Corrupt(int64(at), "%d bytes of data, which are no whole number of frames of %d bytes", size, frame)
		}
		size -= size % frame
	}
	s.data, s.Frames = w.file[at:at+int(size)], int64(size/frame)
	if w.order == binary.BigEndian && s.width > 1 {
		s.data = swapped(s.data, s.width)
	}
	return nil
}

// swapped is a copy of values with their bytes in the other order.
func swapped(data []byte, width int) []byte {
	out := slices.Clone(data)
	for i := 0; i < len(out); i += width {
		slices.Reverse(out[i : i+width])
	}
	return out
}
