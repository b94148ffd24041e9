package hdu

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

const (
	block   = 2880
	cardLen = 80
	// ahead is how much of a header is read at once.
	ahead = 4 * block
	// maxHeader bounds a header: a hundred thousand cards.
	maxHeader = 8 << 20
)

// Header is the cards of an HDU: the text of each value, by keyword. Of a keyword that comes twice the first counts.
type Header struct {
	at     int64
	values map[string]value
	sum    uint32 // of its blocks
}

type value struct {
	text   string
	quoted bool
	at     int64
}

// readHeader reads the header at a place, and returns where its data begin.
func readHeader(r io.ReaderAt, at, size int64) (*Header, int64, error) {
	h := &Header{at: at, values: map[string]value{}}
	var all []byte
	for end := -1; end < 0; {
		from := len(all)
		if from+ahead > maxHeader {
			return nil, 0, shardify.Unsupported("a header of more than %s", shardify.FormatSize(maxHeader))
		}
		more, err := readSome(r, ahead, at+int64(from), size)
		if err != nil {
			return nil, 0, err
		}
		if len(more) < cardLen {
			return nil, 0, shardify.Corrupt(at, "the header has no END card")
		}
		all = append(all, more...)
		if end, err = h.parse(all, from); err != nil {
			return nil, 0, err
		}
		if end >= 0 {
			all = all[:min((end+block-1)/block*block, len(all))]
		}
	}
	h.sum = Sum(0, all)
	return h, at + int64((len(all)+block-1)/block*block), nil
}

// parse reads the cards from a place on. It returns where the END card ends, -1 without one.
func (h *Header) parse(all []byte, from int) (int, error) {
	last := "" // keyword of a text that may go on
	for i := from; i+cardLen <= len(all); i += cardLen {
		c := all[i : i+cardLen]
		for k, b := range c {
			if b < ' ' || b > '~' {
				if key := strings.TrimSpace(string(c[:8])); k >= 8 && (key == "COMMENT" || key == "HISTORY" || key == "") {
					break // free text: some have Latin-1
				}
				return 0, shardify.Corrupt(h.at+int64(i+k), "byte %#02x in a header, which is ASCII text", b)
			}
		}
		key := strings.TrimRight(string(c[:8]), " ")
		if key == "END" && len(bytes.TrimRight(c[3:], " ")) == 0 {
			return i + cardLen, nil
		}
		switch {
		case key == "CONTINUE" && last != "":
			v := h.values[last]
			more, _ := parseValue(string(c[8:]))
			if more.quoted && strings.HasSuffix(v.text, "&") {
				v.text = v.text[:len(v.text)-1] + more.text
				h.values[last] = v
			}
			continue
		case key == "HIERARCH":
			name, rest, ok := strings.Cut(string(c[8:]), "=")
			if !ok {
				continue
			}
			key = strings.Join(strings.Fields(name), " ")
			last = h.set(key, rest, h.at+int64(i))
		case string(c[8:10]) == "= " && key != "":
			last = h.set(key, string(c[10:]), h.at+int64(i))
		default:
			last = ""
		}
	}
	return -1, nil
}

func (h *Header) set(key, text string, at int64) (last string) {
	if _, there := h.values[key]; there {
		return ""
	}
	v, ok := parseValue(text)
	if !ok {
		return ""
	}
	v.at = at
	h.values[key] = v
	return key
}

// parseValue reads what is behind the equals sign of a card.
func parseValue(s string) (value, bool) {
	s = strings.TrimLeft(s, " ")
	if !strings.HasPrefix(s, "'") {
		s, _, _ = strings.Cut(s, "/")
		s = strings.TrimRight(s, " ")
		return value{text: s}, s != ""
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == '\'' {
			if i+1 >= len(s) || s[i+1] != '\'' {
				break
			}
			i++
		}
		b.WriteByte(s[i])
	}
	return value{text: strings.TrimRight(b.String(), " "), quoted: true}, true
}

// Keyword is a card that says something beside how the data are stored. Value is a bool, int64, float64 or string.
type Keyword struct {
	Name  string
	Value any
}

