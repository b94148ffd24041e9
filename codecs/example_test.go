package codecs_test

import (
	"fmt"

	"github.com/shardify/shardify/codecs"
)

func Example() {
	block := []byte("\x05\x10shard") // a length, and a literal of 5 bytes
	dst := make([]byte, 5)
	n, err := codecs.Snappy(dst, block)
	fmt.Printf("%s %d %v\n", dst, n, err)
	_, err = codecs.Snappy(dst[:4], block)
	fmt.Println(err)
	// Output:
	// shard 5 <nil>
	// snappy: decoded to 5 bytes, not 4: corrupt data
}
