package cluster

import (
	"cmp"
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// What estimates assume. A core decodes and writes 50 to 500 MB/s, by format; a shared
// file system under load may give less. Four times the time that follows is asked for:
// too long a limit waits a little, too short a one starts over.
const (
	assumedRate   = 64 << 20 // bytes a second and core
	assumedStart  = 10 * time.Minute
	assumedExtra  = 4
	aimedTime     = 10 * time.Minute // of an element
	memoryBase    = 1 << 30
	memoryPerCore = 1 << 30
	defaultCPUs   = 4
	// largeSpan is what a span may have without being counted: twenty of the usual ones.
	largeSpan = 20 * plan.SpanBytes
	// worthAWord is the least memory that is mentioned, and asked for, beside the base.
	worthAWord = 64 << 20
)

// Limits is what a Slurm site allows.
type Limits struct {
	ArraySize int // elements of an array
	Jobs      int // of the whole site
	From      string
}

// DefaultLimits are those of a site that has changed nothing.
var DefaultLimits = Limits{ArraySize: 1001, Jobs: 10000, From: "Slurm's defaults"}

// Load is what a conversion has to do.
type Load struct {
	Bytes   int64 // decoded
	Units   int
	Largest int64 // bytes of the largest unit, which one core does
	Span    int64 // bytes of the largest span
	Plan    int64 // bytes of the plan in memory, about
}

// LoadOf measures a plan.
func LoadOf(p *plan.Plan) Load {
	l := Load{Bytes: p.DecodedBytes, Units: max(len(p.Units), p.Gathers)}
	for u := range p.Units {
		l.Largest = max(l.Largest, p.UnitBytes(u))
	}
	l.Span, l.Plan = p.LargestSpan(), p.TableBytes()
	return l
}

// DefaultCPUs is the cores of an element.
func DefaultCPUs(l Load) int { return max(min(defaultCPUs, l.Units), 1) }

// MaxElements is the most that Slurm can be made to take.
const MaxElements = 4000001

// Elements is how many elements an array gets.
func (l Load) Elements(cpus int, site Limits) int {
	cpus = max(cpus, 1)
	n := ceil(l.Bytes, int64(cpus)*assumedRate*int64(aimedTime/time.Second))
	n = min(n, ceil(int64(l.Units), int64(cpus)))
	return int(max(min(n, int64(site.ArraySize), int64(site.Jobs/2)), 1))
}

// Resources is what an element asks for, and why. Fields of asked that are not zero stay.
func (l Load) Resources(asked Resources, elements int) (r Resources, why []string) {
	r = asked
	if r.CPUs == 0 {
		r.CPUs = DefaultCPUs(l)
	}
	if r.Memory == 0 {
		extra := l.Plan
		if l.Span > largeSpan {
			extra += 3 * l.Span
		}
		if extra < worthAWord {
			extra = 0
		}
		r.Memory = up(memoryBase+int64(r.CPUs)*memoryPerCore+extra, 256<<20)
		text := fmt.Sprintf("--mem %s: %s, and %s for each core", shardify.FormatSize(r.Memory), shardify.FormatSize(memoryBase), shardify.FormatSize(memoryPerCore))
		if extra > 0 {
			text += fmt.Sprintf(", and %s for the plan and its largest span", shardify.FormatSize(extra))
		}
		why = append(why, text)
	}
	if r.Time == 0 {
		each := ceil(l.Bytes, int64(max(elements, 1)))
		seconds := max(float64(each)/float64(r.CPUs)/assumedRate, float64(l.Largest)/assumedRate)
		r.Time = (assumedStart + time.Duration(assumedExtra*seconds*float64(time.Second))).Round(time.Second)
		r.Time = time.Duration(up(int64(r.Time), int64(5*time.Minute)))
		why = append(why, fmt.Sprintf("--time %s: %s, and %d times what %s take at %s/s a core", clock(r.Time), assumedStart, assumedExtra, shardify.FormatSize(each), shardify.FormatSize(assumedRate)))
	}
	return r, why
}

// MergeResources is what the merge asks for; what is wanted is not chosen.
func (l Load) MergeResources(want Resources) Resources {
	return Resources{CPUs: 1, Memory: cmp.Or(want.Memory, 2<<30+2*l.Plan/worthAWord*worthAWord), Time: cmp.Or(want.Time, time.Hour)}
}

func ceil(a, b int64) int64 { return (a + b - 1) / max(b, 1) }

func up(n, step int64) int64 { return ceil(n, step) * step }
