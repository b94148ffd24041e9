package cuda

import (
	"fmt"
	"os"
	"strings"

	"github.com/ebitengine/purego"
)

// LibraryVariable names the environment variable with the driver's library to use
// instead of the installed one.
const LibraryVariable = "GPULOAD_LIBCUDA"

// places is where the driver's library is looked for. Never libcuda.so: that is
// the toolkit's stub.
var places = []string{
	"libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
}

// driver is the functions of an opened library. A function that is not there has
// address 0, which only those in optional may have.
type driver struct {
	path string

	cuInit, cuDriverGetVersion                                     uintptr
	cuDeviceGetCount, cuDeviceGet, cuDeviceGetName                 uintptr
	cuDeviceGetPCIBusId, cuDeviceGetUuid, cuDeviceTotalMem         uintptr
	cuDeviceGetAttribute                                           uintptr
	cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease            uintptr
	cuCtxPushCurrent, cuCtxPopCurrent, cuCtxGetStreamPriorityRange uintptr
	cuCtxGetCurrent, cuCtxSynchronize, cuMemGetInfo                uintptr
	cuMemHostAlloc, cuMemFreeHost                                  uintptr
	cuMemHostRegister, cuMemHostUnregister                         uintptr
	cuMemHostGetDevicePointer                                      uintptr
	cuMemAlloc, cuMemFree                                          uintptr
	cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync        uintptr
	cuMemsetD8Async                                                uintptr
	cuMemcpyBatchAsync, cuMemcpyBatchAsyncV2                       uintptr
	cuStreamCreateWithPriority, cuStreamDestroy                    uintptr
	cuStreamWaitEvent, cuStreamSynchronize, cuStreamIsCapturing    uintptr
	cuEventCreate, cuEventDestroy, cuEventRecord                   uintptr
	cuEventSynchronize, cuEventElapsedTime                         uintptr
	cuModuleLoadData, cuModuleLoadDataEx, cuModuleUnload           uintptr
	cuModuleGetFunction, cuLaunchKernel, cuLaunchHostFunc          uintptr
	cuOccupancyMaxActiveBlocksPerMultiprocessor                    uintptr
	cuThreadExchangeStreamCaptureMode                              uintptr
	cuPointerGetAttribute, cuGetProcAddress                        uintptr
	cuGetErrorName, cuGetErrorString                               uintptr
}

type symbol struct {
	name     string
	address  *uintptr
	optional bool
}

