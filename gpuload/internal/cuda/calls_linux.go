package cuda

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// The driver's functions, with the types they have in C: handles are uintptr,
// CUdeviceptr is uint64, size_t is int64 here and checked by the caller. Pointers to
// Go memory are only read or written during the call.

// pointer is the Go view of an address that C gave. It is the only place where an
// integer becomes a pointer; the detour keeps vet's check useful elsewhere.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

// memory is n bytes of C memory.
func memory(address uintptr, n int64) []byte {
	return unsafe.Slice((*byte)(pointer(address)), n)
}

// addressOf is where b is. b is not memory of Go.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func (d *driver) cString(f uintptr, n int) string {
	if f == 0 {
		return ""
	}
	var p uintptr
	if r, _, _ := purego.SyscallN(f, uintptr(uint32(int32(n))), uintptr(unsafe.Pointer(&p))); r != success || p == 0 {
		return ""
	}
	b := unsafe.Slice((*byte)(pointer(p)), 128)
	for i := range b {
		if b[i] == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

func (d *driver) init() error {
	r, _, _ := purego.SyscallN(d.cuInit, 0)
	return d.check("cuInit", r)
}

// version is the newest CUDA the driver speaks, as 1000*major + 10*minor.
func (d *driver) version() (v int32, err error) {
	r, _, _ := purego.SyscallN(d.cuDriverGetVersion, uintptr(unsafe.Pointer(&v)))
	return v, d.check("cuDriverGetVersion", r)
}

func (d *driver) deviceCount() (n int32, err error) {
	r, _, _ := purego.SyscallN(d.cuDeviceGetCount, uintptr(unsafe.Pointer(&n)))
	return n, d.check("cuDeviceGetCount", r)
}

func (d *driver) device(ordinal int32) (dev int32, err error) {
	r, _, _ := purego.SyscallN(d.cuDeviceGet, uintptr(unsafe.Pointer(&dev)), uintptr(uint32(ordinal)))
	return dev, d.check("cuDeviceGet", r)
}

func (d *driver) deviceName(dev int32) (string, error) {
	b := make([]byte, 256)
	r, _, _ := purego.SyscallN(d.cuDeviceGetName, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(uint32(dev)))
	return upToNul(b), d.check("cuDeviceGetName", r)
}

func (d *driver) pciBusID(dev int32) (string, error) {
	b := make([]byte, 64)
	r, _, _ := purego.SyscallN(d.cuDeviceGetPCIBusId, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(uint32(dev)))
	return upToNul(b), d.check("cuDeviceGetPCIBusId", r)
}

func upToNul(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func (d *driver) uuid(dev int32) (id [16]byte, err error) {
	r, _, _ := purego.SyscallN(d.cuDeviceGetUuid, uintptr(unsafe.Pointer(&id)), uintptr(uint32(dev)))
	return id, d.check("cuDeviceGetUuid_v2", r)
}

func (d *driver) totalMemory(dev int32) (n uint64, err error) {
	r, _, _ := purego.SyscallN(d.cuDeviceTotalMem, uintptr(unsafe.Pointer(&n)), uintptr(uint32(dev)))
	return n, d.check("cuDeviceTotalMem_v2", r)
}

func (d *driver) attribute(attr, dev int32) (v int32, err error) {
	r, _, _ := purego.SyscallN(d.cuDeviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(uint32(attr)), uintptr(uint32(dev)))
	return v, d.check("cuDeviceGetAttribute", r)
}

func (d *driver) primaryRetain(dev int32) (ctx uintptr, err error) {
	r, _, _ := purego.SyscallN(d.cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), uintptr(uint32(dev)))
	return ctx, d.check("cuDevicePrimaryCtxRetain", r)
}

func (d *driver) primaryRelease(dev int32) error {
	r, _, _ := purego.SyscallN(d.cuDevicePrimaryCtxRelease, uintptr(uint32(dev)))
	return d.check("cuDevicePrimaryCtxRelease_v2", r)
}

func (d *driver) currentContext() (ctx uintptr, err error) {
	r, _, _ := purego.SyscallN(d.cuCtxGetCurrent, uintptr(unsafe.Pointer(&ctx)))
	return ctx, d.check("cuCtxGetCurrent", r)
}

func (d *driver) pushContext(ctx uintptr) error {
	r, _, _ := purego.SyscallN(d.cuCtxPushCurrent, ctx)
	return d.check("cuCtxPushCurrent_v2", r)
}

func (d *driver) popContext() error {
	var ctx uintptr
	r, _, _ := purego.SyscallN(d.cuCtxPopCurrent, uintptr(unsafe.Pointer(&ctx)))
	return d.check("cuCtxPopCurrent_v2", r)
}

// synchronize waits for all that the context has got to do.
func (d *driver) synchronize() error {
	r, _, _ := purego.SyscallN(d.cuCtxSynchronize)
	return d.check("cuCtxSynchronize", r)
}

func (d *driver) priorityRange() (least, greatest int32, err error) {
	r, _, _ := purego.SyscallN(d.cuCtxGetStreamPriorityRange, uintptr(unsafe.Pointer(&least)), uintptr(unsafe.Pointer(&greatest)))
	return least, greatest, d.check("cuCtxGetStreamPriorityRange", r)
}

func (d *driver) memInfo() (free, total uint64, err error) {
	r, _, _ := purego.SyscallN(d.cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, d.check("cuMemGetInfo_v2", r)
}

func (d *driver) hostAlloc(n int64, flags uint32) (p uintptr, err error) {
	r, _, _ := purego.SyscallN(d.cuMemHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n), uintptr(flags))
	return p, d.check("cuMemHostAlloc", r)
}

func (d *driver) hostFree(p uint64) error {
	r, _, _ := purego.SyscallN(d.cuMemFreeHost, uintptr(p))
	return d.check("cuMemFreeHost", r)
}

func (d *driver) hostRegister(p uint64, n int64, flags uint32) error {
	r, _, _ := purego.SyscallN(d.cuMemHostRegister, uintptr(p), uintptr(n), uintptr(flags))
	return d.check("cuMemHostRegister_v2", r)
}

func (d *driver) hostUnregister(p uint64) error {
	r, _, _ := purego.SyscallN(d.cuMemHostUnregister, uintptr(p))
	return d.check("cuMemHostUnregister", r)
}

func (d *driver) hostDevicePointer(p uint64) (v uint64, err error) {
	r, _, _ := purego.SyscallN(d.cuMemHostGetDevicePointer, uintptr(unsafe.Pointer(&v)), uintptr(p), 0)
	return v, d.check("cuMemHostGetDevicePointer_v2", r)
}

func (d *driver) memAlloc(n int64) (p uint64, err error) {
	r, _, _ := purego.SyscallN(d.cuMemAlloc, uintptr(unsafe.Pointer(&p)), uintptr(n))
	return p, d.check("cuMemAlloc_v2", r)
}

func (d *driver) memFree(p uint64) error {
	r, _, _ := purego.SyscallN(d.cuMemFree, uintptr(p))
	return d.check("cuMemFree_v2", r)
}

// copyToDevice keeps reading src after it returns.
func (d *driver) copyToDevice(dst, src uint64, n int64, stream uintptr) error {
	r, _, _ := purego.SyscallN(d.cuMemcpyHtoDAsync, uintptr(dst), uintptr(src), uintptr(n), stream)
	return d.check("cuMemcpyHtoDAsync_v2", r)
}

// copyToHost keeps writing dst after it returns.
func (d *driver) copyToHost(dst, src uint64, n int64, stream uintptr) error {
	r, _, _ := purego.SyscallN(d.cuMemcpyDtoHAsync, uintptr(dst), uintptr(src), uintptr(n), stream)
	return d.check("cuMemcpyDtoHAsync_v2", r)
}

func (d *driver) copyOnDevice(dst, src uint64, n int64, stream uintptr) error {
	r, _, _ := purego.SyscallN(d.cuMemcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(n), stream)
	return d.check("cuMemcpyDtoDAsync_v2", r)
}

func (d *driver) memset(p uint64, v byte, n int64, stream uintptr) error {
	r, _, _ := purego.SyscallN(d.cuMemsetD8Async, uintptr(p), uintptr(v), uintptr(n), stream)
	return d.check("cuMemsetD8Async", r)
}

// copyAttributes is CUmemcpyAttributes: order of the source's access, hints of the
// source's and target's location as {type, id}, flags.
type copyAttributes struct {
	order int32
	_     [2][2]int32
	_     uint32
}

// hasBatch reports whether the driver copies several pieces by one call.
func (d *driver) hasBatch() bool { return d.cuMemcpyBatchAsyncV2 != 0 || d.cuMemcpyBatchAsync != 0 }

// copyBatch copies pieces of pinned memory. The slices are read during the call
// only. CUDA 13 dropped the argument before the stream: calling one form with the
// other's arguments would take a pointer for a stream.
func (d *driver) copyBatch(dsts, srcs []uint64, sizes []uintptr, stream uintptr) error {
	var attrs [1]copyAttributes
	var first [1]uintptr
	attrs[0].order = 1 // in stream order
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&dsts[0])
	pin.Pin(&srcs[0])
	pin.Pin(&sizes[0])
	if d.cuMemcpyBatchAsyncV2 != 0 {
		r, _, _ := purego.SyscallN(d.cuMemcpyBatchAsyncV2, uintptr(unsafe.Pointer(&dsts[0])), uintptr(unsafe.Pointer(&srcs[0])), uintptr(unsafe.Pointer(&sizes[0])), uintptr(len(dsts)),
			uintptr(unsafe.Pointer(&attrs)), uintptr(unsafe.Pointer(&first)), 1, stream)
		return d.check("cuMemcpyBatchAsync_v2", r)
	}
	var failed uintptr
	r, _, _ := purego.SyscallN(d.cuMemcpyBatchAsync, uintptr(unsafe.Pointer(&dsts[0])), uintptr(unsafe.Pointer(&srcs[0])), uintptr(unsafe.Pointer(&sizes[0])), uintptr(len(dsts)),
		uintptr(unsafe.Pointer(&attrs)), uintptr(unsafe.Pointer(&first)), 1, uintptr(unsafe.Pointer(&failed)), stream)
	return d.check("cuMemcpyBatchAsync", r)
}

