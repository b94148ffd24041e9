package jpeg

import "github.com/shardify/shardify"

// scans reads all scans of an image to coefficients.
func (d *Decoder) scans() error {
	total := 0
	for i := range d.head.Components {
		total += 64 * d.comps[i].bw * d.comps[i].bh
	}
	if cap(d.coefs) < total {
		d.coefs = make([]int16, total)
	}
	d.coefs = d.coefs[:total]
	clear(d.coefs)
	at := 0
	for i := range d.head.Components {
		c := &d.comps[i]
		n := 64 * c.bw * c.bh
		c.coefs = d.coefs[at : at+n : at+n]
		at += n
	}
	for n := 1; ; n++ {
		if n > maxScans {
			return shardify.Unsupported("JPEG of more than %d scans", maxScans)
		}
		if err := d.progress(); err != nil {
			return err
		}
		if err := d.scanBlocks(); err != nil {
			return err
		}
		if d.at >= len(d.src) {
			return d.complete()
		}
		marker, err := d.segmentsAfterScan()
		if err != nil {
			return err
		}
		if marker == markerEOI {
			return d.complete()
		}
		if err := d.beginScan(); err != nil {
			return err
		}
	}
}

// segmentsAfterScan is segments where a second frame header is refused.
func (d *Decoder) segmentsAfterScan() (byte, error) {
	d.sof = true
	m, err := d.segments()
	d.sof = false
	return m, err
}

// complete returns an error unless the scans gave an image.
func (d *Decoder) complete() error {
	cut := d.at >= len(d.src)
	for i := range d.head.Components {
		c := &d.comps[i]
		for k := range 10 { // libjpeg smooths between blocks where one of these is not exact
			if c.bits[k] == 0 || k == 0 && c.bits[k] > 0 {
				continue
			}
			if cut && d.scan.cut {
				return d.truncated("front of its last scans")
			}
			if c.bits[0] < 0 {
				return corrupt(d.at, "component %d is in no scan", c.id)
			}
			return shardify.Unsupported("a progressive JPEG without all its scans")
		}
	}
	return nil
}

// progress notes which bits a scan brings, and refuses what is not next.
func (d *Decoder) progress() error {
	s := &d.scan
	if !d.head.Progressive {
		for i := range s.count {
			c := s.comps[i]
			if c.bits[0] == 0 {
				return corrupt(s.start, "component %d is in two scans", c.id)
			}
			c.bits = [64]int8{}
		}
		return nil
	}
	for i := range s.count {
		c := s.comps[i]
		for k := s.ss; k <= s.se; k++ {
			if want := c.bits[k]; s.ah == 0 && want >= 0 || s.ah > 0 && int(want) != s.ah || s.ss > 0 && c.bits[0] < 0 {
				return corrupt(s.start, "a scan of component %d sends bits %d-%d of coefficient %d again or too early", c.id, s.ah, s.al, k)
			}
			c.bits[k] = int8(s.al)
		}
	}
	return nil
}

// scanBlocks decodes one scan to coefficients.
func (d *Decoder) scanBlocks() error {
	s := &d.scan
	mx, my := d.mcusX, d.mcusY
	if s.count == 1 {
		mx, my = s.comps[0].rw, s.comps[0].rh
	}
	for y := range my {
		for x := range mx {
			if s.left == 0 {
				if err := d.restart(); err != nil {
					return err
				}
			}
			s.left--
			if s.count == 1 {
				c := s.comps[0]
				at := 64 * (y*c.bw + x)
				if !d.coefficients(0, (*[64]int16)(c.coefs[at:at+64])) {
					return d.damaged()
				}
			} else {
				for i := range s.count {
					c := s.comps[i]
					for v := range c.v {
						for h := range c.h {
							at := 64 * ((y*c.v+v)*c.bw + x*c.h + h)
							if !d.coefficients(i, (*[64]int16)(c.coefs[at:at+64])) {
								return d.damaged()
							}
						}
					}
				}
			}
			if s.over() {
				return d.ended()
			}
		}
	}
	return nil
}

