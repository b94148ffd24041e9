package endtoend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/tests/netfault"
	"github.com/zeebo/xxh3"
)

// remoteCases are conversions of every input format, by lines without the names' addresses.
var remoteCases = []struct{ name, inputs, flags string }{
	{"npz", "digits.npz more.npz", "--shard-samples 600"},
	{"hdf5", "hdf5/calo.hdf5", "--shard-samples 8"},
	{"hdf5-files", "hdf5/cosmo_0.hdf5 hdf5/cosmo_1.hdf5 hdf5/cosmo_2.hdf5", "--sample file"},
	{"root", "HZZ.root", "--shard-samples 700"},
	{"root-ntuple", "root/ntuple-0.root root/ntuple-1.root", ""},
	{"parquet", "digits.parquet", "--shard-samples 500"},
	{"files", "tree/c0/000.bin tree/c0/002.bin tree/c0/004.bin", "--from files --shard-samples 2"},
	{"tar", "set/shard-000000.tar set/shard-000001.tar", "--from tar"},
	{"set", "set", ""},
}

// remoteFolder has the inputs of the cases.
func remoteFolder(t *testing.T) string {
	t.Helper()
	dir := workFolder(t)
	b, err := os.ReadFile(filepath.Join(dir, "digits.npz"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "more.npz"), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, "shardify", "convert", filepath.Join(dir, "tree"), "-o", filepath.Join(dir, "set"), "--shard-samples", "10", "-q")
	return dir
}

// convertRemote converts the inputs of a case from below an address.
func convertRemote(t *testing.T, address, inputs, flags, out string, env ...string) (code int, said string) {
	t.Helper()
	args := []string{"convert"}
	for _, in := range strings.Fields(inputs) {
		args = append(args, address+in)
	}
	args = append(append(args, strings.Fields(flags)...), "-o", out, "-q")
	cmd := exec.Command(bin+"shardify", args...)
	cmd.Env = append(os.Environ(), env...)
	b, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(b)
}

// TestEndToEndAServerThatFailsSkipsNothing: --on-error skip is for damage. From each request on
// a server refuses, or does what is not supported: that ends the run, and no data set is
// published.
func TestEndToEndAServerThatFailsSkipsNothing(t *testing.T) {
	dir := remoteFolder(t)
	files := http.FileServer(http.Dir(dir))
	for _, c := range remoteCases {
		for _, how := range []string{"gzip", "403"} {
			if how == "403" && c.name != "set" && !long {
				continue // what is not supported is the more likely to be taken for damage
			}
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel() // they wait
				failing(t, files, c.inputs, c.flags, how)
			})
		}
	}
}

