package ttree

// Own reports whether the basket's bytes are in Buf, which the caller may keep, and not in
// a record or tree that others use.
func (b *Basket) Own() bool {
	return cap(b.Buf) > 0 && cap(b.Data) > 0 && within(b.Buf[:cap(b.Buf)], b.Data)
}

// within reports whether part begins in the memory of whole: Decode puts a
// decompressed payload to its beginning.
func within(whole, part []byte) bool {
	return len(part) > 0 && &whole[0] == &part[0]
}