func (d *driver) streamCreate(flags uint32, priority int32) (s uintptr, err error) {
	r, _, _ := purego.SyscallN(d.cuStreamCreateWithPriority, uintptr(unsafe.Pointer(&s)), uintptr(flags), uintptr(uint32(priority)))
	return s, d.check("cuStreamCreateWithPriority", r)
}

func (d *driver) streamDestroy(s uintptr) error {
	r, _, _ := purego.SyscallN(d.cuStreamDestroy, s)
	return d.check("cuStreamDestroy_v2", r)
}

func (d *driver) streamWait(s, e uintptr) error {
	r, _, _ := purego.SyscallN(d.cuStreamWaitEvent, s, e, 0)
	return d.check("cuStreamWaitEvent", r)
}

func (d *driver) streamSynchronize(s uintptr) error {
	r, _, _ := purego.SyscallN(d.cuStreamSynchronize, s)
	return d.check("cuStreamSynchronize", r)
}

// streamCapturing reports whether a stream is being captured into a graph, or waits for one
// that is.
func (d *driver) streamCapturing(s uintptr) (bool, error) {
	var status int32
	r, _, _ := purego.SyscallN(d.cuStreamIsCapturing, s, uintptr(unsafe.Pointer(&status)))
	err := d.check("cuStreamIsCapturing", r)
	if code(err) == codeCaptureImplicit {
		return true, nil
	}
	return status != 0, err
}

