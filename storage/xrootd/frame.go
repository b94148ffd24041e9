package xrootd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/remote"
)

// Requests.
const (
	kAuth     = 3000
	kClose    = 3003
	kDirlist  = 3004
	kProtocol = 3006
	kLogin    = 3007
	kOpen     = 3010
	kRead     = 3013
	kStat     = 3017
	kReadv    = 3025
	kPgread   = 3030
)

// Answers.
const (
	stOK       = 0
	stPart     = 4000
	stAttn     = 4001
	stAuthMore = 4002
	stError    = 4003
	stRedirect = 4004
	stWait     = 4005
	stStatus   = 4007
)

// Flags of a server.
const (
	hasPgread = 0x200000
	goTLS     = 0x40000000
)

// params are the 16 bytes of a request between its number and the length of its text.
type params [16]byte

func u16(b []byte, v int)   { binary.BigEndian.PutUint16(b, uint16(v)) }
func u32(b []byte, v int)   { binary.BigEndian.PutUint32(b, uint32(v)) }
func u64(b []byte, v int64) { binary.BigEndian.PutUint64(b, uint64(v)) }

func get16(b []byte) int   { return int(binary.BigEndian.Uint16(b)) }
func get32(b []byte) int   { return int(int32(binary.BigEndian.Uint32(b))) }
func get64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// request is the bytes of one.
func request(stream uint16, number int, p params, text []byte) []byte {
	b := make([]byte, 24, 24+len(text))
	binary.BigEndian.PutUint16(b, stream)
	u16(b[2:], number)
	copy(b[4:], p[:])
	u32(b[20:], len(text))
	return append(b, text...)
}

// mostBody bounds an answer other than data: a page of a listing.
const mostBody = 64 << 20

// frame is one answer, or a part of one.
type frame struct {
	stream uint16
	status int
	body   []byte
	data   []byte // of stStatus, with its checksums
}

// readFrame reads an answer. room is the most bytes of data that a request of a stream may
// get.
func readFrame(r io.Reader, room func(stream uint16) int) (f frame, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	f.stream, f.status = binary.BigEndian.Uint16(head[:]), get16(head[2:])
	n := get32(head[4:])
	if n < 0 || n > mostBody {
		return f, fmt.Errorf("an answer of %d bytes", n)
	}
	if f.body, err = readN(r, n); err != nil || f.status != stStatus {
		return f, err
	}
	if n < 24 {
		return f, fmt.Errorf("a status of %d bytes", n)
	}
	if checksum(f.body[4:]) != binary.BigEndian.Uint32(f.body) {
		return f, errors.New("a status with a wrong checksum")
	}
	m := get32(f.body[12:])
	if m < 0 || m > room(f.stream) {
		return f, fmt.Errorf("%d bytes of data that were not requested", m)
	}
	f.data, err = readN(r, m)
	return f, err
}

// readN reads n bytes, as they come: memory is not taken on the word of a server.
func readN(r io.Reader, n int) ([]byte, error) {
	const piece = 1 << 20
	b := make([]byte, 0, min(n, piece))
	for len(b) < n {
		at := len(b)
		b = append(b, make([]byte, min(n-at, piece))...)
		if _, err := io.ReadFull(r, b[at:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// refused is an error of a server, by its number.
func refused(body []byte) error {
	if len(body) < 4 {
		return errors.New("an error without a number")
	}
	number, text := get32(body), cString(body[4:])
	err := fmt.Errorf("the server says: %s (%d)", text, number)
	switch number {
	case 3011:
		return fs.ErrNotExist
	case 3010, 3030:
		return fmt.Errorf("%w: %w", fs.ErrPermission, err)
	case 3016:
		return storage.ErrNotFile
	case 3028:
		return shardify.Unsupported("the server wants TLS: use roots://")
	case 3007, 3012, 3024, 3034:
		return &remote.Error{Err: err, Kind: remote.Busy}
	}
	return err
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
