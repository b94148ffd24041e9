// Command capi is gpuload and pipeline.Convert as a C library, for Python and all that can call C:
//
//	go build -tags cuda -buildmode=c-shared -o _shardify.so ./gpuload/capi
//
// shardify.h is the interface. The C side (wrap.c, dlpack.c) refuses calls in a forked
// child, where Go's threads are missing. It owns what may be called without Go: the
// deleters of DLPack tensors, which come from any thread and until the very end of a
// process. The Go side gives out Loaders and batches as numbers, so that a stale one is an
// error and not a crash. No panic leaves it.
package main

func main() {}
