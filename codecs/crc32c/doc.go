// Package crc32c sums bytes by CRC-32C (Castagnoli) as hash/crc32 does, faster on processors with AVX-512.
//
//	sum := crc32c.Update(0, part)
//	sum = crc32c.Update(sum, next)
//
// From 256 bytes on, blocks are folded by multiplications without carry: twice as fast as hash/crc32 for 2 KiB and for
// 256 KiB (make bench-libraries). Fewer bytes take the processor's instruction for them. On other processors it is hash/crc32.
package crc32c
