package trainer

import (
	"fmt"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// Rates writes samples and bytes a second.
func Rates(samples, bytes float64) string {
	return rate(samples) + " samples/s, " + bytesRate(bytes)
}

// rate writes samples a second, never with an exponent.
func rate(x float64) string {
	if x >= 1000 {
		return printable.Count(int64(math.Round(x)))
	}
	return printable.Value(x)
}

func bytesRate(x float64) string { return shardify.FormatSize(int64(x)) + "/s" }

// CPUText is the processor time for each GiB in words.
func (r *Report) CPUText() string {
	return printable.Value(r.CPU.perGiB()) + " core-seconds per GiB"
}

// perGiB is PerGB in the unit that people see everywhere else.
func (c *CPU) perGiB() float64 { return c.PerGB * (1 << 30) / 1e9 }

// Run is what was run, in words.
func (r *Report) Run() string {
	s := &r.Settings
	list := []string{
		fmt.Sprintf("batch %s (%s)", printable.Count(int64(s.Batch)), shardify.FormatSize(s.BatchBytes)),
		fmt.Sprintf("step %s", printable.Seconds(s.StepSeconds)), "shuffle " + s.Shuffle, "device " + s.Device,
	}
	if s.Synthetic {
		list = append(list, "synthetic")
	} else {
		list = append(list, "tier "+s.Tier)
	}
	list = append(list, printable.Of(int64(s.Workers), "worker"), fmt.Sprintf("depth %d", s.Depth))
	if s.Ranks > 1 {
		list = append(list, printable.Of(int64(s.Ranks), "rank"))
	}
	return strings.Join(list, ", ")
}

// Rate is the outcome in words.
func (r *Report) Rate() string {
	if r.Seconds == 0 {
		return "unknown: only one batch was taken"
	}
	each := ""
	if r.Settings.Ranks > 1 {
		each = " a rank"
	}
	return fmt.Sprintf("%s (%s%s, %s, %s)", Rates(r.SamplesPerSecond, r.BytesPerSecond), printable.Of(r.Steps, "step"), each, printable.Of(r.Epochs, "epoch")+" completed", printable.Seconds(r.Seconds))
}

// FirstText is the way to the first batch in words.
func (r *Report) FirstText() string {
	f := &r.First
	text := "after " + printable.Seconds(f.Wait)
	var of []string
	if f.Stage > 0 {
		of = append(of, printable.Seconds(f.Stage)+" staging the shards")
	}
	if f.Fill > 0 {
		of = append(of, printable.Seconds(f.Fill)+" reading the set into memory")
	}
	if of != nil {
		text += ", of which " + strings.Join(of, " and ")
	}
	return text
}

// MemoryText is what the samples took in words.
func (r *Report) MemoryText() string {
	m := &r.Memory
	text := shardify.FormatSize(m.Host) + " for samples"
	if m.Device > 0 {
		text += ", " + shardify.FormatSize(m.Device) + " on the device"
	}
	if m.Staged > 0 {
		text += ", " + shardify.FormatSize(m.Staged) + " staged"
	}
	return text
}

// ReadText is what was read in words.
func (r *Report) ReadText() string {
	text := shardify.FormatSize(r.ReadBytes) + " of files"
	if r.Storage >= 0 {
		text += ", " + shardify.FormatSize(r.Storage) + " of it from storage (the rest from memory)"
	}
	return text
}

// LateText describes steps that took longer than they should; "" if these do not matter.
func (r *Report) LateText() string {
	const worthSaying = 0.05
	if r.Late < worthSaying {
		return ""
	}
	return fmt.Sprintf(" (steps of %s took %s: the processors are busy otherwise)", printable.Seconds(r.Settings.StepSeconds), printable.Seconds(r.Settings.StepSeconds*(1+r.Late)))
}
