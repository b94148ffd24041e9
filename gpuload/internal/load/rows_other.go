//go:build !amd64

package load

import "unsafe"

func prefetchRows(src unsafe.Pointer, rows *int64, n, size, lines int) {}

func copyLines(dst, src unsafe.Pointer, rows *int64, n, size, step, ahead int) { panic("not here") }

func copyPast(dst, src unsafe.Pointer, n int) { panic("not here") }

const hasRows = false
