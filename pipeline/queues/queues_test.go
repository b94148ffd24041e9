package queues_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/pipeline/queues"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write the texts as they are now")

func job(elements ...int) *queues.Job {
	return &queues.Job{
		Submission: cluster.Submission{
			Program: "/opt/my tools/shardify", Folder: "/data/train set", Arrays: []cluster.Array{{Stage: cluster.StageWork, Elements: elements}},
			Tasks: 16, Stride: 8, Job: cluster.Resources{CPUs: 4, Memory: 5<<30 + 1, Time: 90 * time.Minute}, Merge: cluster.Resources{CPUs: 1, Memory: 1 << 30, Time: time.Hour},
			Logs: "/data/logs", Work: []string{"--scratch", "$TMPDIR", "--stall", "10m"},
		},
		Image: "example.org/shardify:0.1", Volume: "claim:/data",
	}
}

// site adds what sites ask for, and the second stage of a shuffle.
func site(j *queues.Job) *queues.Job {
	j.Partition, j.Account, j.MailUser, j.Throttle, j.Prologue = "long", "ab12", "me@example.org", 3, "module load shardify\n"
	j.Arrays = []cluster.Array{{Stage: cluster.StageScatter, Elements: j.Arrays[0].Elements}, {Stage: cluster.StageGather, Elements: j.Arrays[0].Elements}}
	return j
}

func all(n int) (out []int) {
	for k := range n {
		out = append(out, k)
	}
	return out
}

func TestTexts(t *testing.T) {
	for _, e := range queues.Engines {
		for name, j := range map[string]*queues.Job{"all": job(all(8)...), "missing": job(2, 5, 6), "one": job(3), "site": site(job(all(8)...))} {
			if e.Name == "kubernetes" || e.Name == "htcondor" {
				if _, err := e.Files(j); err == nil || !strings.Contains(err.Error(), "$TMPDIR: no shell of") {
					t.Errorf("%s: %v, and no shell for a variable", e.Name, err)
				}
				j.Work[1] = "/scratch"
			}
			files, err := e.Files(j)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, f := range files {
				b.WriteString("---- " + f.Name + "\n" + f.Text)
			}
			b.WriteString("---- commands\n" + strings.Join(e.Commands("/data/train set/.shardify/submit", files), "\n") + "\n")
			golden := filepath.Join("testdata", e.Name+"-"+name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != b.String() {
				t.Errorf("%s (%v): the text is now\n%s", golden, err, b.String())
			}
		}
	}
}

// TestScriptsNumberTheirTasks runs the scripts with a program that prints its arguments, as the
// system would: with the number of each element in the environment.
func TestScriptsNumberTheirTasks(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "the program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\nexit ${CODE:-0}\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ engine, index, first string }{{"pbs", "PBS_ARRAY_INDEX", "0"}, {"sge", "SGE_TASK_ID", "1"}, {"lsf", "LSB_JOBINDEX", "1"}} {
		for _, elements := range [][]int{all(3), {2, 5, 6}, {4}} {
			j := job(elements...)
			j.Program = program
			files, err := queues.Find(c.engine).Files(j)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range elements {
				index := i
				if c.engine == "lsf" { // whose arrays have gaps
					index = want
				}
				if c.first == "1" {
					index++
				}
				cmd := exec.Command(bash, "-c", files[0].Text)
				cmd.Env = append(os.Environ(), c.index+"="+strconv.Itoa(index), "TMPDIR=/scratch/7", "CODE=75")
				out, err := cmd.Output()
				if got, wanted := strings.TrimSpace(string(out)), "work /data/train set --task "+strconv.Itoa(want)+" --tasks 16 --stride 8 --jobs 4 --memory 5121MiB --scratch /scratch/7 --stall 10m"; got != wanted {
					t.Errorf("%s, element %d of %v: %q, want %q", c.engine, index, elements, got, wanted)
				}
				code := 75
				if c.engine == "sge" {
					code = 99
				}
				if x := (*exec.ExitError)(nil); !errors.As(err, &x) || x.ExitCode() != code {
					t.Errorf("%s: %v, want exit code %d", c.engine, err, code)
				}
			}
		}
	}
}

func TestPodsAreYAML(t *testing.T) {
	j := job(all(8)...)
	j.Folder, j.Work = "s3://bucket/a: b # \"c\"", nil
	files, err := queues.Find("kubernetes").Files(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var pod struct {
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command []string }
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(f.Text), &pod); err != nil {
			t.Fatal(err)
		}
		if c := pod.Spec.Template.Spec.Containers[0].Command; c[0] != j.Program || c[2] != j.Folder {
			t.Errorf("%q", c)
		}
	}
}

// TestPodsInOrder runs the commands with a kubectl whose job completes, fails, or is deleted while they wait.
func TestPodsInOrder(t *testing.T) {
	e := queues.Find("kubernetes")
	j := job(all(8)...)
	j.Work = nil
	files, err := e.Files(j)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := `#!/bin/sh
echo "$@" >>log
waits=$(grep -c "wait --for=condition=complete" log)
case "$1 $2" in
create*) echo "job.batch/$(basename "$5" .yaml)-x7k2p" ;;
get*) [ $END != deleted ] ;;
*complete) [ $waits -ge 2 ] && [ $END = complete ] ;;
*failed) [ $END = failed ] ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	for end, merged := range map[string]bool{"complete": true, "failed": false, "deleted": false} {
		cmd := exec.Command("sh", "-c", "set -e\n"+strings.Join(e.Commands("jobs", files), "\n"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "END="+end, "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		if got := strings.Contains(string(log), "create -o name -f jobs/merge.yaml"); got != merged || (err == nil) != merged || !strings.Contains(string(log), `job.batch/work-x7k2p`) {
			t.Errorf("%s: merged %v, %v\n%s%s", end, got, err, log, out)
		}
		os.Remove(filepath.Join(dir, "log"))
	}
}

func TestNamesThatAFileCannotHold(t *testing.T) {
	for _, e := range queues.Engines {
		j := job(all(2)...)
		j.Folder = "/data/a\nb"
		if _, err := e.Files(j); err == nil {
			t.Errorf("%s: no error", e.Name)
		}
	}
	if queues.Find("slurm") != nil || queues.Find("sge").Name != "sge" || len(queues.Names()) != len(queues.Engines) {
		t.Error("the table")
	}
}
