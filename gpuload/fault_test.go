//go:build cuda && linux

package gpuload

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/race"
)

// faults are waits and records that are left out, or made on the wrong stream: each is a
// race on a GPU, which a test there would see one day in many.
var faults = []struct{ what, file, is, becomes string }{
	{"the consumer does not wait for copies", "cuda/handover_linux.go", "s.d.wait(stream, &s.sent)", "s.isDone()"},
	{"a stream leaves on the default stream", "cuda/handover_linux.go", "s.d.record(e, stream)", "s.d.record(e, 0)"},
	{"the next batch does not wait for consumers", "cuda/slot_linux.go", "s.d.wait(stream, &s.left[i])", "func(int) error { return nil }(i)"},
	{"the consumer does not wait for gathers", "cuda/handover_linux.go", "s.d.wait(stream, &s.gathered)", "s.isDone()"},
	{"streams are not noted", "cuda/handover_linux.go", "	h.users = append(h.users, u)\n", ""},
	{"another thread's default stream is taken for the own", "cuda/handover_linux.go", "u.stream == streamPerThread && u.thread != unix.Gettid()", "false"},
	{"a consumer on an unknown stream is not waited for", "cuda/handover_linux.go", "unknown = s.unknown && len(streams) == 0", "unknown = false"},
	{"only the newest stream is noted", "cuda/handover_linux.go", "h.users = append(h.users, u)", "h.users = append(h.users[:0], u)"},
	{"host memory is written before it was read", "cuda/slot_linux.go", "if err := s.d.await(ctx, list...)", "if err := s.d.await(ctx, list[:0]...)"},
	{"who copies a batch does not leave it", "cuda/handover_linux.go", "		return s.leave(stream)\n	})\n}\n\n// copySent", "		return nil\n	})\n}\n\n// copySent"},
	{"one wait is taken for that of later batches", "cuda/visit_linux.go", "d.reached = max(d.reached, number)", "d.reached = d.gathered"},
	{"gathers do not wait for loads of windows", "cuda/gather_linux.go", "s.d.wait(s.d.gathers, &w.loaded)", "s.isDone()"},
	{"loads of windows do not wait for gathers", "cuda/window_linux.go", "w.d.wait(w.d.copies, e)", "error(nil)"},
	{"memory of windows is written before it was copied", "device/cuda.go", "Mirrored:\n		return c.window.Wait(ctx)", "Mirrored:\n		return ctx.Err()"},
	{"who reads a window is not noted", "cuda/gather_linux.go", "w.left = &s.gathered", "w.left = nil"},
	{"host memory of windows is filled before it was read", "device/cuda.go", "return c.window.Left(ctx)", "return ctx.Err()"},
	{"slots are freed under their consumers", "cuda/slot_linux.go", "d.given(d.drv.eventSynchronize(s.left[i].handle))", "func(int) error { return nil }(i)"},
}

// TestFaultsOfTheDeviceAreCaught builds the random programs with one fault at a time.
func TestFaultsOfTheDeviceAreCaught(t *testing.T) {
	race.Sequential(t)
	list := faults
	if !long() {
		list = list[:1] // each is a test program to build
	}
	for _, f := range list {
		t.Run(f.what, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("internal", f.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), f.is); n != 1 {
				t.Fatalf("%s has %q %d times: name the place where the fault is to be now", f.file, f.is, n)
			}
			bad := filepath.Join(t.TempDir(), filepath.Base(path))
			more := "\n"
			if strings.HasPrefix(f.file, "cuda/") {
				more += "func (s *Slot) isDone() error { return nil }\n"
			}
			if err := os.WriteFile(bad, []byte(strings.Replace(string(text), f.is, f.becomes, 1)+more), 0o666); err != nil {
				t.Fatal(err)
			}
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: bad}})
			if err != nil {
				t.Fatal(err)
			}
			file := bad + ".json"
			if err := os.WriteFile(file, overlay, 0o666); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-tags", "cuda", "-ldflags", "-X github.com/shardify/shardify/internal/poison.on=yes", "-overlay", file, "-run", "TestRandomProgramsOnTheDevice", ".")
			cmd.Env = append(os.Environ(), "PROGRAMS=400", "SHARDIFY_LONG=")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "program ") {
				t.Errorf("400 programs do not notice it: %v\n%s", err, out)
			}
			t.Logf("%s", out[max(len(out)-400, 0):])
		})
	}
}
