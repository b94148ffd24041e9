package trainer

import "github.com/shardify/shardify/gpuload"

// Device is gpuload.DeviceInfo in JSON.
type Device struct {
	Device          string  `json:"device"`
	Name            string  `json:"name,omitempty"`
	UUID            string  `json:"uuid,omitempty"`
	PCI             string  `json:"pci,omitempty"`
	Driver          int     `json:"driver,omitempty"`
	Library         string  `json:"library,omitempty"`
	Capability      [2]int  `json:"capability,omitzero"`
	Multiprocessors int     `json:"multiprocessors,omitempty"`
	CopyEngines     int     `json:"copy_engines,omitempty"`
	NUMA            int     `json:"numa"` // node, or -1
	Memory          int64   `json:"memory_bytes,omitempty"`
	Free            int64   `json:"free_bytes,omitempty"`
	Engine          float64 `json:"engine_bytes_per_second,omitempty"`
	Read            float64 `json:"read_bytes_per_second,omitempty"`
	EngineRow       int64   `json:"engine_row_bytes,omitempty"`
	PinsReadOnly    bool    `json:"pins_read_only"`
	Cores           int     `json:"cores,omitempty"`
	HugePages       string  `json:"huge_pages,omitempty"`
}

// DeviceOf names the facts for JSON.
func DeviceOf(d gpuload.DeviceInfo) Device { return Device(d) }

// Report is what a run has shown. Rates and sums leave out the first batch of every
// rank and all that came before it. GB are 10^9 bytes.
type Report struct {
	Settings Settings `json:"settings"`

	Steps   int64   `json:"steps"`  // of every rank
	Epochs  int64   `json:"epochs"` // completed
	Samples int64   `json:"samples"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// SamplesPerSecond and BytesPerSecond are of all ranks together.
	SamplesPerSecond float64 `json:"samples_per_second"`
	BytesPerSecond   float64 `json:"bytes_per_second"`
	// Utilization is that of the accelerators as DLIO defines it: the share of the
	// time in which they computed.
	Utilization float64 `json:"utilization"`
	// Late is how much longer the steps took than they should, as a share: the
	// processors were too busy to wake the trainer in time. It counts as computing.
	Late      float64 `json:"late"`
	Wait      waited  `json:"wait"`
	First     First   `json:"first_batch"`
	Work      Work    `json:"work"`
	CPU       CPU     `json:"cpu"`
	ReadBytes int64   `json:"read_bytes"`    // from files, the first batch included
	Storage   int64   `json:"storage_bytes"` // of them from storage, not from memory, as the system counts; -1 unknown
	Memory    Memory  `json:"memory"`
	Bound     *Bound  `json:"bound,omitempty"`
	// Limit is what limits the rate: "read", "gather", "copy" or "consumer"; "" if there were
	// too few batches for a verdict.
	Limit   string   `json:"limit"`
	Verdict string   `json:"verdict"`
	Notes   []string `json:"notes,omitempty"`
	Device  Device   `json:"device"`
	Ranks   []Rank   `json:"ranks,omitempty"` // if there are several

	detail *detail
}

// Settings are what was run, after all defaults.
type Settings struct {
	Samples     int64    `json:"set_samples"`
	Bytes       int64    `json:"set_bytes"`
	Fingerprint string   `json:"fingerprint"`
	Columns     []string `json:"columns"`
	Batch       int      `json:"batch"`
	BatchBytes  int64    `json:"batch_bytes"`
	StepSeconds float64  `json:"step_seconds"`
	Shuffle     string   `json:"shuffle"`
	Order       string   `json:"order"`
	Seed        uint64   `json:"seed"`
	Ranks       int      `json:"ranks"`
	Device      string   `json:"device"`
	Tier        string   `json:"tier"`
	Workers     int      `json:"workers"` // of each rank
	Depth       int      `json:"depth"`
	Synthetic   bool     `json:"synthetic"`
	Cores       int      `json:"cores"` // that the process may run on; 0 is unknown
	Traced      bool     `json:"traced"`
}

// waited is the seconds that a step waited for its batch.
type waited struct {
	P50   float64 `json:"p50_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
	Total float64 `json:"total_seconds"`
}

// First is the way to the first batch, of the rank that took longest.
type First struct {
	Wait  float64 `json:"wait_seconds"`
	Fill  float64 `json:"fill_seconds"`  // of it, reading the set into memory
	Stage float64 `json:"stage_seconds"` // of it, copying the shards
	CPU   float64 `json:"cpu_seconds"`   // of all ranks
}

// Work is seconds of the loaders' goroutines, summed over them.
type Work struct {
	Read   float64 `json:"read_seconds"`
	Gather float64 `json:"gather_seconds"`
	Copy   float64 `json:"copy_seconds"`
	Step   float64 `json:"step_seconds"` // and of the trainers' computing
}

// CPU is the processor time of the whole process.
type CPU struct {
	Seconds float64 `json:"seconds"`
	PerGB   float64 `json:"seconds_per_gb"`
	Cores   float64 `json:"cores"` // busy on average
}

// Memory is the bytes that the loaders took.
type Memory struct {
	Host   int64 `json:"host_bytes"`
	Device int64 `json:"device_bytes"`
	Staged int64 `json:"staged_bytes"`
}

// Bound is the same trainer on batches that cost nothing to make.
type Bound struct {
	SamplesPerSecond float64 `json:"samples_per_second"`
	BytesPerSecond   float64 `json:"bytes_per_second"`
	Seconds          float64 `json:"seconds"`
	// Reached is the share of it that the run reached.
	Reached float64 `json:"reached"`
}

// Rank is the part of one rank.
type Rank struct {
	Steps            int64   `json:"steps"`
	Samples          int64   `json:"samples"`
	Seconds          float64 `json:"seconds"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	Utilization      float64 `json:"utilization"`
	Wait             waited  `json:"wait"`
	Verdict          string  `json:"verdict"`
}

// detail is what the page shows beyond the figures.
type detail struct {
	flow  *series
	busy  *series
	waits []Bin
	rank  int // whose timeline it is
	head  []Event
	worst []Event
	most  float64 // seconds of the worst wait
}
