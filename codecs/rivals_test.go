package codecs

import (
	"bytes"
	"io"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
	"github.com/ulikunitz/xz"
)

// BenchmarkRivals has the decoder of this package beside that of a module; the others are of modules.
func BenchmarkRivals(b *testing.B) {
	data := synth(1 << 20)
	var file bytes.Buffer
	w, err := xz.NewWriter(&file)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, len(data))
	for name, decode := range map[string]func() error{
		"ours": func() error {
			_, err := XZ(dst, file.Bytes())
			return err
		},
		"ulikunitz": func() error {
			r, err := xz.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				return err
			}
			_, err = io.ReadFull(r, dst)
			return err
		},
	} {
		rivals.Run(b, "xz/"+name, int64(len(data)), decode)
	}
}
