package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify"
)

// pinned is host memory that the device can read: one range of addresses in one or
// more registrations, contiguous for the device too.
type pinned struct {
	base, size uint64 // registered
	device     uint64 // base, as the device sees it
	chunk      uint64 // bytes of a registration but the last
	count      int    // of registrations to undo
	mapped     []byte // to unmap
	byDriver   bool   // of cuMemHostAlloc
}

// Alloc returns n zero bytes of pinned memory, in huge pages if there are any, on the GPU's
// NUMA node. Where possible, a row of so many bytes is never split over two registrations;
// a row of 1 or less means no particular row.
func (d *Device) Alloc(n, row int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	if n > 1<<46 {
		return nil, fmt.Errorf("pinned memory of %d bytes", n)
	}
	// 16 bytes more: kernels read whole words around a row's ends.
	size := roundUp(n+16, pageBytes)
	if size >= hugeBytes {
		size = roundUp(size, hugeBytes)
	}
	m, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("allocating %s: %w", shardify.FormatSize(size), err)
	}
	if size >= hugeBytes {
		_ = unix.Madvise(m, unix.MADV_HUGEPAGE) // not to be had everywhere
	}
	bind(m, d.node)
	prefault(m)
	p := &pinned{base: addressOf(m), size: uint64(size), chunk: uint64(chunkFor(row, d.chunk)), mapped: m}
	err = d.do(func() error { return d.pin(p, hostRegisterPortable|hostRegisterDeviceMap) })
	if err == nil {
		return m[:n], nil
	}
	_ = unix.Munmap(m)
	b, second := d.allocByDriver(n, size)
	if second == nil {
		return b, nil
	}
	if errors.Is(second, errClosed) || errors.Is(err, errLost) {
		return nil, err
	}
	return nil, fmt.Errorf("pinning %s: %w; and %w", shardify.FormatSize(n), err, second)
}

// allocByDriver is the way out where memory of ours cannot be registered.
func (d *Device) allocByDriver(n, size int64) ([]byte, error) {
	p := &pinned{size: uint64(size), chunk: uint64(size), byDriver: true}
	err := d.do(func() error {
		at, err := d.drv.hostAlloc(size, hostAllocPortable|hostAllocDeviceMap)
		if err != nil {
			return err
		}
		p.base = uint64(at)
		if p.device, err = d.drv.hostDevicePointer(p.base); err != nil {
			return errors.Join(err, d.drv.hostFree(p.base))
		}
		d.keep(p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	b := memory(uintptr(p.base), size)
	clear(b)
	return b[:n], nil
}

// register pins memory of the caller, which must be a writable mapping of whole
// pages that is not Go's: shards staged in /dev/shm, say. A read-only one is tried
// where the device has the ability. Unregister it before unmapping it.
func (d *Device) register(b []byte, readOnly bool) error {
	if len(b) == 0 {
		return nil
	}
	base := addressOf(b)
	if base%pageBytes != 0 {
		return errors.New("memory to register does not begin at a page")
	}
	flags := uint32(hostRegisterPortable | hostRegisterDeviceMap)
	if readOnly {
		if d.info.readOnly != 1 {
			return &Error{Call: "cuMemHostRegister_v2", Code: codeNotSupported, Name: "CUDA_ERROR_NOT_SUPPORTED (read-only memory, attribute 113 is 0)"}
		}
		flags |= hostRegisterReadOnly
	}
	p := &pinned{base: base, size: uint64(roundUp(int64(len(b)), pageBytes)), chunk: uint64(d.chunk)}
	return d.do(func() error { return d.pin(p, flags) })
}

// pin registers p chunk by chunk, all or nothing.
func (d *Device) pin(p *pinned, flags uint32) (err error) {
	undo := func(err error) error {
		return errors.Join(err, d.unpin(p))
	}
	for at := uint64(0); at < p.size; at += p.chunk {
		n := min(p.chunk, p.size-at)
		if err := d.drv.hostRegister(p.base+at, int64(n), flags); err != nil {
			return undo(err)
		}
		p.count++
		v, err := d.drv.hostDevicePointer(p.base + at)
		if err != nil {
			return undo(err)
		}
		if at == 0 {
			p.device = v
		} else if v != p.device+at {
			return undo(errors.New("registrations that follow each other are not neighbours on the device"))
		}
	}
	d.keep(p)
	return nil
}

// unpin undoes the registrations of p.
func (d *Device) unpin(p *pinned) error {
	var all []error
	for ; p.count > 0; p.count-- {
		all = append(all, d.drv.hostUnregister(p.base+uint64(p.count-1)*p.chunk))
	}
	return errors.Join(all...)
}

// keep adds p to those that copies may read. It runs inside a visit, so that Close sees it.
func (d *Device) keep(p *pinned) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, _ := slices.BinarySearchFunc(d.pinned, p.base, byBase)
	d.pinned = slices.Insert(d.pinned, i, p)
}

func (d *Device) forget(p *pinned) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.pinned, p); i >= 0 {
		d.pinned = slices.Delete(d.pinned, i, i+1)
	}
}

