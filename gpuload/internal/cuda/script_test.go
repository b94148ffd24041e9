//go:build linux

package cuda

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/internal/fakecuda"
)

// TestTheScriptForGPUsRuns runs bench/gpu.sh from end to end on the fake driver.
func TestTheScriptForGPUsRuns(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("builds and runs two test programs; SHARDIFY_LONG=1 does")
	}
	lib, dir := fakecuda.Load(t, fakecuda.Batch13).Path, t.TempDir()
	out := filepath.Join(dir, "out")
	for _, args := range [][]string{{"../../../bench/gpu.sh", "build", dir}, {filepath.Join(dir, "gpu.sh"), "run", out}} {
		cmd := exec.Command("sh", args...)
		cmd.Env = append(os.Environ(), LibraryVariable+"="+lib, "SHARDIFY_GPU_BYTES=4194304", "SHARDIFY_GPU_SECONDS=0.5")
		if text, err := cmd.CombinedOutput(); err != nil {
			check, _ := os.ReadFile(filepath.Join(out, "check.txt"))
			t.Fatalf("gpu.sh %s: %v\n%s\n%s", args[1], err, text, check)
		}
	}
	b, err := os.ReadFile(filepath.Join(out, "torch.json"))
	check(t, err)
	if !strings.Contains(string(b), `"type": "torch"`) && !strings.Contains(string(b), "skipped") {
		t.Errorf("torch.json: %s", b)
	}
	for _, name := range []string{"gpu.json", "loader.json"} {
		b, err := os.ReadFile(filepath.Join(out, name))
		check(t, err)
		var v struct{ Figures []map[string]any }
		if err := json.Unmarshal(b, &v); err != nil || len(v.Figures) < 15 {
			t.Errorf("%s: %v: %s", name, err, b)
		}
	}
	b, err = os.ReadFile(filepath.Join(out, "check.txt"))
	check(t, err)
	if !strings.Contains(string(b), "--- PASS: TestOnTheGPU") {
		t.Errorf("TestOnTheGPU did not pass:\n%s", b)
	}
}
