package inflate_test

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/shardify/shardify/codecs/inflate"
)

// hello is "hello, shard" in a stored block.
var hello = append([]byte{1, 12, 0, 0xf3, 0xff}, "hello, shard"...)

func ExampleDeflate() {
	dst := make([]byte, 12)
	n, consumed, err := inflate.Deflate(dst, hello)
	fmt.Printf("%s, %d bytes from %d, %v\n", dst[:n], n, consumed, err)
	_, _, err = inflate.Deflate(dst[:5], hello)
	fmt.Println(err)
	// Output:
	// hello, shard, 12 bytes from 17, <nil>
	// inflate: byte 10: decoded data longer than the buffer: no space for the next bytes
}

func ExampleReader() {
	var r inflate.Reader
	r.Reset(bytes.NewReader(hello))
	_, err := io.Copy(os.Stdout, &r)
	fmt.Printf(", %d bytes used, %v\n", r.InputBytes(), err)
	// Output:
	// hello, shard, 17 bytes used, <nil>
}