func (d *driver) eventCreate(flags uint32) (e uintptr, err error) {
	r, _, _ := purego.SyscallN(d.cuEventCreate, uintptr(unsafe.Pointer(&e)), uintptr(flags))
	return e, d.check("cuEventCreate", r)
}

func (d *driver) eventDestroy(e uintptr) error {
	r, _, _ := purego.SyscallN(d.cuEventDestroy, e)
	return d.check("cuEventDestroy_v2", r)
}

func (d *driver) eventRecord(e, s uintptr) error {
	r, _, _ := purego.SyscallN(d.cuEventRecord, e, s)
	return d.check("cuEventRecord", r)
}

func (d *driver) eventSynchronize(e uintptr) error {
	r, _, _ := purego.SyscallN(d.cuEventSynchronize, e)
	return d.check("cuEventSynchronize", r)
}

// eventElapsed is the milliseconds between two events made with timing.
func (d *driver) eventElapsed(from, to uintptr) (ms float32, err error) {
	r, _, _ := purego.SyscallN(d.cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)), from, to)
	return ms, d.check("cuEventElapsedTime", r)
}

// moduleLoad loads a cubin, or compiles PTX text that ends with a NUL. On failure log is what the
// compiler says.
func (d *driver) moduleLoad(ptx []byte) (m uintptr, log string, err error) {
	const errorLog, errorLogSize = 5, 6
	text := make([]byte, 4096)
	opts := [2]int32{errorLog, errorLogSize}
	vals := [2]uintptr{uintptr(unsafe.Pointer(&text[0])), uintptr(len(text))}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&text[0]) // vals holds its address as a number
	r, _, _ := purego.SyscallN(d.cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&ptx[0])), uintptr(len(opts)), uintptr(unsafe.Pointer(&opts)), uintptr(unsafe.Pointer(&vals)))
	return m, upToNul(text), d.check("cuModuleLoadDataEx", r)
}

