// Package minisign checks signatures in the file format of minisign
// (https://jedisct1.github.io/minisign/).
package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// Suffix is what minisign appends to the name of the signed file.
const Suffix = ".minisig"

// Key is a public key.
type Key struct {
	id  [8]byte
	key ed25519.PublicKey
}

// ParseKey reads a public key: its base64 text, or the content of a .pub file, where a comment
// precedes it.
func ParseKey(text string) (*Key, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	b, err := decode(lines[len(lines)-1], 2+8+ed25519.PublicKeySize)
	if err != nil || len(lines) > 2 || string(b[:2]) != "Ed" {
		return nil, errors.New("not a public key of minisign: want its base64 text, which begins with RW, or its .pub file")
	}
	return &Key{[8]byte(b[2:10]), ed25519.PublicKey(b[10:])}, nil
}

// String is the key's number as minisign prints it.
func (k *Key) String() string { return number(k.id) }

func number(id [8]byte) string {
	var s strings.Builder
	for i := range id {
		fmt.Fprintf(&s, "%02X", id[len(id)-1-i])
	}
	return s.String()
}

// Check compares a message with the content of its signature file. It returns the trusted
// comment, which is signed too.
func (k *Key) Check(message, signature []byte) (comment string, err error) {
	lines := strings.Split(strings.TrimSuffix(string(bytes.ReplaceAll(signature, []byte("\r\n"), []byte("\n"))), "\n"), "\n")
	const trusted = "trusted comment: "
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "untrusted comment: ") || !strings.HasPrefix(lines[2], trusted) {
		return "", errors.New("not a signature file of minisign")
	}
	sig, err := decode(lines[1], 2+8+ed25519.SignatureSize)
	if err != nil {
		return "", fmt.Errorf("the signature: %w", err)
	}
	global, err := decode(lines[3], ed25519.SignatureSize)
	if err != nil {
		return "", fmt.Errorf("the signature of the comment: %w", err)
	}
	if id := [8]byte(sig[2:10]); id != k.id {
		return "", fmt.Errorf("signed with key %s, not with key %s", number(id), k)
	}
	switch string(sig[:2]) {
	case "ED": // of the message's hash
		sum := blake2b.Sum512(message)
		message = sum[:]
	case "Ed":
	default:
		return "", fmt.Errorf("unknown algorithm %q", sig[:2])
	}
	comment = lines[2][len(trusted):]
	switch {
	case !ed25519.Verify(k.key, message, sig[10:]):
		return "", errors.New("the signature does not fit: the file was changed, or was not signed with this key")
	case !ed25519.Verify(k.key, append(sig[10:], comment...), global):
		return "", errors.New("the trusted comment was changed")
	}
	return comment, nil
}

func decode(text string, size int) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err == nil && len(b) != size {
		err = fmt.Errorf("%d bytes, want %d", len(b), size)
	}
	return b, err
}
