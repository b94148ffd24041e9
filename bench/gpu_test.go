package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/fakecuda"
)

// gpuCall is a call of gpu.py in a folder whose programs are shell scripts.
func gpuCall(t *testing.T, name, script string, env ...string) (cmd *exec.Cmd, out string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	b, err := os.ReadFile("gpu.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"gpu.py": string(b), "cuda.test": "#!/bin/sh\n" + script, "gpuload.test": "#!/bin/sh\necho '--- PASS: TestLoader (1.25s)'\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out = filepath.Join(dir, "out")
	cmd = exec.Command(python, filepath.Join(dir, "gpu.py"), name, out)
	cmd.Env = append(os.Environ(), env...)
	return cmd, out
}

type object map[string]any

// linesOf is the whole lines of a call so far.
func linesOf(t *testing.T, out string) (list []object) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, "lines.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var v object
		if line[len(line)-1] == '\n' {
			if err := json.Unmarshal(line, &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			list = append(list, v)
		}
	}
	return list
}

func ofType(list []object, want string) []object {
	return slices.DeleteFunc(slices.Clone(list), func(v object) bool { return v["type"] != want })
}

// TestGPULinesOutliveAKill: lines are there while the call runs, stay when it is killed, and
// its program ends with it. The next call goes on behind them.
func TestGPULinesOutliveAKill(t *testing.T) {
	cmd, out := gpuCall(t, "figures", `echo $$ > pid
echo '{"type":"figure","what":"engine peak"}' >> "$SHARDIFY_GPU_LINES"
printf '{"type":"fig' >> "$SHARDIFY_GPU_LINES"
exec sleep 60
`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for from := time.Now(); len(ofType(linesOf(t, out), "figure")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(from) > 30*time.Second {
			t.Fatal("no figure came while the call ran")
		}
	}
	if n := len(ofType(linesOf(t, out), "machine")); n != 1 {
		t.Errorf("%d lines of the machine", n)
	}
	cmd.Process.Kill()
	cmd.Wait()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(out), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for from := time.Now(); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(from) > 10*time.Second {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the program outlived the call")
		}
	}
	again := exec.Command(cmd.Args[0], cmd.Args[1:]...)
	again.Env = append(cmd.Env, "SHARDIFY_GPU_LIMIT=1")
	if err := again.Run(); err == nil {
		t.Error("a call that was cut succeeded")
	}
	b, err = os.ReadFile(filepath.Join(out, "lines.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte(`"type":"figure"`)); n != 2 || !bytes.Contains(b, []byte("{\"type\":\"fig\n")) {
		t.Errorf("%d figures of two calls:\n%s", n, b)
	}
}

// running reports whether a process does more than wait to be reaped.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// TestAGPUCallEndsInTime: a program that does not want to end is killed, the programs after it have
// their lines, and the call fails.
func TestAGPUCallEndsInTime(t *testing.T) {
	cmd, out := gpuCall(t, "figures", "trap '' TERM\nwhile :; do sleep 1; done\n", "SHARDIFY_GPU_LIMIT=2")
	from := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if took := time.Since(from); !errors.As(err, &exit) || exit.ExitCode() != 1 || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	list := linesOf(t, out)
	steps := ofType(list, "step")
	if len(steps) != 3 || steps[0]["cut"] != true || steps[1]["left_out"] != "time is up" || steps[2]["left_out"] != "time is up" {
		t.Errorf("steps %v", steps)
	}
	if done := ofType(list, "done"); len(done) != 1 || done[0]["failed"] != true {
		t.Errorf("end %v", done)
	}
	cmd, out = gpuCall(t, "figures", "echo '    --- PASS: TestFigures (0.50s)'\necho '    gpu_test.go:9: pool of 1 GiB: <nil>'\n")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	list = linesOf(t, out)
	if checks, notes := ofType(list, "check"), ofType(list, "note"); len(checks) != 3 || checks[0]["check"] != "TestFigures" || checks[1]["seconds"] != 1.25 || len(notes) != 1 || notes[0]["note"] != "pool of 1 GiB: <nil>" {
		t.Errorf("%v\n%v", checks, notes)
	}
}

// TestGPUReport: of no lines it has the predictions, of some it tests those that it can, of
// all every one; lines that were torn, or that it does not know, do no harm.
func TestGPUReport(t *testing.T) {
	some := []string{
		`{"type":"machine","gpu":"An H200","clocks":"1","kernel":"6","cores":16,"memory":"1 kB","huge_pages":"always"}`,
		`{"type":"figure","what":"engine peak","row_bytes":1073741824,"bytes_per_second":50e9,"worst":49e9,"rounds":5}`,
		`{"type":"figure","what":"block","row_bytes":4096,"bytes_per_second":49e9}`,
		`{"type":"new"}`, `{"no":"type"}`, `7`, `{"type":"fig`,
	}
	all := slices.Clone(some)
	for _, peak := range []string{"read peak", "device copy"} {
		all = append(all, fmt.Sprintf(`{"type":"figure","what":%q,"row_bytes":1073741824,"bytes_per_second":%g}`, peak, map[string]float64{"read peak": 45e9, "device copy": 2e12}[peak]))
	}
	all = append(all, `{"type":"figure","what":"host, per batch","row_bytes":16,"seconds":1e-5}`)
	for _, row := range []int{64, 128, 1024, 4096, 600_000} {
		all = append(all, fmt.Sprintf(`{"type":"figure","what":"device tier","row_bytes":%d,"bytes_per_second":1.9e12}`, row))
		for _, shuffle := range []string{"none", "block", "global"} {
			all = append(all, fmt.Sprintf(`{"type":"loader","row_bytes":%d,"shuffle":%q,"tier":"pinned","batch":256,"bytes_per_second":4.9e10,"core_seconds_per_gb":0.01,"verdict":"a | b"}`, row, shuffle))
		}
		all = append(all, fmt.Sprintf(`{"type":"peer","what":"index_select, host indices","row_bytes":%d,"batch":256,"bytes_per_second":1e9,"device":"cuda:0"}`, row),
			fmt.Sprintf(`{"type":"peer","what":"index_select, host indices","row_bytes":%d,"batch":256,"bytes_per_second":1e13,"device":"cpu"}`, row),
			fmt.Sprintf(`{"type":"ours","row_bytes":%d,"tier":"device","batch":256,"bytes_per_second":%d}`, row, 5_000_000*row))
	}
	for _, shape := range []string{"unet3d h100", "cosmoflow h100"} {
		all = append(all, fmt.Sprintf(`{"type":"steps","shape":%q,"source":"loader","tier":"pinned","utilization":0.995}`, shape),
			fmt.Sprintf(`{"type":"steps","shape":%q,"source":"half","tier":"pinned","utilization":0.5}`, shape))
	}
	faulty := append(slices.Clone(some), `{"type":"steps","shape":"unet3d h100","source":"half","tier":"pinned","utilization":0.9}`)
	all = append(all, `{"type":"check","step":"jax","check":"jax","status":"SKIP","note":"not installed"}`, `{"type":"step","step":"jax","cut":true}`)
	for _, c := range []struct {
		lines              []string
		met, missed, blank int
		want               []string
	}{
		{nil, 0, 0, 16, []string{"No call was made yet.", "| block, 4096 B | 0.95 | 0.98 | 0.98 | - | - | - | - |"}},
		{some, 1, 0, 15, []string{"An H200", "| P | 5.5e+10 | 5e+10 |", "| block, 4096 B | 0.95 | 0.98 | 0.98 | 0.98 | - | holds | met |"}},
		{all, 15, 1, 0, []string{"| global, 4096 B | 0.9 |", "| device tier to index_select of host indices, 64 B | 10 |", "| 0.32 | wrong | missed |", "utilisation, cosmoflow h100 | 0.99 |", "a / b", "not installed", "(0.50) are as they must be."}},
		{faulty, 1, 0, 15, []string{"are **not** as they must be: unet3d h100, half: 0.900."}},
	} {
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip(err)
		}
		out, to := t.TempDir(), t.TempDir()
		if c.lines != nil {
			if err := os.WriteFile(filepath.Join(out, "lines.jsonl"), []byte(strings.Join(c.lines, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if b, err := exec.Command(python, "gpu.py", "report", out, to).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		b, err := os.ReadFile(filepath.Join(to, "GPU.md"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		met, missed, blank := strings.Count(text, "| met |"), strings.Count(text, "| missed |"), strings.Count(text, "| - | - |\n")
		if met != c.met || missed != c.missed || blank != c.blank {
			t.Errorf("%d lines: %d met, %d missed, %d open, want %d, %d, %d\n%s", len(c.lines), met, missed, blank, c.met, c.missed, c.blank, text)
		}
		for _, s := range c.want {
			if !strings.Contains(text, s) {
				t.Errorf("%d lines: no %q in\n%s", len(c.lines), s, text)
			}
		}
		picture, err := os.ReadFile(filepath.Join(to, "gpu.svg"))
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(picture))
		for err == nil {
			_, err = d.Token()
		}
		if err != io.EOF || !bytes.Contains(picture, []byte("cosmoflow")) {
			t.Errorf("%v in\n%s", err, picture)
		}
	}
}

// TestGPUScriptRuns makes every call on the stand-in for the driver.
func TestGPUScriptRuns(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("builds two test programs and a library, and runs them; SHARDIFY_LONG=1 does")
	}
	lib, dir := fakecuda.Load(t, fakecuda.Default()...).Path, t.TempDir()
	out := filepath.Join(dir, "out")
	there := filepath.Join(dir, "gpu.sh")
	for _, args := range [][]string{{"gpu.sh", "build", dir}, {there, "checks", out}, {there, "figures", out}, {there, "python", out}, {"gpu.sh", "report", out, dir}} {
		cmd := exec.Command("sh", args...)
		cmd.Env = append(os.Environ(), "GPULOAD_LIBCUDA="+lib, "SHARDIFY_GPU_BYTES=1000000", "FAKECUDA_ORDER=prompt")
		if args[1] != "checks" {
			cmd.Env = append(cmd.Env, "SHARDIFY_GPU_STEP=20")
		}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gpu.sh %s: %v\n%s\n%v", args[1], err, text, linesOf(t, out))
		}
	}
	list := linesOf(t, out)
	for kind, least := range map[string]int{"machine": 3, "figure": 10, "loader": 30, "steps": 8, "check": 6, "done": 3} {
		if n := len(ofType(list, kind)); n < least {
			t.Errorf("%d lines of type %s, want %d", n, kind, least)
		}
	}
}