func (d *driver) moduleUnload(m uintptr) error {
	r, _, _ := purego.SyscallN(d.cuModuleUnload, m)
	return d.check("cuModuleUnload", r)
}

func (d *driver) function(m uintptr, name string) (f uintptr, err error) {
	b := append([]byte(name), 0)
	r, _, _ := purego.SyscallN(d.cuModuleGetFunction, uintptr(unsafe.Pointer(&f)), m, uintptr(unsafe.Pointer(&b[0])))
	return f, d.check("cuModuleGetFunction", r)
}

// launch runs a kernel all of whose parameters have 8 bytes.
func (d *driver) launch(f uintptr, blocks, threads uint32, stream uintptr, params []uint64) error {
	var at [16]unsafe.Pointer
	var pin runtime.Pinner
	pin.Pin(&params[0])
	for i := range params {
		at[i] = unsafe.Pointer(&params[i])
	}
	r, _, _ := purego.SyscallN(d.cuLaunchKernel, f, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, stream, uintptr(unsafe.Pointer(&at)), 0)
	pin.Unpin()
	return d.check("cuLaunchKernel", r)
}

// launchStruct runs a kernel with one parameter, a struct that is read during the call.
func (d *driver) launchStruct(f uintptr, blocks, threads uint32, stream uintptr, param unsafe.Pointer) error {
	at := [1]unsafe.Pointer{param}
	var pin runtime.Pinner
	pin.Pin(param)
	r, _, _ := purego.SyscallN(d.cuLaunchKernel, f, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, stream, uintptr(unsafe.Pointer(&at)), 0)
	pin.Unpin()
	return d.check("cuLaunchKernel", r)
}

func (d *driver) occupancy(f uintptr, threads int32) (n int32, err error) {
	r, _, _ := purego.SyscallN(d.cuOccupancyMaxActiveBlocksPerMultiprocessor, uintptr(unsafe.Pointer(&n)), f, uintptr(uint32(threads)), 0)
	return n, d.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", r)
}

// captureMode sets this thread's mode and returns the one before.
func (d *driver) captureMode(mode int32) (int32, error) {
	r, _, _ := purego.SyscallN(d.cuThreadExchangeStreamCaptureMode, uintptr(unsafe.Pointer(&mode)))
	return mode, d.check("cuThreadExchangeStreamCaptureMode", r)
}

// pointer is an attribute of an address.
func (d *driver) pointer(attr uintptr, p uint64) (v uint32, err error) {
	r, _, _ := purego.SyscallN(d.cuPointerGetAttribute, uintptr(unsafe.Pointer(&v)), attr, uintptr(p))
	return v, d.check("cuPointerGetAttribute", r)
}
