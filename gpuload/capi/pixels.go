package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/gpuload/internal/images"
)

// The arguments of shardify_pixels.
const (
	formOut = iota
	formWidth
	formHeight
	formChannels
	formLast
	formType
	formScales
	formLength
)

const (
	pictureBytes = gpuload.PictureBytes
	maxPictures  = 1 << 20
)

// pixelTypes are the types of formType, by number.
var pixelTypes = []shardify.DType{shardify.U8, shardify.F16, shardify.BF16, shardify.F32}

func pixels(device string, stream gpuload.Stream, form []int64, scales []float32, list []byte) error {
	if k := form[formType]; k < 0 || k >= int64(len(pixelTypes)) {
		return fmt.Errorf("pixels of type %d", k)
	}
	f := gpuload.PixelForm{
		Out: uintptr(form[formOut]), Width: int(form[formWidth]), Height: int(form[formHeight]), Channels: int(form[formChannels]),
		Last: form[formLast] != 0, To: pixelTypes[form[formType]], Scale: scales[:len(scales)/2], Shift: scales[len(scales)/2:],
	}
	return gpuload.Pixels(device, stream, &f, list)
}

func imageForm(text []byte) (*images.Form, error) {
	f := new(images.Form)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("form of images: %w", err)
	}
	return f, nil
}

// decode makes pixels of encoded images. It lets Go have as many threads as it is to use.
func decode(form []byte, epoch int64, values []byte, offsets, ids []int64, out []byte, moves []float64) ([]images.Left, error) {
	f, err := imageForm(form)
	if err != nil {
		return nil, err
	}
	if n := min(f.Threads, runtime.NumCPU()); n > runtime.GOMAXPROCS(0) && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(n)
	}
	return f.Batch(uint64(epoch), values, offsets, ids, out, moves)
}

// columnWords are the addresses and lengths of a column: values, offsets, offsets of the second level, marks, and
// where masks go.
const columnWords = 10

// follow makes what follows the images of a batch.
func follow(form []byte, ids []int64, moves []float64, words []int64) ([]images.Left, error) {
	f, err := imageForm(form)
	if err != nil {
		return nil, err
	}
	if len(words)%columnWords != 0 || slices.ContainsFunc(words, func(x int64) bool { return x < 0 }) {
		return nil, fmt.Errorf("%d words of columns", len(words))
	}
	var columns []images.Column
	for ; len(words) > 0; words = words[columnWords:] {
		part := func(k, size int) []byte {
			if words[2*k] == 0 {
				return nil
			}
			return at(words[2*k], words[2*k+1]*int64(size))
		}
		columns = append(columns, images.Column{
			Values: part(0, 1), Offsets: [2][]int64{shardify.View[int64](part(1, 8)), shardify.View[int64](part(2, 8))}, Valid: part(3, 1), Mask: part(4, 1),
		})
	}
	return f.Follow(ids, moves, columns)
}
