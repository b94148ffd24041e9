package inflate

import (
	"errors"
	"fmt"
)

// The causes an Error unwraps to. Input that ends early unwraps to
// io.ErrUnexpectedEOF.
var (
	// ErrCorrupt means that the input breaks the format or a checksum.
	ErrCorrupt = errors.New("corrupt data")
	// ErrTooLong means that the stream holds more than the given buffer.
	ErrTooLong = errors.New("decoded data longer than the buffer")
	// ErrUnsupported means a method or a preset dictionary we do not decode.
	ErrUnsupported = errors.New("unsupported compression")
)

// Error says what is wrong with the input and where.
type Error struct {
	Offset int64  // input byte at which decoding stopped, from the start of the input
	What   string // what was found there
	Err    error  // ErrCorrupt, ErrTooLong, ErrUnsupported or io.ErrUnexpectedEOF
}

func (e *Error) Error() string {
	return fmt.Sprintf("inflate: byte %d: %v: %s", e.Offset, e.Err, e.What)
}

// Unwrap returns the cause, so that errors.Is finds it.
func (e *Error) Unwrap() error { return e.Err }

// Most is how many bytes a byte of DEFLATE may become.
const Most = 1032
