//go:build !race

package poison

var on string // is set by the linker
