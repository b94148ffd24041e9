package pattern_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/pattern"
)

func ExamplePattern_Next() {
	text := []byte("They'll read 12345 shards,  twice.")
	for _, name := range []string{"gpt2", "cl100k"} {
		p, _ := pattern.Named(name)
		fmt.Print(name)
		for i := 0; i < len(text); {
			j := p.Next(text, i)
			fmt.Printf(" %q", text[i:j])
			i = j
		}
		fmt.Println()
	}
	// Output:
	// gpt2 "They" "'ll" " read" " 12345" " shards" "," " " " twice" "."
	// cl100k "They" "'ll" " read" " " "123" "45" " shards" "," " " " twice" "."
}
