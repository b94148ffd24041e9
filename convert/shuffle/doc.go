// Package shuffle puts samples into a random order that depends only on the seed and on the
// identities of the samples, not on the memory, the jobs and the tasks.
//
// The order is that of keys (order.go). A worker keeps samples in a buffer (buffer.go) and
// parts them into buckets, which are ranges of keys. When the buffer is full it writes a
// round of them to a fragment, a scratch file (fragment.go, and block.go for the layout of
// one). In a shuffle within a shard the same worker reads its samples back: Scatter.Drain.
// In a global one (set.go) every worker commits its fragment, and then each shard gathers
// its buckets from all of them (gather.go, files.go).
package shuffle
