//go:build !unix

package local

const NonBlock, noFollow = 0, 0
