package trainer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestASweepIsCompared: rows say what differs, rates are shares of the first, and each number
// that varies has a chart with a line for each of the other settings.
func TestASweepIsCompared(t *testing.T) {
	var file bytes.Buffer
	for _, batch := range []int{64, 256} {
		for _, workers := range []int{1, 2} {
			n := Named{Type: "bench", Path: []string{"<set>"}, Report: Report{SamplesPerSecond: float64(1000 * batch * workers), Limit: "read"}}
			n.Settings = Settings{Batch: batch, Workers: workers, Tier: "stream", Shuffle: "none", Cores: 4}
			if err := json.NewEncoder(&file).Encode(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, err := ReadReports(&file, "sweep.jsonl")
	if err != nil || len(runs) != 4 {
		t.Fatal(len(runs), err)
	}
	c := Compare(runs)
	var text, html bytes.Buffer
	c.WriteText(&text)
	lines := strings.Split(text.String(), "\n")
	for i, want := range []string{"batch workers samples/s of the first", "64 1 64,000 100.0 %", "64 2 128,000 200.0 %", "256 1 256,000 400.0 %", "256 2 512,000 800.0 %"} {
		if got := strings.Join(strings.Fields(lines[i]), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if strings.Contains(text.String(), "note") || strings.Contains(text.String(), "stream") {
		t.Errorf("%s", &text)
	}
	if err := c.Page().Write(&html); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html.String(), ">1.5</text>") {
		t.Error("there are no 1.5 workers")
	}
	for _, want := range []string{"4 runs compared", "workers 2</li>", "batch 256</li>", ">256,000<"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(html.String(), "<svg"); n != 3 {
		t.Errorf("%d charts", n)
	}
	runs[1].Settings.Fingerprint, runs[2].Settings.Cores = "other", 8
	if notes := fmt.Sprint(Compare(runs).Notes); notes != "[the runs read different data the runs had different processors or GPUs]" {
		t.Error(notes)
	}
}

func TestForeignFilesAreNotCompared(t *testing.T) {
	for text, want := range map[string]error{"{": shardify.ErrCorrupt, `{"type":"bench","steps":"x"}`: shardify.ErrCorrupt, `{"type":"done"}`: shardify.ErrSchema,
		strings.Repeat(`{"type":"bench"}`, maxRuns+1): shardify.ErrUnsupported} {
		if _, err := ReadReports(strings.NewReader(text), "f"); !errors.Is(err, want) {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}
