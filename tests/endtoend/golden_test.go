package endtoend

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

// goldens are conversions whose every published byte is kept as a digest in
// testdata/golden.txt: each reader, each writer, and each way from one to the other.
// A line is a command of the program; "OUT" means the folder of the case.
var goldens = []struct {
	name  string
	lines []string
}{
	{"files-wds", []string{"convert tree -o OUT --shard-samples 5"}},
	{"files-wds-dali", []string{"convert tree -o OUT --shard-samples 5 --dali"}},
	{"files-wds-block", []string{"convert tree -o OUT --shard-samples 5 --shuffle block --seed 3"}},
	{"files-wds-global", []string{"convert tree -o OUT --shard-samples 5 --shuffle global --seed 3 --provenance"}},
	{"files-wds-split", []string{"convert tree -o OUT --shard-samples 5 --labels folder --split train=0.6,val=0.4 --stratify cls"}},
	{"files-wds-labels", []string{"convert tree -o OUT --labels labels.csv --key key --shard-samples 7"}},
	{"files-mmap", []string{"convert tree -o OUT --shard-samples 5 --format mmap"}},
	{"files-mds", []string{"convert tree -o OUT --shard-samples 5 --format mds"}},
	{"files-ordinal", []string{"convert tree -o OUT --shard-samples 5 --keys ordinal --text bytes"}},
	{"npz-mmap", []string{"convert digits.npz -o OUT --shard-samples 600"}},
	{"npz-wds", []string{"convert digits.npz -o OUT --limit 100 --format wds"}},
	{"npz-mds-zstd", []string{"convert digits.npz -o OUT --limit 1000 --format mds --mds-compression zstd"}},
	{"npz-global-split", []string{"convert digits.npz -o OUT --shard-samples 300 --shuffle global --split train=0.8,val=0.1,test=0.1"}},
	{"root-copies", []string{"convert HZZ.root -o OUT --columns MET_px,MET_py --limit 300 --copies 3 --augment noise=MET_px,sigma=0.5 --shuffle global --seed 5"}},
	{"npz-range", []string{"convert digits.npz -o OUT --range 100:333 --columns *y*"}},
	{"npz-cast", []string{"convert digits.npz -o OUT --limit 500 --cast *=i32"}},
	{"hdf5-mmap", []string{"convert hdf5/calo.hdf5 -o OUT --shard-samples 8"}},
	{"hdf5-wds", []string{"convert hdf5/calo.hdf5 -o OUT --shard-samples 8 --format wds"}},
	{"hdf5-mds", []string{"convert hdf5/calo.hdf5 -o OUT --shard-samples 8 --format mds"}},
	{"hdf5-types", []string{"convert hdf5/types.h5 -o OUT"}},
	{"hdf5-rows", []string{"convert hdf5/rows_a.h5 hdf5/rows_b.h5 -o OUT --missing intersect --shuffle block"}},
	{"hdf5-groups", []string{"convert hdf5/groups.h5 -o OUT"}},
	{"hdf5-files", []string{"convert hdf5/cosmo_0.hdf5 hdf5/cosmo_1.hdf5 hdf5/cosmo_2.hdf5 -o OUT --sample file"}},
	{"hdf5-anndata", []string{"convert hdf5/anndata.h5ad -o OUT"}},
	{"hdf5-pytables", []string{"convert hdf5/frame_table.h5 -o OUT"}},
	{"hdf5-netcdf", []string{"convert hdf5/dims_nine.nc -o OUT"}},
	{"root-mmap", []string{"convert root/events-0.root root/events-1.root -o OUT --object Events --shard-samples 120"}},
	{"root-where", []string{"convert HZZ.root -o OUT --where NMuon>=2 --define pt=sqrt(sum(Muon_Px**2)) --shard-samples 500"}},
	{"root-stack", []string{"convert HZZ.root -o OUT --columns NMuon,Muon_Px,Muon_Py --stack Muon=Muon_Px,Muon_Py --pad Muon=4 --limit 800"}},
	{"root-ntuple", []string{"convert root/ntuple-0.root root/ntuple-1.root -o OUT"}},
	{"root-global", []string{"convert HZZ.root -o OUT --shuffle global --seed 11 --shard-samples 700 --set w=2@*.root"}},
	{"parquet-mmap", []string{"convert parquet/flat.parquet -o OUT --shard-samples 100 --format mmap"}},
	{"parquet-nested", []string{"convert parquet/nested.parquet -o OUT"}},
	{"parquet-images", []string{"convert parquet/images.parquet -o OUT"}},
	{"parquet-digits-pack", []string{"convert digits.parquet -o OUT --limit 700 --split train=rest,val=100 --shuffle global"}},
	{"parquet-megatron", []string{"convert tokens.npy -o OUT --format megatron"}},
	{"synth-mmap", []string{"convert --from synth -o OUT --samples 500 --synth-seed 4 --shard-samples 200"}},
	{"synth-tfrecord", []string{"convert --from synth -o OUT --samples 100 --schema x:f32[8],y:i64,l:u8*5,t:txt*9 --format tfrecord --shard-samples 40"}},
	{"synth-arrayrecord", []string{"convert --from synth -o OUT --samples 100 --schema x:f32[8],y:i64,l:u8*5,t:txt*9 --format arrayrecord --shard-samples 40"}},
	{"synth-parquet", []string{"convert --from synth -o OUT --samples 100 --schema x:f32[2,3],y:i64,l:u8*5,t:txt*9,b:bool --format parquet --shard-samples 40"}},
	{"synth-arrow", []string{"convert --from synth -o OUT --samples 100 --schema x:f32[2,3],y:i64,l:u8*5,t:txt*9,b:bool --format arrow --shard-samples 40"}},
	{"parquet-images-arrow", []string{"convert parquet/images.parquet -o OUT --format arrow --arrow-form stream --split train=0.5,val=rest"}},
	{"parquet-images-parquet", []string{"convert parquet/images.parquet -o OUT --format parquet"}},
	{"synth-mds", []string{"convert --from synth -o OUT --samples 100 --schema x:f32[8],y:i64 --format mds"}},
	{"tar-mmap", []string{"convert tree -o OUT/a --shard-samples 5", "convert OUT/a/shard-000000.tar OUT/a/shard-000001.tar --from tar -o OUT/b --format mmap"}},
	{"tar-wds", []string{"convert tree -o OUT/a --shard-samples 5", "convert OUT/a/shard-000000.tar OUT/a/shard-000001.tar --from tar -o OUT/b --keys shard"}},
	{"set-mmap-again", []string{"convert HZZ.root -o OUT/a --shard-samples 900", "convert OUT/a -o OUT/b --shuffle global --seed 2 --shard-samples 500"}},
	{"set-wds-mmap", []string{"convert tree -o OUT/a --shard-samples 5", "convert OUT/a -o OUT/b --format mmap"}},
	{"tasks", []string{"plan digits.npz -o OUT --shard-samples 200 --shuffle global", "work OUT --task 0 --tasks 2", "work OUT --task 1 --tasks 2", "merge OUT"}},
	{"merge-sets", []string{"convert hdf5/calo.hdf5 -o OUT/a --shard-samples 8", "convert hdf5/calo.hdf5 -o OUT/b --shard-samples 9 --provenance", "convert hdf5/calo.hdf5 -o OUT/c --shard-samples 7 --provenance", "merge-sets OUT/b OUT/c -o OUT/d"}},
	{"extend", []string{"convert root/events-0.root -o OUT --object Events --shard-samples 90", "extend OUT root/events-1.root"}},
}

