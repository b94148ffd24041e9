// Command floor does the least that a conversion of files does, for benches that show how far a program is from it.
//
//	floor copy FROM TO     reads each file of a folder, sums it by CRC-32C and writes it
//	floor inflate FROM     unpacks each file, which gzip packed, in memory
//	floor parts FROM N TO  prints the processor seconds of its parts: reading the files below FROM, summing N bytes by CRC-32C,
//	                       writing N bytes to the new file TO
//	floor ways FROM TO     prints what ways to copy a file take
//	floor ends FROM        opens each file below FROM and reads its head and its end
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shardify/shardify/codecs/crc32c"
	"github.com/shardify/shardify/codecs/inflate"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("copy FROM TO, inflate FROM, parts FROM N TO, ways FROM TO, or ends FROM")
	}
	switch {
	case args[0] == "copy" && len(args) == 3:
		return each(args[1], func(f *os.File, buf []byte) error {
			return copied(f, filepath.Join(args[2], filepath.Base(f.Name())), buf)
		})
	case args[0] == "inflate" && len(args) == 2:
		var r inflate.Reader
		return each(args[1], func(f *os.File, buf []byte) error {
			r.ResetGzip(f)
			for {
				if _, err := r.Read(buf); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
	case args[0] == "parts" && len(args) == 4:
		return parts(args[1], args[2], args[3])
	case args[0] == "ways" && len(args) == 3:
		return waysOf(args[1], args[2])
	case args[0] == "ends" && len(args) == 2:
		return ends(args[1])
	}
	return fmt.Errorf("copy FROM TO, inflate FROM, parts FROM N TO, ways FROM TO, or ends FROM; not %q", args)
}

// each opens the files of a folder.
func each(folder string, do func(f *os.File, buf []byte) error) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for _, e := range entries {
		f, err := os.Open(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		err = do(f, buf)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func copied(f *os.File, name string, buf []byte) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	sum := uint32(0)
	for {
		n, err := f.Read(buf)
		if err == io.EOF {
			return out.Close()
		}
		if err == nil {
			sum = crc32c.Update(sum, buf[:n])
			_, err = out.Write(buf[:n])
		}
		if err != nil {
			out.Close()
			return err
		}
	}
}
