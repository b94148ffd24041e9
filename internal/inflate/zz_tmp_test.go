package inflate

import (
	"bytes"
	stdflate "compress/flate"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
)

func TestZZ(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	fmt.Printf("%-16s %5s %8s %8s %8s %8s  ratio\n", "kind", "comp", "ours", "reader", "klaus", "std")
	for _, k := range kinds {
		data := k.make(4 << 20)
		os.WriteFile("/tmp/infl/in", data, 0o644)
		if o, err := exec.Command("python3", "-c", "import zlib;d=open('/tmp/infl/in','rb').read();open('/tmp/infl/out','wb').write(zlib.compress(d,6)[2:-4])").CombinedOutput(); err != nil {
			t.Fatal(string(o))
		}
		comp, _ := os.ReadFile("/tmp/infl/out")
		dst := make([]byte, len(data))
		var d Decoder
		var r Reader
		kr := flate.NewReader(nil)
		sr := stdflate.NewReader(nil)
		fs := []func(){
			func() { d.Deflate(dst, comp) },
			func() { r.Reset(bytes.NewReader(comp)); io.ReadFull(&r, dst) },
			func() { kr.(flate.Resetter).Reset(bytes.NewReader(comp), nil); io.ReadFull(kr, dst) },
			func() { sr.(flate.Resetter).Reset(bytes.NewReader(comp), nil); io.ReadFull(sr, dst) },
		}
		ts := make([][]float64, len(fs))
		for range 11 {
			for i, f := range fs {
				clear(dst)
				s := time.Now()
				f()
				ts[i] = append(ts[i], time.Since(s).Seconds())
				if !bytes.Equal(dst, data) {
					t.Fatal("differs", k.name, i)
				}
			}
		}
		fmt.Printf("%-16s %4.1f%%", k.name, 100*float64(len(comp))/float64(len(data)))
		var m, lo []float64
		for i := range ts {
			sort.Float64s(ts[i])
			m = append(m, 4.194304/ts[i][len(ts[i])/2])
			lo = append(lo, 4.194304/ts[i][0])
		}
		fmt.Printf(" med %8.0f %8.0f %8.0f %8.0f  %.2f | best %6.0f %6.0f %6.0f  %.2f %.2f\n", m[0], m[1], m[2], m[3], m[0]/m[2], lo[0], lo[1], lo[2], lo[0]/lo[2], lo[1]/lo[2])
	}
}