// workFolder holds copies of the inputs, so that no name in a manifest depends on where
// the tests run.
func workFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range []string{"hdf5", "root", "parquet"} {
		if err := os.CopyFS(filepath.Join(dir, f), os.DirFS(filepath.Join("../../readers", f, "testdata"))); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string, b []byte) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"HZZ.root", "digits.npz", "digits.parquet"} {
		b, err := os.ReadFile(filepath.Join("../../testdata/demo", f))
		if err != nil {
			t.Fatal(err)
		}
		put(f, b)
	}
	labels := "key,weight,kind\n"
	for i := range 18 {
		stem := fmt.Sprintf("tree/c%d/%03d", i%2, i)
		put(stem+".bin", bytes.Repeat([]byte{byte(i)}, 100+i*37))
		put(stem+".json", fmt.Appendf(nil, `{"n": %d}`, i))
		labels += fmt.Sprintf("c%d/%03d,%d.5,%c\n", i%2, i, i, 'a'+i%3)
	}
	put("labels.csv", []byte(labels))
	head := "{'descr': '<u2', 'fortran_order': False, 'shape': (64, 32), }"
	npy := append([]byte("\x93NUMPY\x01\x00\x76\x00"), head+strings.Repeat(" ", 117-len(head))+"\n"...)
	for i := range 64 * 32 {
		npy = append(npy, byte(i*7), byte(i>>8))
	}
	put("tokens.npy", npy)
	return dir
}

