package elementary_test

import (
	"fmt"

	"github.com/shardify/shardify/numbers/elementary"
)

func Example() {
	// On all machines to the last bit.
	fmt.Printf("%x %x %x\n", elementary.Exp(1), elementary.Sin(1e22), elementary.Pow(2, 0.5))
	// Output:
	// 0x1.5bf0a8b145769p+01 -0x1.b453ab76bf397p-01 0x1.6a09e667f3bcdp+00
}
