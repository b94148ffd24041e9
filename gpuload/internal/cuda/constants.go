package cuda

// Numbers of the driver's interface, under its names.
const (
	hostAllocPortable  = 1
	hostAllocDeviceMap = 2

	hostRegisterPortable  = 1
	hostRegisterDeviceMap = 2
	hostRegisterReadOnly  = 8

	streamNonBlocking = 1

	// Handles of the default streams: that of the context is 0 too.
	streamLegacy    = 1
	streamPerThread = 2 // of the calling thread

	eventBlockingSync  = 1
	eventDisableTiming = 2

	captureRelaxed = 2

	attrMultiprocessors  = 16
	attrCanMapHost       = 19
	attrAsyncEngines     = 40
	attrUnified          = 41
	attrMajor            = 75
	attrMinor            = 76
	attrHostRegister     = 99
	attrReadOnlyRegister = 113

	// Of addresses.
	attrMemoryType    = 2
	attrMemoryOrdinal = 9
	memoryDevice      = 2
)

// Results of driver calls that the package distinguishes.
const (
	success               = 0
	codeInvalidValue      = 1
	codeOutOfMemory       = 2
	codeDeinitialized     = 4
	codeStub              = 34
	codeNoDevice          = 100
	codeInvalidDevice     = 101
	codeInvalidContext    = 201
	codeUnsupportedPTX    = 222
	codeNotFound          = 500
	codeNotReady          = 600
	codeAlreadyRegistered = 712
	codeNotRegistered     = 713
	codeNotSupported      = 801
	codeCaptureImplicit   = 906
)

// names is what cuGetErrorName would say, for errors before there is a driver to
// ask.
var names = map[int]string{
	1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 3: "CUDA_ERROR_NOT_INITIALIZED",
	4: "CUDA_ERROR_DEINITIALIZED", 34: "CUDA_ERROR_STUB_LIBRARY", 36: "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
	46: "CUDA_ERROR_DEVICE_UNAVAILABLE", 100: "CUDA_ERROR_NO_DEVICE", 101: "CUDA_ERROR_INVALID_DEVICE",
	200: "CUDA_ERROR_INVALID_IMAGE", 201: "CUDA_ERROR_INVALID_CONTEXT", 209: "CUDA_ERROR_NO_BINARY_FOR_GPU",
	214: "CUDA_ERROR_ECC_UNCORRECTABLE", 218: "CUDA_ERROR_INVALID_PTX", 220: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	221: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", 222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 400: "CUDA_ERROR_INVALID_HANDLE",
	500: "CUDA_ERROR_NOT_FOUND", 600: "CUDA_ERROR_NOT_READY", 700: "CUDA_ERROR_ILLEGAL_ADDRESS",
	712: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", 713: "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	715: "CUDA_ERROR_ILLEGAL_INSTRUCTION", 716: "CUDA_ERROR_MISALIGNED_ADDRESS", 717: "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	719: "CUDA_ERROR_LAUNCH_FAILED", 800: "CUDA_ERROR_NOT_PERMITTED", 801: "CUDA_ERROR_NOT_SUPPORTED",
	802: "CUDA_ERROR_SYSTEM_NOT_READY", 803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", 900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 999: "CUDA_ERROR_UNKNOWN",
}

// hints say what to do about an error.
var hints = map[int]string{
	34:  "this libcuda is the toolkit's stub, not the driver",
	36:  "the driver is too old",
	218: "the embedded kernels do not suit this driver",
	221: "the driver came without its PTX compiler",
	222: "the driver is older than the embedded kernels",
	800: "pinning host memory may be forbidden here, as under confidential computing",
	803: "the driver's library and its kernel module differ: reboot or reload",
	804: "the driver's library and its kernel module differ: reboot or reload",
}

// sticky errors leave a context of which every later call fails.
func sticky(code int) bool {
	switch code {
	case 214, 220, 700, 702, 714, 715, 716, 717, 718, 719:
		return true
	}
	return false
}
