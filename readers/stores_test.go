package readers

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/servertest"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	web "github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/s3/s3test"
)

// TestStoresOfAllStorages: a Zarr store, an array of one and a folder of them are the same in a
// folder, in a bucket and on a web server.
func TestStoresOfAllStorages(t *testing.T) {
	const dir = "zarr/testdata"
	s := s3test.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		s.Set("/zarr-stores/in/"+filepath.ToSlash(rel), string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir))) // with listings in HTML
	defer server.Close()
	for _, c := range []struct{ input, columns string }{
		{"era5_shards_v3.zarr", ""}, {"era5_shards_v3.zarr/", "t2m"}, {"v2_consolidated.zarr:train", ""}, {"era5_shards_v3.zarr:t2m", ""}, {"era5_shards_v3.zarr/zarr.json", ""},
	} {
		var want *readertest.Content
		for _, at := range []struct {
			base string
			fs   storage.FS
		}{{dir + "/", local.Files}, {"s3://zarr-stores/in/", s3.New(1 << 20)}, {server.URL + "/", web.New(1 << 20)}} {
			in := []string{at.base + c.input}
			f, why, err := Choose(t.Context(), at.fs, "", in)
			if err != nil || f.Name != "zarr" {
				t.Errorf("%s: %s, %s, %v", in, f.Name, why, err)
				continue
			}
			o, err := format.CheckOptions(f.Options, nil)
			if err != nil {
				t.Fatal(err)
			}
			r := Request{FS: at.fs, Inputs: in, Options: o}
			if c.columns != "" {
				r.Columns = strings.Split(c.columns, ",")
			}
			opened, err := Open(t.Context(), f, r)
			if err != nil {
				t.Errorf("%s: %v", in, err)
				continue
			}
			got := readertest.ReadAll(t, opened.Source, 500)
			opened.Source.Close()
			if want == nil {
				want = got
			} else if err := want.Equal(got); err != nil {
				t.Errorf("%s: %v", in, err)
			}
		}
	}
}
