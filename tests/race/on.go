//go:build race

package race

// On reports whether the program was built with -race: it takes ten times as long, and a sync.Pool
// drops at random what it holds.
const On = true
