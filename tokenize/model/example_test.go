package model_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/trie"
)

func ExampleWordPiece() {
	vocab := map[string]int32{"[UNK]": 0, "shard": 1, "##ed": 2, "##s": 3}
	tokens := trie.New()
	for w, id := range vocab {
		tokens.Add([]byte(w), id)
	}
	c := model.NewCoder(model.NewLexicon(model.NewWordPiece(tokens, "##", 0, 100), vocab, false))
	for _, w := range []string{"sharded", "shards", "disk"} {
		c.Word([]byte(w))
	}
	fmt.Println(c.Out, c.Unknown)
	// Output:
	// [1 2 1 3 0] 4
}
