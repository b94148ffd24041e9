package inflate

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"
)

// readInSteps reads everything, size(i) bytes at the i-th call.
func readInSteps(r io.Reader, size func(i int) int) ([]byte, error) {
	var got []byte
	buf := make([]byte, 1<<20)
	for i := 0; ; i++ {
		n, err := r.Read(buf[:size(i)])
		got = append(got, buf[:n]...)
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
}

func TestReaderTakesAnyPieces(t *testing.T) {
	inputs := map[string]func(io.Reader) io.Reader{
		"one byte":      iotest.OneByteReader,
		"half":          iotest.HalfReader,
		"data with EOF": iotest.DataErrReader,
		"plain":         func(r io.Reader) io.Reader { return r },
		"7 bytes":       func(r io.Reader) io.Reader { return pieces{r, 7} },
		"1009 bytes":    func(r io.Reader) io.Reader { return pieces{r, 1009} },
	}
	sizes := map[string]func(i int) int{
		"1":      func(int) int { return 1 },
		"odd":    func(i int) int { return 1 + i*7919%5000 },
		"4 KiB":  func(int) int { return 4096 },
		"1 MiB":  func(int) int { return 1 << 20 },
		"zeroes": func(i int) int { return i % 3 * 1000 },
	}
	var r Reader
	for i := 0; i < len(kinds); i += min(thin, 3) {
		k := kinds[i]
		data := k.make(600_001) // the window slides twice
		comp := append(deflated(t, data, 6), "behind it"...)
		for in, wrap := range inputs {
			for out, size := range sizes {
				r.Reset(wrap(bytes.NewReader(comp)))
				got, err := readInSteps(&r, size)
				if err != nil || !bytes.Equal(got, data) || r.InputBytes() != int64(len(comp)-9) {
					t.Errorf("%s, input %s, output %s: %d of %d bytes, used %d of %d: %v",
						k.name, in, out, len(got), len(data), r.InputBytes(), len(comp)-9, err)
				}
			}
		}
	}
}

// pieces gives at most n bytes at once.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

func TestReaderOfRandomCodes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 10))
	var r Reader
	for range 200 / thin {
		src := randomStream(rnd, 8000)
		want, used, err := oracle(src, 1<<22)
		if err != nil {
			t.Fatal(err)
		}
		r.Reset(pieces{bytes.NewReader(src), 1 + rnd.IntN(100)})
		got, err := io.ReadAll(&r)
		if err != nil || !bytes.Equal(got, want) || r.InputBytes() != int64(used) {
			t.Fatalf("%d of %d bytes, used %d of %d: %v", len(got), len(want), r.InputBytes(), used, err)
		}
	}
}

func TestReaderGivesWhatItHasBeforeItAsksForMore(t *testing.T) {
	data := text(100_000)
	comp := deflated(t, data, 6)
	boom := errors.New("boom")
	cut := len(comp) / 2
	var r Reader
	r.Reset(io.MultiReader(bytes.NewReader(comp[:cut]), iotest.ErrReader(boom)))
	got, err := io.ReadAll(&r)
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of the input", err)
	}
	dst := make([]byte, len(data))
	if n, _, _ := Deflate(dst, comp[:cut]); n != len(got) || !bytes.Equal(got, dst[:n]) {
		t.Errorf("got %d bytes before the error, whole buffer gives %d", len(got), n)
	}
	if _, again := r.Read(dst); again != err {
		t.Errorf("second error %v", again)
	}
	r.Reset(bytes.NewReader(comp))
	if got, err := io.ReadAll(&r); err != nil || !bytes.Equal(got, data) {
		t.Errorf("after Reset: %d of %d bytes: %v", len(got), len(data), err)
	}
}

func TestReaderOfAnInputThatNeverComes(t *testing.T) {
	var r Reader
	r.Reset(nothing{})
	if _, err := io.ReadAll(&r); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
