package half_test

import (
	"fmt"

	"github.com/shardify/shardify/numbers/half"
)

func Example() {
	h := half.ToF16(1.0 / 3)
	fmt.Printf("%04x %v\n", h, half.F16(h))

	// Rounded to f32 first, a number just above the middle of two would be that middle, and go down.
	x := 1 + 0x1p-11 + 0x1p-40
	fmt.Printf("%04x %04x\n", half.ToF16(float32(x)), half.ToF16(half.Narrow(x)))
	// Output:
	// 3555 0.33325195
	// 3c00 3c01
}