func byBase(p *pinned, at uint64) int {
	switch {
	case p.base < at:
		return -1
	case p.base > at:
		return 1
	}
	return 0
}

// find is the pinned memory that holds all n bytes at an address, or nil.
func (d *Device) find(at uint64, n int64) *pinned {
	d.mu.RLock()
	defer d.mu.RUnlock()
	i, ok := slices.BinarySearchFunc(d.pinned, at, byBase)
	if !ok {
		i--
	}
	if i < 0 {
		return nil
	}
	if p := d.pinned[i]; at-p.base <= p.size && uint64(n) <= p.size-(at-p.base) {
		return p
	}
	return nil
}

// Free gives memory of Alloc back, or undoes Register, after the work that was given
// to the device.
func (d *Device) Free(b []byte) error {
	if cap(b) == 0 {
		return nil
	}
	b = b[:1]
	d.mu.Lock()
	i, ok := slices.BinarySearchFunc(d.pinned, addressOf(b), byBase)
	if !ok {
		d.mu.Unlock()
		if d.isClosed() {
			return nil
		}
		return errors.New("free of memory that is not pinned by this device")
	}
	p := d.pinned[i]
	d.mu.Unlock()
	// Even if the context is lost the driver may still let go of memory.
	return d.visit(func() error {
		d.forget(p)
		return errors.Join(d.settle(), p.destroy(d))
	})
}

func (d *Device) isClosed() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.closed
}

func (p *pinned) destroy(d *Device) error {
	if p.byDriver {
		return d.drv.hostFree(p.base)
	}
	if err := d.unpin(p); err != nil {
		// Memory that the device might still reach stays mapped.
		return err
	}
	if p.mapped != nil {
		return unix.Munmap(p.mapped)
	}
	return nil
}

// Pinned is the bytes of pinned memory.
func (d *Device) Pinned() (n int64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.pinned {
		n += int64(p.size)
	}
	return n
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// chunkFor is the bytes of a registration: at most limit, whole pages, and whole rows
// if so many rows as that takes fit. Copies are split at the edges in any case.
func chunkFor(row, limit int64) int64 {
	page := int64(hugeBytes)
	if limit < page {
		page = pageBytes
	}
	limit -= limit % page
	if row <= 1 {
		return limit
	}
	for _, p := range []int64{page, pageBytes} {
		step := row / gcd(row, p)
		if step > limit/p {
			continue
		}
		step *= p
		return limit - limit%step
	}
	return limit
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// prefault makes all pages present, on several cores: pinning pages that are there
// takes a fraction of the time.
func prefault(m []byte) {
	parts := min(runtime.GOMAXPROCS(0), len(m)/(16<<20)+1)
	step := roundUp(int64(len(m)/parts+1), hugeBytes)
	var wg sync.WaitGroup
	for lo := int64(0); lo < int64(len(m)); lo += step {
		b := m[lo:min(lo+step, int64(len(m)))]
		wg.Go(func() {
			const populateWrite = 23
			if unix.Madvise(b, populateWrite) == nil {
				return
			}
			for i := 0; i < len(b); i += pageBytes {
				b[i] = 0
			}
		})
	}
	wg.Wait()
}

// bind prefers a NUMA node for memory without pages yet. Where the system knows no
// nodes, or forbids it, it does nothing.
func bind(m []byte, node int) {
	if node < 0 || node >= 64 {
		return
	}
	const preferred = 1
	mask := uint64(1) << node
	_, _, _ = unix.Syscall6(unix.SYS_MBIND, uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m)), preferred, uintptr(unsafe.Pointer(&mask)), 65, 0)
}
