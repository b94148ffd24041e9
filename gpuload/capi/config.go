package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
)

// config is what shardify_open reads: gpuload.Config as JSON, and the data sets.
type config struct {
	Paths   []string  `json:"paths"`
	IDs     []string  `json:"ids"` // that the sets must have; none for any
	Mix     []float64 `json:"mix"`
	Columns []string  `json:"columns"`
	Keys    bool      `json:"keys"`
	Batch   int       `json:"batch"`
	Shuffle string    `json:"shuffle"`
	Window  string    `json:"window"`
	Tokens  string    `json:"tokens"`
	// ShuffleWindow is how many samples a batch of a block shuffle is drawn from.
	ShuffleWindow int64  `json:"shuffle_window"`
	Streams       int    `json:"streams"`
	Seed          uint64 `json:"seed"`
	Epoch         int    `json:"epoch"`
	Last          string `json:"last"`
	// Budget and what follows it make batches of other numbers of samples.
	Budget       []gpuload.Limit `json:"budget"`
	Padded       bool            `json:"padded"`
	BudgetWindow int64           `json:"budget_window"`
	Oversize     string          `json:"oversize"`
	Rank         int             `json:"rank"`
	World        int             `json:"world"`
	// IndicesType is that of the array of indices, as NumPy writes it: "i8" if it is left out. Once and
	// PerEpoch: they are the order of samples.
	IndicesType string `json:"indices_type"`
	Once        bool   `json:"once"`
	PerEpoch    bool   `json:"per_epoch"`
	Balance     string `json:"balance"`
	Samples     int64  `json:"samples"`
	Device      string `json:"device"`
	Tier        string `json:"tier"`
	Memory      size   `json:"memory"`
	DeviceMem   size   `json:"device_memory"`
	Stage       string `json:"stage"`
	KeepStage   bool   `json:"keep_stage"`
	Cache       string `json:"cache"`
	CacheSize   size   `json:"cache_size"`
	Local       int    `json:"local_ranks"`
	Depth       int    `json:"depth"`
	Workers     int    `json:"workers"`
	Verify      string `json:"verify"`
	Synthetic   bool   `json:"synthetic"`
	// Numbers has a GPU write the samples' numbers down: a tensor more.
	Numbers bool `json:"numbers"`
	// Trace is the file that the timeline goes to.
	Trace string          `json:"trace"`
	Cast  map[string]cast `json:"cast"`
	Group int64           `json:"group"`
	// Grow adds slots when the caller holds all but one.
	Grow bool `json:"grow"`
	// Patience is the seconds that a call waits for a slot while the consumer holds all.
	Patience float64 `json:"patience"`
}

type cast struct {
	DType shardify.DType `json:"dtype"`
	Scale []float32      `json:"scale"`
	Shift []float32      `json:"shift"`
	Axis  int            `json:"axis"`
}

// size is bytes as a number or as users write them: "8GiB".
type size int64

func (s *size) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		n, err := shardify.ParseSize(text)
		*s = size(n)
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: want bytes, or text such as 8GiB", text)
	}
	*s = size(n)
	return nil
}

func decodeConfig(b []byte) (*config, error) {
	c := &config{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return c, nil
}

// loaderConfig is the configuration without its trace.
func (c *config) loaderConfig() gpuload.Config {
	g := gpuload.Config{
		Columns: c.Columns, Keys: c.Keys, Batch: c.Batch, Shuffle: gpuload.Shuffle(c.Shuffle), Window: c.Window, Tokens: c.Tokens, ShuffleWindow: c.ShuffleWindow, Streams: c.Streams,
		Seed: c.Seed, Epoch: c.Epoch, Once: c.Once, PerEpoch: c.PerEpoch, Last: gpuload.Last(c.Last), Rank: c.Rank, World: c.World, Mix: c.Mix, Balance: c.Balance, Samples: c.Samples,
		Budget: c.Budget, Padded: c.Padded, BudgetWindow: c.BudgetWindow, Oversize: gpuload.Oversize(c.Oversize),
		Tier: gpuload.Tier(c.Tier), Memory: int64(c.Memory), DeviceMemory: int64(c.DeviceMem), LocalRanks: c.Local, Stage: c.Stage, KeepStage: c.KeepStage, Cache: c.Cache, CacheSize: int64(c.CacheSize),
		Depth: c.Depth, Group: c.Group, Workers: c.Workers, Verify: gpuload.Verify(c.Verify), Synthetic: c.Synthetic, Device: c.Device, Numbers: c.Numbers,
		Patience: time.Duration(min(c.Patience, 1e9) * float64(time.Second)),
	}
	if len(c.Cast) > 0 {
		g.Cast = make(map[string]gpuload.Cast, len(c.Cast))
	}
	for name, k := range c.Cast {
		g.Cast[name] = gpuload.Cast{DType: k.DType, Scale: k.Scale, Shift: k.Shift, Axis: k.Axis}
	}
	return g
}

// openTrace creates the file of the timeline; nil if there is to be none.
func (c *config) openTrace() (*os.File, error) {
	if c.Trace == "" {
		return nil, nil
	}
	f, err := os.Create(c.Trace)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("trace %s: %w: make it first, or name another", c.Trace, gpuload.ErrFolder)
	}
	return f, err
}

// maxList bounds arrays of the caller: a wrong length would be read as memory.
const maxList = math.MaxInt64 / 8
