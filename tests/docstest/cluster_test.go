package docstest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/shardify/shardify/tests/programs"
)

// placeholders are what batch systems put into command lines.
var placeholders = strings.NewReplacer(
	`"$SLURM_ARRAY_TASK_ID"`, "3", "$(Process)", "3", "{wildcards.task}", "3", "{TASKS}", "8", "{threads}", "2", "{input}", "raw", "{OUT}", "train",
)

// TestCommandsOfClusterPagesAreUnderstood: the commands in scripts, manifests and
// descriptions cannot be run here, but they are not wrong usage.
func TestCommandsOfClusterPagesAreUnderstood(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "shardify")
	if err := programs.Build(root, dir, []string{"CGO_ENABLED=0"}, "./cmd/shardify", "./cmd/verify"); err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`\bshardify (convert|plan|run|work|merge|submit|status|stage|verify|gc) .*`)
	arguments := regexp.MustCompile(`^arguments *= "`)
	comment := regexp.MustCompile(`\s+#.*`)
	checked := 0
	for _, page := range []string{"guides/slurm.md", "guides/kubernetes.md", "guides/htcondor.md", "guides/snakemake.md", "guides/engines.md", "guides/pbs.md", "guides/gridengine.md", "guides/lsf.md"} {
		for _, b := range blocks(t, filepath.Join(root, "docs", page)) {
			for _, line := range commandLines(t, page, &b) {
				line = word.FindString(arguments.ReplaceAllString(comment.ReplaceAllString(placeholders.Replace(line), ""), "shardify "))
				line, _, _ = strings.Cut(line, " ||")
				line = strings.TrimRight(line, `"`)
				if line == "" || strings.Contains(line, "submit ") && strings.Contains(line, "--now") {
					continue
				}
				cmd := exec.Command("sh", "-c", strings.Replace(line, "shardify", program, 1))
				cmd.Dir = t.TempDir()
				if page == "guides/kubernetes.md" {
					cmd.Env = append(os.Environ(), "JOB_COMPLETION_INDEX=3")
				}
				out, err := cmd.CombinedOutput()
				var e *exec.ExitError
				if err != nil && !errors.As(err, &e) {
					t.Fatal(err)
				}
				if code := cmd.ProcessState.ExitCode(); code == 2 || code > 3 {
					t.Errorf("docs/%s:%d: %s: exit %d\n%s", page, b.line, line, code, out)
				}
				checked++
			}
		}
	}
	if t.Logf("%d command lines", checked); checked < 24 {
		t.Errorf("only %d command lines were found", checked)
	}
}

// commandLines is what a block has the program do.
func commandLines(t *testing.T, page string, b *block) (lines []string) {
	if b.lang != "yaml" {
		return strings.Split(b.text, "\n")
	}
	d := yaml.NewDecoder(strings.NewReader(b.text))
	for {
		var job struct {
			Kind string
			Spec struct {
				Template struct {
					Spec struct {
						Containers []struct{ Command []string }
					}
				}
			}
		}
		err := d.Decode(&job)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Errorf("docs/%s:%d: %v", page, b.line, err)
			return nil
		}
		for _, c := range job.Spec.Template.Spec.Containers {
			lines = append(lines, strings.TrimPrefix(strings.Join(c.Command, " "), "/data/bin/"))
		}
	}
}

// TestSnakefileRuns runs docs/guides/snakemake.md where Snakemake is installed.
func TestSnakefileRuns(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("skipped: Snakemake takes its time; SHARDIFY_LONG=1 runs it")
	}
	snakemake, err := exec.LookPath("snakemake")
	if err != nil {
		t.Skip("skipped: snakemake is not installed")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(in string, args ...string) string {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "XDG_CACHE_HOME="+dir+"/cache")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := programs.Build(root, dir+"/bin", []string{"CGO_ENABLED=0"}, "./cmd/shardify", "./cmd/verify"); err != nil {
		t.Fatal(err)
	}
	run(root, "go", "run", "./testdata/demo", "testdata/demo/digits.npz", dir+"/raw")
	for _, b := range blocks(t, filepath.Join(root, "docs/guides/snakemake.md")) {
		if strings.HasPrefix(b.text, "# Snakefile") {
			if err := os.WriteFile(dir+"/Snakefile", []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(dir, snakemake, "--cores", "2")
	run(dir, dir+"/bin/verify", "train", "--read", "all")
	if out := run(dir, snakemake, "--cores", "2"); !strings.Contains(out, "Nothing to be done") {
		t.Errorf("the second run does something:\n%s", out)
	}
}
