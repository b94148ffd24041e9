//go:build !linux

package main

import "errors"

func waysOf(string, string) error { return errors.New("ways are those of Linux") }
