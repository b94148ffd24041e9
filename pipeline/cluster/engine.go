package cluster

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Place is which of the tasks of a conversion a process is to do.
type Place struct {
	Task, Tasks int
	// From is the source of the numbers, for people: "--task", "SLURM_ARRAY_TASK_ID 3 of 0-9".
	From string
}

// MaxTasks bounds numbers of tasks: more than any engine starts.
const MaxTasks = 1 << 30

// A Misplaced error says why the variables of an engine are not enough, and what to do.
type Misplaced struct{ What, Cure string }

func (e *Misplaced) Error() string { return e.What }

// level is one answer to "which of how many". count 0: of how many is not known.
type level struct {
	index, count int
	// asked is the index to take where the number of tasks is given by flag, which an
	// array that was submitted again in parts must not change.
	asked int
	from  string
}

// row is an engine that numbers the processes it starts.
type row struct {
	index string
	// count is the variable with the number of processes; last the one with the last index,
	// from which the number follows. Neither: the engine does not give it.
	count, last string
	step        string
	first       string // variable with the first index
	base        int    // the first index where no variable says so
	none        string // value of index outside of any array
	// read replaces the rule that follows from the names.
	read func(env) (level, bool, error)
}

// arrays number whole jobs, ranks the processes inside one. A process may have both: its
// number is then array * ranks + rank.
//
// Among ranks an MPI launcher comes before the Slurm step in which it may have been
// started: a step's variables then number its daemons, one for each node.
var arrays = []row{
	{index: "SLURM_ARRAY_TASK_ID", read: slurmArray},
	{index: "PBS_ARRAY_INDEX"},
	{index: "PBS_ARRAYID"},
	{index: "LSB_JOBINDEX", last: "LSB_JOBINDEX_END", step: "LSB_JOBINDEX_STEP", base: 1, none: "0"},
	{index: "SGE_TASK_ID", last: "SGE_TASK_LAST", first: "SGE_TASK_FIRST", step: "SGE_TASK_STEPSIZE", base: 1, none: "undefined"},
	{index: "JOB_COMPLETION_INDEX"},
	{index: "AWS_BATCH_JOB_ARRAY_INDEX"},
	{index: "BATCH_TASK_INDEX", count: "BATCH_TASK_COUNT"},
	{index: "CLOUD_RUN_TASK_INDEX", count: "CLOUD_RUN_TASK_COUNT"},
}

var ranks = []row{
	{index: "OMPI_COMM_WORLD_RANK", count: "OMPI_COMM_WORLD_SIZE"},
	{index: "PMI_RANK", count: "PMI_SIZE"},
	{index: "PALS_RANKID"},
	{index: "FLUX_TASK_RANK", count: "FLUX_JOB_SIZE"},
	{index: "SLURM_PROCID", read: slurmStep},
	{index: "RANK", count: "WORLD_SIZE"},
}

// Locate finds out which task this process is. tasks is the number of tasks that was
// asked for, 0 if none was. ok is false where no engine numbers processes.
func Locate(getenv func(string) string, tasks int) (p Place, ok bool, err error) {
	e := env(getenv)
	a, inArray, err := first(arrays, e)
	if err != nil {
		return p, false, err
	}
	r, ranked, err := first(ranks, e)
	if err != nil {
		return p, false, err
	}
	switch {
	case !inArray && !ranked:
		return p, false, nil
	case !ranked:
		p, err = a.place(tasks)
	case !inArray:
		p, err = r.place(tasks)
	default:
		var both level
		if both, err = product(a, r); err == nil {
			p, err = both.place(tasks)
		}
	}
	return p, err == nil, err
}

// first is the first engine of a list that numbers this process.
func first(rows []row, e env) (level, bool, error) {
	for _, r := range rows {
		read := r.read
		if read == nil {
			read = r.level
		}
		l, ok, err := read(e)
		if err == nil && l.count == 1 && &rows[0] == &ranks[0] {
			continue // a launcher that started one process says nothing
		}
		if ok || err != nil {
			return l, ok, err
		}
	}
	return level{}, false, nil
}

// place is a level as a task of so many, those asked for if any were.
func (l level) place(tasks int) (Place, error) {
	if tasks > 0 {
		if l.asked >= tasks {
			return Place{}, &Misplaced{
				fmt.Sprintf("%s is number %d, but there are --tasks %d, counted from 0", l.from, l.asked, tasks),
				fmt.Sprintf("number the processes 0 to %d, or say which task this is with --task", tasks-1),
			}
		}
		return Place{l.asked, tasks, l.from + ", of --tasks"}, nil
	}
	if l.count == 0 {
		return Place{}, &Misplaced{
			fmt.Sprintf("%s: how many tasks there are is not known", l.from),
			"say it with --tasks N, the same N in all of them",
		}
	}
	return Place{l.index, l.count, l.from}, nil
}

