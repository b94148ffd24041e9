package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/spf13/pflag"
)

// complete fills in what the command line leaves to an earlier submission and to the
// site, and refuses what needs no plan to be wrong.
func (b *submission) complete(flags *pflag.FlagSet) (err error) {
	f := b.f
	for _, w := range f.s.Work {
		name, _, _ := strings.Cut(w, "=")
		switch name {
		case "--task", "--tasks", "--stride", "--stage", "--requeue":
			return shardify.Usage("%s after --: submit chooses it", name)
		}
	}
	for _, name := range []*string{&f.s.Logs, &f.scripts, &f.prologue} {
		if *name != "" {
			if *name, err = filepath.Abs(*name); err != nil {
				return err
			}
		}
	}
	if f.missing {
		if err := b.recall(flags); err != nil {
			return err
		}
	}
	b.remember(flags)
	if err := f.siteDefaults(flags); err != nil {
		return err
	}
	if f.s.Program, err = os.Executable(); err != nil {
		return err
	}
	if f.prologue != "" {
		text, err := os.ReadFile(f.prologue)
		if err != nil {
			return err
		}
		f.s.Prologue = string(text)
	}
	f.s.Throttle = int(f.throttle)
	return nil
}

// remembered are the flags that a later --missing takes over.
var remembered = append([]string{"scripts"}, cluster.SiteKeys...)

// remember notes what the command line says, for a later --missing.
func (b *submission) remember(flags *pflag.FlagSet) {
	b.rec.Flags = map[string][]string{}
	for _, name := range remembered {
		f := flags.Lookup(name)
		if name == "elements" || !f.Changed {
			continue
		}
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			b.rec.Flags[name] = v.GetSlice()
		default:
			b.rec.Flags[name] = []string{f.Value.String()}
		}
	}
	b.rec.Work = b.f.s.Work
}

// recall takes over from the earlier submission what the command line does not say.
func (b *submission) recall(flags *pflag.FlagSet) error {
	for _, name := range remembered {
		if flags.Changed(name) {
			continue
		}
		for _, v := range b.old.Flags[name] {
			if err := flags.Set(name, v); err != nil {
				return err
			}
		}
	}
	if len(b.f.s.Work) == 0 {
		b.f.s.Work = b.old.Work
	}
	return nil
}

// siteDefaults reads the user's file of defaults, if there is one.
func (f *submitFlags) siteDefaults(flags *pflag.FlagSet) error {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil // no home, no defaults
	}
	name := filepath.Join(dir, "shardify", "slurm.yaml")
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	list, err := cluster.ParseSite(file)
	if err != nil {
		return shardify.Usage("%s %v", name, err)
	}
	f.site = name
	for _, s := range list {
		if s.Key == "sbatch" { // the command line's come later, and win in sbatch
			f.s.Sbatch = append(s.Values, f.s.Sbatch...)
			continue
		}
		if flags.Changed(s.Key) {
			continue
		}
		if err := flags.Set(s.Key, s.Values[0]); err != nil {
			return shardify.Usage("%s line %d: %s: %v", name, s.Line, s.Key, errors.Unwrap(err))
		}
	}
	return nil
}

// record is what a submission leaves for the next one, so that --missing goes on with the
// same partition and the same flags.
type record struct {
	Tasks    int                 `json:"tasks"`
	Elements int                 `json:"elements"`
	Jobs     []job               `json:"jobs,omitempty"`
	Flags    map[string][]string `json:"flags,omitempty"` // of the command line
	Work     []string            `json:"work,omitempty"`  // flags of work
}

type job struct {
	Stage string `json:"stage"`
	ID    string `json:"id"`
}

func readRecord(folder string) (r record, err error) {
	name := filepath.Join(folder, filepath.FromSlash(cluster.SubmitDir), "submission.json")
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err == nil && (r.Tasks < 1 || r.Elements < 1 || r.Elements > r.Tasks || r.Tasks > cluster.MaxTasks) {
		err = fmt.Errorf("%d tasks, %d elements", r.Tasks, r.Elements)
	}
	if err != nil {
		return r, shardify.Hint(fmt.Errorf("%s: %w", name, err), "remove it: without it, --missing wants --elements")
	}
	return r, nil
}

func (r record) write(folder string) error {
	if n := len(r.Jobs); n > mostJobs {
		r.Jobs = r.Jobs[n-mostJobs:]
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(folder, filepath.FromSlash(cluster.SubmitDir), "submission.json"), append(b, '\n'))
}

// mostJobs is how many jobs a record keeps: those of many submissions.
const mostJobs = 300

// replaceFile writes a file in one step, so that nobody reads half of it.
func replaceFile(name string, b []byte) error {
	f, err := cli.CreateFile(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Commit()
}
