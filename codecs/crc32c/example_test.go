package crc32c_test

import (
	"fmt"

	"github.com/shardify/shardify/codecs/crc32c"
)

func ExampleUpdate() {
	sum := crc32c.Update(0, []byte("12345"))
	fmt.Printf("%08x\n", crc32c.Update(sum, []byte("6789")))
	// Output:
	// e3069283
}
