package main

import (
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/trainer"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/internal/printable"
	"github.com/spf13/cobra"
)

// maxDevices bounds the search for GPUs.
const maxDevices = 64

func probeCommand(out *cli.IO) *cobra.Command {
	var device string
	c := &cobra.Command{
		Use:     "probe",
		Short:   "list the GPUs, and measure how fast data get there",
		Long:    `Opens every GPU as a loader would and measures the way there: one large copy from pinned memory, and a kernel that reads it.`,
		Example: "shardify-gpu probe --device cuda:0",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&device, "device", "", "only this one, as cuda:`N`")
	c.RunE = func(*cobra.Command, []string) error {
		if device != "" {
			return probe(out, device)
		}
		for n := range maxDevices {
			err := probe(out, fmt.Sprintf("cuda:%d", n))
			if n > 0 && errors.Is(err, gpuload.ErrNoDevice) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// probe prints what there is to know about a device.
func probe(out *cli.IO, device string) error {
	d, err := gpuload.Probe(device)
	if err != nil {
		return shardify.Hint(err, "nvidia-smi lists the GPUs; in a batch job, CUDA_VISIBLE_DEVICES says which of them are yours")
	}
	out.Object("device", trainer.DeviceOf(d))
	out.Result("%s  %s, %s (%s free), compute capability %d.%d, %d multiprocessors, %d copy engines", d.Device, d.Name,
		shardify.FormatSize(d.Memory), shardify.FormatSize(d.Free), d.Capability[0], d.Capability[1], d.Multiprocessors, d.CopyEngines)
	out.Result("  place   PCI %s, NUMA node %s, UUID %s", d.PCI, node(d.NUMA), d.UUID)
	out.Result("  driver  CUDA %d.%d, %s", d.Driver/1000, d.Driver%1000/10, d.Library)
	out.Result("  link    copy engine %s, kernel reading host memory %s; rows from %s on go by the copy engine", rate(d.Engine), rate(d.Read), shardify.FormatSize(d.EngineRow))
	out.Result("  host    %s, huge pages %s", printable.Of(int64(d.Cores), "core"), huge(d.HugePages))
	return nil
}

func node(n int) string {
	if n < 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}

func rate(bytes float64) string {
	if bytes == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.1f GB/s", bytes*1e-9)
}

func huge(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
