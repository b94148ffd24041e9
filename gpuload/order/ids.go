package order

// IDs writes the samples at positions q, q+stride, q+2*stride, ... of an epoch; -1 stands
// behind its end. It is At for many positions, which share work.
func (o *Order) IDs(ids []int64, epoch int, q, stride int64) {
	c, length := o.Cursor(epoch), o.LenOf(epoch)
	for j := range ids {
		ids[j] = -1
		if q >= 0 && q < length {
			ids[j] = c.At(q)
		}
		q += stride
	}
}
