package tokenize

import (
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

const withSpecials = `{"version":"1.0","added_tokens":[{"id":4,"content":"<s>","special":true},{"id":5,"content":"<n>","special":false},{"id":6,"content":"<s>x","special":true,"rstrip":true}],
"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"<":1,"s":2,">":3}}}`

// TestSpecials: the names of special tokens are tokens, text or errors; other added tokens stay tokens.
func TestSpecials(t *testing.T) {
	tok, err := Load([]byte(withSpecials), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what          Specials
		text          string
		ids           []int32
		special, left int64
	}{
		{AsToken, "s<s> s<n>", []int32{2, 4, 2, 5}, 2, 0},
		{AsText, "s<s> s<n>", []int32{2, 1, 2, 3, 2, 5}, 1, 1},
		{AsText, "<s>x <n>", []int32{1, 2, 3, 0, 5}, 1, 1},
		{Refused, "s<n>", []int32{2, 5}, 1, 0},
	} {
		e := tok.NewEncoder()
		e.Specials = c.what
		ids, err := e.Append(nil, []byte(c.text))
		if n := e.Counts(); err != nil || !slices.Equal(ids, c.ids) || n.Special != c.special || n.Spelled != c.left {
			t.Errorf("%d %q: %d, %+v, %v; want %d", c.what, c.text, ids, n, err, c.ids)
		}
	}
	e := tok.NewEncoder()
	e.Specials = Refused
	if _, err := e.Append(nil, []byte("a <s>")); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("a special token is not refused: %v", err)
	}
}