// product is the number of a rank inside an element of an array.
func product(a, r level) (level, error) {
	if r.count == 0 {
		return level{}, &Misplaced{
			fmt.Sprintf("%s in %s: how many processes an element of the array has is not known", r.from, a.from),
			"say which task this is with --task I --tasks N",
		}
	}
	if max(a.index, a.asked, a.count) > MaxTasks/r.count {
		return level{}, &Misplaced{fmt.Sprintf("%s with %s are too many tasks", a.from, r.from), "say which task this is with --task I --tasks N"}
	}
	return level{a.index*r.count + r.index, a.count * r.count, a.asked*r.count + r.index, a.from + " x " + r.from}, nil
}

// level reads the variables that a row names.
func (r row) level(e env) (level, bool, error) {
	text := e(r.index)
	if text == "" || text == r.none {
		return level{}, false, nil
	}
	id, err := e.number(r.index)
	if err != nil {
		return level{}, false, err
	}
	lo, step := r.base, 1
	if r.first != "" && e(r.first) != "" {
		if lo, err = e.number(r.first); err != nil {
			return level{}, false, err
		}
	}
	if r.step != "" && e(r.step) != "" {
		if step, err = e.number(r.step); err != nil {
			return level{}, false, err
		}
	}
	l := level{asked: id - r.base, from: r.index + " " + text}
	switch {
	case r.count != "" && e(r.count) != "":
		l.count, err = e.number(r.count)
		l.from += " of " + e(r.count)
	case r.last != "" && e(r.last) != "":
		var hi int
		hi, err = e.number(r.last)
		if err == nil && step > 0 && hi >= lo {
			l.count = (hi-lo)/step + 1
		}
		l.from += fmt.Sprintf(" of %d-%d", lo, hi)
	}
	if err != nil {
		return level{}, false, err
	}
	step = max(step, 1)
	l.index = (id - lo) / step
	if id < lo || (id-lo)%step != 0 || l.asked < 0 || l.count > 0 && l.index >= l.count {
		return level{}, false, &Misplaced{l.from + ": the variables contradict each other", "say which task this is with --task I --tasks N"}
	}
	return l, true, nil
}

// slurmArray reads the variables of an array. Its number of elements says how many
// tasks there are only if the elements are evenly spaced.
func slurmArray(e env) (level, bool, error) {
	if e("SLURM_ARRAY_TASK_ID") == "" {
		return level{}, false, nil
	}
	var v [5]int
	for i, name := range []string{"ID", "COUNT", "MIN", "MAX", "STEP"} {
		name = "SLURM_ARRAY_TASK_" + name
		if e(name) == "" && i > 0 {
			v[i] = -1
			continue
		}
		var err error
		if v[i], err = e.number(name); err != nil {
			return level{}, false, err
		}
	}
	id, count, lo, hi, step := v[0], v[1], v[2], v[3], v[4]
	l := level{asked: id, from: fmt.Sprintf("SLURM_ARRAY_TASK_ID %d", id)}
	if count < 1 || lo < 0 || hi < lo || step < 1 {
		return l, true, nil // of how many is not known
	}
	l.from += fmt.Sprintf(" of %d-%d", lo, hi)
	if step > 1 {
		l.from += fmt.Sprintf(":%d", step)
	}
	l.index, l.count = (id-lo)/step, count
	if id < lo || id > hi || (id-lo)%step != 0 || (hi-lo)/step+1 != count {
		// Its elements are not evenly spaced: those of a list, or the failed ones of an
		// earlier array. Where the number of tasks is given, each has its own still.
		l.index, l.count = id, 0
		l.from = fmt.Sprintf("SLURM_ARRAY_TASK_ID %d of an array of %d elements between %d and %d", id, count, lo, hi)
	}
	return l, true, nil
}

// slurmStep reads the variables of srun. Outside of a step SLURM_PROCID is 0 and means
// nothing.
func slurmStep(e env) (level, bool, error) {
	if e("SLURM_PROCID") == "" || e("SLURM_STEP_ID") == "" {
		return level{}, false, nil
	}
	count := "SLURM_STEP_NUM_TASKS"
	if e(count) == "" {
		count = "SLURM_NTASKS"
	}
	return row{index: "SLURM_PROCID", count: count}.level(e)
}

type env func(string) string

func (e env) number(name string) (int, error) {
	text := strings.TrimSpace(e(name))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > min(MaxTasks, math.MaxInt) {
		return 0, &Misplaced{fmt.Sprintf("%s is %q, which is not the number of a task", name, text), "say which task this is with --task I --tasks N"}
	}
	return int(n), nil
}
