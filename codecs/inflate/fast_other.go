//go:build !amd64

package inflate

var haveBMI2 = false

func (f *inflater) fast(lit *litTable, dist *distTable, out []byte, pos int, in []byte, ip int) (int, int, status) {
	return f.fastGo(lit, dist, out, pos, in, ip)
}
