package trie_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/trie"
)

func Example() {
	t := trie.New()
	for i, w := range []string{"to", "token", "tokenizers"} {
		t.Add([]byte(w), int32(i))
	}
	t.Pack()
	fmt.Println(t.Longest([]byte("tokenize")))
	fmt.Println(t.Longest([]byte("shard")))
	// Output:
	// 1 5
	// -1 0
}
