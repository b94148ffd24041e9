package page

import "github.com/shardify/shardify"

// int32s and int64s are views for kernels that fill a slice from its start: b has no
// length, and a capacity that is a whole number of values.
func int32s(b []byte) []int32 { return shardify.View[int32](b[:cap(b)])[:0] }
func int64s(b []byte) []int64 { return shardify.View[int64](b[:cap(b)])[:0] }
