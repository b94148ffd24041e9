package s3_test

import (
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/storage/storagetest"
	"github.com/shardify/shardify/tests/servertest"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/verify"
)

// TestServers: the laws, uploads and conversions on servers that others have made, whose
// answers are lost, too.
func TestServers(t *testing.T) {
	for _, program := range []string{"versitygw", "minio"} {
		t.Run(program, func(t *testing.T) {
			srv := s3test.Start(t)
			srv.Behind = servertest.S3(t, program)
			t.Setenv("AWS_ENDPOINT_URL", srv.URL)
			t.Setenv("TMPDIR", t.TempDir())
			const five = 5 << 20 // they take no smaller parts
			defer s3.SetPart(s3.SetPart(five))
			sets := 0
			storagetest.Laws(t, func(t *testing.T) (s, other storage.Store) {
				sets++
				set := "s3://data/laws/" + strings.Repeat("x", sets)
				return at(t, set), at(t, set)
			})
			serverUploads(t, srv)
			serverConversions(t, srv)
			if x, ok := storage.As[storage.Temper](at(t, "s3://data")); ok {
				list, err := x.Temps()
				if err != nil {
					t.Error(err)
				}
				for _, u := range list { // those whose beginning was not answered
					if err := x.RemoveTemp(u.Name); err != nil {
						t.Error(err)
					}
				}
				if left, err := x.Temps(); err != nil || len(left) > 0 {
					t.Errorf("%v, %v", left, err)
				}
			}
		})
	}
}

func serverUploads(t *testing.T, srv *s3test.Server) {
	b := random(12 << 20)
	for i, fault := range []s3test.Fault{s3test.None, s3test.Lose, s3test.Break, s3test.Late} {
		n := 0
		for k := 1; k < 8; k++ {
			srv.SetFault(func(n int, _ *http.Request) s3test.Fault {
				if n == k {
					return fault
				}
				return s3test.None
			})
			for _, x := range ways[:2] {
				s := at(t, "s3://data/uploads")
				p, err := s.Create("shard-" + string(rune('a'+i)) + string(rune('a'+k)))
				if err != nil {
					t.Fatal(err)
				}
				if x == "in order" {
					_, err = p.Write(b)
				} else {
					_, err = p.WriteAt(b[100:], 100)
					if err == nil {
						_, err = p.WriteAt(b[:100], 0)
					}
				}
				if err == nil {
					err = p.Commit(t.Context())
				}
				if err != nil {
					t.Errorf("fault %d at request %d: %v", fault, k, err)
				}
				n++
			}
			if fault == s3test.None {
				break
			}
		}
	}
	srv.SetFault(nil)
}

func serverConversions(t *testing.T, srv *s3test.Server) {
	list := conversions(t)
	for _, c := range list {
		set := "s3://data/sets/" + strings.ReplaceAll(c.name, " ", "/")
		r := rand.New(rand.NewPCG(7, 8))
		srv.SetFault(func(int, *http.Request) s3test.Fault {
			if r.IntN(10) > 0 {
				return s3test.None
			}
			return []s3test.Fault{s3test.Lose, s3test.Break, s3test.Refuse}[r.IntN(3)]
		})
		fresh(t)
		if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		srv.SetFault(nil)
		v, err := verify.Run(t.Context(), verify.Options{Dir: set, Against: true, Compile: transform.Compile})
		if err != nil || v.Err() != nil {
			t.Errorf("verify %s: %v, %v", c.name, err, v.Err())
		}
		copied := filepath.Join(t.TempDir(), "copy")
		if _, err := pipeline.Stage(t.Context(), pipeline.StageSettings{Source: set, Dest: copied}); err != nil {
			t.Errorf("stage %s: %v", c.name, err)
			continue
		}
		for name, b := range folder(t, copied) {
			if want, ok := c.want[name]; ok && want != b {
				t.Errorf("%s: %s has other bytes", c.name, name)
			}
		}
	}
}