func (d *driver) symbols() []symbol {
	return []symbol{
		{"cuInit", &d.cuInit, false},
		{"cuDriverGetVersion", &d.cuDriverGetVersion, false},
		{"cuDeviceGetCount", &d.cuDeviceGetCount, false},
		{"cuDeviceGet", &d.cuDeviceGet, false},
		{"cuDeviceGetName", &d.cuDeviceGetName, false},
		{"cuDeviceGetPCIBusId", &d.cuDeviceGetPCIBusId, false},
		{"cuDeviceGetUuid_v2", &d.cuDeviceGetUuid, true},
		{"cuDeviceTotalMem_v2", &d.cuDeviceTotalMem, false},
		{"cuDeviceGetAttribute", &d.cuDeviceGetAttribute, false},
		{"cuDevicePrimaryCtxRetain", &d.cuDevicePrimaryCtxRetain, false},
		{"cuDevicePrimaryCtxRelease_v2", &d.cuDevicePrimaryCtxRelease, false},
		{"cuCtxPushCurrent_v2", &d.cuCtxPushCurrent, false},
		{"cuCtxPopCurrent_v2", &d.cuCtxPopCurrent, false},
		{"cuCtxGetCurrent", &d.cuCtxGetCurrent, false},
		{"cuCtxSynchronize", &d.cuCtxSynchronize, false},
		{"cuCtxGetStreamPriorityRange", &d.cuCtxGetStreamPriorityRange, false},
		{"cuMemGetInfo_v2", &d.cuMemGetInfo, false},
		{"cuMemHostAlloc", &d.cuMemHostAlloc, false},
		{"cuMemFreeHost", &d.cuMemFreeHost, false},
		{"cuMemHostRegister_v2", &d.cuMemHostRegister, false},
		{"cuMemHostUnregister", &d.cuMemHostUnregister, false},
		{"cuMemHostGetDevicePointer_v2", &d.cuMemHostGetDevicePointer, false},
		{"cuMemAlloc_v2", &d.cuMemAlloc, false},
		{"cuMemFree_v2", &d.cuMemFree, false},
		{"cuMemcpyHtoDAsync_v2", &d.cuMemcpyHtoDAsync, false},
		{"cuMemcpyDtoHAsync_v2", &d.cuMemcpyDtoHAsync, false},
		{"cuMemcpyDtoDAsync_v2", &d.cuMemcpyDtoDAsync, false},
		{"cuMemsetD8Async", &d.cuMemsetD8Async, false},
		{"cuMemcpyBatchAsync", &d.cuMemcpyBatchAsync, true},
		{"cuMemcpyBatchAsync_v2", &d.cuMemcpyBatchAsyncV2, true},
		{"cuStreamCreateWithPriority", &d.cuStreamCreateWithPriority, false},
		{"cuStreamDestroy_v2", &d.cuStreamDestroy, false},
		{"cuStreamWaitEvent", &d.cuStreamWaitEvent, false},
		{"cuStreamSynchronize", &d.cuStreamSynchronize, false},
		{"cuStreamIsCapturing", &d.cuStreamIsCapturing, false},
		{"cuEventCreate", &d.cuEventCreate, false},
		{"cuEventDestroy_v2", &d.cuEventDestroy, false},
		{"cuEventRecord", &d.cuEventRecord, false},
		{"cuEventSynchronize", &d.cuEventSynchronize, false},
		{"cuEventElapsedTime", &d.cuEventElapsedTime, false},
		{"cuModuleLoadData", &d.cuModuleLoadData, false},
		{"cuModuleLoadDataEx", &d.cuModuleLoadDataEx, false},
		{"cuModuleUnload", &d.cuModuleUnload, false},
		{"cuModuleGetFunction", &d.cuModuleGetFunction, false},
		{"cuLaunchKernel", &d.cuLaunchKernel, false},
		{"cuLaunchHostFunc", &d.cuLaunchHostFunc, true},
		{"cuOccupancyMaxActiveBlocksPerMultiprocessor", &d.cuOccupancyMaxActiveBlocksPerMultiprocessor, true},
		{"cuThreadExchangeStreamCaptureMode", &d.cuThreadExchangeStreamCaptureMode, false},
		{"cuPointerGetAttribute", &d.cuPointerGetAttribute, false},
		{"cuGetProcAddress_v2", &d.cuGetProcAddress, true},
		{"cuGetErrorName", &d.cuGetErrorName, false},
		{"cuGetErrorString", &d.cuGetErrorString, true},
	}
}

// load opens the driver's library at path, or where it usually is.
func load(path string) (*driver, error) {
	list := places
	if path == "" {
		path = os.Getenv(LibraryVariable)
	}
	if path != "" {
		list = []string{path}
	}
	var why []string
	for _, p := range list {
		h, err := purego.Dlopen(p, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			why = append(why, err.Error())
			continue
		}
		d := &driver{path: p}
		if err := d.bind(h); err != nil {
			return nil, err
		}
		return d, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoDriver, why[0])
}

func (d *driver) bind(h uintptr) error {
	var missing []string
	for _, s := range d.symbols() {
		a, err := purego.Dlsym(h, s.name)
		if err != nil && !s.optional {
			missing = append(missing, s.name)
			continue
		}
		*s.address = a
	}
	if missing != nil {
		return fmt.Errorf("%w: %s has no %s: the driver is too old, or this is no driver", ErrNoDriver, d.path, strings.Join(missing, ", "))
	}
	return nil
}

// check makes a result an error.
func (d *driver) check(call string, result uintptr) error {
	n := int(int32(result))
	if n == success {
		return nil
	}
	return &Error{Call: call, Code: n, Name: d.errorName(n)}
}

func (d *driver) errorName(n int) string {
	if s := d.cString(d.cuGetErrorName, n); s != "" {
		return s
	}
	if s := names[n]; s != "" {
		return s
	}
	return "of unknown name"
}
