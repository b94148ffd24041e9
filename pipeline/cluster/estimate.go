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
	memoryBase    = 512 << 20        // of the program itself
	memoryPerCore = 1 << 30          // at most; less where an element has less than a quarter of it to do
	memoryMerge   = 2 << 30          // at most, likewise
	defaultCPUs   = 4
	bytesPerCPU   = 60 * assumedRate // a minute of work is worth a further core
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
	l := Load{Bytes: p.Pack.DecodedBytes, Units: max(len(p.Pack.Units), p.Order.Gathers)}
	for u := range p.Pack.Units {
		l.Largest = max(l.Largest, p.Pack.UnitBytes(u))
	}
	l.Span, l.Plan = p.Pack.LargestSpan(), plan.TableBytes(p)
	return l
}

// DefaultCPUs is the cores of an element: no more than the plan keeps busy and a node has.
func DefaultCPUs(l Load, p Partition) int {
	n := max(min(defaultCPUs, int64(l.Units), ceil(l.Bytes, bytesPerCPU)), 1)
	return p.Fit(Resources{CPUs: int(n)}).CPUs
}

// MaxElements is the most that Slurm can be made to take.
const MaxElements = 4000001

// Elements is how many elements an array gets.
func (l Load) Elements(cpus int, site Limits) int {
	cpus = max(cpus, 1)
	n := ceil(l.Bytes, int64(cpus)*assumedRate*int64(aimedTime/time.Second))
	n = min(n, ceil(int64(l.Units), int64(cpus)))
	return int(max(min(n, int64(site.ArraySize), int64(site.Jobs/2)), 1))
}

// Resources is what an element asks for, and why. Fields of asked that are not zero stay; the
// others are no more than the partition allows.
func (l Load) Resources(asked Resources, elements int, p Partition) (r Resources, why []string) {
	r = asked
	each := ceil(l.Bytes, int64(max(elements, 1)))
	if r.CPUs == 0 {
		r.CPUs = DefaultCPUs(l, p)
		why = append(why, fmt.Sprintf("--cpus %d: at most %d, and a minute of work for each", r.CPUs, defaultCPUs))
	}
	memory, limit := "", ""
	if r.Memory == 0 {
		extra := l.Plan
		if l.Span > largeSpan {
			extra += 3 * l.Span
		}
		if extra < worthAWord {
			extra = 0
		}
		data := min(int64(r.CPUs)*memoryPerCore, up(4*each, 256<<20))
		if 4*each < worthAWord {
			data = 0
		}
		r.Memory = up(memoryBase+data+extra, 256<<20)
		memory = shardify.FormatSize(memoryBase)
		if data > 0 {
			memory += fmt.Sprintf(", and %s for the data (at most %s a core)", shardify.FormatSize(data), shardify.FormatSize(memoryPerCore))
		}
		if extra > 0 {
			memory += fmt.Sprintf(", and %s for the plan and its largest span", shardify.FormatSize(extra))
		}
	}
	if r.Time == 0 {
		seconds := max(float64(each)/float64(r.CPUs)/assumedRate, float64(l.Largest)/assumedRate)
		r.Time = (assumedStart + time.Duration(assumedExtra*seconds*float64(time.Second))).Round(time.Second)
		r.Time = time.Duration(up(int64(r.Time), int64(5*time.Minute)))
		limit = fmt.Sprintf("%s, and %d times what %s take at %s/s a core", assumedStart, assumedExtra, shardify.FormatSize(each), shardify.FormatSize(assumedRate))
	}
	fit := p.Fit(r)
	if memory != "" {
		if fit.Memory < r.Memory {
			memory = fmt.Sprintf("the most that partition %s allows; the estimate is %s", p.Name, shardify.FormatSize(r.Memory))
			r.Memory = fit.Memory
		}
		why = append(why, fmt.Sprintf("--mem %s: %s", shardify.FormatSize(r.Memory), memory))
	}
	if limit != "" {
		if fit.Time < r.Time {
			limit = fmt.Sprintf("the most that partition %s allows; the estimate is %s", p.Name, clock(r.Time))
			r.Time = fit.Time
		}
		why = append(why, fmt.Sprintf("--time %s: %s", clock(r.Time), limit))
	}
	return r, why
}

// MergeResources is what the merge asks for; what is wanted is not chosen.
func (l Load) MergeResources(want Resources, p Partition) Resources {
	memory := min(up(memoryBase+l.Bytes/worthAWord*worthAWord, 256<<20), memoryMerge) + 2*l.Plan/worthAWord*worthAWord
	fit := p.Fit(Resources{CPUs: 1, Memory: memory, Time: time.Hour})
	return Resources{CPUs: 1, Memory: cmp.Or(want.Memory, fit.Memory), Time: cmp.Or(want.Time, fit.Time)}
}

func ceil(a, b int64) int64 { return (a + b - 1) / max(b, 1) }

func up(n, step int64) int64 { return ceil(n, step) * step }
