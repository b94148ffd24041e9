package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// Partition is what a partition of a site allows.
type Partition struct {
	Name    string
	Default bool
	Nodes   []Resources // the most that one job gets on each kind of node; 0 is unlimited or unknown
}

// Partitions asks the site for its partitions; none where it does not answer.
func (s Slurm) Partitions(ctx context.Context) (list []Partition) {
	out, err := s.run(ctx, "scontrol", "-o", "show", "partition")
	if err != nil {
		return nil
	}
	limits := map[string]Resources{}
	for line := range strings.Lines(out) {
		var p Partition
		var most Resources
		for _, w := range strings.Fields(line) {
			key, text, _ := strings.Cut(w, "=")
			switch n, _ := strconv.ParseInt(text, 10, 32); key {
			case "PartitionName":
				p.Name = text
			case "Default":
				p.Default = text == "YES"
			case "MaxCPUsPerNode":
				most.CPUs = int(n) // 0 where it is UNLIMITED
			case "MaxMemPerNode":
				most.Memory = n << 20
			case "MaxTime":
				most.Time, _ = ParseTime(text)
			}
		}
		if p.Name != "" {
			limits[p.Name] = most
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return nil
	}
	out, _ = s.run(ctx, "sinfo", "--noheader", "--exact", "--format=%R|%c|%m")
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		at := slices.IndexFunc(list, func(p Partition) bool { return p.Name == f[0] })
		if len(f) != 3 || at < 0 {
			continue
		}
		cpus, _ := strconv.ParseInt(f[1], 10, 31)
		memory, _ := strconv.ParseInt(f[2], 10, 31)
		list[at].Nodes = append(list[at].Nodes, Resources{int(cpus), memory << 20, 0}.within(limits[f[0]]))
	}
	for i, p := range list {
		if len(p.Nodes) == 0 {
			list[i].Nodes = []Resources{limits[p.Name]}
		}
	}
	return list
}

// Choose merges the partitions of a list of names, of which a job gets any: the default one if
// no name is given. The result is empty if nothing is known.
func Choose(list []Partition, names string) (p Partition) {
	p.Name = names
	for _, x := range list {
		if names == "" && x.Default || slices.Contains(strings.Split(names, ","), x.Name) {
			p.Name, p.Nodes = cmp.Or(names, x.Name), append(p.Nodes, x.Nodes...)
		}
	}
	return p
}

// within is r where no limit is exceeded.
func (r Resources) within(most Resources) Resources {
	return Resources{least(r.CPUs, most.CPUs), least(r.Memory, most.Memory), least(r.Time, most.Time)}
}

// least is the lower of two limits, of which 0 means no limit.
func least[N ~int | ~int64](a, b N) N {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Fit lowers what a job asks for to what a node of the partition has: to the one with the most
// memory where none has all of it.
func (p Partition) Fit(r Resources) Resources {
	var best Resources
	for _, n := range p.Nodes {
		x := r.within(n)
		if x == r {
			return r
		}
		if cmp.Or(cmp.Compare(x.Memory, best.Memory), cmp.Compare(x.CPUs, best.CPUs)) > 0 {
			best = x
		}
	}
	if best == (Resources{}) {
		return r
	}
	return best
}

// Over is the flags with which a job of a stage fits the partition; empty if it does as it is.
func (p Partition) Over(stage string, r Resources) (flags []string) {
	fit, prefix := p.Fit(r), ""
	if stage == StageMerge {
		prefix = "merge-"
	}
	if fit.CPUs < r.CPUs {
		flags = append(flags, fmt.Sprintf("--cpus %d", fit.CPUs))
	}
	if fit.Memory < r.Memory {
		flags = append(flags, fmt.Sprintf("--%smem %dMiB", prefix, fit.Memory>>20))
	}
	if fit.Time < r.Time {
		flags = append(flags, fmt.Sprintf("--%stime %s", prefix, clock(fit.Time)))
	}
	return flags
}

// Refused is a script that sbatch does not accept.
type Refused struct {
	Script Script
	Err    error
}

func (r *Refused) Error() string { return fmt.Sprintf("%s is not accepted: %v", r.Script.Name, r.Err) }

func (r *Refused) Unwrap() error { return r.Err }

// Cure is the flags that make the job pass, and what lists the values of a flag where only the
// user knows which. r is what the job asks for.
func (r *Refused) Cure(job Resources, names string, list []Partition, elements int, site Limits) (flags []string, text string) {
	says := strings.ToLower(r.Err.Error())
	p := Choose(list, names)
	switch {
	case len(list) > 0 && len(p.Nodes) == 0:
		for _, x := range list {
			if len(x.Over(r.Script.Stage, job)) == 0 {
				return []string{"--partition " + x.Name}, fmt.Sprintf("there is no partition %s; there are: %s", names, partitionNames(list))
			}
		}
		return nil, fmt.Sprintf("there is no partition %s: name another with --partition, of: %s", names, partitionNames(list))
	case strings.Contains(says, "job array") && elements > site.ArraySize:
		return []string{fmt.Sprintf("--elements %d", site.ArraySize)}, fmt.Sprintf("an array has at most %d elements here (%s)", site.ArraySize, site.From)
	}
	if flags = p.Over(r.Script.Stage, job); len(flags) > 0 {
		text = fmt.Sprintf("a job of partition %s gets less than this one asks for (%s)", p.Name, job)
		for _, x := range list {
			if len(x.Over(r.Script.Stage, job)) == 0 {
				return flags, text + "; --partition " + x.Name + " has it"
			}
		}
		return flags, text
	}
	for _, x := range []struct{ word, text string }{
		{"account", "name an account of yours with --account; this lists them: sacctmgr -nP show assoc user=$USER format=account"},
		{"qos", "name another with --qos; this lists those you may use: sacctmgr -nP show assoc user=$USER format=qos"},
		{"feature", "name others with --constraint; this lists them: sinfo -h -O Partition,Features"},
		{"time limit", "name a shorter --time; this lists the limits: sinfo -o '%R %l'"},
	} {
		if strings.Contains(says, x.word) {
			return nil, x.text
		}
	}
	return nil, fmt.Sprintf("the job asks for %s; lower it with --cpus, --mem and --time (--merge-mem and --merge-time of the merge), or name another --partition; this lists what they have: sinfo -o '%%R %%c cores, %%m MiB, at most %%l'", job)
}

func partitionNames(list []Partition) string {
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// String is what a job asks for.
func (r Resources) String() string {
	return fmt.Sprintf("%s, %s, time limit %s", printable.Of(int64(r.CPUs), "core"), shardify.FormatSize(r.Memory), clock(r.Time))
}
