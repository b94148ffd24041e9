package rfile

import (
	"strings"

	"github.com/shardify/shardify"
)

// Element is a member or a base class in a streamer info.
type Element struct {
	// Class is the kind of element: TStreamerBase, TStreamerBasicType,
	// TStreamerSTL ...
	Class    string
	Name     string // of the member, or of the base class
	Title    string // the comment behind the member; holds [lo,hi,nbits]
	TypeName string
	Type     int // fType: CodeBase, CodeAny ...
	Size     int // writer's sizeof: not for use
	Len      int // fArrayLength; 0 if it is not an array
	Dims     []int32
	// BaseVersion of a TStreamerBase.
	BaseVersion int
	// CountName and CountClass of a TStreamerBasicPointer or TStreamerLoop: the
	// member with the number of values, and the class where it is.
	CountName, CountClass string
	// STLType and CType of a TStreamerSTL: container and content.
	STLType, CType int
}

// StreamerInfo says how one version of a class was written.
type StreamerInfo struct {
	Name     string
	Version  int
	CheckSum uint32
	Elements []Element
}

// Element returns the member of this name, or nil.
func (s *StreamerInfo) Element(name string) *Element {
	for i := range s.Elements {
		if s.Elements[i].Name == name {
			return &s.Elements[i]
		}
	}
	return nil
}

// Infos are the streamer infos of a file.
type Infos struct {
	all     []*StreamerInfo
	byClass map[string][]*StreamerInfo
	// Problem is what could not be read of the list; nil if all could.
	Problem error
}

// All lists the infos in file order.
func (s *Infos) All() []*StreamerInfo { return s.all }

// className is the name of a class without the spaces that say nothing: writers put
// them before a > and behind a comma, or do not.
func className(name string) string {
	if !strings.Contains(name, " ") {
		return name
	}
	return noSpaces.Replace(name)
}

var noSpaces = strings.NewReplacer(" >", ">", ", ", ",", "< ", "<")

// Has reports whether a class is described.
func (s *Infos) Has(class string) bool { return len(s.byClass[className(class)]) > 0 }

// Version returns the info of a version of a class, or nil.
func (s *Infos) Version(class string, version int) *StreamerInfo {
	for _, i := range s.byClass[className(class)] {
		if i.Version == version {
			return i
		}
	}
	return nil
}

// checkSum returns the info of a class with this checksum, or nil.
func (s *Infos) checkSum(class string, sum uint32) *StreamerInfo {
	for _, i := range s.byClass[className(class)] {
		if i.CheckSum == sum {
			return i
		}
	}
	return nil
}

// Find returns the info that a version and, where the class has no versions of
// its own, a checksum select. A single info of the class serves if neither does.
func (s *Infos) Find(class string, version int, sum uint32) *StreamerInfo {
	if sum != 0 {
		if i := s.checkSum(class, sum); i != nil && (version <= 1 || i.Version == version) {
			return i
		}
	}
	if i := s.Version(class, version); i != nil {
		return i
	}
	if list := s.byClass[className(class)]; len(list) == 1 && version <= 1 {
		return list[0]
	}
	return nil
}

// Latest returns the info of a class with the highest version, nil if there is
// none.
func (s *Infos) Latest(class string) *StreamerInfo {
	var best *StreamerInfo
	for _, i := range s.byClass[className(class)] {
		if best == nil || i.Version > best.Version {
			best = i
		}
	}
	return best
}

// Streamers reads the streamer infos at the first call. A file without them, or
// with a damaged list, gives what there is, and Infos.Problem.
func (f *File) Streamers() *Infos {
	f.infoOnce.Do(func() {
		f.infos = &Infos{byClass: map[string][]*StreamerInfo{}}
		if f.seekInfo == 0 || f.nbytesInfo == 0 {
			return
		}
		rec, h, err := f.Record(f.seekInfo, f.nbytesInfo)
		if err == nil {
			err = f.infos.read(rec, h.KeyLen)
		}
		f.infos.Problem = shardify.Annotate(err, "read", f.name, "streamer infos")
	})
	return f.infos
}

