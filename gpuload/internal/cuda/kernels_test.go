//go:build linux

package cuda

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unsafe"
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
		if record := fmt.Sprintf(".param .align 8 .b8 %s_param_0[%d]", m[1], unsafe.Sizeof(launch{})); strings.Count(m[2], ".param") != strings.Count(m[2], ".param .u64")+strings.Count(m[2], record) {
			t.Errorf("kernel %s has a parameter that is neither of 8 bytes nor a launch: %s", m[1], m[2])
		}
	}
	for _, name := range kernelNames {
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
