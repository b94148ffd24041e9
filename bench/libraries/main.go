// Command libraries makes a table of what BenchmarkRivals of several packages prints in several rounds: each
// case of a library beside its rivals. A factor is the median of those of the rounds, in which both take turns.
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// bench is a case of a library: the times of each contender, in ns.
type bench struct {
	name  string
	who   []string
	times map[string][]float64
	bytes float64 // of one operation; 0 is not known
}

func main() {
	var list []*bench
	byName := map[string]*bench{}
	pkg, cpu := "", ""
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		line := s.Text()
		if rest, ok := strings.CutPrefix(line, "pkg: github.com/shardify/shardify/"); ok {
			pkg = rest
		}
		if rest, ok := strings.CutPrefix(line, "cpu: "); ok {
			cpu = rest
		}
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "ns/op" || !strings.HasPrefix(f[0], "BenchmarkRivals/") {
			continue
		}
		name := strings.TrimPrefix(f[0], "BenchmarkRivals/")
		i := strings.LastIndexByte(name, '/')
		key, who := pkg+" "+name[:i], name[i+1:]
		b := byName[key]
		if b == nil {
			b = &bench{name: key, times: map[string][]float64{}}
			byName[key], list = b, append(list, b)
		}
		k := slices.Index(f, "cpu-ns/op")
		if k < 0 {
			continue
		}
		ns, err := strconv.ParseFloat(f[k-1], 64)
		if err != nil || ns == 0 {
			continue
		}
		if b.times[who] == nil {
			b.who = append(b.who, who)
		}
		b.times[who] = append(b.times[who], ns)
		if r := slices.Index(f, "MB/s"); r > 0 {
			wall, _ := strconv.ParseFloat(f[2], 64)
			rate, _ := strconv.ParseFloat(f[r-1], 64)
			b.bytes = rate * wall / 1e3
		}
	}
	fmt.Printf("# Libraries against Go's standard library and modules\n\n%s, one core. `make bench-libraries`: processor time, the best rates and the median factor of the rounds.\n\n", cpu)
	fmt.Print("| case | ours | rival | rival's | ours is faster |\n|---|---|---|---|---|\n")
	for _, b := range list {
		ours := b.times["ours"]
		for _, who := range b.who {
			theirs := b.times[who]
			n := min(len(ours), len(theirs))
			if who == "ours" || n == 0 {
				continue
			}
			factors := make([]float64, n)
			for i := range factors {
				factors[i] = theirs[i] / ours[i]
			}
			slices.Sort(factors)
			fmt.Printf("| %s | %s | %s | %s | %.2f [%.2f-%.2f] |\n", b.name, b.rate("ours"), who, b.rate(who), factors[len(factors)/2], factors[0], factors[len(factors)-1])
		}
	}
}

// rate is the best of a contender; a case without bytes is 1,024 calls.
func (b *bench) rate(who string) string {
	ns := slices.Min(b.times[who])
	if b.bytes > 0 {
		return fmt.Sprintf("%.0f MB/s", b.bytes/ns*1e3)
	}
	return fmt.Sprintf("%.1f ns", ns/1024)
}
