package load

import "unsafe"

// prefetchRows asks the processor for the first lines of rows of size bytes. An
// address outside of memory does no harm.
//
//go:noescape
func prefetchRows(src unsafe.Pointer, rows *int64, n, size, lines int)

// copyLines copies n rows whose size is a positive multiple of 64, and asks for each so
// many rows before its turn. Row r begins r*step bytes behind src.
//
//go:noescape
func copyLines(dst, src unsafe.Pointer, rows *int64, n, size, step, ahead int)

// copyPast copies n bytes, a positive multiple of 64, to an address aligned to 16, with
// stores that leave the caches alone.
//
//go:noescape
func copyPast(dst, src unsafe.Pointer, n int)

// hasRows: there is more than the compiler makes.
const hasRows = true
