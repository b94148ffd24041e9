package queues

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"go.yaml.in/yaml/v3"
)

// A map of YAML in the order in which it is written.
type entry struct {
	key   string
	value any
}
type object []entry

// MarshalYAML keeps the order.
func (o object) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range o {
		var v yaml.Node
		if err := v.Encode(e.value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: e.key}, &v)
	}
	return n, nil
}

// kubernetes: an Indexed Job for each stage, then the merge. The program finds its number in the
// environment, so the image needs no shell. Elements that are done end at once.
func (j *Job) kubernetes() (out []File) {
	for _, a := range j.Arrays {
		command := []string{j.Program, "work", j.Folder, "--tasks", strconv.Itoa(j.Tasks)}
		if j.Stride < j.Tasks {
			command = append(command, "--stride", strconv.Itoa(j.Stride))
		}
		if a.Stage != cluster.StageWork {
			command = append(command, "--stage", a.Stage)
		}
		command = append(command, j.Work...)
		spec := object{
			{"completionMode", "Indexed"}, {"completions", j.Stride}, {"parallelism", cmp.Or(j.Throttle, j.Stride)}, {"backoffLimitPerIndex", 10}, {"maxFailedIndexes", j.Stride},
			{"podFailurePolicy", object{{"rules", []object{
				{{"action", "FailIndex"}, {"onExitCodes", object{{"containerName", a.Stage}, {"operator", "In"}, {"values", []int{1, 2, 3, 4}}}}},
				{{"action", "Ignore"}, {"onPodConditions", []object{{{"type", "DisruptionTarget"}, {"status", "True"}}}}},
			}}}},
		}
		out = append(out, j.manifest(a.Stage, spec, command, j.Job))
	}
	spec := object{
		{"backoffLimit", 3},
		{"podFailurePolicy", object{{"rules", []object{
			{{"action", "FailJob"}, {"onExitCodes", object{{"containerName", cluster.StageMerge}, {"operator", "In"}, {"values", []int{1, 2, 3}}}}},
		}}}},
	}
	return append(out, j.manifest(cluster.StageMerge, spec, []string{j.Program, "merge", j.Folder}, j.Merge))
}

func (j *Job) manifest(stage string, spec object, command []string, r cluster.Resources) File {
	memory := fmt.Sprintf("%dMi", mib(r.Memory))
	container := object{
		{"name", stage}, {"image", j.Image}, {"command", command},
		{"resources", object{{"requests", object{{"cpu", strconv.Itoa(r.CPUs)}, {"memory", memory}}}, {"limits", object{{"memory", memory}}}}},
	}
	pod := object{{"restartPolicy", "Never"}, {"terminationGracePeriodSeconds", 30}}
	if claim, at, ok := strings.Cut(j.Volume, ":"); ok {
		container = append(container, entry{"volumeMounts", []object{{{"name", "data"}, {"mountPath", path.Clean(at)}}}})
		pod = append(pod, entry{"containers", []object{container}}, entry{"volumes", []object{{{"name", "data"}, {"persistentVolumeClaim", object{{"claimName", claim}}}}}})
	} else {
		pod = append(pod, entry{"containers", []object{container}})
	}
	spec = append(spec, entry{"template", object{{"spec", pod}}})
	text := encode(object{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", object{{"generateName", "shardify-" + stage + "-"}}}, {"spec", spec}})
	return File{stage, stage + ".yaml", j.comment("# ", stage, "kubernetes") + text}
}

func encode(o object) string {
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	_ = e.Encode(o) // of numbers and texts alone, into memory
	return b.String()
}

// kubectl starts each stage when the one before it is complete. Each submission makes jobs of its own:
// what has failed is no obstacle to the next. The wait for a job that completes does not end when it fails.
func kubectl(folder string, files []File) (out []string) {
	for i, f := range files {
		out = append(out, f.Stage+"=$(kubectl create -o name -f "+printable.Quote(filepath.Join(folder, f.Name))+")")
		if i < len(files)-1 {
			complete := func(timeout string) string {
				return "kubectl wait --for=condition=complete --timeout=" + timeout + ` "$` + f.Stage + `"`
			}
			out = append(out,
				"until "+complete("60s")+`; do kubectl get "$`+f.Stage+`" && ! kubectl wait --for=condition=failed --timeout=1s "$`+f.Stage+`" || break; done`,
				complete("1s"))
		}
	}
	return out
}

// htcondor: a description for each stage, and a DAG that orders them.
func (j *Job) htcondor() (out []File) {
	var dag strings.Builder
	before := ""
	for _, a := range append(j.Arrays[:len(j.Arrays):len(j.Arrays)], cluster.Array{Stage: cluster.StageMerge}) {
		out = append(out, File{a.Stage, a.Stage + ".sub", j.description(a)})
		fmt.Fprintf(&dag, "JOB %s %s.sub\n", a.Stage, a.Stage)
		if before != "" {
			fmt.Fprintf(&dag, "PARENT %s CHILD %s\n", before, a.Stage)
		}
		if a.Stage != cluster.StageMerge {
			fmt.Fprintf(&dag, "RETRY %s 3 UNLESS-EXIT 2\n", a.Stage)
		}
		before = a.Stage
	}
	return append(out, File{"dag", "set.dag", dag.String()})
}

func (j *Job) description(a cluster.Array) string {
	var b strings.Builder
	b.WriteString(j.comment("# ", a.Stage, "htcondor"))
	set := func(key, format string, args ...any) {
		fmt.Fprintf(&b, "%-21s = "+format+"\n", append([]any{key}, args...)...)
	}
	r, log, program, queue := j.Job, a.Stage+".$(Process)", j.command(a.Stage, "$(task)"), "queue task in ("+strings.ReplaceAll(words(a.Elements), " ", ", ")+")"
	if a.Stage == cluster.StageMerge {
		r, log, queue = j.Merge, a.Stage, "queue"
	}
	set("executable", "%s", j.Program)
	set("arguments", `"%s"`, strings.ReplaceAll(strings.Join(program[1:], " "), `"`, `""`))
	set("log", "%s", filepath.Join(j.Logs, a.Stage+".log"))
	set("output", "%s", filepath.Join(j.Logs, log+".out"))
	set("error", "%s", filepath.Join(j.Logs, log+".err"))
	set("should_transfer_files", "NO")
	set("request_cpus", "%d", r.CPUs)
	set("request_memory", "%dMB", mib(r.Memory))
	if j.Account != "" {
		set("accounting_group", "%s", j.Account)
	}
	if a.Stage != cluster.StageMerge {
		b.WriteString("# 75: stopped on request, or space ran out for a while: run it again\n")
		set("on_exit_remove", "(ExitBySignal == False) && (ExitCode != 75)")
	}
	set("kill_sig", "SIGTERM")
	set("job_max_vacate_time", "30")
	for _, text := range j.Directives {
		b.WriteString(text + "\n")
	}
	b.WriteString(queue + "\n")
	return b.String()
}

func condor(folder string, files []File) []string {
	return []string{"condor_submit_dag -f " + // what an earlier submission has left there is replaced
		printable.Quote(filepath.Join(folder, files[len(files)-1].Name))}
}
