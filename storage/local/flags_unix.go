//go:build unix

package local

import "syscall"

const (
	// NonBlock keeps an open from waiting for the other end of a pipe.
	NonBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY
	noFollow = syscall.O_NOFOLLOW
)
