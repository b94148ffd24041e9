//go:build !unix

package local

const nonBlock, noFollow = 0, 0
