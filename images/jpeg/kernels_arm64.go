package jpeg

// haveKernels chooses the kernels of kernels_arm64.s, which the tests hold to those in Go. All
// processors have what they need.
var haveKernels = true
