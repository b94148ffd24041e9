//go:build smallparts

package readers

// A program that is built with this tag begins a new part every few files, so that
// tests can break it while it plans in parts.
func init() { PartFiles = 6 }
