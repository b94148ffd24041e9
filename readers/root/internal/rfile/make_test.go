package rfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

// entry is an object or, with a non-nil sub, a directory.
type entry struct {
	class, name string
	cycle       int
	payload     string
	sub         []entry
}

// layout is what may differ between files.
type layout struct {
	big     bool // 8-byte offsets in header and directories
	begin   int  // fBEGIN
	version int
	noUUID  bool
	old     bool // directories are TDirectory in their record, TDirectoryFile in the list
	tail    int  // bytes behind the end
}

// maker lays out a file.
type maker struct {
	layout
	b []byte
}

func u16(b []byte, v int) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }

func u32(b []byte, vs ...int) []byte {
	for _, v := range vs {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func (m *maker) offset(b []byte, vs ...int) []byte {
	for _, v := range vs {
		if m.big {
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		} else {
			b = u32(b, v)
		}
	}
	return b
}

func cstr(b []byte, s string) []byte {
	if len(s) < 255 {
		return append(append(b, byte(len(s))), s...)
	}
	return append(u32(append(b, 255), len(s)), s...)
}

// keyImage is a key for a payload of n bytes at seek.
func (m *maker) keyImage(n, objLen, seek int, class, name string, cycle int) []byte {
	strings := cstr(cstr(cstr(nil, class), name), "title")
	fixed, version := 26, 4
	if m.big {
		fixed, version = 34, 1004
	}
	keyLen := fixed + len(strings)
	b := u32(nil, keyLen+n)
	b = u16(b, version)
	b = u32(b, objLen, 0)
	b = u16(b, keyLen)
	b = u16(b, cycle)
	b = m.offset(b, seek, m.begin)
	return append(b, strings...)
}

// record appends a record and returns its key.
func (m *maker) record(class, name string, cycle int, payload []byte) []byte {
	k := m.keyImage(len(payload), len(payload), len(m.b), class, name, cycle)
	m.b = append(append(m.b, k...), payload...)
	return k
}

// dirRecord is the fields of a directory.
func (m *maker) dirRecord(nbytesKeys, seekKeys int) []byte {
	version := 5
	if m.noUUID {
		version = 1
	}
	if m.big {
		version += 1000
	}
	b := u32(u16(nil, version), 0, 0, nbytesKeys, 40)
	b = m.offset(b, m.begin, 0, seekKeys)
	if !m.noUUID {
		b = append(b, make([]byte, 18)...)
	}
	return b
}

// dir appends the objects of a directory and its list of keys.
func (m *maker) dir(list []entry) (nbytes, seek int) {
	var keys [][]byte
	for _, e := range list {
		cycle := max(e.cycle, 1)
		if e.sub == nil {
			keys = append(keys, m.record(e.class, e.name, cycle, []byte(e.payload)))
			continue
		}
		at := len(m.b)
		class := "TDirectoryFile"
		if m.old {
			class = "TDirectory"
		}
		k := m.record(class, e.name, cycle, m.dirRecord(0, 0))
		if len(e.sub) > 0 {
			n, s := m.dir(e.sub)
			copy(m.b[at+len(k):], m.dirRecord(n, s))
		}
		if m.old { // the image in the list is longer than its own fKeylen
			k = append(k[:26:26], append(cstr(nil, "TDirectoryFile"), k[26+1+len(class):]...)...)
		}
		keys = append(keys, k)
	}
	payload := u32(nil, len(keys))
	for _, k := range keys {
		payload = append(payload, k...)
	}
	payload = append(payload, make([]byte, 7)...)
	seek = len(m.b)
	k := m.record("", "", 1, payload)
	return len(k) + len(payload), seek
}

// makeFile writes a whole file.
func makeFile(l layout, list []entry) []byte {
	if l.begin == 0 {
		l.begin = 100
	}
	if l.version == 0 {
		l.version = 62000
	}
	m := &maker{layout: l, b: make([]byte, l.begin)}
	const nameBytes = 60
	m.b = append(m.b, make([]byte, nameBytes+len(m.dirRecord(0, 0)))...)
	n, seek := m.dir(list)
	copy(m.b[l.begin+nameBytes:], m.dirRecord(n, seek))
	end := len(m.b)
	version := l.version
	if l.big {
		version += 1000000
	}
	h := u32([]byte("root"), version, l.begin)
	h = m.offset(h, end, end-1)
	h = u32(h, 1, 1, nameBytes)
	h = u32(append(h, 4), 101)
	h = m.offset(h, 0)
	h = u32(h, 0)
	copy(m.b, h)
	return append(m.b, make([]byte, l.tail)...)
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "made.root")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// shifted is a file of which everything behind the header is far away.
type shifted struct {
	b  []byte
	at int64 // of b[100]
}

func (s *shifted) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 100:
		return bytes.NewReader(s.b[:100]).ReadAt(p, off)
	case off < s.at:
		return 0, io.EOF
	}
	return bytes.NewReader(s.b[100:]).ReadAt(p, off-s.at)
}
