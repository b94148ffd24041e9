// Package cuda moves batches to an NVIDIA GPU through the driver API alone:
// libcuda.so.1 is opened at run time, and neither a toolkit nor cgo is needed to
// build. A program that imports this package is linked dynamically.
//
//	d, err := cuda.Open(cuda.Options{Device: 0})
//	b, err := d.Alloc(n, row)            // pinned host memory, in huge pages
//	s, err := d.NewSlot(cuda.SlotOptions{Tensors: []int64{n}, Rows: 256})
//	for {
//		err = s.Reuse(ctx)               // b may be written from here on
//		err = s.Send(0, b)               // starts the copy
//		err = s.Done("batch 7")          // the slot is complete
//		err = s.Ready(stream)            // the consumer's stream waits for it
//		... s.Ptr(0) ...
//		err = s.Release(stream)          // the slot is free when stream is here
//	}
//
// # Threads, streams, events
//
// Driver calls are made on the caller's thread, in visits: each makes the device's primary
// context current (the one PyTorch uses, so pointers, streams and events are
// interchangeable) and the capture mode relaxed, so that a graph capture elsewhere in the
// process is not broken, and gives the thread its own back. Bind does that once for many
// visits: threads that make batches are bound for life, the consumer's for the length of a
// hand-over. Stream 2, the default stream of the calling thread, therefore is the caller's.
//
// Two streams of the device's own copy and gather; neither waits for the legacy default stream.
// What the host gathers for a batch uses the gathering stream, too; a kernel copies it if it is
// little. So a batch has one wait for its consumers, and one event after it. A window may be loaded
// again after the event of the last batch that reads it. The host waits only until its own memory
// has been read, once for several batches; events on the device order everything else. In the
// driver, waiting for an event that was never recorded does nothing; here it is an error.
//
// # Memory
//
// Everything is allocated before the first batch, except that a tensor of variable
// length may outgrow its slot. Sources of asynchronous copies are checked to be
// pinned memory of the Device; a copy never spans two registrations.
package cuda
