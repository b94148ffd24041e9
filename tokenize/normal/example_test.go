package normal_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/normal"
)

func ExampleNormalizer() {
	chars.Load()
	n := normal.Normalizer{normal.Trim{Left: true, Right: true}, chars.NewForm(true, false), normal.Remove{Chars: chars.Accents()}, normal.Lowercase{Map: chars.LowerMap()}}
	text := []byte("  Ébène ﬁN ")
	var m normal.Memory
	out, err := n.Apply(text, &m, normal.MayGrow(len(text)))
	fmt.Printf("%q %v\n", out, err)
	// Output:
	// "ebene fin" <nil>
}
