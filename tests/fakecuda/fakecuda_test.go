package fakecuda

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheTranslatorIsRight runs the translator's own checks: values of instructions,
// broken kernels that must be caught, texts that must be refused.
func TestTheTranslatorIsRight(t *testing.T) {
	if _, err := kernels(); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("python3", "selftest.py")
	cmd.Dir = filepath.Join(".", "ptxcpu")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
