package tokenize_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize"
)

func Example() {
	file := `{"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
		"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "shard": 1, "##s": 2, "of": 3, "text": 4, ".": 5}}}`
	t, err := tokenize.Load([]byte(file), tokenize.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := t.NewEncoder()
	ids, err := e.Append(nil, []byte("Shards of text. Ünknown"))
	fmt.Println(ids, err)
	fmt.Println(e.Counts().Unknown, "characters are unknown")
	// Output:
	// [1 2 3 4 5 0] <nil>
	// 7 characters are unknown
}

func ExampleLoad_refused() {
	_, err := tokenize.Load([]byte(`{"normalizer": {"type": "Rot13"}, "model": {"type": "BPE"}}`), tokenize.Options{})
	fmt.Println(err)
	// Output:
	// normalizer: type Rot13: not supported
}
