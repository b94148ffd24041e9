package index

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestManifestsThatBothLanguagesRefuse: testdata/refused.json has edits of a manifest, each of
// which is signed again. python/tests/test_hostile.py reads the same file.
func TestManifestsThatBothLanguagesRefuse(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Base  json.RawMessage
		Cases []struct {
			At    []any
			Value any
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	decode := func(at []any, value any) error {
		var m any
		if err := json.Unmarshal(all.Base, &m); err != nil {
			t.Fatal(err)
		}
		in := m
		for i, key := range at {
			last := i == len(at)-1
			switch k := key.(type) {
			case string:
				if of := in.(map[string]any); last {
					of[k] = value
				} else {
					in = of[k]
				}
			case float64:
				in = in.([]any)[int(k)]
			}
		}
		m.(map[string]any)["xxh3"] = noDigest
		b, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, '\n')
		sum := DigestOf(b)[len(DigestPrefix):]
		_, err = DecodeManifest([]byte(strings.Replace(string(b), noDigest+digestEnd, sum+digestEnd, 1)))
		return err
	}
	if err := decode(nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		if err := decode(c.At, c.Value); err == nil || strings.Contains(err.Error(), "xxh3 of the text") {
			t.Errorf("%v = %v: %v", c.At, c.Value, fmt.Sprint(err))
		}
	}
}
