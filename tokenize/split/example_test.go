package split_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/split"
)

// printed is a model that prints the words which it is asked for.
type printed struct{}

func (printed) Encode(_ *model.Coder, w []byte) { fmt.Printf("%q ", w) }

func ExampleSplitter() {
	chars.Load()
	c := model.NewCoder(model.NewLexicon(printed{}, nil, true))
	p := split.Splitter{Kind: split.Bert, Chars: chars.BertPunct()}
	text := []byte("Two shards, one index.")
	var m split.Memory
	p.Cut(c, &m, text, 1)
	// Output:
	// "Two" "shards" "," "one" "index" "."
}
