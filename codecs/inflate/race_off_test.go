//go:build !race

package inflate

const thin = 1
