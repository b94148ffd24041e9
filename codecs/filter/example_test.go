package filter_test

import (
	"encoding/binary"
	"fmt"

	"github.com/shardify/shardify/codecs/filter"
)

func ExamplePipeline_Decode() {
	const shuffle = 2 // its number in HDF5; its parameter is the size of an element
	p, err := filter.New([]filter.Spec{{ID: shuffle, Client: []uint32{4}}}, 4, 12)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored := []byte{1, 2, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0} // the lowest byte of all elements, then the next
	chunk := make([]byte, 12)
	var s filter.Scratch
	if err := p.Decode(chunk, stored, 0, &s); err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; i < len(chunk); i += 4 {
		fmt.Print(binary.LittleEndian.Uint32(chunk[i:]), " ")
	}
	fmt.Println(p.Names())
	// Output:
	// 65537 2 3 [shuffle]
}

func ExampleNew_refused() {
	_, err := filter.New([]filter.Spec{{ID: 32013}}, 4, 4096)
	fmt.Println(err)
	// Output:
	// filter 32013 (zfp) cannot be decoded; convert the file where the filter's plugin is installed, with `h5repack -f GZIP=4 in.h5 out.h5`: not supported
}
