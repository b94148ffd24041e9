// Command demo writes the handwritten digits of digits.npz as a folder of PNG
// images with one subfolder per digit, the layout that torchvision calls
// ImageFolder, and as uncompressed arrays.
//
//	go run ./testdata/demo digits.npz OUT
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/npz"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: demo DIGITS.npz OUT")
		os.Exit(2)
	}
	n, err := run(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	fmt.Printf("wrote %d images below %s\n", n, os.Args[2])
}

func run(in, out string) (n int, err error) {
	ctx := context.Background()
	st, err := os.Stat(in)
	if err != nil {
		return 0, err
	}
	table := &format.Table{Roots: []string{in}}
	table.Append(0, "", st.Size(), st.ModTime().UnixNano())
	options, err := format.CheckOptions(npz.Format.Options, nil)
	if err != nil {
		return 0, err
	}
	src, err := npz.Format.Open(ctx, format.OpenArgs{Table: table, Options: options})
	if err != nil {
		return 0, err
	}
	defer src.Close()
	pool := shardify.NewPool(64 << 20)
	for s, err := range src.Spans(ctx, 1<<20) {
		if err != nil {
			return n, err
		}
		mem, err := pool.Grant(ctx, s.Bytes)
		if err != nil {
			return n, err
		}
		r, err := src.Reader(s.Run)
		if err != nil {
			return n, err
		}
		b, err := r.Read(ctx, s, mem)
		if err != nil {
			return n, err
		}
		if err := write(b, out, n); err != nil {
			return n, err
		}
		n += b.Samples
		r.Close()
		mem.Release()
	}
	return n, nil
}

// write stores the images of a batch, brightened from 0..16 to 0..255.
func write(b *shardify.Batch, out string, first int) error {
	x := b.Columns[shardify.FieldIndex(fields(b), "x")].Data
	y := b.Columns[shardify.FieldIndex(fields(b), "y")].Data
	for i := range b.Samples {
		dir := filepath.Join(out, fmt.Sprint(binary.LittleEndian.Uint64(y[8*i:])))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		img := image.NewGray(image.Rect(0, 0, 8, 8))
		for k, v := range x[64*i : 64*i+64] {
			img.Pix[k] = uint8(min(int(v)*16, 255))
		}
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.png", first+i)))
		if err != nil {
			return err
		}
		if err := png.Encode(f, img); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func fields(b *shardify.Batch) []shardify.Field {
	var f []shardify.Field
	for i := range b.Columns {
		f = append(f, b.Columns[i].Field)
	}
	return f
}
