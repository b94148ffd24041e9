package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// TestWindowsAndPatchesOfTheCorpus are samples that other programs have made of a store: windows,
// patches, channels and selections, from the set and from a copy, by all ranks of several worlds, each
// of which stops and goes on after every step.
func TestWindowsAndPatchesOfTheCorpus(t *testing.T) {
	race.Sequential(t)
	dir := filepath.Join(corpus.Dir(t, "zarr"), "cf")
	b, err := os.ReadFile(filepath.Join(dir, "windows.json"))
	if err != nil {
		t.Skip(err)
	}
	type array struct {
		Shape  []int64
		SHA256 string `json:"sha256_le"`
	}
	var want struct {
		Store string
		Cases []struct {
			Name, Flags string
			Samples     int
			X           array
			Y           *array
			Dropped     []int
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, c := range want.Cases {
		flag, value, _ := strings.Cut(c.Flags, " ")
		field := "2m_temperature"
		s := Settings{Inputs: []string{filepath.Join(dir, want.Store)}, Output: filepath.Join(t.TempDir(), "set"), Format: "mmap", ShardSamples: 7, Options: map[string]string{}, Sync: "none", Jobs: 2}
		windows := []string{""}
		shape := c.X.Shape
		switch flag {
		case "--window":
			s.Window, windows = []string{value}, []string{value, "window"}
		case "--patch":
			s.Patch = []string{value}
		case "--sel":
			// Places count from 0, and the words behind are not of the flag.
			s.Options["sel"] = strings.Replace(value, "::4 from the third on (12 UTC)", "[2::4]", 1)
			if strings.HasPrefix(value, "level=") {
				field = "geopotential"
			}
		case "--channels":
			s.Options["channels"] = value
			field, _, _ = strings.Cut(value, "=")
		case "--sample":
			// A chunk has one step: its rows are the samples, without a dimension of 1.
			field, shape = "geopotential", shape[1:]
		default:
			t.Errorf("%s: nothing is known of %s", c.Name, flag)
			continue
		}
		s.Columns = []string{field, "time"}
		for _, k := range c.Dropped {
			s.Where = append(s.Where, "time != "+itoa(1514764800+int64(k)*6*3600))
		}
		t.Run(c.Name, func(t *testing.T) {
			if _, err := Convert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			check := func(what, dir, window string, world int) {
				x, y, n := samplesOf(t, dir, field, window, world)
				if n != c.Samples || !slices.Equal(x.Shape, shape) || x.sum() != c.X.SHA256 {
					t.Errorf("%s: %d samples of %v, want %d of %v; or other values", what, n, x.Shape, c.Samples, shape)
				}
				if c.Y != nil && (!slices.Equal(y.Shape, c.Y.Shape) || y.sum() != c.Y.SHA256) {
					t.Errorf("%s: targets of %v, want %v; or other values", what, y.Shape, c.Y.Shape)
				}
			}
			for _, format := range []string{"wds", "mmap"} { // windows are copied, rows are written again
				copied := Settings{Inputs: []string{s.Output}, Output: filepath.Join(t.TempDir(), format), Format: format, ShardSamples: 9, Sync: "none", Jobs: 2}
				if flag == "--window" {
					copied.Options = map[string]string{"view": "window"}
				}
				if _, err := Convert(t.Context(), copied); err != nil {
					t.Fatal(err)
				}
				check("copied to "+format, copied.Output, "", 2)
			}
			if flag == "--window" && len(s.Where) == 0 {
				once := s
				once.Output, once.Format = filepath.Join(t.TempDir(), "once"), "wds"
				if _, err := Convert(t.Context(), once); err != nil {
					t.Fatal(err)
				}
				check("copied in one step", once.Output, "", 1)
			}
			for _, world := range []int{1, 2, 4} {
				for _, window := range windows {
					check("world "+itoa(int64(world))+" "+window, s.Output, window, world)
				}
			}
		})
		done++
	}
	if done != 16 {
		t.Errorf("%d cases", done)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// gathered is a field of all samples, by their numbers.
type gathered struct {
	Shape []int64
	rows  map[int64][]byte
}

func (g *gathered) sum() string {
	h := sha256.New()
	var ids []int64
	for id := range g.rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		h.Write(g.rows[id])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (g *gathered) add(t *testing.T, b *gpuload.Batch, name string) {
	x, err := b.Tensor(name)
	if err != nil {
		return
	}
	if g.rows == nil {
		g.Shape, g.rows = x.Shape[1:], map[int64][]byte{}
	}
	size := len(x.Data) / b.Batch()
	for i, id := range b.IDs()[:b.Rows()] {
		if _, ok := g.rows[id]; ok {
			t.Errorf("sample %d twice", id)
		}
		g.rows[id] = slices.Clone(x.Data[i*size : (i+1)*size])
	}
}

// samplesOf loads a set on all ranks of a world, each of which stops and goes on after every step.
func samplesOf(t *testing.T, dir, field, window string, world int) (x, y gathered, n int) {
	set, err := gpuload.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for rank := range world {
		c := gpuload.Config{Batch: 24 / world, Rank: rank, World: world, Last: gpuload.Pad, Shuffle: gpuload.Global, Window: window, Device: "host", Tier: gpuload.TierStream}
		switch world { // ways to gather windows
		case 1:
			c.Shuffle, c.Streams = gpuload.Block, 2
		case 2:
			c.Tier = gpuload.TierPinned
		}
		for state := (*gpuload.State)(nil); ; {
			l, err := set.Loader(c)
			if err == nil && state != nil {
				err = l.Restore(*state)
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Next(context.Background())
			if err == io.EOF || err == nil && state != nil && b.Epoch() > 0 {
				l.Close()
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			x.add(t, b, field)
			y.add(t, b, field+index.NextSuffix)
			n += b.Rows()
			s := l.State()
			state = &s
			b.Release()
			l.Close()
		}
	}
	return x, y, n
}
