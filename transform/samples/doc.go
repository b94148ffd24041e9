// Package samples has the operations that decide which samples there are.
//
//	where.go fraction.go  --where, --fraction
//	duplicates.go seen.go --drop-duplicates, and what it keeps of the samples that it has seen
//	copies.go patch.go    --copies, and --patch, which makes samples of parts of a grid
package samples
