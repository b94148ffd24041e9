package tokenize

import (
	"bytes"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/pattern"
)

// Options are what a file does not say itself.
type Options struct {
	// Pattern names how text is cut into words, for ranks of tiktoken: one of Patterns.
	Pattern string
}

// Patterns are the names that Options.Pattern may have.
var Patterns = pattern.Names

// maxFile bounds the file of a tokenizer. The largest in use have 40 MB.
const maxFile = 256 << 20

// Load reads the file of a tokenizer; what kind of file it is shows in its bytes. What is
// asked for and not supported is refused by its name and place.
func Load(data []byte, o Options) (*Tokenizer, error) {
	chars.Load()
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(data) == 0:
		return nil, shardify.Corrupt(-1, "the file of the tokenizer is empty")
	case len(data) > maxFile:
		return nil, shardify.Unsupported("a tokenizer of %d bytes (at most %d)", len(data), maxFile)
	case bytes.HasPrefix(data, []byte("version https://git-lfs")):
		return nil, shardify.Corrupt(-1, "this is a Git LFS pointer, not the file of a tokenizer: git lfs pull fetches it")
	case hasPrefixFold(text, "<!doctype") || hasPrefixFold(text, "<html"):
		return nil, shardify.Corrupt(-1, "this is an HTML page, not the file of a tokenizer")
	case isRanks(data):
		return loadRanks(data, o.Pattern)
	case o.Pattern != "":
		return nil, shardify.Misuse("pattern %s is for ranks of tiktoken: this file has none", o.Pattern)
	case len(text) > 0 && (text[0] == '[' || text[0] == '{' && len(text) > 1 && bytes.IndexByte([]byte("\" \t\r\n}"), text[1]) >= 0):
		return loadJSON(text)
	}
	return loadModel(data)
}

func hasPrefixFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}

// ids collects ids, which must be of one token each.
type ids struct {
	vocab map[string]int32
	names map[int32]string
	size  int
}

func (s *ids) add(place, token string, id int64) error {
	if id < 0 || id >= math.MaxInt32 {
		return shardify.Corrupt(-1, "%s: token %q has id %d: ids are 0 to %d", place, token, id, math.MaxInt32-1)
	}
	if old, ok := s.names[int32(id)]; ok {
		return shardify.Corrupt(-1, "%s: tokens %q and %q have id %d", place, min(old, token), max(old, token), id)
	}
	s.vocab[token], s.names[int32(id)] = int32(id), token
	s.size = max(s.size, int(id)+1)
	return nil
}

// maxPiece bounds a token: at each place in a text as much may be read.
const maxPiece = 1024
