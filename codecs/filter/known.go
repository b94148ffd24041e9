package filter

import (
	"fmt"
	"strconv"

	"github.com/shardify/shardify"
)

// The registered ids.
const (
	idDeflate     = 1
	idShuffle     = 2
	idFletcher32  = 3
	idSzip        = 4
	idNBit        = 5
	idScaleOffset = 6
	idBzip2       = 307
	idLZF         = 32000
	idBlosc       = 32001
	idLZ4         = 32004
	idBitshuffle  = 32008
	idZstd        = 32015
	idBitGroom    = 32022
	idGranularBR  = 32023
	idBlosc2      = 32026
)

// newStage returns the decoder of one filter.
func newStage(f *Spec, elemSize int, chunkBytes int64) (stage, error) {
	switch f.ID {
	case idDeflate:
		return deflate{}, nil
	case idShuffle:
		return newShuffle(f, elemSize)
	case idFletcher32:
		return fletcher32{}, nil
	case idSzip:
		return newSzip(f, elemSize)
	case idNBit:
		return newNBit(f, chunkBytes)
	case idScaleOffset:
		return newScaleOffset(f, chunkBytes)
	case idBzip2:
		return bzip2{}, nil
	case idLZF:
		return lzf{}, nil
	case idBlosc:
		return blosc{}, nil
	case idBlosc2:
		return blosc2{}, nil
	case idLZ4:
		return lz4{}, nil
	case idBitshuffle:
		return newBitshuffle(f, elemSize)
	case idZstd:
		return zstd{}, nil
	case idBitGroom, idGranularBR:
		return identity{}, nil // they round values before they are written
	}
	return nil, refuse(f)
}

// names are those of the filters registered with the HDF Group. Filters with an
// empty name are known by no one else's name.
var names = map[uint16]string{
	idDeflate: "deflate", idShuffle: "shuffle", idFletcher32: "fletcher32",
	idSzip: "szip", idNBit: "nbit", idScaleOffset: "scaleoffset",
	257: "hdf5 test", 305: "lzo", idBzip2: "bzip2",
	idLZF: "lzf", idBlosc: "blosc", 32002: "mafisc", 32003: "snappy", idLZ4: "lz4",
	32005: "apax", 32006: "cbf", 32007: "jpeg-xr", idBitshuffle: "bitshuffle",
	32009: "spdp", 32010: "lpc-rice", 32011: "ccsds-123", 32012: "jpeg-ls",
	32013: "zfp", 32014: "fpzip", idZstd: "zstd", 32016: "b3d", 32017: "sz",
	32018: "fcidecomp", 32019: "jpeg", 32020: "vbz", 32021: "fapec",
	idBitGroom: "bitgroom", idGranularBR: "granular bitround", 32024: "sz3",
	32025: "delta-rice", idBlosc2: "blosc2", 32027: "flac", 32028: "sperr",
	32029: "terse/prolix", 32030: "ffmpeg",
}

// filterName returns the name of a filter: the registered one, else the stored one.
func filterName(f *Spec) string {
	if n := names[f.ID]; n != "" {
		return n
	}
	if f.Name != "" {
		// Stored by anyone: quoted, and short enough for a message.
		return strconv.Quote(f.Name[:min(len(f.Name), 64)])
	}
	return "unknown"
}

// refuse says which filter cannot be decoded and what to do.
func refuse(f *Spec) error {
	const cure = "h5repack -f GZIP=4 in.h5 out.h5"
	how := fmt.Sprintf("convert the file with `%s`", cure)
	if f.ID > 255 { // not part of the library
		how = fmt.Sprintf("convert the file where the filter's plugin is installed, with `%s`", cure)
	}
	return shardify.Unsupported("filter %d (%s) cannot be decoded; %s", f.ID, filterName(f), how)
}

// identity is a filter that stores its input as it is.
type identity struct{}

func (identity) decode(_, src []byte, _ bool, _ *Scratch) ([]byte, error) { return src, nil }
func (identity) encoded(n int) (int, bool)                                { return n, true }
