//go:build !unix

package regular

const NonBlock, noFollow = 0, 0
