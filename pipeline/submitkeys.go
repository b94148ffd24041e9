package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/pipeline/queues"
	"github.com/shardify/shardify/pipeline/settings"
)

// SubmitKey is a setting of a submission.
type SubmitKey = settings.KeyOf[SubmitSettings]

// SubmitKeys are the settings of a submission, in the order of the help.
var SubmitKeys = []SubmitKey{
	{Name: "elements", Group: "Job", Help: "elements of the array; by the size of the plan and what the site permits if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Jobs)(&s.Elements) }},
	{Name: "tasks", Group: "Job", Help: "tasks to divide the plan into, of which element K does K, K+ELEMENTS, ...; as many as elements if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Jobs)(&s.Tasks) }},
	{Name: "cpus", Group: "Job", Help: "cores of an element; at most 4, by the size of the plan, if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Jobs)(&s.CPUs) }},
	{Name: "mem", Group: "Job", Help: "memory of an element; estimated if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Memory)(&s.Memory) }},
	{Name: "time", Group: "Job", Help: "time limit of an element, such as 90m or 1-12:00:00; estimated if left out", Of: func(s *SubmitSettings) settings.Value { return (*timeLimit)(&s.Time) }},
	{Name: "merge-mem", Group: "Job", Help: "memory of the merge; estimated if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Memory)(&s.MergeMemory) }},
	{Name: "merge-time", Group: "Job", Help: "time limit of the merge; 1 hour, or what the partition allows, if left out", Of: func(s *SubmitSettings) settings.Value { return (*timeLimit)(&s.MergeTime) }},
	{Name: "throttle", Group: "Job", Help: "elements that may run at the same time", Of: func(s *SubmitSettings) settings.Value { return (*value.Jobs)(&s.Throttle) }},

	{Name: "partition", Group: "Site", Help: "`NAME` of the partition or queue", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Partition) }},
	{Name: "account", Group: "Site", Help: "`NAME` of the account", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Account) }},
	{Name: "qos", Group: "Site", Help: "`NAME` of the quality of service", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.QOS) }},
	{Name: "constraint", Group: "Site", Help: "`FEATURES` of the nodes", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Constraint) }},
	{Name: "mail-user", Group: "Site", Help: "`ADDRESS` to write to at the end, or if an element fails", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.MailUser) }},
	{Name: "logs", Group: "Site", Help: "`FOLDER` for the logs; inside the output folder if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Logs) }},
	{Name: "prologue", Group: "Site", Help: "`FILE` of shell commands to run first, such as module load", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Prologue) }},
	{Name: "sbatch", Group: "Site", Help: "any other `ARGUMENT` of sbatch, as in '--exclude=n7'; may be repeated", Of: func(s *SubmitSettings) settings.Value { return (*value.Texts)(&s.Sbatch) }},

	{Name: "directive", Group: "Site", Help: "any other `LINE` of a job file, without its #PBS, #$ or #BSUB; may be repeated", Of: func(s *SubmitSettings) settings.Value { return (*value.Texts)(&s.Directives) }},
	{Name: "image", Group: "Site", Help: "`IMAGE` of the pods", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Image) }},
	{Name: "volume", Group: "Site", Help: "`CLAIM:/PATH` of the volume with inputs and output; not for those in an object store", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Volume) }},
	{Name: "site", Group: "Site", Help: "`FILE` of site defaults, in YAML", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Site) }},

	{Name: "now", Group: "Submission", Help: "submit the scripts", Of: func(s *SubmitSettings) settings.Value { return (*value.Bool)(&s.Now) }},
	{Name: "missing", Group: "Submission", Help: "only what is not done, and not in the queue", Of: func(s *SubmitSettings) settings.Value { return (*value.Bool)(&s.Missing) }},
	{Name: "scripts", Group: "Submission", Help: "`FOLDER` for the scripts; inside the output folder if left out", Of: func(s *SubmitSettings) settings.Value { return (*value.Text)(&s.Scripts) }},
}

// remembered are the settings that a later submission with Missing takes over.
var remembered = slices.DeleteFunc(append([]string{"scripts"}, cluster.SiteKeys...), func(name string) bool { return name == "elements" })

func submitKey(name string) *SubmitKey {
	return &SubmitKeys[slices.IndexFunc(SubmitKeys, func(k SubmitKey) bool { return k.Name == name })]
}

// given is the values of a setting; none if it is left out.
func (s *SubmitSettings) given(name string) []string {
	switch v := submitKey(name).Of(s).(type) {
	case settings.Several:
		return v.All()
	default:
		if v.String() == "" && !slices.Contains(s.Empty, name) {
			return nil
		}
		return []string{v.String()}
	}
}

