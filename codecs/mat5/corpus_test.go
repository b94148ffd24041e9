package mat5

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

func sum(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// texts are those of values in UTF-32.
func texts(v *Variable, b []byte) []string {
	var out []string
	for w := widthOf(v.NumPy); len(b) > 0; b = b[w:] {
		var s strings.Builder
		for i := 0; i < w; i += 4 {
			if c := binary.LittleEndian.Uint32(b[i:]); c != 0 {
				s.WriteRune(rune(c))
			}
		}
		out = append(out, s.String())
	}
	return out
}

// readAll reads all variables of a file.
func readAll(b []byte) (map[string][]byte, *File, error) {
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, nil, err
	}
	out := map[string][]byte{}
	for i := range f.Variables {
		v := &f.Variables[i]
		if v.Err != nil {
			if errors.Is(v.Err, shardify.ErrCorrupt) {
				return nil, nil, v.Err
			}
			continue
		}
		if out[v.Name], err = f.Values(v); err != nil {
			return nil, nil, err
		}
	}
	return out, f, nil
}

func TestCorpus(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "science_images"), "mat5")
	equal := 0
	for _, d := range []string{"*.mat", "real/*.mat"} {
		files, _ := filepath.Glob(filepath.Join(dir, d))
		for _, path := range files {
			name := strings.TrimPrefix(path, dir+"/")
			text, err := os.ReadFile(path + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Error  string
				Fields map[string]struct {
					DType, SHA256 string
					Values        json.RawMessage
				}
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, f, err := readAll(b)
			if err != nil {
				t.Logf("%s: %v (scipy: %.70s)", name, err, want.Error)
				if want.Error == "" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if want.Error != "" {
				t.Logf("%s: read; scipy: %.70s", name, want.Error)
			}
			for i := range f.Variables {
				v := &f.Variables[i]
				w, ok := want.Fields[v.Name]
				switch {
				case v.Err != nil:
					t.Logf("%s %s: %v", name, v.Name, v.Err)
				case !ok || w.SHA256 == "" && w.DType != "txt":
					t.Logf("%s %s %s %s %v: not compared", name, v.Name, v.Class, v.NumPy, v.Shape)
				case w.DType == "txt":
					var list []string
					if json.Unmarshal(w.Values, &list) == nil && len(list) > 0 && strings.Join(list, "|") != strings.Join(texts(v, got[v.Name]), "|") {
						t.Errorf("%s %s: %q, want %q", name, v.Name, texts(v, got[v.Name]), list)
					}
					equal++
				case sum(got[v.Name]) != w.SHA256:
					t.Errorf("%s %s: %s %v, want %s %s", name, v.Name, v.NumPy, v.Shape, w.DType, w.Values)
				default:
					equal++
				}
			}
		}
	}
	t.Logf("%d equal", equal)
	if equal < 50 {
		t.Errorf("%d arrays were compared", equal)
	}
}

func TestDamage(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "science_images"), "mat5", "bad", "*.mat"))
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, f, err := readAll(b)
		switch name := filepath.Base(path); name {
		case "twice.mat", "ratio_1000.mat":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case "class17.mat":
			if err != nil || f.Variables[0].Err == nil {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
		}
		t.Logf("%s: %v", filepath.Base(path), err)
	}
	if len(files) < 13 {
		t.Errorf("%d files", len(files))
	}
}

// FuzzMAT: any bytes are read, or refused with a reason.
func FuzzMAT(f *testing.F) {
	for _, d := range []string{"*.mat", "real/*.mat", "bad/*.mat"} {
		files, _ := filepath.Glob(filepath.Join(corpus.Path("science_images"), "mat5", d))
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 64<<10 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := readAll(b); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

// TestOneCharacter: a text of one character of MATLAB 4 is a text.
func TestOneCharacter(t *testing.T) {
	var b []byte
	for _, n := range []uint32{51, 1, 1, 0, 2} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	got, f, err := readAll(append(b, 's', 0, 'r'))
	if err != nil || strings.Join(texts(&f.Variables[0], got["s"]), "|") != "r" {
		t.Errorf("%q, %v", got, err)
	}
}
