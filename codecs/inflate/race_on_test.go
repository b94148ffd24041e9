//go:build race

package inflate

// thin: one of so many of the cases is enough under the race detector, which makes the
// decoder twenty times as slow. What it checks, pointers, is the same in each.
const thin = 8
