package inflate

import "sync"

// A decoding table is indexed by the next bits of the stream, first bit lowest.
// Codes longer than the index continue in sub-tables behind the primary table.
//
// An entry of the literal/length table:
//
//	bits 0-5    bits to drop from the stream: the code and its extra bits
//	bits 6-7    literals in this entry, 0 for other entries
//	bits 8-31   up to three literals, first lowest                   (literals)
//
//	bit  8      0 for a length
//	bits 9-12   width of the code; bits 13-15 are 0
//	bits 16-24  smallest length                                      (length)
//
//	bit  8      1 for anything else
//	bit  9      end of block
//	bit  10     no symbol has this code
//	bits 12-15  mask of the bits that index the sub-table
//	bits 16-31  where the sub-table begins                           (sub-table)
//
// The extra bits of a length or distance are those that are dropped behind the code.
//
// An entry of the distance table:
//
//	bits 0-5    bits to drop from the stream: the code and its extra bits
//	bit  6      0 for a distance
//	bits 8-11   width of the code; bits 12-15 are 0
//	bits 16-30  smallest distance                                    (distance)
//
//	bit  6      1 for anything else
//	bit  7      no symbol has this code
//	bits 8-15   mask of the bits that index the sub-table
//	bits 16-31  where the sub-table begins                           (sub-table)
const (
	litBits  = 11
	distBits = 8
	maxCode  = 15

	dropMask = 63

	litCountShift = 6
	litCountMask  = 3 << litCountShift
	litShift      = 8
	oneLiteral    = 1 << litCountShift

	litOther        = 1 << 8
	litEnd          = 1 << 9
	litInvalid      = 1 << 10
	lenWidthShift   = 9
	lenBaseShift    = 16
	litSubMaskShift = 12
	subShift        = 16

	distOther        = 1 << 6
	distInvalid      = 1 << 7
	distWidthShift   = 8
	distBaseShift    = 16
	distSubMaskShift = 8
)

// A sub-table of 2^s entries belongs to a complete subtree of depth s, which has
// at least s+1 symbols. So 288 literal/length symbols need at most
// 288*16/5 < 1024 entries behind 2^11, and 32 distances 32*128/8 = 512 behind 2^8.
// Both sizes are powers of two so that a masked index needs no bounds check.
const (
	litTableSize  = 2 << litBits
	distTableSize = 1024
)

type (
	litTable  [litTableSize]uint32
	distTable [distTableSize]uint32
)

const (
	numLit    = 288 // literal/length symbols of the fixed code; dynamic blocks have at most 286
	numDist   = 32  // distance symbols of the fixed code; dynamic blocks have at most 30
	endSymbol = 256
)

// litSymbols and distSymbols are the entries of each symbol for a code of width 0.
var (
	litSymbols  [numLit]uint32
	distSymbols [numDist]uint32
)

func init() {
	for s := range endSymbol {
		litSymbols[s] = oneLiteral | uint32(s)<<litShift
	}
	litSymbols[endSymbol] = litOther | litEnd
	base := uint32(3)
	for i := range 28 { // symbols 257 to 284
		extra := uint32(0)
		if i >= 8 {
			extra = uint32(i/4 - 1)
		}
		litSymbols[endSymbol+1+i] = base<<lenBaseShift | extra
		base += 1 << extra
	}
	litSymbols[285] = 258 << lenBaseShift
	litSymbols[286] = litOther | litInvalid
	litSymbols[287] = litOther | litInvalid

	base = 1
	for i := range 30 {
		extra := uint32(0)
		if i >= 4 {
			extra = uint32(i/2 - 1)
		}
		distSymbols[i] = base<<distBaseShift | extra
		base += 1 << extra
	}
	distSymbols[30] = distOther | distInvalid
	distSymbols[31] = distOther | distInvalid
}

// fixedCodes are the tables of blocks that use the code of the RFC.
type fixedCodes struct {
	widths [numLit]uint8
	lit    litTable
	dist   distTable
}

var fixed = sync.OnceValue(func() *fixedCodes {
	f := new(fixedCodes)
	for s := range f.widths {
		switch {
		case s < 144:
			f.widths[s] = 8
		case s < 256:
			f.widths[s] = 9
		case s < 280:
			f.widths[s] = 7
		default:
			f.widths[s] = 8
		}
	}
	var dist [numDist]uint8
	for s := range dist {
		dist[s] = 5
	}
	var b builder
	if b.buildLit(&f.lit, f.widths[:]) != "" || b.buildDist(&f.dist, dist[:]) != "" {
		panic("inflate: fixed code is not complete")
	}
	return f
})
