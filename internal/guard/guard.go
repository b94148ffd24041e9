// Package guard keeps a panic of a library that is not ours from ending the
// process: on untrusted bytes, a panic says that they are damaged.
//
//	err := guard.Do(func() error {
//		_, err := foreign.Decode(dst, src)
//		return err
//	})
//
// It is for calls into foreign code only. A panic of our own code is a bug and
// must stay visible.
package guard

import (
	"errors"

	"github.com/shardify/shardify"
)

// Do calls f and returns its error, or one that wraps shardify.ErrCorrupt if f
// panics. A panic in a goroutine that f starts cannot be caught here, and what
// the runtime calls fatal (no memory left, maps written concurrently) still ends
// the process. A panic of shardify.ErrCorrupt itself keeps its cause.
func Do(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			if e := (*shardify.Error)(nil); errors.As(p, &e) && errors.Is(e, shardify.ErrCorrupt) {
				err = e
				return
			}
			err = shardify.Corrupt(-1, "the decoder stopped: %v", p)
		default:
			err = shardify.Corrupt(-1, "the decoder stopped: %v", p)
		}
	}()
	return f()
}