// fill sets a setting that was not given.
func (s *SubmitSettings) fill(name string, values []string) error {
	if len(s.given(name)) > 0 {
		return nil
	}
	for _, text := range values {
		if text == "" {
			s.Empty = append(s.Empty, name)
			continue
		}
		if err := submitKey(name).Of(s).Set(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// partition is the one that sbatch takes: the last that a script names, "" for the site's default.
func (s *SubmitSettings) partition() string {
	name := s.Partition
	for _, text := range s.Sbatch {
		if v, ok := strings.CutPrefix(text, "--partition="); ok {
			name = v
		} else if v, ok := strings.CutPrefix(text, "-p"); ok {
			name = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(text, "--partition "); ok {
			name = strings.TrimSpace(v)
		}
	}
	return name
}

// recall takes missing settings from an earlier submission.
func (s *SubmitSettings) recall(old *cluster.Record) error {
	for _, name := range remembered {
		if err := s.fill(name, old.Flags[name]); err != nil {
			return fmt.Errorf("the record of the submission before: %w", err)
		}
	}
	if len(s.Work) == 0 {
		s.Work = old.Work
	}
	return nil
}

// remember notes what a later submission takes over.
func (s *SubmitSettings) remember(r *cluster.Record) {
	r.Flags, r.Work = map[string][]string{}, s.Work
	for _, name := range remembered {
		if values := s.given(name); len(values) > 0 {
			r.Flags[name] = values
		}
	}
}

// site reads the file of defaults that is given, else the user's, if there is one, and returns its name.
func (s *SubmitSettings) site(engine *queues.Engine, title string) (string, error) {
	name := s.Site
	if name == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", nil // no home, no defaults
		}
		name = filepath.Join(dir, "shardify", cmp.Or(s.Engine, "slurm")+".yaml")
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && s.Site == "" {
		return "", nil
	} else if err != nil {
		return "", err
	}
	defer file.Close()
	list, err := cluster.ParseSite(file)
	if err != nil {
		return "", shardify.Usage("%s %v", name, err)
	}
	for _, x := range list {
		if slices.Contains(lacks(engine), x.Key) {
			return "", shardify.Usage("%s line %d: %s: %s has no word for it here", name, x.Line, x.Key, title)
		}
		if list, ok := submitKey(x.Key).Of(s).(*value.Texts); ok { // batch systems take the last word, and that is the caller's
			*list = append(x.Values, *list...)
		} else if err := s.fill(x.Key, x.Values); err != nil {
			return "", shardify.Usage("%s line %d: %v", name, x.Line, err)
		}
	}
	return name, nil
}

// check refuses settings that are wrong whatever the plan is, and makes paths absolute.
func (s *SubmitSettings) check(engine *queues.Engine, title string) (err error) {
	for _, name := range lacks(engine) {
		if len(s.given(name)) > 0 {
			return shardify.Usage("--%s: %s has no word for it here", name, title)
		}
	}
	if engine != nil && engine.Name == "kubernetes" {
		if s.Image == "" {
			return shardify.Hint(shardify.Usage("pods need an image with the program"), "--image IMAGE; packaging/container of the sources makes one")
		}
		if claim, at, ok := strings.Cut(s.Volume, ":"); s.Volume != "" && (!ok || claim == "" || !strings.HasPrefix(at, "/")) {
			return shardify.Usage("--volume %s: want CLAIM:/PATH", s.Volume)
		}
	}
	for i := range SubmitKeys {
		if err := SubmitKeys[i].Check(s); err != nil {
			return shardify.Usage("--%s %v", SubmitKeys[i].Name, err)
		}
	}
	for _, w := range s.Work {
		name, _, _ := strings.Cut(w, "=")
		switch name {
		case "--task", "--tasks", "--stride", "--stage", "--requeue":
			return shardify.Usage("%s after --: submit chooses it", name)
		}
	}
	for _, name := range []*string{&s.Logs, &s.Scripts, &s.Prologue, &s.Site} {
		if *name != "" {
			if *name, err = filepath.Abs(*name); err != nil {
				return err
			}
		}
	}
	return nil
}

// LacksSlurm are the settings of other engines, which Slurm has no word for.
var LacksSlurm = []string{"directive", "image", "volume"}

// lacks are the settings that an engine has no word for; nil is Slurm.
func lacks(engine *queues.Engine) []string {
	if engine == nil {
		return LacksSlurm
	}
	return engine.Lacks
}

// timeLimit is the time limit of a job.
type timeLimit time.Duration

// Set reads "90m" or "1-12:00:00".
func (v *timeLimit) Set(s string) error {
	d, err := cluster.ParseTime(s)
	*v = timeLimit(d)
	return err
}

// Check refuses a negative time; 0 is the default.
func (v *timeLimit) Check() error {
	if *v < 0 {
		return fmt.Errorf("%v: want a time that is not negative", time.Duration(*v))
	}
	return nil
}

// String is empty for 0, which means the default.
func (v *timeLimit) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is shown in help.
func (v *timeLimit) Type() string { return "TIME" }
