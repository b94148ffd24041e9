package h5

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// eachAttribute calls fn for every attribute, those of the header first.
func (o *Object) eachAttribute(fn func(Attribute) error) error {
	f := o.f
	var first error
	bad := func(err error) error {
		if first == nil {
			first = err
		}
		return nil
	}
	for _, m := range o.msgs {
		switch m.typ {
		case msgAttribute:
			if m.flags&flagShared != 0 {
				body, _, err := f.sharedBody(m)
				if err != nil {
					bad(err)
					continue
				}
				m = body
			}
			a, err := f.parseAttribute(m.data, m.at)
			if err != nil {
				bad(err)
				continue
			}
			if err := fn(a); err != nil {
				return err
			}
		case msgAttrInfo:
			if err := o.denseAttributes(m, bad, fn); err != nil {
				return err
			}
		}
	}
	return first
}

// denseAttributes reads an attribute info message: u8 0, u8 flags, [u16: bit 0], O
// heap, O name B-tree.
func (o *Object) denseAttributes(m message, bad func(error) error, fn func(Attribute) error) error {
	f := o.f
	d := f.Decode(m.data, m.at, "attribute info message")
	if err := d.Version(0); err != nil {
		return bad(err)
	}
	if d.U8()&1 != 0 {
		d.Skip(2)
	}
	heapAddr, tree := d.Addr(), d.Addr()
	if err := d.Err(); err != nil {
		return bad(err)
	}
	if heapAddr == meta.Undefined {
		return nil
	}
	var stop error // what fn said, as opposed to damage
	err := f.denseObjects(heapAddr, tree, attributeIndex, bad, func(b []byte, at int64, rec []byte) error {
		var err error
		if rec[flagsAt]&flagShared != 0 {
			if b, err = f.sharedObject(msgAttribute, rec[:attributeIndex.idSize]); err != nil {
				return bad(err)
			}
		}
		a, err := f.parseAttribute(b, at)
		if err != nil {
			return bad(err)
		}
		stop = fn(a)
		return stop
	})
	if err != nil && stop == nil {
		return bad(err)
	}
	return err
}

// Attributes returns all attributes sorted by the bytes of their names. One that
// is damaged carries its own Err; an error beside the list means that some could
// not even be named.
func (o *Object) Attributes() ([]Attribute, error) {
	var list []Attribute
	var total int64
	err := o.eachAttribute(func(a Attribute) error {
		// Records that share one heap object could add up to any size.
		if total += int64(len(a.Data) + len(a.Name)); total > o.f.Size()+(64<<20) {
			return shardify.Corrupt(o.Addr, "the attributes hold more bytes than the file")
		}
		list = append(list, a)
		return nil
	})
	slices.SortStableFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list, o.f.Fail(err, o.Path)
}

var errFound = errors.New("found")

// Attribute finds one attribute; ok is false if the object has no such attribute.
func (o *Object) Attribute(name string) (a Attribute, ok bool, err error) {
	err = o.eachAttribute(func(x Attribute) error {
		if x.Name == name {
			a, ok = x, true
			return errFound
		}
		return nil
	})
	if ok {
		return a, true, o.f.Fail(a.Err, o.Path)
	}
	return a, false, o.f.Fail(err, o.Path)
}

// parseAttribute parses an attribute message. Once the name is known, damage goes
// to the attribute's Err.
//
//	v1: u8 1, reserved, u16 name, type, space size, name pad8, type pad8, space pad8, data
//	v2: u8 2, u8 flags, u16 sizes, name, type, space, data
//	v3: u8 3, u8 flags, u16 sizes, u8 name charset, name, type, space, data
//
// Flag bit 0: the type is a shared message, bit 1: the space.
func (f *File) parseAttribute(b []byte, at int64) (Attribute, error) {
	d := f.Decode(b, at, "attribute")
	version, flags := d.U8(), d.U8()
	nameSize, typeSize, spaceSize := int(d.U16()), int(d.U16()), int(d.U16())
	a := Attribute{}
	pad := func(n int) int { return n }
	switch version {
	case 1:
		flags = 0
		pad = func(n int) int { return (n + 7) &^ 7 }
	case 2:
	case 3:
		a.UTF8 = d.U8() == 1
	default:
		return a, d.CorruptAt(0, "version is %d", version)
	}
	name := d.Bytes(pad(nameSize))
	if err := d.Err(); err != nil {
		return a, err
	}
	a.Name = meta.UntilNUL(name)
	typeMsg := f.part(&d, msgType, flags&1 != 0, typeSize, pad(typeSize))
	spaceMsg := f.part(&d, msgSpace, flags&2 != 0, spaceSize, pad(spaceSize))
	if a.Err = d.Err(); a.Err == nil {
		a.Err = f.attributeValue(&d, &a, typeMsg, spaceMsg)
	}
	return a, nil
}

func (f *File) part(d *meta.Decoder, typ uint16, shared bool, n, padded int) message {
	m := message{typ: typ, at: -1}
	if d.At >= 0 {
		m.at = d.At + int64(d.Pos)
	}
	if shared {
		m.flags = flagShared
	}
	if b := d.Bytes(padded); b != nil {
		m.data = b[:n]
	}
	return m
}

func (f *File) attributeValue(d *meta.Decoder, a *Attribute, typeMsg, spaceMsg message) (err error) {
	if a.Type, err = f.typeMessage(typeMsg); err != nil {
		return err
	}
	if spaceMsg.flags&flagShared != 0 {
		if spaceMsg, _, err = f.sharedBody(spaceMsg); err != nil {
			return err
		}
	}
	if a.Space, err = datatype.ParseSpace(f.File, spaceMsg.data, spaceMsg.at); err != nil {
		return err
	}
	n, ok := a.Space.Bytes(a.Type.Size)
	if !ok || n > int64(d.Rest()) {
		return d.Corrupt("%v elements of %d bytes in %d bytes", a.Space.Dims, a.Type.Size, d.Rest())
	}
	a.Data = bytes.Clone(d.Bytes(int(n)))
	return nil
}
