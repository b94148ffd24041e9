package inflate

import (
	"bytes"
	stdflate "compress/flate"
	"io"
	"testing"

	"github.com/klauspost/compress/flate"
	"github.com/shardify/shardify/tests/rivals"
)

// BenchmarkRivals decodes 4 MiB of each kind of data, deflated at level 6.
func BenchmarkRivals(b *testing.B) {
	for _, k := range kinds {
		data := k.make(4 << 20)
		comp := deflated(b, data, 6)
		dst := make([]byte, len(data))
		bench := func(name string, decode func() error) {
			rivals.Run(b, k.name+"/"+name, int64(len(data)), decode)
		}
		var d Decoder
		bench("ours", func() error {
			_, _, err := d.decode(rawFrame, dst, comp)
			return err
		})
		var r Reader
		bench("stream", func() error {
			r.Reset(bytes.NewReader(comp))
			_, err := io.ReadFull(&r, dst)
			return err
		})
		theirs := func(r io.ReadCloser) func() error {
			return func() error {
				if err := r.(flate.Resetter).Reset(bytes.NewReader(comp), nil); err != nil {
					return err
				}
				_, err := io.ReadFull(r, dst)
				return err
			}
		}
		bench("klauspost", theirs(flate.NewReader(nil)))
		bench("stdlib", theirs(stdflate.NewReader(nil)))
	}
}
