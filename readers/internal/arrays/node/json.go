package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// MaxJSON is the most bytes of a file of metadata.
const MaxJSON = 64 << 20

const maxDepth = 64

type object = map[string]any

// parseJSON reads an object. Numbers stay texts: large integers are not floats.
func parseJSON(p []byte) (object, error) {
	if len(p) > MaxJSON {
		return nil, shardify.Corrupt(-1, "metadata of %d bytes", len(p))
	}
	if !utf8.Valid(p) {
		return nil, shardify.Corrupt(int64(firstInvalid(p)), "metadata are not UTF-8")
	}
	if at := tooDeep(p); at >= 0 {
		return nil, shardify.Corrupt(int64(at), "metadata are nested more than %d deep", maxDepth)
	}
	d := json.NewDecoder(bytes.NewReader(p))
	d.UseNumber()
	var o object
	if err := d.Decode(&o); err != nil {
		at := d.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return nil, shardify.Corrupt(at, "metadata are not JSON: %v", err)
	}
	if _, err := d.Token(); err != io.EOF || o == nil {
		return nil, shardify.Corrupt(d.InputOffset(), "metadata are not one JSON object")
	}
	return o, nil
}

func firstInvalid(p []byte) int {
	at := 0
	for at < len(p) {
		r, n := utf8.DecodeRune(p[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// tooDeep is where more than maxDepth brackets are open; -1.
func tooDeep(p []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// lengths reads a list of lengths.
func lengths(v any, what string, zero bool) ([]int64, error) {
	l, ok := v.([]any)
	if !ok {
		return nil, shardify.Corrupt(-1, "%s: not a list", what)
	}
	if len(l) > maxDepth {
		return nil, shardify.Unsupported("%s: %d dimensions", what, len(l))
	}
	out := make([]int64, len(l))
	for i, x := range l {
		n, err := integer(x)
		if err != nil || n < 0 || n == 0 && !zero {
			return nil, shardify.Corrupt(-1, "%s: %v is not a length", what, x)
		}
		out[i] = n
	}
	return out, nil
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, errors.New("no number")
	}
	return strconv.ParseInt(n.String(), 10, 64)
}

func text(o object, key, otherwise string) string {
	if s, ok := o[key].(string); ok {
		return s
	}
	return otherwise
}

func sub(o object, key string) object {
	m, _ := o[key].(object)
	return m
}

// dims reads the names of dimensions, which may be null.
func dims(v any, rank int) ([]string, error) {
	if v == nil {
		return nil, nil
	}
	l, ok := v.([]any)
	if !ok || len(l) != rank {
		return nil, shardify.Corrupt(-1, "names of %d dimensions for an array of %d", len(l), rank)
	}
	out := make([]string, rank)
	for i, x := range l {
		s, ok := x.(string)
		if !ok && x != nil {
			return nil, shardify.Corrupt(-1, "the name of a dimension is not text")
		}
		out[i] = s
	}
	return out, nil
}

// CheckName refuses names of nodes that are not in the store: a path in it, with slashes.
func CheckName(name string) error {
	if name == "" {
		return nil
	}
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\x00\\") ||
		slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return s == "" || s == "." || s == ".." }) {
		return shardify.Corrupt(-1, "the name %q leads out of the store", name)
	}
	return nil
}