// structural are the keywords, or the beginnings of those with numbers behind them, that say how data are stored.
var structural = []string{"SIMPLE", "BITPIX", "NAXIS", "EXTEND", "PCOUNT", "GCOUNT", "XTENSION", "TFIELDS", "CHECKSUM", "DATASUM", "THEAP", "BSCALE", "BZERO", "BLANK",
	"TTYPE", "TFORM", "TUNIT", "TDIM", "TNULL", "TSCAL", "TZERO", "TDISP", "TBCOL", "ZIMAGE", "ZBITPIX", "ZNAXIS", "ZTILE", "ZCMPTYPE", "ZNAME", "ZVAL", "ZQUANTIZ", "ZDITHER0", "ZSCALE", "ZZERO", "ZBLANK", "LONGSTRN",
	"ZTENSION", "ZPCOUNT", "ZGCOUNT", "ZSIMPLE", "ZEXTEND", "ZBLOCKED", "ZHECKSUM", "ZDATASUM"}

// maxKeywords bounds those that are offered.
const maxKeywords = 512

// Keywords are those of the header, in its order.
func (h *Header) Keywords() []Keyword {
	names := slices.SortedFunc(maps.Keys(h.values), func(a, b string) int { return cmp.Compare(h.values[a].at, h.values[b].at) })
	var out []Keyword
	for _, name := range names {
		v := h.values[name]
		if slices.Contains(structural, strings.TrimRight(name, "0123456789")) || name == "ZDITHER0" || len(out) == maxKeywords {
			continue
		}
		k := Keyword{name, v.text}
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil && !v.quoted {
			k.Value = n
		} else if f, err := parseFloat(v.text); err == nil && !v.quoted {
			k.Value = f
		} else if !v.quoted && (v.text == "T" || v.text == "F") {
			k.Value = v.text == "T"
		}
		out = append(out, k)
	}
	return out
}

// Text is the value of a keyword that is a text.
func (h *Header) Text(key string) (string, bool) {
	v, ok := h.values[key]
	return v.text, ok && v.quoted
}

// Value is the value of a keyword as text, whatever its type.
func (h *Header) Value(key string) (string, bool) {
	v, ok := h.values[key]
	return v.text, ok
}

// True reports whether a keyword is the logical value T.
func (h *Header) True(key string) bool { v := h.values[key]; return v.text == "T" && !v.quoted }

func (h *Header) corrupt(key, what string) error {
	return shardify.Corrupt(h.values[key].at, "%s = %.40q is not %s", key, h.values[key].text, what)
}

// whole is the value of a keyword that is a whole number, or the number given where it is absent.
func (h *Header) whole(key string, absent int64) (int64, error) {
	v, ok := h.values[key]
	if !ok {
		return absent, nil
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || v.quoted {
		if f, errFloat := parseFloat(v.text); errFloat == nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 && !v.quoted {
			return int64(f), nil
		}
		return 0, h.corrupt(key, "a whole number")
	}
	return n, nil
}

// must is whole for a keyword that must be there.
func (h *Header) must(key string) (int64, error) {
	if _, ok := h.values[key]; !ok {
		return 0, shardify.Corrupt(h.at, "%s is missing", key)
	}
	return h.whole(key, 0)
}

func (h *Header) number(key string, absent float64) (float64, error) {
	v, ok := h.values[key]
	if !ok {
		return absent, nil
	}
	f, err := parseFloat(v.text)
	if err != nil || v.quoted {
		return 0, h.corrupt(key, "a number")
	}
	return f, nil
}

var errNumber = errors.New("no number")

// parseFloat reads a number with an exponent E or D.
func parseFloat(s string) (float64, error) {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
		case c == 'E', c == 'e':
		case c == 'D', c == 'd':
			s = s[:i] + "E" + s[i+1:]
		default:
			return 0, errNumber
		}
	}
	return strconv.ParseFloat(s, 64)
}

// readSome is up to n bytes, fewer where the file ends. size is -1 where it is not known.
func readSome(r io.ReaderAt, n int, off, size int64) ([]byte, error) {
	if size >= 0 {
		b := make([]byte, max(min(int64(n), size-off), 0))
		return b, readat.Full(r, b, off)
	}
	b := make([]byte, n)
	k, err := r.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return b[:k], err
}
