// Package trainer plays a trainer, to measure what a data set and a machine give
// to one: it takes batches from a gpuload.Loader, spends a given time on each as an
// accelerator would, and reports rates, waits, costs, and what limits them.
//
//	set, err := gpuload.Open(ctx, "data/train")
//	r, err := trainer.Run(ctx, set, trainer.Options{Load: gpuload.Config{Batch: 256}, Step: 5 * time.Millisecond})
//	fmt.Println(r.Utilization, r.Verdict)
//
// A simulated step sleeps, so that the processor is as free as it is beside a busy
// accelerator. Figures begin with the return of the first batch: what comes before
// (opening files, filling memory) is reported separately.
package trainer
