package pipeline_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
)

// planned is the folder of a plan of eight shards.
func planned(t *testing.T, shuffle string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	p, err := pipeline.Plan(context.Background(), pipeline.Settings{
		From: "synth", Options: map[string]string{"samples": "800", "schema": "x:f32[4]"}, ShardSamples: 100, Output: dir, Shuffle: shuffle,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	return dir
}

// site writes the user's defaults, and hides the commands of a real Slurm.
func site(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("PATH", dir)
	if err := os.Mkdir(filepath.Join(dir, "shardify"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shardify", "slurm.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func submit(t *testing.T, s pipeline.SubmitSettings) *pipeline.Submission {
	t.Helper()
	r, err := pipeline.Submit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Scripts {
		if b, err := os.ReadFile(x.File); err != nil || string(b) != x.Text {
			t.Errorf("%s: %v, or not the script that was returned", x.File, err)
		}
	}
	return r
}

func scriptOf(r *pipeline.Submission, stage string) string {
	for _, s := range r.Scripts {
		if s.Stage == stage {
			return s.Text
		}
	}
	return ""
}

// TestSubmitWritesAScriptForEachStage: one for the work and one for the merge, or two and
// one with a global shuffle. Nothing is submitted without Now.
func TestSubmitWritesAScriptForEachStage(t *testing.T) {
	site(t, "account: ab12\n")
	for shuffle, want := range map[string]string{"none": "work merge", "global": "scatter gather merge"} {
		dir := planned(t, shuffle)
		r := submit(t, pipeline.SubmitSettings{Folder: dir, Program: "/opt/shardify", Elements: 2, Tasks: 4, CPUs: 2, Time: time.Hour, Memory: 1 << 30})
		var stages []string
		for _, s := range r.Scripts {
			stages = append(stages, s.Stage)
			if s.Job != "" || !strings.Contains(s.Text, "#SBATCH --account=ab12\n") || !strings.Contains(s.Text, "exec /opt/shardify ") {
				t.Errorf("%s: job %q:\n%s", s.Stage, s.Job, s.Text)
			}
		}
		if got := strings.Join(stages, " "); got != want || len(r.Commands) != len(stages) || r.Tasks != 4 || r.Elements != 2 || len(r.Notes) != 0 {
			t.Errorf("%s: stages %s, want %s; %+v", shuffle, got, want, r)
		}
		if _, err := os.Stat(filepath.Join(dir, ".shardify", "logs")); err != nil {
			t.Error(err)
		}
	}
}

// TestMissingTakesOverTheSubmissionBefore: its flags, its numbers of tasks and elements, and
// of the elements those that are not done.
func TestMissingTakesOverTheSubmissionBefore(t *testing.T) {
	site(t, "partition: site\n")
	dir := planned(t, "none")
	submit(t, pipeline.SubmitSettings{Folder: dir, Elements: 4, Partition: "big", Time: 90 * time.Minute, Sbatch: []string{"--a=1,2", "--b"}, Work: []string{"--stall", "1m"}})
	if _, err := pipeline.Work(context.Background(), dir, pipeline.Task{Task: 2, Tasks: 4}, pipeline.Settings{Jobs: 1}); err != nil {
		t.Fatal(err)
	}
	text := scriptOf(submit(t, pipeline.SubmitSettings{Folder: dir, Missing: true}), "work")
	for _, want := range []string{"--array=0-1,3\n", "--partition=big\n", "--time=0-01:30:00\n", "#SBATCH --a=1,2\n#SBATCH --b\n", "--tasks 4 --requeue --stall 1m\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	text = scriptOf(submit(t, pipeline.SubmitSettings{Folder: dir, Missing: true, Partition: "other"}), "work")
	if !strings.Contains(text, "--partition=other\n") || strings.Contains(text, "--partition=big") {
		t.Errorf("a setting of the caller does not win:\n%s", text)
	}
}

// TestEmptyKeepsDefaultsAway: neither the site nor the submission before fills in what is
// empty on purpose, and the one after remembers that.
func TestEmptyKeepsDefaultsAway(t *testing.T) {
	site(t, "partition: site\nsbatch: [--from-site]\n")
	dir := planned(t, "none")
	for _, s := range []pipeline.SubmitSettings{{Folder: dir, Empty: []string{"partition"}, Sbatch: []string{"--mine"}}, {Folder: dir, Missing: true}} {
		r := submit(t, s)
		if text := scriptOf(r, "work"); strings.Contains(text, "--partition") || !strings.Contains(text, "#SBATCH --from-site\n#SBATCH --mine\n") || filepath.Base(r.Site) != "slurm.yaml" {
			t.Errorf("%+v:\n%s", s, text)
		}
	}
	if text := scriptOf(submit(t, pipeline.SubmitSettings{Folder: dir}), "work"); !strings.Contains(text, "--partition=site\n") {
		t.Errorf("the default of the site is lost:\n%s", text)
	}
}

func TestSubmitRefuses(t *testing.T) {
	site(t, "mem: lots\n")
	dir := planned(t, "none")
	for want, s := range map[string]pipeline.SubmitSettings{
		"slurm.yaml line 1: mem:":                    {},
		"--task after --: submit chooses it":         {Work: []string{"--task=3"}},
		"--cpus -1: want a number":                   {CPUs: -1},
		"--time -1s: want a time":                    {Time: -time.Second},
		"Slurm has no arrays of more than":           {Elements: 5e6, Memory: 1 << 30},
		"a script cannot hold a line feed in a name": {Account: "a\nb", Memory: 1 << 30},
	} {
		s.Folder = dir
		_, err := pipeline.Submit(context.Background(), s)
		if !errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".shardify", "submit")); err == nil {
		t.Error("a refused submission has left its folder")
	}
}
