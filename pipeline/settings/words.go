package settings

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/internal/suggest"
)

// sameAs are words of other tools for settings of exactly the same meaning, of which a command has one.
var sameAs = map[string]string{
	"workers": "jobs workers", "num-workers": "jobs workers", "n-workers": "jobs workers", "threads": "jobs workers", "num-threads": "jobs workers", "num-proc": "jobs workers", "nproc": "jobs workers", "n-jobs": "jobs workers", "processes": "jobs workers", "num-processes": "jobs workers", "parallel": "jobs workers",
	"out": "output", "out-dir": "output", "outdir": "output", "output-dir": "output", "output-folder": "output", "output-path": "output",
	"output-format": "format", "out-format": "format", "input-format": "from",
	"batch-size": "batch", "num-epochs": "epochs", "max-epochs": "epochs", "num-steps": "steps", "max-steps": "steps", "prefetch-factor": "depth", "prefetch": "depth",
	"fields": "columns", "features": "columns", "max-samples": "limit", "max-rows": "limit",
	"samples-per-shard": "shard-samples", "max-count": "shard-samples", "maxcount": "shard-samples", "max-shard-size": "shard-size", "maxsize": "shard-size", "size-limit": "shard-size",
	"random-seed": "seed", "random-state": "seed", "dryrun": "dry-run", "mem": "memory", "max-memory": "memory",
}

// instead are words of other tools for what another setting does, or none: what to write.
var instead = map[string]string{
	"overwrite": "an earlier conversion in the output folder is removed first with --fresh", "force": "an earlier conversion in the output folder is removed first with --fresh",
	"exist-ok": "nothing is overwritten: the same command goes on, or is already complete", "resume": "leave it out: the same command goes on where it was stopped",
	"recursive": "leave it out: folders are read with all that is in them",
	"verbose":   "leave it out: the plan and the progress are printed, and --quiet turns them off", "progress": "leave it out: the progress is printed on a terminal",
	"num-shards": "shards have a size, --shard-size 256MiB, or a number of samples, --shard-samples 10000", "n-shards": "shards have a size, --shard-size 256MiB, or a number of samples, --shard-samples 10000",
	"batch-size": "leave it out: batches are made when a set is read, with shardify.Loader(FOLDER, batch_size=N); --shard-samples N is the samples of a shard",
	"drop-last":  "leave it out: batches are made when a set is read, with shardify.Loader(FOLDER, drop_last=True)",
	"compress":   "mmap shards are mapped into memory as they are; --format mds --mds-compression zstd compresses", "compression": "mmap shards are mapped into memory as they are; --format mds --mds-compression zstd compresses",
	"size": "resize images: --augment resize=224x224", "image-size": "resize images: --augment resize=224x224", "crop": "crop images: --augment centre-crop=224", "center-crop": "crop images: --augment centre-crop=224",
	"quality": "encode images: --augment encode=jpg,quality=90", "normalize": "--augment normalise=FIELD", "transform": "--augment changes images and arrays, --define makes fields; shardify formats --augment lists all",
	"train-split": "--split train=0.8,val=0.2", "val-split": "--split train=0.8,val=0.2", "test-size": "--split train=0.8,test=0.2", "train-size": "--split train=0.8,test=0.2", "splits": "--split train=0.8,val=0.2",
	"filter": "--where 'CONDITION', as in --where 'y > 0'", "query": "--where 'CONDITION', as in --where 'y > 0'", "label": "--labels folder, or --labels TABLE.csv", "label-column": "--labels TABLE.csv joins a table of labels; in tables, labels are fields as others",
	"tmp-dir": "--scratch FOLDER", "temp-dir": "--scratch FOLDER", "tmpdir": "--scratch FOLDER", "shuffle-buffer": "--shuffle global mixes over all samples", "buffer-size": "--shuffle global mixes over all samples",
	"delimiter": "--csv 'sep=;'", "sep": "--csv 'sep=;'", "separator": "--csv 'sep=;'", "header": "--csv header=none", "encoding": "--csv encoding=latin1", "dtype": "--cast FIELD=f32, or --cast '*=f32' for all floating fields",
	"tree": "--object TREE", "dataset": "--object /PATH", "table": "--object TABLE", "group": "--object '/GROUP/*'", "key-column": "--key COLUMN, with --labels TABLE.csv",
}

// Canonical is our name of a setting that other tools name differently, or that is written with
// underscores; without such a setting it is the name itself. has reports whether a name exists.
func Canonical(name string, has func(name string) bool) string {
	plain := strings.ReplaceAll(name, "_", "-")
	for _, n := range append([]string{name, plain}, strings.Fields(sameAs[plain])...) {
		if has(n) {
			return n
		}
	}
	return name
}

// flagsIn finds the flags that a text names.
var flagsIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--([a-z][a-z-]+)`) })

// Meant says what to write in place of a setting that does not exist; "" where nothing is like
// it. names are the settings that there are, and dashes what is written before them.
func Meant(name string, names []string, dashes string) string {
	has := func(n string) bool { return slices.Contains(names, n) }
	if n := Canonical(name, has); n != name {
		return "did you mean: " + dashes + n
	}
	plain := strings.ReplaceAll(name, "_", "-")
	text := instead[plain]
	for i := range augment.Table {
		if o := &augment.Table[i]; o.Name == plain {
			text = strings.TrimSuffix("--augment "+o.Name+"="+cmp.Or(o.Value.Default, o.Value.Name), "=") + " does it: " + o.Help
		}
	}
	for _, m := range flagsIn().FindAllStringSubmatch(text, -1) {
		if !has(m[1]) {
			text = ""
		}
	}
	if text == "" {
		if m := suggest.Word(plain, names); m != "" && m != name {
			text = "did you mean: " + dashes + m
		}
	}
	return text
}
