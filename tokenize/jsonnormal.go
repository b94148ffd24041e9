package tokenize

import (
	"encoding/json"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/normal"
)

// parseNormalizer reads the steps; nil without steps.
func parseNormalizer(place string, raw json.RawMessage) (normal.Normalizer, error) {
	var n normal.Normalizer
	err := sequence(place, "normalizers", raw, func(place, kind string, raw json.RawMessage) error {
		steps, err := parseStep(place, kind, raw)
		n = append(n, steps...)
		return err
	})
	return n, err
}

// maxPut bounds what a normalizer puts in, for each character that it finds.
const maxPut = 1024

func parseStep(place, kind string, raw json.RawMessage) (normal.Normalizer, error) {
	switch kind {
	case "NFC", "NFD", "NFKC", "NFKD":
		return normal.Normalizer{chars.NewForm(strings.Contains(kind, "K"), strings.HasSuffix(kind, "C"))}, nil
	case "Lowercase":
		return normal.Normalizer{normal.Lowercase{Map: chars.LowerMap()}}, nil
	case "StripAccents":
		return normal.Normalizer{normal.Remove{Chars: chars.Accents()}}, nil
	case "Prepend":
		var f struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		err := unmarshal(place, raw, &f, true)
		if err == nil && len(f.Prepend) > maxPut {
			err = shardify.Unsupported("%s: %d bytes (at most %d)", place, len(f.Prepend), maxPut)
		}
		return normal.Normalizer{normal.Prepend(f.Prepend)}, err
	case "Strip":
		var f struct {
			Type  string `json:"type"`
			Left  bool   `json:"strip_left"`
			Right bool   `json:"strip_right"`
		}
		err := unmarshal(place, raw, &f, true)
		return normal.Normalizer{normal.Trim{Left: f.Left, Right: f.Right}}, err
	case "Nmt":
		return normal.Normalizer{normal.CleanText{Chars: chars.NmtClean()}}, nil
	case "ByteLevel":
		return normal.Normalizer{normal.ToLetters{}}, nil
	case "Replace":
		return parseReplace(place, raw)
	case "BertNormalizer":
		return parseBert(place, raw)
	case "Precompiled":
		var f struct {
			Type string `json:"type"`
			Map  []byte `json:"precompiled_charsmap"`
		}
		if err := unmarshal(place, raw, &f, true); err != nil {
			return nil, err
		}
		m, err := normal.NewCharsmap(f.Map)
		if err != nil {
			return nil, shardify.Corrupt(-1, "%s: precompiled_charsmap: %v", place, err)
		}
		return normal.Normalizer{normal.Clusters{Map: m, Chars: chars.ClusterTable()}}, nil
	}
	return nil, notSupported(place, kind)
}

func parseReplace(place string, raw json.RawMessage) (normal.Normalizer, error) {
	var f struct {
		Type    string      `json:"type"`
		Pattern jsonPattern `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	from, regex := f.Pattern.String, f.Pattern.Regex
	switch {
	case len(f.Content) > maxPut:
		return nil, shardify.Unsupported("%s: content of %d bytes (at most %d)", place, len(f.Content), maxPut)
	case from != nil && *from != "":
		return normal.Normalizer{normal.ReplaceText{From: []byte(*from), To: []byte(f.Content)}}, nil
	case regex != nil && *regex == " {2,}":
		return normal.Normalizer{normal.ReplaceSpaces{To: []byte(f.Content)}}, nil
	case regex != nil:
		return nil, shardify.Unsupported("%s: Replace of the pattern %q", place, *regex)
	}
	return nil, shardify.Unsupported("%s: Replace of nothing", place)
}

func parseBert(place string, raw json.RawMessage) (normal.Normalizer, error) {
	f := struct {
		Type      string `json:"type"`
		Clean     bool   `json:"clean_text"`
		Chinese   bool   `json:"handle_chinese_chars"`
		Strip     *bool  `json:"strip_accents"`
		Lowercase bool   `json:"lowercase"`
	}{Clean: true, Chinese: true, Lowercase: true}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	var n normal.Normalizer
	if f.Clean {
		n = append(n, normal.CleanText{Chars: chars.BertClean()})
	}
	if f.Chinese {
		n = append(n, normal.SpaceCJK{})
	}
	if f.Strip != nil && *f.Strip || f.Strip == nil && f.Lowercase {
		n = append(n, chars.NewForm(false, false), normal.Remove{Chars: chars.BertMarks()})
	}
	if f.Lowercase {
		n = append(n, normal.Lowercase{Map: chars.LowerMap()})
	}
	return n, nil
}
