package exif

import (
	"bytes"
	"encoding/binary"
)

// Orientation is 1 to 8 as EXIF counts them: 1 is upright, and what an image without a
// readable tag has. Decoders of pixels leave the tag alone, as Pillow does.
//
//	1 upright             2 mirrored left to right
//	3 turned by 180       4 mirrored top to bottom
//	5 transposed          6 turn it by 90 clockwise
//	7 transversed         8 turn it by 90 counterclockwise
func Orientation(image []byte) int {
	switch {
	case bytes.HasPrefix(image, []byte("\xff\xd8")):
		return ofJPEG(image[2:])
	case bytes.HasPrefix(image, []byte("\x89PNG\r\n\x1a\n")):
		return ofPNG(image[8:])
	case len(image) > 12 && string(image[:4]) == "RIFF" && string(image[8:12]) == "WEBP":
		return ofWebP(image[12:])
	}
	return ofTIFF(image)
}

const exifID = "Exif\x00\x00"

// ofJPEG looks into the segments before the first scan.
func ofJPEG(b []byte) int {
	for len(b) >= 4 && b[0] == 0xff {
		switch kind := b[1]; {
		case kind == 0xff: // a filler
			b = b[1:]
			continue
		case kind == 0xda, kind == 0xd9:
			return 1
		case kind == 0x01, kind >= 0xd0 && kind <= 0xd7: // no length
			b = b[2:]
			continue
		}
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < 2 || n+2 > len(b) {
			return 1
		}
		if body := b[4 : n+2]; b[1] == 0xe1 && bytes.HasPrefix(body, []byte(exifID)) {
			return ofTIFF(body[len(exifID):])
		}
		b = b[n+2:]
	}
	return 1
}

func ofPNG(b []byte) int {
	for len(b) >= 12 {
		n := int64(binary.BigEndian.Uint32(b))
		if n > int64(len(b))-12 || string(b[4:8]) == "IEND" {
			return 1
		}
		if string(b[4:8]) == "eXIf" {
			return ofTIFF(b[8 : 8+n])
		}
		b = b[12+n:]
	}
	return 1
}

func ofWebP(b []byte) int {
	for len(b) >= 8 {
		n := int64(binary.LittleEndian.Uint32(b[4:]))
		if n > int64(len(b))-8 {
			return 1
		}
		if string(b[:4]) == "EXIF" {
			return ofTIFF(bytes.TrimPrefix(b[8:8+n], []byte(exifID)))
		}
		b = b[min(8+n+n&1, int64(len(b))):]
	}
	return 1
}

// ofTIFF reads the first directory of tags.
func ofTIFF(b []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(b, []byte("II*\x00")):
	case bytes.HasPrefix(b, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return 1
	}
	if len(b) < 8 {
		return 1
	}
	at := int64(order.Uint32(b[4:]))
	if at < 8 || at > int64(len(b))-2 {
		return 1
	}
	b = b[at:]
	const tag, short, entry = 0x112, 3, 12
	n := int(order.Uint16(b))
	for b = b[2:]; n > 0 && len(b) >= entry; n, b = n-1, b[entry:] {
		if order.Uint16(b) != tag || order.Uint16(b[2:]) != short || order.Uint32(b[4:]) != 1 {
			continue
		}
		if v := int(order.Uint16(b[8:])); v >= 1 && v <= 8 {
			return v
		}
		return 1
	}
	return 1
}
