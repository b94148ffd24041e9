//go:build race

package poison

var on = "yes"
