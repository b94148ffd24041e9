package endtoend

import (
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

// emulated is a shardify for the other kind of processor, and the command that runs it.
// arm64 gets pages of 64 KiB, as the kernels of many clusters have.
func emulated(t *testing.T) []string {
	t.Helper()
	arch, machine := "arm64", "aarch64"
	if runtime.GOARCH == arch {
		arch, machine = "amd64", "x86_64"
	}
	var emulator string
	for _, name := range []string{"qemu-" + machine, "qemu-" + machine + "-static"} {
		if path, err := exec.LookPath(name); err == nil {
			emulator = path
		}
	}
	if emulator == "" {
		t.Skipf("skipped: qemu-%s is not installed (Debian: qemu-user-static)", machine)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "shardify")
	if err := programs.Build("../..", dir, []string{"GOOS=linux", "GOARCH=" + arch, "CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	if arch == "arm64" {
		return []string{emulator, "-p", "65536", program}
	}
	return []string{emulator, program}
}

// TestEndToEndSameBytesOnOtherProcessors: a plan made on a login node of one kind is worked
// on by nodes of another, and what one of them wrote the other verifies.
func TestEndToEndSameBytesOnOtherProcessors(t *testing.T) {
	other := emulated(t)
	dir := t.TempDir()
	images, arrays := inputs(t, dir)
	demo := func(name string) string { return filepath.Join("../../testdata/demo", name) }
	there := func(args ...string) {
		t.Helper()
		cmd := exec.Command(other[0], append(slices.Clone(other[1:]), args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"hdf5", []string{demo("digits.h5")}},
		{"parquet", []string{demo("digits.parquet"), "--format", "wds"}},
		{"global shuffle", []string{arrays, "--shuffle", "global", "--split", "train=0.8,val=0.2", "--shard-samples", "400"}},
		{"arithmetic", []string{demo("HZZ.root"), "--columns", "Jet_*,Muon_*,MET_p*", "--where", "NJet > 0",
			"--define", "met:f64=sqrt(MET_px*MET_px + MET_py*MET_py)", "--define", "mass:f64=sum(Jet_E*Jet_E - Jet_Px*Jet_Px)", "--cast", "Muon_*=f16"}},
		{"functions", []string{demo("HZZ.root"), "--columns", "MET_p*", "--define", "phi:f64=atan2(MET_py, MET_px)", "--define", "pt:f64=hypot(MET_px, MET_py)",
			"--define", "a:f64=exp(sin(MET_px)) + tan(cos(MET_py))", "--define", "b:f64=log(abs(MET_px)) * log10(abs(MET_py)) + abs(MET_px) ** 0.7",
			"--define", "c:f64=asinh(MET_px) - tanh(MET_py / 50) + cbrt(MET_py)"}},
		{"vectors", []string{demo("HZZ.root"), "--columns", "Muon_P*,Muon_E,MET_p*", "--shuffle", "global",
			"--augment", "rotate-3d=Muon_Px:Muon_Py:Muon_Pz", "--augment", "smear=Muon_E,sigma=0.05", "--augment", "normalise=MET_px+MET_py"}},
		{"pixels", []string{images, "--format", "wds", "--copies", "2", "--augment", "resize=21,filter=lanczos", "--augment", "rotate=25",
			"--augment", "colour-jitter,brightness=0.4,contrast=0.4,saturation=0.4,hue=0.1", "--augment", "random-resized-crop=16x12", "--augment", "encode=jpg"}},
	} {
		ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
		args := append([]string{"convert"}, c.args...)
		run(t, append([]string{"shardify"}, append(args, "-o", ours, "--quiet", "--sync", "none")...)...)
		there(append(args, "-o", theirs, "--quiet", "--sync", "none")...)
		want, got := published(t, ours), published(t, theirs)
		if !maps.Equal(want, got) {
			for _, n := range slices.Sorted(maps.Keys(want)) {
				if want[n] != got[n] {
					t.Errorf("%s: %s differs", c.name, n)
				}
			}
			t.Errorf("%s: %d files there, %d here", c.name, len(got), len(want))
			continue
		}
		there("verify", ours)
	}
}
