//go:build linux

package cuda

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestPTXIsMadeFromTheSource(t *testing.T) {
	src, err := os.ReadFile("kernels.cu")
	check(t, err)
	if want := fmt.Sprintf("// kernels.cu sha256 %x\n", sha256.Sum256(src)); !strings.Contains(kernelsPTX, want) {
		t.Error("kernels.cu was changed: run ptx.py")
	}
	// An older driver refuses a newer number, whatever the code uses.
	if !strings.Contains(kernelsPTX, "\n.version 7.0\n.target sm_70\n") {
		t.Error("the header of kernels.ptx is not .version 7.0, .target sm_70")
	}
	entries := map[string]bool{}
	for _, m := range regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)`).FindAllStringSubmatch(kernelsPTX, -1) {
		entries[m[1]] = true
		if strings.Count(m[2], ".param") != strings.Count(m[2], ".param .u64") {
			t.Errorf("kernel %s has a parameter that is not of 8 bytes", m[1])
		}
	}
	for _, name := range kernelNames() {
		if !entries[name] {
			t.Errorf("no kernel %s", name)
		}
		delete(entries, name)
	}
	if len(entries) > 0 {
		t.Errorf("kernels nobody uses: %v", entries)
	}
}

func TestPiecesCoverRows(t *testing.T) {
	for _, size := range []int64{1, 2, 4} {
		for _, unit := range []int64{4, 8, 16} {
			for _, n := range []int64{1, 3, 15, 16, 17, 511, 512, 513, 16383, 16384, 16385, 600000, 1 << 30} {
				count, piece, log2 := pieces(n, size, unit)
				if count*piece < n || (count-1)*piece >= n || log2 > 5 || count > 1 && piece%unit != 0 {
					t.Errorf("%d units of %d: %d pieces of %d", n, size, count, piece)
				}
				if lanes := (n + unit - 1) / unit; lanes < 32 && 1<<log2 < lanes {
					t.Errorf("%d lanes in groups of %d", lanes, 1<<log2)
				}
			}
		}
	}
}
