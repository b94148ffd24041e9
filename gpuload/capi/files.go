package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// wanted is what shardify_file is asked for, in JSON.
type wanted struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	// Of an mmap shard:
	Samples *int64   `json:"samples"`
	Tensors []string `json:"tensors"`
}

//export goFileSize
func goFileSize(name *C.char, bytes *C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		name := C.GoString(name)
		info, err := storages.Files.Stat(context.Background(), name)
		if err == nil && info.Type != storage.Regular {
			err = shardify.Annotate(storage.ErrNotFile, "open", name, "")
		}
		*bytes = C.int64_t(info.Size)
		return ok, err
	})
}

//export goFile
func goFile(text *C.char, size C.size_t, to *C.void, bytes C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		var w wanted
		if err := json.Unmarshal(unsafe.Slice((*byte)(unsafe.Pointer(text)), size), &w); err != nil {
			return failed, err
		}
		if bytes < 0 {
			return failed, errors.New("a file of negative length")
		}
		of := dataset.Wanted{Digest: w.Digest}
		if w.Samples != nil {
			of = dataset.Wanted{Record: &shardify.Shard{Samples: *w.Samples, Bytes: int64(bytes), Digest: w.Digest}, Tensors: w.Tensors}
		}
		b := unsafe.Slice((*byte)(unsafe.Pointer(to)), int64(bytes))
		return ok, dataset.Fetch(context.Background(), storages.Files, w.Name, of, b)
	})
}

//export goDescribe
func goDescribe(path *C.char, about **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		s, err := dataset.Open(context.Background(), storages.Files, C.GoString(path), index.FormatWDS, index.FormatMDS)
		if err != nil {
			return failed, err
		}
		return ok, answer(about, s.Outline())
	})
}