func failing(t *testing.T, files http.Handler, inputs, flags, how string) {
	var n, from, total atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch failing := n.Add(1) >= from.Load() && total.Load() > 0; {
		case r.Method == "PROPFIND":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case failing && how == "gzip":
			w.Header().Set("Content-Encoding", "gzip")
			files.ServeHTTP(w, r)
		case failing:
			w.WriteHeader(http.StatusForbidden)
		default:
			files.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	dir, runs := t.TempDir(), 0
	try := func() (code int, said, out string) {
		out = filepath.Join(dir, fmt.Sprint(from.Load()))
		n.Store(0)
		code, said = convertRemote(t, server.URL+"/", inputs, flags+" --on-error skip --jobs 1", out)
		return code, said, out
	}
	if code, said, _ := try(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	total.Store(n.Load())
	step := max(total.Load()/3, 1)
	if long {
		step = 1
	}
	for at := total.Load(); at > 0; at -= step {
		from.Store(at)
		code, said, out := try()
		if n.Load() < at {
			continue // it asked less often this time
		}
		runs++
		if _, err := os.Stat(filepath.Join(out, "shardify.json")); code != 1 && code != 2 || err == nil || !strings.Contains(said, server.URL) {
			t.Errorf("from request %d of %d on: exit code %d\n%s", at, total.Load(), code, said)
		}
	}
	t.Logf("%d runs", runs)
}

var long = os.Getenv("SHARDIFY_LONG") != ""

// faultKinds are those of which programs notice at once.
var faultKinds = slices.DeleteFunc(slices.Clone(netfault.Kinds), func(k netfault.Kind) bool { return k == netfault.Stall })

// TestEndToEndFaultsOfServers: with a fault in each fourth answer conversions from web servers
// and object stores make the same shards as from files, and the loader delivers the same
// samples; a flipped bit of a shard is found. The long form (make netfaults) has 10,000 faults.
func TestEndToEndFaultsOfServers(t *testing.T) {
	dir := remoteFolder(t)
	want := map[string]map[string]xxh3.Uint128{}
	for _, c := range remoteCases {
		out := filepath.Join(dir, "local-"+c.name)
		if code, said := convertRemote(t, dir+"/", c.inputs, c.flags, out); code != 0 {
			t.Fatal(said)
		}
		want[c.name] = published(t, out)
	}
	run(t, "shardify", "convert", "--from", "synth", "--samples", "3000", "--schema", "x:f32[64],y:i32", "--shard-size", "128KiB", "-o", filepath.Join(dir, "loaded"), "-q")
	epoch, err := loaded(filepath.Join(dir, "loaded"))
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(dir))
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PROPFIND" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		files.ServeHTTP(w, r)
	})
	store := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // objects of the bucket data
		name := filepath.Join(dir, strings.TrimPrefix(r.URL.Path, "/data/"))
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, name))
		http.ServeFile(w, r, name)
	})
	total, most := 0, 60
	if long {
		most = 10_000
	}
	if testing.Short() {
		most = 30
	}
	conversions, epochs, wrong, found := 0, 0, 0, 0
	for round := uint64(1); total < most; round++ {
		for i, c := range remoteCases {
			if !long && uint64(i)%3 != round%3 {
				continue
			}
			s3 := i%2 == 0 && c.name != "set" && c.name != "files" // which have to be listed
			f := &netfault.Faults{Rate: 0.25, Kinds: faultKinds, Seed: round<<8 + uint64(i)}
			handler, env, address := http.Handler(web), []string(nil), ""
			if s3 {
				handler, f.Body = store, "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code></Error>"
			}
			server := httptest.NewServer(f.Handler(handler))
			address = server.URL + "/"
			if s3 {
				address = "s3://data/"
				env = []string{"AWS_ENDPOINT_URL=" + server.URL, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_CONFIG_FILE=/nowhere", "AWS_SHARED_CREDENTIALS_FILE=/nowhere"}
			}
			out := filepath.Join(dir, fmt.Sprintf("far-%s-%d", c.name, round))
			code, said := convertRemote(t, address, c.inputs, c.flags, out, env...)
			server.Close()
			n, _, _ := f.Counts()
			total += n
			conversions++
			if code != 0 {
				t.Errorf("%s, round %d: exit code %d after %d faults\n%s", c.name, round, code, n, said)
				continue
			}
			got := published(t, out)
			for name, digest := range want[c.name] {
				if filepath.Base(name) != "shardify.json" && got[name] != digest {
					wrong++
					t.Errorf("%s, round %d: %s has other bytes", c.name, round, name)
				}
			}
			os.RemoveAll(out)
		}
		for _, kinds := range [][]netfault.Kind{faultKinds, {netfault.Flip}} {
			f := &netfault.Faults{Rate: 0.2, Kinds: kinds, Least: 10_000, Seed: round}
			server := httptest.NewServer(f.Handler(web))
			got, err := loaded(server.URL + "/loaded")
			server.Close()
			n, _, _ := f.Counts()
			total += n
			epochs++
			for i, b := range got {
				if b != epoch[i] {
					wrong++
					t.Errorf("round %d: batch %d is another one", round, i)
				}
			}
			switch {
			case err != nil && kinds[0] == netfault.Flip && errors.Is(err, shardify.ErrCorrupt):
				found++
			case err != nil:
				t.Errorf("round %d: %v", round, err)
			case len(got) != len(epoch):
				t.Errorf("round %d: %d of %d batches", round, len(got), len(epoch))
			}
		}
	}
	t.Logf("%d faults in %d conversions and %d epochs: %d wrong; %d epochs ended with an error about a flipped bit", total, conversions, epochs, wrong, found)
}

// loaded is the digest of each batch of an epoch.
func loaded(path string) (batches []xxh3.Uint128, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	set, err := gpuload.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	l, err := set.Loader(gpuload.Config{Batch: 64, Shuffle: gpuload.Block, ShuffleWindow: 512, Streams: 2, Seed: 3, Device: "host", Tier: gpuload.TierStream})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for {
		b, err := l.Next(ctx)
		if err == io.EOF {
			return batches, nil
		}
		if err != nil {
			return batches, err
		}
		h := xxh3.New()
		for _, column := range b.Columns() {
			h.Write(b.Host(column))
		}
		fmt.Fprint(h, b.IDs())
		batches = append(batches, h.Sum128())
		b.Release()
	}
}
