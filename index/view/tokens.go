package view

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// maxTokens is the most tokens of a sample.
const maxTokens = 1 << 20

// Tokens is what a user says of samples of one length of a stream of tokens.
type Tokens struct {
	Field          string // "": the only one that has tokens
	Length, Offset int64
	Random         bool // Offset is, below Length, another one for each sample in each epoch
	Labels         bool // the tokens that follow each
}

// ParseTokens reads "FIELD=LENGTH[,offset=N|random][,labels=shift]"; without FIELD= it is the only field.
func ParseTokens(text string) (s Tokens, err error) {
	parts := strings.Split(text, ",")
	length := parts[0]
	if name, n, ok := strings.Cut(parts[0], "="); ok {
		s.Field, length = name, n
	}
	if s.Length, err = strconv.ParseInt(length, 10, 64); err != nil || s.Length < 1 || s.Length > maxTokens {
		return s, shardify.Misuse("tokens %q: want FIELD=LENGTH, of 1 to %s tokens, such as text=2048", text, printable.Count(maxTokens))
	}
	for _, p := range parts[1:] {
		switch key, v, _ := strings.Cut(p, "="); {
		case key == "offset" && v == "random":
			s.Random = true
		case key == "offset":
			if s.Offset, err = strconv.ParseInt(v, 10, 64); err != nil || s.Offset < 0 || s.Offset >= s.Length {
				return s, shardify.Misuse("tokens %q: offset: want random, or a number less than %d", text, s.Length)
			}
		case p == "labels=shift":
			s.Labels = true
		default:
			return s, shardify.Misuse("tokens %q: no option %q; there is offset=random, offset=N and labels=shift", text, p)
		}
	}
	return s, nil
}

// Beyond is the largest offset, and 1 where labels want the token behind a sample.
func (s *Tokens) Beyond() (most, further int64) {
	most = s.Offset
	if s.Random {
		most = s.Length - 1
	}
	if s.Labels {
		further = 1
	}
	return most, further
}
