package cuda

import (
	"errors"
	"fmt"
)

// The decisions callers make. Test with errors.Is.
var (
	// ErrNoDriver: there is no usable libcuda.so.1 here.
	ErrNoDriver = errors.New("no CUDA driver")
	// ErrNoDevice: the driver knows no such GPU.
	ErrNoDevice = errors.New("no CUDA device")
	// ErrClosed: the Device was closed.
	errClosed = errors.New("CUDA device is closed")
	// errLost: an earlier error made the context unusable. Only a new process can
	// use the device again.
	errLost = errors.New("CUDA context is lost")
	// ErrCapture: a stream is being captured into a graph. Nothing was done.
	ErrCapture = errors.New("inside the capture of a CUDA graph, which would replay this one batch for ever: ask for batches before the capture, and before each replay")
)

// Error is what a driver call answered.
type Error struct {
	Call string
	Code int
	Name string
	// While is what was on its way to the device when the error was seen, if that
	// matters: work fails after the call that began it.
	While string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: CUDA error %d %s", e.Call, e.Code, e.Name)
	if h := hints[e.Code]; h != "" {
		s += ": " + h
	}
	if e.While != "" {
		s += " (in flight: " + e.While + ")"
	}
	return s
}

// Is makes the numbers the sentinels they stand for.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNoDriver:
		return e.Code == codeStub
	case ErrNoDevice:
		return e.Code == codeNoDevice || e.Code == codeInvalidDevice
	case errLost:
		return sticky(e.Code)
	}
	return false
}

// code is the driver's number in err, or 0.
func code(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
