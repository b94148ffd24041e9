//go:build unix

package local

import "syscall"

const (
	// nonBlock keeps an open from waiting for the other end of a pipe.
	nonBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
)
