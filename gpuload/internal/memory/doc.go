// Package memory is host memory that the garbage collector does not know of, and what is used again
// of it: fresh memory comes from the kernel page by page, which takes longer than to fill it.
package memory
