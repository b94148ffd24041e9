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
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	web "github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/tests/servertest"
)

// TestStoresOfAllStorages: a Zarr store, an array of one, a folder of them and a netCDF-3 file are the
// same in a folder, in a bucket and on a web server.
func TestStoresOfAllStorages(t *testing.T) {
	dirs := []string{"zarr/testdata", "netcdf3/testdata"}
	s := s3test.Start(t)
	t.Setenv("AWS_ACCESS_KEY_ID", servertest.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", servertest.Secret)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(name)
			s.Set("/zarr-stores/"+filepath.ToSlash(name), string(b))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir("."))) // with listings in HTML
	defer server.Close()
	for _, c := range []struct{ input, columns string }{
		{"weather_1.nc", ""}, {"weather_1.nc:v_f4", ""}, {"fixed_1.nc", "x,y"},
		{"era5_shards_v3.zarr", ""}, {"era5_shards_v3.zarr/", "t2m"}, {"v2_consolidated.zarr:train", ""}, {"era5_shards_v3.zarr:t2m", ""}, {"era5_shards_v3.zarr/zarr.json", ""},
	} {
		var want *readertest.Content
		dir, kind := dirs[0], "zarr"
		if strings.Contains(c.input, ".nc") {
			dir, kind = dirs[1], "netcdf3"
		}
		for _, at := range []struct {
			base string
			fs   storage.FS
		}{{dir + "/", local.Files}, {"s3://zarr-stores/" + dir + "/", s3.New(1 << 20)}, {server.URL + "/" + dir + "/", web.New(1 << 20)}} {
			in := []string{at.base + c.input}
			f, why, err := Choose(t.Context(), at.fs, "", in)
			if err != nil || f.Name != kind {
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
