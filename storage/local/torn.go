package local

import (
	"io"
)

// torn reports whether a file is what a power cut leaves of one that was published
// without being made durable: not longer, and each byte is that of the whole file, or
// zero. To put the whole one in its place loses nothing.
func torn(file, whole string) (bool, error) {
	f, _, err := OpenOwn(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	w, _, err := OpenOwn(whole)
	if err != nil {
		return false, err
	}
	defer w.Close()
	bufF, bufW := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, errF := io.ReadFull(f, bufF)
		m, errW := io.ReadFull(w, bufW[:n])
		if errF != nil && errF != io.EOF && errF != io.ErrUnexpectedEOF {
			return false, errF
		}
		if m < n {
			if errW == io.EOF || errW == io.ErrUnexpectedEOF {
				errW = nil // it is longer
			}
			return false, errW
		}
		for i, b := range bufF[:n] {
			if b != 0 && b != bufW[i] {
				return false, nil
			}
		}
		if errF != nil {
			return true, nil
		}
	}
}