// read reads the record of a list of streamer infos.
func (s *Infos) read(rec []byte, keyLen int) error {
	c := NewCursor(rec, 0)
	c.SeekTo(keyLen)
	var refs Refs
	f, n := List(c)
	for range n {
		slot := refs.Enter(c)
		if slot.Class == "TStreamerInfo" {
			refs.Register(&slot, nil)
			if info := readInfo(c, &refs); c.Err() == nil {
				s.all = append(s.all, info)
				key := className(info.Name)
				s.byClass[key] = append(s.byClass[key], info)
			} else if err, ok := refs.LeaveBroken(c, &slot); !ok {
				return err
			} else if s.Problem == nil {
				s.Problem = err
			}
		} else if slot.Class != "" && slot.End < 0 {
			c.Fail("%s without a byte count", slot.Class)
		}
		refs.Leave(c, &slot)
		ListOption(c, f)
		if c.Err() != nil {
			return c.Err()
		}
	}
	return s.Problem
}

// readInfo reads the body of a TStreamerInfo.
func readInfo(c *Cursor, refs *Refs) *StreamerInfo {
	info := &StreamerInfo{}
	f := c.Frame()
	name, _ := c.TNamed()
	info.Name = refs.Intern(name)
	info.CheckSum = c.U32()
	info.Version = int(c.I32())
	slot := refs.Enter(c)
	if slot.Class == "TObjArray" {
		refs.Register(&slot, nil)
		array, n := Array(c)
		info.Elements = make([]Element, 0, min(n, 64))
		for range n {
			el := refs.Enter(c)
			if el.Class != "" {
				refs.Register(&el, nil)
				info.Elements = append(info.Elements, readElement(c, refs, el.Class))
			}
			refs.Leave(c, &el)
			if c.Err() != nil {
				break
			}
		}
		if rest := c.Rest(array); rest != 0 {
			c.Fail("a list of %d elements has %d more bytes", n, rest)
		}
		c.Leave(array)
	}
	refs.Leave(c, &slot)
	c.Leave(f)
	return info
}

// readElement reads the body of one of the TStreamerElement classes.
func readElement(c *Cursor, refs *Refs, class string) Element {
	el := Element{Class: class}
	outer := c.Frame()
	f, between := outer, Frame{End: -1}
	switch class {
	case "TStreamerElement":
	case "TStreamerSTLstring": // its base TStreamerSTL has a frame of its own
		between = c.Frame()
		f = c.Frame()
	default:
		f = c.Frame()
	}
	name, title := c.TNamed()
	el.Name, el.Title = refs.Intern(name), refs.Intern(title)
	el.Type = int(c.I32())
	el.Size = int(c.I32())
	el.Len = int(c.I32())
	dims := int(c.I32())
	if f.Version == 1 {
		n := c.Count(4)
		el.Dims = readDims(c, n, dims)
	} else {
		el.Dims = readDims(c, 5, dims)
	}
	el.TypeName = refs.Intern(c.CStr())
	c.Leave(f)
	switch class {
	case "TStreamerBase":
		if outer.Version > 2 {
			el.BaseVersion = int(c.I32())
		}
	case "TStreamerBasicPointer", "TStreamerLoop":
		c.Skip(4) // version of the class with the counter
		el.CountName, el.CountClass = refs.Intern(c.CStr()), refs.Intern(c.CStr())
	case "TStreamerSTL", "TStreamerSTLstring":
		el.STLType, el.CType = int(c.I32()), int(c.I32())
	}
	if between.End >= 0 {
		c.Leave(between)
	}
	if class != "TStreamerElement" {
		c.Leave(outer)
	}
	return el
}

// readDims reads n dimensions, of which the first keep count.
func readDims(c *Cursor, n, keep int) []int32 {
	var all [5]int32
	for i := range n {
		if v := c.I32(); i < len(all) {
			all[i] = v
		}
	}
	if keep <= 0 || keep > len(all) || c.Err() != nil {
		return nil
	}
	return append([]int32(nil), all[:keep]...)
}
