package minisign

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The files in testdata were made by minisign 0.11 (minisign -G -W, -S, -S -l).
func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func key(t *testing.T, name string) *Key {
	t.Helper()
	k, err := ParseKey(string(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestSignaturesOfMinisignAreAccepted(t *testing.T) {
	k := key(t, "key.pub")
	lines := strings.Split(strings.TrimSpace(string(read(t, "key.pub"))), "\n")
	if short, err := ParseKey(lines[1]); err != nil || short.String() != "3DED60A1FD4BE6C1" {
		t.Fatal(short, err)
	}
	for _, name := range []string{"hashed.minisig", "legacy.minisig"} {
		sig := read(t, name)
		for _, sig := range [][]byte{sig, bytes.ReplaceAll(sig, []byte("\n"), []byte("\r\n"))} {
			if comment, err := k.Check(read(t, "message"), sig); err != nil || comment != "set of 2026-11-23" {
				t.Errorf("%s: %q, %v", name, comment, err)
			}
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	k, message := key(t, "key.pub"), read(t, "message")
	for _, name := range []string{"hashed.minisig", "legacy.minisig"} {
		sig := read(t, name)
		refuse := func(what, want string, k *Key, message, sig []byte) {
			t.Helper()
			if _, err := k.Check(message, sig); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", name, what, err, want)
			}
		}
		refuse("another key", "signed with key 3DED60A1FD4BE6C1, not with key F5537365D8D66FBF", key(t, "other.pub"), message, sig)
		forged := *key(t, "other.pub")
		forged.id = k.id
		refuse("another key of the same number", "does not fit", &forged, message, sig)
		refuse("changed message", "does not fit", k, append(bytes.Clone(message), ' '), sig)
		refuse("changed comment", "trusted comment was changed", k, message, bytes.Replace(sig, []byte("2026"), []byte("2027"), 1))
		lines := bytes.SplitAfter(sig, []byte("\n"))
		refuse("a line less", "not a signature file", k, message, bytes.Join(lines[:3], nil))
		for i := range sig {
			for _, bit := range []byte{1, 32} {
				changed := bytes.Clone(sig)
				changed[i] ^= bit
				if _, err := k.Check(message, changed); err == nil && i >= len(lines[0]) && changed[i] != '\r' {
					t.Errorf("%s: byte %d changed from %q to %q is accepted", name, i, sig[i], changed[i])
				}
			}
		}
	}
	for _, text := range []string{"", "RW", "key.pub", "RUTB5kv9oWDtPUo3BlCfHNPrNvktszY3pU/Q8Yv6wZJaF4MQ1+xSNhyV", "RWTB5kv9oWDtPUo3BlCfHNPrNvktszY3pU/Q8Yv6wZJaF4MQ1+xSNhyVAAAA"} {
		if _, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}
