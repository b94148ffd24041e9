package main

/*
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/gpuload/internal/sparse"
)

func init() {
	newLease = func() *lease {
		p := (*lease)(C.calloc(1, C.size_t(unsafe.Sizeof(lease{}))))
		p.held = 1
		return p
	}
	freeLease = func(p *lease) { C.free(unsafe.Pointer(p)) }
}

// try runs what an exported function does. Neither an error nor a panic gets past it.
func try(text **C.char, f func() (int, error)) (code C.int) {
	defer func() {
		if v := recover(); v != nil {
			code = fail(text, recovered(v))
		}
	}()
	n, err := f()
	if err != nil {
		return fail(text, err)
	}
	return C.int(n)
}

func fail(text **C.char, err error) C.int {
	if text != nil {
		*text = C.CString(encodeError(err))
	}
	return failed
}

// list is an array of the caller; nil if it has none.
func list[T any](p *T, n C.int64_t) ([]T, error) {
	if p == nil {
		return nil, nil
	}
	if n < 0 || n > maxList {
		return nil, errors.New("an array of negative length")
	}
	return unsafe.Slice(p, int64(n)), nil
}

func answer(to **C.char, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		*to = C.CString(string(b))
	}
	return err
}

//export goOpen
func goOpen(text *C.char, size C.size_t, indices unsafe.Pointer, nIndices C.int64_t, weights *C.double, nWeights C.int64_t, handle *C.uint64_t, about **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		ws, err := list((*float64)(weights), nWeights)
		if err != nil {
			return failed, err
		}
		// The caller's arrays end with this call.
		l, err := openLoader(unsafe.Slice((*byte)(unsafe.Pointer(text)), size), func(kind string) ([]int64, error) { return numbersOf(indices, int64(nIndices), kind) }, clone(ws))
		if err != nil {
			return failed, err
		}
		if err := answer(about, &l.info); err != nil {
			return failed, errors.Join(err, l.close())
		}
		*handle = C.uint64_t(known.addLoader(l))
		return ok, nil
	})
}

// clone keeps the difference between no list and an empty one.
func clone[T any](a []T) []T {
	if a == nil {
		return nil
	}
	return append(make([]T, 0, len(a)), a...)
}

func withLoader(handle C.uint64_t, errText **C.char, f func(l *loader) (int, error)) C.int {
	return try(errText, func() (int, error) {
		l, err := known.loader(uint64(handle))
		if err != nil {
			return failed, err
		}
		return f(l)
	})
}

func withBatch(handle C.uint64_t, errText **C.char, f func(b *batch) (int, error)) C.int {
	return try(errText, func() (int, error) {
		b, err := known.batch(uint64(handle))
		if err != nil {
			return failed, err
		}
		return f(b)
	})
}

//export goNext
func goNext(handle C.uint64_t, timeout C.int64_t, stream C.uint64_t, lend C.int, step *C.int64_t, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		return l.next(waitOf(timeout), gpuload.Stream(stream), lend != 0, unsafe.Slice((*int64)(step), l.stepLength()))
	})
}

//export goFetch
func goFetch(handle C.uint64_t, timeout C.int64_t, stream C.uint64_t, step, to *C.int64_t, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		n := len(l.tensors)
		places := unsafe.Slice((*int64)(to), 2*n)
		return l.fetch(waitOf(timeout), gpuload.Stream(stream), unsafe.Slice((*int64)(step), l.stepLength()), places[:n], places[n:])
	})
}

func waitOf(timeout C.int64_t) time.Duration {
	return time.Duration(min(max(int64(timeout), 0), 1<<31)) * time.Millisecond
}

//export goTake
func goTake(handle, stream C.uint64_t, to, sizes *C.int64_t, n C.int64_t, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) {
		if b.views != nil {
			return failed, errors.New("take of a batch that is lent")
		}
		addresses, err := list((*int64)(to), n)
		if err != nil {
			return failed, err
		}
		lengths, err := list((*int64)(sizes), n)
		if err != nil {
			return failed, err
		}
		if len(addresses) != len(b.tensors) {
			return failed, fmt.Errorf("%d addresses for %d tensors", len(addresses), len(b.tensors))
		}
		defer b.of.Bind()()
		if err := b.take(gpuload.Stream(stream), addresses, lengths); err != nil {
			return failed, err
		}
		return giveBack(b)
	})
}

func giveBack(b *batch) (int, error) {
	if _, err := known.takeBatch(b.handle); err != nil {
		return failed, err
	}
	return ok, b.ReleaseOn()
}

//export goIDs
func goIDs(handle C.uint64_t, ids *C.int64_t, n C.int64_t, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) {
		to, err := list((*int64)(ids), n)
		copy(to, b.IDs())
		return ok, err
	})
}

//export goIDsAt
func goIDsAt(handle C.uint64_t, epoch, from C.int64_t, ids *C.int64_t, n C.int64_t, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		to, err := list((*int64)(ids), n)
		if err == nil {
			l.idsAt(int64(epoch), int64(from), to)
		}
		return ok, err
	})
}

//export goDocuments
func goDocuments(lens *C.int32_t, n C.int64_t, offsets *C.int64_t, rows, stored, length C.int64_t, cu *C.int32_t, room C.int64_t, positions *C.int32_t, mask *C.uint8_t, found *C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		if rows < 0 || stored < 0 || stored > math.MaxInt32 || length < 0 || length > stored {
			return failed, fmt.Errorf("%d rows of %d tokens of %d", rows, length, stored)
		}
		in, err := list((*int32)(lens), n)
		if err != nil {
			return failed, err
		}
		at, err := list((*int64)(offsets), rows+1)
		if err != nil {
			return failed, err
		}
		to, err := list((*int32)(cu), room)
		if err != nil {
			return failed, err
		}
		d, err := gpuload.FindDocuments(to[:0:len(to)], in, at, int(stored), int(length))
		if err != nil {
			return failed, err
		}
		if len(d.CuSeqlens) > len(to) {
			return failed, fmt.Errorf("%d stretches, there is room for %d", len(d.CuSeqlens), len(to))
		}
		if positions != nil {
			p, err := list((*int32)(positions), rows*length)
			if err != nil {
				return failed, err
			}
			d.Positions(p)
		}
		if mask != nil {
			m, err := list((*byte)(mask), rows*length*length)
			if err != nil {
				return failed, err
			}
			d.Mask(m, int(length))
		}
		out, err := list((*int64)(found), 2)
		if err == nil {
			out[0], out[1] = int64(len(d.CuSeqlens)), int64(d.MaxSeqlen)
		}
		return ok, err
	})
}

//export goReady
func goReady(handle, stream C.uint64_t, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) { return ok, b.Ready(gpuload.Stream(stream)) })
}

//export goUse
func goUse(handle, stream C.uint64_t, leave C.int, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) {
		if leave != 0 {
			return ok, b.Leave(gpuload.Stream(stream))
		}
		return ok, b.Use(gpuload.Stream(stream))
	})
}

//export goRelease
func goRelease(handle C.uint64_t, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) {
		if b.views != nil {
			return failed, errors.New("release of a batch that is lent")
		}
		return giveBack(b)
	})
}

//export goSettle
func goSettle(handle C.uint64_t, errText **C.char) C.int {
	return withBatch(handle, errText, func(b *batch) (int, error) {
		if b.views == nil {
			return failed, errors.New("settle of a batch that is not lent")
		}
		return b.of.settle(b)
	})
}

//export goPlace
func goPlace(handle, address C.uint64_t, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) { return ok, l.Place(uintptr(address)) })
}

//export goState
func goState(handle C.uint64_t, text **C.char, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) { return ok, answer(text, l.State()) })
}

//export goRestore
func goRestore(handle C.uint64_t, text *C.char, size C.size_t, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		s, err := gpuload.DecodeState(unsafe.Slice((*byte)(unsafe.Pointer(text)), size))
		if err != nil {
			return failed, err
		}
		return ok, l.Restore(s)
	})
}

//export goBatches
func goBatches(handle C.uint64_t, epoch, from C.int64_t, report C.int, text **C.char, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		b, err := l.batchesOf(int(epoch), int64(from), report != 0)
		if err != nil {
			return failed, err
		}
		return ok, answer(text, b)
	})
}

//export goOrder
func goOrder(handle C.uint64_t, epoch C.int64_t, list unsafe.Pointer, n C.int64_t, kind *C.char, text **C.char, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) {
		samples, err := numbersOf(list, int64(n), C.GoString(kind))
		if err != nil {
			return failed, err
		}
		g, err := l.give(int(epoch), samples)
		if err != nil {
			return failed, err
		}
		return ok, answer(text, g)
	})
}

//export goStats
func goStats(handle C.uint64_t, text **C.char, errText **C.char) C.int {
	return withLoader(handle, errText, func(l *loader) (int, error) { return ok, answer(text, l.Stats()) })
}

//export goClose
func goClose(handle C.uint64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		l, err := known.takeLoader(uint64(handle))
		if err != nil {
			return failed, err
		}
		return ok, l.close()
	})
}

//export goProbe
func goProbe(device *C.char, text **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		d, err := gpuload.Probe(C.GoString(device))
		if err != nil {
			return failed, err
		}
		return ok, answer(text, d)
	})
}

//export goPixels
func goPixels(device *C.char, stream C.uint64_t, form *C.int64_t, scales *C.float, pictures unsafe.Pointer, n C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		f := unsafe.Slice((*int64)(form), formLength)
		if n < 0 || n > maxPictures || f[formScales] < 0 || f[formScales] > 3 {
			return failed, fmt.Errorf("%d images, %d scales", n, f[formScales])
		}
		return ok, pixels(C.GoString(device), gpuload.Stream(stream), f, clone(unsafe.Slice((*float32)(scales), f[formScales]*2)), unsafe.Slice((*byte)(pictures), int64(n)*pictureBytes))
	})
}

//export goDense
func goDense(device *C.char, stream C.uint64_t, form *C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		return ok, denseRows(C.GoString(device), gpuload.Stream(stream), unsafe.Slice((*int64)(form), denseLength))
	})
}

//export goDecode
func goDecode(form *C.char, size C.size_t, epoch C.int64_t, values *C.uint8_t, bytes C.int64_t, offsets, ids *C.int64_t, n C.int64_t, out *C.uint8_t, room C.int64_t, moves *C.double, numbers C.int64_t, left **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		from, err := list((*byte)(values), bytes)
		if err != nil {
			return failed, err
		}
		to, err := list((*byte)(out), room)
		if err != nil {
			return failed, err
		}
		borders, err := list((*int64)(offsets), n+1)
		if err != nil {
			return failed, err
		}
		samples, err := list((*int64)(ids), n)
		if err != nil {
			return failed, err
		}
		places, err := list((*float64)(moves), numbers)
		if err != nil {
			return failed, err
		}
		bad, err := decode(unsafe.Slice((*byte)(unsafe.Pointer(form)), size), int64(epoch), from, borders, samples, to, places)
		if err != nil {
			return failed, err
		}
		return ok, answer(left, bad)
	})
}

//export goFollowing
func goFollowing(form *C.char, size C.size_t, text **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		f, err := imageForm(unsafe.Slice((*byte)(unsafe.Pointer(form)), size))
		if err != nil {
			return failed, err
		}
		known, err := f.Following()
		if err != nil {
			return failed, err
		}
		return ok, answer(text, known)
	})
}

//export goFollow
func goFollow(form *C.char, size C.size_t, ids *C.int64_t, n C.int64_t, moves *C.double, numbers C.int64_t, columns *C.int64_t, words C.int64_t, left **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		samples, err := list((*int64)(ids), n)
		if err != nil {
			return failed, err
		}
		places, err := list((*float64)(moves), numbers)
		if err != nil {
			return failed, err
		}
		where, err := list((*int64)(columns), words)
		if err != nil {
			return failed, err
		}
		bad, err := follow(unsafe.Slice((*byte)(unsafe.Pointer(form)), size), samples, places, where)
		if err != nil {
			return failed, err
		}
		return ok, answer(left, bad)
	})
}

//export goSparse
func goSparse(form *C.int64_t, columns *C.int32_t, values, indices unsafe.Pointer, n C.int64_t, offsets *C.int64_t, rows C.int64_t, to *unsafe.Pointer, room, found *C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		how := unsafe.Slice((*int64)(form), sparseForm)
		choice, err := list((*int32)(columns), C.int64_t(how[sparseWidth]))
		if err != nil {
			return failed, err
		}
		f, err := sparseOf(how, choice)
		if err != nil {
			return failed, err
		}
		borders, err := list((*int64)(offsets), rows+1)
		if err != nil {
			return failed, err
		}
		in := sparse.Rows{Offsets: borders}
		if in.Values, err = list((*byte)(values), n*C.int64_t(f.Values.Size())); err != nil {
			return failed, err
		}
		if in.Indices, err = list((*byte)(indices), n*C.int64_t(f.Indices.Size())); err != nil {
			return failed, err
		}
		var out sparse.Result
		places, sizes := unsafe.Slice(to, 3), unsafe.Slice(room, 3)
		for i, p := range []*[]byte{&out.Values, &out.Columns, &out.Starts} {
			if *p, err = list((*byte)(places[i]), sizes[i]); err != nil {
				return failed, err
			}
		}
		made, err := f.Make(in, out)
		if err != nil {
			return failed, err
		}
		tell(unsafe.Slice((*int64)(found), foundLength), made)
		return ok, nil
	})
}

//export goImageSize
func goImageSize(form *C.char, size C.size_t, to *C.int64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		f, err := imageForm(unsafe.Slice((*byte)(unsafe.Pointer(form)), size))
		if err != nil {
			return failed, err
		}
		w, h, err := f.Size()
		out := unsafe.Slice((*int64)(to), 2)
		out[0], out[1] = int64(w), int64(h)
		return ok, err
	})
}

//export goConvert
func goConvert(settings *C.char, size C.size_t, handle *C.uint64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		c, err := begin(clone(unsafe.Slice((*byte)(unsafe.Pointer(settings)), size)))
		if err != nil {
			return failed, err
		}
		*handle = C.uint64_t(known.addConversion(c))
		return ok, nil
	})
}

//export goConvertWait
func goConvertWait(handle C.uint64_t, timeout C.int64_t, text **C.char, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		c, err := known.conversion(uint64(handle))
		if err != nil {
			return failed, err
		}
		about, ended, err := c.wait(waitOf(timeout))
		if ended {
			known.forget(uint64(handle))
		}
		if err != nil {
			return failed, err
		}
		if !ended {
			return again, answer(text, about)
		}
		return ok, answer(text, about)
	})
}

//export goConvertStop
func goConvertStop(handle C.uint64_t, errText **C.char) C.int {
	return try(errText, func() (int, error) {
		c, err := known.conversion(uint64(handle))
		if err != nil {
			return failed, err
		}
		c.stop()
		return ok, nil
	})
}
