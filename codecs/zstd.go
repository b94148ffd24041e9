package codecs

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/shardify/shardify/internal/guard"
)

// zstds holds decoders for whole buffers. They are made without a stream and so
// start no goroutine: one that the pool drops is ordinary garbage.
var zstds = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		// The output is the window, so the memory a frame asks for does not
		// matter: what it decodes to must fit dst.
		zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic("codec: zstd refuses its options: " + err.Error())
	}
	return d
}}

// Zstd decodes one or more zstd frames, skippable ones among them, and verifies
// the checksums they carry.
func Zstd(dst, src []byte) (n int, err error) {
	if n, err = ZstdAtMost(dst[:len(dst):len(dst)], src); err != nil {
		return n, err
	}
	return size("zstd", n, dst)
}

// ZstdAtMost is Zstd for data of which only an upper bound is known: they may
// decode to fewer bytes than dst holds. What dst has behind them is undefined,
// and so is what it has behind its length: the decoder is a fifth faster when the
// capacity exceeds the length by ZstdSlack, to which it may write garbage.
func ZstdAtMost(dst, src []byte) (n int, err error) {
	d := zstds.Get().(*zstd.Decoder)
	var out []byte
	err = guard.Do(func() error {
		var err error
		out, err = d.DecodeAll(src, dst[:0:min(cap(dst), len(dst)+ZstdSlack)])
		return err
	})
	if err != nil {
		// A decoder that panicked may be in any state: do not put it back.
		return damaged("zstd", min(len(out), len(dst)), err)
	}
	zstds.Put(d)
	if len(out) > len(dst) {
		return size("zstd", len(out), dst)
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return len(out), nil
}

// ZstdSlack is the capacity behind the length that ZstdAtMost makes use of.
const ZstdSlack = 16