// ones multiplies nothing: coefficients are kept as they are.
var ones = func() (q [128]uint16) {
	for k := range 64 {
		q[k] = 1
	}
	return q
}()

// coefficients decodes what a scan has of one block.
func (d *Decoder) coefficients(i int, out *[64]int16) bool {
	s := &d.scan
	switch {
	case !d.head.Progressive:
		slot := &d.slots[0]
		dc, _, ok := s.block(s.dc[i], s.ac[i], &ones, s.pred[i], slot)
		s.pred[i] = dc
		copy(out[:], slot[:64])
		*slot = [128]int16{}
		return ok
	case s.ss == 0 && s.ah == 0:
		e := s.symbol(s.dc[i])
		if e == 0 {
			return false
		}
		s.pred[i] += s.value(e.size())
		out[0] = int16(s.pred[i] << s.al)
	case s.ss == 0:
		if s.bit() {
			out[0] |= 1 << s.al
		}
	case s.ah == 0:
		if s.eobRun > 0 {
			s.eobRun--
			return true
		}
		return s.acFirst(s.ac[i], out)
	default:
		return s.acRefine(s.ac[i], out)
	}
	return true
}

// acFirst decodes the first bits of AC coefficients.
func (s *scan) acFirst(h *huffman, out *[64]int16) bool {
	for k := s.ss; k <= s.se; k++ {
		e := s.symbol(h)
		if e == 0 {
			return false
		}
		if e.size() == 0 {
			if e.run() < 15 {
				s.eobRun = 1<<e.run() + s.bits(uint(e.run())) - 1
				return true
			}
			k += 15
			if k > s.se {
				return false
			}
			continue
		}
		k += e.run()
		if k > s.se {
			return false
		}
		out[natural[k]&63] = int16(s.value(e.size()) << s.al)
	}
	return true
}

// acRefine decodes one more bit of AC coefficients.
func (s *scan) acRefine(h *huffman, out *[64]int16) bool {
	k := s.ss
	one := int16(1) << s.al
	if s.eobRun == 0 {
		for ; k <= s.se; k++ {
			e := s.symbol(h)
			if e == 0 || e.size() > 1 {
				return false
			}
			run, v := e.run(), int16(0)
			if e.size() == 0 {
				if run < 15 {
					s.eobRun = 1<<run + s.bits(uint(run))
					break
				}
			} else if v = -one; s.bit() {
				v = one
			}
			for ; k <= s.se; k++ {
				c := &out[natural[k]&63]
				if *c != 0 {
					s.refine(c, one)
				} else if run--; run < 0 {
					break
				}
			}
			if v != 0 {
				if k > s.se {
					return false
				}
				out[natural[k]&63] = v
			}
		}
	}
	if s.eobRun > 0 {
		for ; k <= s.se; k++ {
			if c := &out[natural[k]&63]; *c != 0 {
				s.refine(c, one)
			}
		}
		s.eobRun--
	}
	return true
}

// refine reads the next bit of a coefficient that is not zero.
func (s *scan) refine(c *int16, one int16) {
	if s.bit() && *c&one == 0 {
		if *c > 0 {
			*c += one
		} else {
			*c -= one
		}
	}
}

// transformAll turns the coefficients to pixels.
func (d *Decoder) transformAll() {
	o := &d.out
	for my := o.my0; my < o.my1; my++ {
		for i := range d.head.Components {
			c := &d.comps[i]
			if i > 0 && o.luma {
				break
			}
			for v := range c.v {
				row := c.coefs[64*((my*c.v+v)*c.bw+o.mx0*c.h):]
				at := c.block(my, v*c.size, 0)
				for k := range (o.mx1 - o.mx0) * c.h {
					block := (*[64]int16)(row[64*k : 64*k+64])
					flat := dequantise(&d.slots[o.waiting], block, &c.natural)
					d.transform(c, at+k*c.size, flat)
				}
			}
		}
		d.flush()
		o.emit(d, my)
	}
}
