package cuda

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// cubins are what ptxas makes of kernels.ptx for GPUs of compute capability 8, 9 and 10: these
// need not wait until the driver has compiled it.
//
//go:embed kernels.sm_80.gz kernels.sm_90.gz kernels.sm_100.gz
var cubins embed.FS

// cubin is the program for a compute capability, or nil.
func cubin(major int32) ([]byte, error) {
	b, err := cubins.ReadFile(fmt.Sprintf("kernels.sm_%d0.gz", major))
	if err != nil {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// module is the kernels on a GPU, one for all Devices of a process on it.
type module struct {
	key     moduleKey
	handle  uintptr
	kernels map[string]uintptr
	users   int
}

type moduleKey struct {
	library string
	device  int32
}

var modules = struct {
	sync.Mutex
	list map[moduleKey]*module
}{list: map[moduleKey]*module{}}

// loadModule loads the kernels, unless another Device has. dropModule ends that.
func (d *Device) loadModule() (*module, error) {
	modules.Lock()
	defer modules.Unlock()
	key := moduleKey{d.drv.path, d.dev}
	if m := modules.list[key]; m != nil {
		m.users++
		return m, nil
	}
	h, err := d.loadKernels()
	if err != nil {
		return nil, err
	}
	m := &module{key, h, map[string]uintptr{}, 1}
	for _, name := range kernelNames {
		if m.kernels[name], err = d.drv.function(h, name); err != nil {
			return nil, errors.Join(fmt.Errorf("kernel %s: %w", name, err), d.given(d.drv.moduleUnload(h)))
		}
	}
	modules.list[key] = m
	return m, nil
}

// loadKernels takes the PTX where there is no cubin, or the driver does not want it.
func (d *Device) loadKernels() (uintptr, error) {
	if b, err := cubin(d.info.Capability[0]); err != nil {
		return 0, err
	} else if b != nil {
		if h, _, err := d.drv.moduleLoad(b); err == nil {
			return h, nil
		}
	}
	h, log, err := d.drv.moduleLoad(append([]byte(kernelsPTX), 0))
	if log = strings.TrimSpace(log); err != nil && log != "" {
		err = fmt.Errorf("%w: %s", err, log)
	}
	return h, err
}

func (d *Device) dropModule() error {
	modules.Lock()
	defer modules.Unlock()
	m := d.module
	if m == nil {
		return nil
	}
	d.module = nil
	if m.users--; m.users > 0 {
		return nil
	}
	delete(modules.list, m.key)
	return d.drv.moduleUnload(m.handle)
}
