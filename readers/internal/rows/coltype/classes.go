package coltype

import (
	"encoding/binary"
	"encoding/json"
	"strings"

	"github.com/shardify/shardify"
)

// ClassNames are the names of classes that data sets of Hugging Face have in their metadata, by
// column, as the attribute "labels" holds them.
func ClassNames(metadata string) map[string]string {
	var m struct {
		Info struct {
			Features map[string]json.RawMessage `json:"features"`
		} `json:"info"`
	}
	if json.Unmarshal([]byte(metadata), &m) != nil {
		return nil
	}
	out := map[string]string{}
	for name, raw := range m.Info.Features {
		var x struct {
			Names []string `json:"names"`
			Type  string   `json:"_type"`
		}
		if json.Unmarshal(raw, &x) != nil || x.Type != "ClassLabel" || len(x.Names) == 0 {
			continue
		}
		if joined := strings.Join(x.Names, shardify.LabelSeparator); strings.Count(joined, shardify.LabelSeparator) == len(x.Names)-1 {
			out[name] = joined
		}
	}
	return out
}

// PutNaN sets a floating-point number to NaN; other types stay unchanged.
func PutNaN(b []byte, t shardify.DType) {
	switch t {
	case shardify.F16:
		binary.LittleEndian.PutUint16(b, 0x7e00)
	case shardify.F32:
		binary.LittleEndian.PutUint32(b, 0x7fc00000)
	case shardify.F64:
		binary.LittleEndian.PutUint64(b, 0x7ff8000000000000)
	}
}
