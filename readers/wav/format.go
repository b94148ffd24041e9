package wav

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/sound"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile"
	"github.com/shardify/shardify/readers/internal/labels"
)

// withoutTables are the options without --key: with a table of --labels, recordings stay bytes, as they often have
// several types and numbers of channels.
var withoutTables = slices.DeleteFunc(kind.Options(), func(o format.Option) bool { return o.Name == "key" })

// Format is the readers' table's line for WAV.
var Format = format.Input{
	Name: "wav", Words: []string{"wave"},
	Help:    "WAV recordings, as arrays with their rate",
	Sniff:   sniff,
	Bytes:   true,
	Options: withoutTables,
	Again:   labels.Again,
	Open:    kind.Open,
}

var kind = arrayfile.Kind{
	Name: "wav", Title: "WAV", Key: "wav 1", Look: look,
	Own: []format.Option{
		{Name: arrayfile.OptScaled.Name, Idle: format.Permission, Kind: format.KindEnum, Default: "no", Values: []string{"no", "yes"},
			Help: "no: the stored numbers; yes: whole numbers become f32 from -1 up to 1"},
		{Name: "short", Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "take"},
			Help: "recordings that end before the data that their header names: refuse, or take what is there"},
	},
}

// sniff knows the first bytes, and the name.
func sniff(head []byte, name string) bool {
	if len(head) > 0 {
		return len(head) >= 12 && string(head[8:12]) == "WAVE" && (strings.HasPrefix(string(head), "RI") || strings.HasPrefix(string(head), "RF64"))
	}
	ext := strings.ToLower(path.Ext(name))
	return ext == ".wav" || ext == ".wave"
}

func look(f *arrayfile.File, o format.Options) (*arrayfile.Header, error) {
	if f.Packed {
		return nil, shardify.Unsupported("it is packed by gzip; unpack it first, with gunzip")
	}
	scan := func(short bool) (*sound.Sound, error) {
		return sound.ScanWAV(f.Size, func(at uint64, p []byte) error { return readat.Full(f, p, int64(at)) }, short, "--short take")
	}
	remark := ""
	s, err := scan(false)
	if err != nil && o["short"] == "take" {
		if s, err = scan(true); err == nil {
			remark = "fewer values than the header names; --short take reads those that are there"
		}
	}
	if err != nil {
		return nil, err
	}
	audio := arrayfile.Array{
		Field: shardify.Field{Name: "audio", DType: s.DType, Levels: 1}, Rows: s.Frames,
		At: s.At, Width: s.Width,
	}
	if s.Channels > 1 {
		audio.Shape = []int{s.Channels}
	}
	if s.Big {
		audio.Swap = s.Width
	}
	if o[arrayfile.OptScaled.Name] == "yes" {
		audio.DType = shardify.F32
	}
	if audio.DType != s.DType || s.Width != s.DType.Size() {
		audio.Kernel = func(dst, src []byte) { s.Values(dst[:0], src, audio.DType) }
	}
	rate := arrayfile.Array{
		Field: shardify.Field{Name: "rate", DType: shardify.I32},
		Value: binary.LittleEndian.AppendUint32(nil, uint32(s.Rate)),
	}
	line := fmt.Sprintf("WAV, %s, %d channels, %d values per second, %d in each channel", s.DType, s.Channels, s.Rate, s.Frames)
	return &arrayfile.Header{Arrays: []arrayfile.Array{audio, rate}, Lines: []string{line}, Remark: remark}, nil
}
