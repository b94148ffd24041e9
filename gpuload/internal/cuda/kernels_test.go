//go:build linux

package cuda

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardify/shardify/tests/fakecuda"
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
		size := unsafe.Sizeof(launch{})
		switch m[1] {
		case "pixels":
			size = unsafe.Sizeof(pictures{})
		case "dense":
			size = unsafe.Sizeof(sparse{})
		}
		if record := fmt.Sprintf(".param .align 8 .b8 %s_param_0[%d]", m[1], size); strings.Count(m[2], ".param") != strings.Count(m[2], ".param .u64")+strings.Count(m[2], record) {
			t.Errorf("kernel %s has a parameter that is neither of 8 bytes nor its struct: %s", m[1], m[2])
		}
	}
	for _, name := range kernelNames {
		if !entries[name] {
			t.Errorf("no kernel %s", name)
		}
		delete(entries, name)
	}
	if len(entries) > 0 {
		t.Errorf("unused kernels: %v", entries)
	}
}

func TestPiecesCoverRows(t *testing.T) {
	for _, row := range []int64{1, 3, 4, 15, 16, 17, 511, 512, 513, 16383, 16384, 16385, 600000, 1 << 30, 1 << 40} {
		for _, align := range []uint64{1, 4, 8, 16} {
			c := column{dst: align}
			c.lanes(row)
			unit := map[uint32]uint64{byBytes: 1, byLanes4: 4, byLanes8: 8, byLanes16: 16}[c.kind]
			if c.units*unit != uint64(row) || align%unit != 0 || c.pieces*c.piece < c.units || (c.pieces-1)*c.piece >= c.units || c.piece*unit > pieceBytes || c.log2 > 5 {
				t.Errorf("rows of %d bytes at %d: %+v", row, align, c)
			}
			for _, size := range []uint64{0, 1, 7, 1000, 1 << 20} {
				for _, blocks := range []int64{1, 24, 528} {
					for _, split := range []uint64{size, size / 3} {
						l := launch{size: size, split: split, columns: 1}
						l.column[0] = c
						check(t, l.cut(row, blocks))
						tiles := (split+uint64(l.tile)-1)/uint64(l.tile) + (size-split+uint64(l.tile)-1)/uint64(l.tile)
						if l.tile < 1 || l.tile > maxTile || uint64(l.tiles) != tiles*uint64(l.slices) || uint64(l.slices) > c.pieces || uint64(l.tile)*c.pieces > maxItems {
							t.Errorf("%d rows of %d bytes for %d blocks: %d tiles of %d, %d slices of %d pieces", size, row, blocks, l.tiles, l.tile, l.slices, c.pieces)
						}
					}
				}
			}
		}
	}
}

// TestCubinsAreMadeOfThePTX compares hashes, and runs ptxas again where $PTXAS names the one
// that made them.
func TestCubinsAreMadeOfThePTX(t *testing.T) {
	list, err := os.ReadFile("kernels.txt")
	check(t, err)
	if want := fmt.Sprintf("\nptx %x\n", sha256.Sum256([]byte(kernelsPTX))); !strings.Contains(string(list), want) {
		t.Error("kernels.ptx was changed: run ptx.py --check")
	}
	if n := strings.Count(string(list), " 0 bytes spilled\n"); n != 5*len(kernelNames) {
		t.Errorf("%d of %d kernels spill no registers:\n%s", n, 5*len(kernelNames), list)
	}
	for _, major := range []int32{8, 9, 10} {
		b, err := cubin(major)
		check(t, err)
		if want := fmt.Sprintf("\nsm_%d0 cubin %x\n", major, sha256.Sum256(b)); !strings.Contains(string(list), want) {
			t.Errorf("sm_%d0: another cubin than ptx.py made", major)
		}
		ptxas := os.Getenv("PTXAS")
		if ptxas == "" {
			continue
		}
		again := filepath.Join(t.TempDir(), "cubin")
		if out, err := exec.Command(ptxas, fmt.Sprintf("-arch=sm_%d0", major), "-o", again, "kernels.ptx").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made, err := os.ReadFile(again)
		check(t, err)
		if !bytes.Equal(made, b) {
			t.Errorf("sm_%d0: ptxas makes another cubin of kernels.ptx", major)
		}
	}
	if b, err := cubin(7); b != nil || err != nil {
		t.Errorf("a cubin for compute capability 7: %d bytes, %v", len(b), err)
	}
}

// TestKernelsAreLoadedOncePerProcess: by cubin where the driver takes it, else by PTX.
func TestKernelsAreLoadedOncePerProcess(t *testing.T) {
	for mode, loads := range map[string]int{"cubin": 1, "": 2} {
		f := newFake(t)
		f.Configure(fakecuda.Mode, mode)
		first, second := f.open(t, Options{}), f.open(t, Options{})
		if n := f.Calls()["cuModuleLoadDataEx"]; n != loads {
			t.Errorf("mode %q: %d loads, want %d", mode, n, loads)
		}
		check(t, first.Close())
		castExactly(t, second)
		check(t, second.Close())
		f.End(t)
	}
}
