package sound

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/voxels"
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
	size  uint64                          // of the file
	read  func(at uint64, p []byte) error // bytes that are within the file
	order binary.ByteOrder
	data  uint64 // size of the data that RF64 says
	riff  uint64 // size of the file that the first chunk says
	take  string
	*Sound
}

// readWAV finds the format and the data.
func readWAV(file []byte, short bool) (*Sound, error) {
	s, err := ScanWAV(int64(len(file)), func(at uint64, p []byte) error {
		copy(p, file[at:])
		return nil
	}, short, "--parse 'FIELD=wav short=take'")
	if err != nil {
		return nil, err
	}
	s.data = file[s.At : s.At+s.Frames*int64(s.Channels*s.Width)]
	if s.Big && s.Width > 1 {
		s.data = slices.Clone(s.data)
		voxels.Swap(s.data, s.Width)
	}
	return s, nil
}

// mostChunks bounds the chunks before the data.
const mostChunks = 1 << 12

// ScanWAV finds the format and the data of a file of a size; read gives bytes that are within it. take is the setting
// that takes what is there of a file that is cut, for which short stands.
func ScanWAV(size int64, read func(at uint64, p []byte) error, short bool, take string) (*Sound, error) {
	w := &wav{size: uint64(size), read: read, order: binary.LittleEndian, take: take, Sound: new(Sound)}
	if size < 12 {
		return nil, shardify.Corrupt(0, "%d bytes, too short for WAV", size)
	}
	head := make([]byte, 12)
	if err := read(0, head); err != nil {
		return nil, err
	}
	switch id := string(head[:4]); id {
	case "RIFF", "RF64":
	case "RIFX":
		w.order, w.Big = binary.BigEndian, true
	case "fLaC":
		return nil, shardify.Corrupt(0, "a file of FLAC, not of WAV: --parse FIELD=flac reads it")
	default:
		return nil, shardify.Corrupt(0, "begins with %q, not with RIFF, RIFX or RF64", id)
	}
	if kind := head[8:12]; string(kind) != "WAVE" {
		return nil, shardify.Corrupt(8, "RIFF of type %q, not WAVE", kind)
	}
	w.riff = uint64(w.order.Uint32(head[4:])) + 8
	at := uint64(12)
	for range mostChunks {
		if w.size-at < 8 {
			return nil, shardify.Corrupt(int64(at), "the file ends without a data chunk")
		}
		if err := read(at, head[:8]); err != nil {
			return nil, err
		}
		id, size := string(head[:4]), uint64(w.order.Uint32(head[4:]))
		at += 8
		if id == "data" {
			return w.Sound, w.found(at, size, short)
		}
		if size > w.size-at {
			return nil, shardify.Corrupt(int64(at-8), "the chunk %q has %d bytes, and %d are there", id, size, w.size-at)
		}
		if err := w.chunk(id, at, size); err != nil {
			return nil, err
		}
		at = min(at+size+size&1, w.size)
	}
	return nil, shardify.Corrupt(int64(at), "%d chunks, and no data among them", mostChunks)
}

// chunk takes in what is before the data.
func (w *wav) chunk(id string, at, size uint64) error {
	if id != "ds64" && id != "fmt " {
		return nil
	}
	c := make([]byte, min(size, 40)) // what is behind is not needed
	if err := w.read(at, c); err != nil {
		return err
	}
	switch {
	case id == "fmt ":
		return w.header(c, int64(at))
	case size >= 16:
		w.data = w.order.Uint64(c[8:])
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
	s.Width = (bits + 7) / 8
	switch {
	case tag == tagPCM && s.Width > 4:
		return shardify.Unsupported("whole numbers of %d bits; at most 32", bits)
	case tag == tagPCM && bits > 0:
		s.DType = []shardify.DType{shardify.U8, shardify.I16, shardify.I32, shardify.I32}[s.Width-1]
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
	if align := int(w.order.Uint16(c[12:])); align != s.Channels*s.Width {
		return shardify.Corrupt(at+12, "frames of %d bytes; %d channels of %d bits need %d", align, s.Channels, bits, s.Channels*s.Width)
	}
	return nil
}

// found takes in the data chunk at an offset.
func (w *wav) found(at, size uint64, short bool) error {
	s := w.Sound
	if s.Channels == 0 {
		return shardify.Corrupt(int64(at-8), "the data chunk comes before the header")
	}
	there := w.size - at
	switch {
	case size == math.MaxUint32 && w.data > 0:
		size = w.data
	case size == math.MaxUint32, size == 0 && w.riff <= at, size == 0 && w.riff == math.MaxUint32+8:
		size = there // a stream, whose header was never completed
	}
	frame := uint64(s.Channels * s.Width)
	switch {
	case size > there && !short:
		return shardify.Hint(shardify.Corrupt(int64(at), "the data chunk has %d bytes, and %d are there", size, there), "--on-error skip leaves such files out; "+w.take+" takes what is there")
	case size > there:
		size = there - there%frame
	}
	if size%frame != 0 {
		if !short {
			return shardify.Corrupt(int64(at), "%d bytes of data, which are no whole number of frames of %d bytes", size, frame)
		}
		size -= size % frame
	}
	s.At, s.Frames = int64(at), int64(size/frame)
	return nil
}
