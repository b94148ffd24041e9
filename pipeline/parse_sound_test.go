package pipeline

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParseRecordings: the first file that can be read says the type of all; values are no files, so the shards are mmap. The bytes
// are the same by any number of jobs.
func TestParseRecordings(t *testing.T) {
	in := t.TempDir()
	put := func(name string, channels, frames int) {
		n := 2 * channels * frames
		b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(36+n))...)
		b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00"...)
		b = binary.LittleEndian.AppendUint16(b, uint16(channels))
		b = append(b, "\x40\x1f\x00\x00\x00\x00\x00\x00"...)
		b = binary.LittleEndian.AppendUint16(b, uint16(2*channels))
		b = append(b, "\x10\x00data"...)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(n)), make([]byte, n)...)
		if err := os.WriteFile(filepath.Join(in, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		put(string(rune('b'+i))+".wav", 2, 100*i)
	}
	if err := os.WriteFile(filepath.Join(in, "a.wav"), []byte("RIFF"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Settings{Inputs: []string{in}, Sync: "none", Parse: []string{"wav=wav"}, OnError: "skip", ShardSamples: 7}
	var want map[string]string
	for _, jobs := range []int{1, 3} {
		s.Output, s.Jobs = filepath.Join(t.TempDir(), "out"), jobs
		r, err := Convert(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		m := r.Manifest
		if f := m.Schema[0]; m.Samples != 20 || m.Format != "mmap" || f.Name != "wav" || f.DType.String() != "i16" || f.Levels != 1 || len(f.Shape) != 1 || m.Schema[1].Name != "wav_rate" {
			t.Fatalf("%d samples of %+v in %s", m.Samples, m.Schema, m.Format)
		}
		got := files(t, s.Output)
		if want != nil && !maps.Equal(want, got) {
			t.Error("the bytes depend on the number of jobs")
		}
		want = got
	}
	put("a.wav", 1, 1)
	s.Output, s.OnError, s.Jobs = filepath.Join(t.TempDir(), "out"), "fail", 1
	if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), "parse b wav sample 0: 2 channels, where others have 1") {
		t.Errorf("other channels: %v", err)
	}
}
