package s3

// SetPart changes the size of parts. It returns the one that was.
func SetPart(bytes int64) (before int64) {
	before, partBytes = partBytes, bytes
	return before
}
