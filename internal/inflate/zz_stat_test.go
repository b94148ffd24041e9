package inflate

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

var zzH struct {
	ent            [4]int
	lits, matches  int
	lenB           [6]int
	distB          [5]int
	runs           [12]int
	run            int
	sub, dsub      int
}

func TestZZStat(t *testing.T) {
	if os.Getenv("ZZS") == "" {
		t.Skip()
	}
	for _, k := range kinds {
		data := k.make(4 << 20)
		os.WriteFile("/tmp/infl/in", data, 0o644)
		if o, err := exec.Command("python3", "-c", "import zlib;d=open('/tmp/infl/in','rb').read();open('/tmp/infl/out','wb').write(zlib.compress(d,6)[2:-4])").CombinedOutput(); err != nil {
			t.Fatal(string(o))
		}
		comp, _ := os.ReadFile("/tmp/infl/out")
		var f inflater
		out := make([]byte, len(data))
		// one-symbol stepping through careful with packed entry accounting
		zzH = struct {
			ent            [4]int
			lits, matches  int
			lenB           [6]int
			distB          [5]int
			runs           [12]int
			run            int
			sub, dsub      int
		}{}
		pos, ip := 0, 0
		st := running
		blocks := 0
		for {
			if f.phase == inCodes {
				lit, dist := &f.lit, &f.dist
				if f.fixed {
					lit, dist = &fixed().lit, &fixed().dist
				}
				_ = dist
				// peek
				ip = f.fill(comp, ip)
				e := lit[f.bits&(1<<litBits-1)]
				c := int(e >> 6 & 3)
				if c == 0 && e&litOther != 0 && e&(litEnd|litInvalid) == 0 {
					zzH.sub++
				}
				if c == 0 {
					c = 1
				} else {
					zzH.ent[c]++
				}
				for i := 0; i < c; i++ {
					p := pos
					pos, ip, st = f.careful(lit, dist, &f.widths, out, pos, pos+1, comp, ip)
					if st != full {
						break
					}
					if pos-p == 1 {
						zzH.lits++
						zzH.run++
					} else {
						zzH.matches++
						zzH.runs[min(zzH.run, 11)]++
						zzH.run = 0
						l := pos - p
						switch {
						case l <= 4:
							zzH.lenB[0]++
						case l <= 8:
							zzH.lenB[1]++
						case l <= 16:
							zzH.lenB[2]++
						case l <= 32:
							zzH.lenB[3]++
						case l <= 64:
							zzH.lenB[4]++
						default:
							zzH.lenB[5]++
						}
						d := 0
						for d = 1; d < p; d++ {
							ok := true
							for j := 0; j < l; j++ {
								if out[p+j] != out[p-d+j] {
									ok = false
									break
								}
							}
							if ok {
								break
							}
						}
						switch {
						case d == 1:
							zzH.distB[0]++
						case d < 8:
							zzH.distB[1]++
						case d < 16:
							zzH.distB[2]++
						default:
							zzH.distB[3]++
						}
					}
				}
				if st == blockEnd {
					blocks++
					if f.final {
						break
					}
					f.phase = atHeader
				}
				continue
			}
			switch f.phase {
			case atHeader:
				ip, st = f.header(comp, ip)
			case inStored:
				pos, ip, st = f.copyStored(out, pos, len(out)+1, comp, ip)
				if st == blockEnd {
					blocks++
					f.phase = atHeader
					if f.final {
						st = finished
					}
				}
			}
			if st == finished || st == needInput {
				break
			}
		}
		fmt.Printf("%s: blocks %d lits %d matches %d entries(1,2,3 lits) %v len<=4,8,16,32,64 %v dist 1,<8,<16,more %v litruns %v sub %d\n", k.name, blocks, zzH.lits, zzH.matches, zzH.ent[1:], zzH.lenB, zzH.distB, zzH.runs, zzH.sub)
	}
}
