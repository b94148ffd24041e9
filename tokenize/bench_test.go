package tokenize

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// BenchmarkTexts makes ids of the texts of SHARDIFY_TEXTS, JSON lines, with the tokenizer of
// SHARDIFY_TOKENIZER, and prints what bench/tokens.py compares with the libraries.
func BenchmarkTexts(b *testing.B) {
	file := os.Getenv("SHARDIFY_TOKENIZER")
	if file == "" {
		b.Skip("SHARDIFY_TOKENIZER and SHARDIFY_TEXTS name no files")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	tok, err := Load(data, Options{Pattern: os.Getenv("SHARDIFY_PATTERN")})
	if err != nil {
		b.Fatal(err)
	}
	texts, size := textsOf(b, os.Getenv("SHARDIFY_TEXTS"))
	b.SetBytes(size)
	for b.Loop() {
		begun, cpu := time.Now(), processor(b)
		e, ids := tok.NewEncoder(), []int32(nil)
		for _, text := range texts {
			if ids, err = e.Append(ids, text); err != nil {
				b.Fatal(err)
			}
		}
		cpu, wall := processor(b)-cpu, time.Since(begun)
		sum := sha256.New()
		if err := binary.Write(sum, binary.LittleEndian, ids); err != nil {
			b.Fatal(err)
		}
		fmt.Printf("\n{\"cpu\": %f, \"wall\": %f, \"sum\": \"%x\"}\n", cpu.Seconds(), wall.Seconds(), sum.Sum(nil))
	}
}

// processor is the time that the process has had of processors.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// textsOf are the texts of JSON lines.
func textsOf(b *testing.B, name string) (texts [][]byte, size int64) {
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var line struct{ Text string }
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return texts, size
		} else if err != nil {
			b.Fatal(err)
		}
		texts, size = append(texts, []byte(line.Text)), size+int64(len(line.Text))
	}
}