// planOf is the digest of the plan that a data set was made by.
func planOf(t *testing.T, set string) string {
	t.Helper()
	receipts, _ := filepath.Glob(filepath.Join(set, ".shardify/receipts/*.json"))
	more, _ := filepath.Glob(filepath.Join(set, "*/.shardify/receipts/*.json"))
	receipts = append(receipts, more...)
	if len(receipts) == 0 {
		return ""
	}
	b, err := os.ReadFile(receipts[0])
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Plan string }
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(receipts[0], err)
	}
	return r.Plan
}

// TestGoldenBytes: a change of code that changes a byte of a plan or of a published file
// shows here. Where that was meant, `make golden` rewrites the digests; review the diff.
func TestGoldenBytes(t *testing.T) {
	dir := workFolder(t)
	var got strings.Builder
	for _, g := range goldens {
		out, ok := "out-"+g.name, true
		for _, line := range g.lines {
			args := strings.Fields(strings.ReplaceAll(line, "OUT", out))
			cmd := exec.Command(bin+"shardify", append(args, "-q")...)
			cmd.Dir = dir
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", g.name, line, err, b)
				ok = false
			}
		}
		if !ok {
			continue
		}
		fmt.Fprintf(&got, "%s\n", g.name)
		if plan := planOf(t, filepath.Join(dir, out)); plan != "" {
			fmt.Fprintf(&got, "  plan %s\n", plan)
		}
		digests := published(t, filepath.Join(dir, out))
		names := make([]string, 0, len(digests))
		for n := range digests {
			if !strings.Contains(n, "/.shardify/") {
				names = append(names, n)
			}
		}
		slices.Sort(names)
		for _, n := range names {
			d := digests[n].Bytes()
			fmt.Fprintf(&got, "  %x %s\n", d[:], n)
		}
	}
	const file = "testdata/golden.txt"
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	compareGoldens(t, string(want), got.String())
}

// compareGoldens names the files that differ, by case.
func compareGoldens(t *testing.T, want, got string) {
	t.Helper()
	lines := func(text string) map[string]string {
		m, name := map[string]string{}, ""
		for _, l := range strings.Split(text, "\n") {
			if digest, file, ok := strings.Cut(strings.TrimSpace(l), " "); ok && strings.HasPrefix(l, " ") {
				if digest == "plan" {
					digest, file = file, digest
				}
				m[name+": "+file] = digest
			} else {
				name = l
			}
		}
		return m
	}
	w, g := lines(want), lines(got)
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if g[k] != w[k] {
			t.Errorf("%s differs", k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(g)) {
		if _, ok := w[k]; !ok {
			t.Errorf("%s is new", k)
		}
	}
}
