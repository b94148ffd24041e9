package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/storage/storagetest"
	"github.com/shardify/shardify/tests/servertest"
)

const part = 512 << 10

func TestMain(m *testing.M) {
	s3.SetPart(part) // files of some parts are small then
	os.Exit(m.Run())
}

// at is a store as a process has it.
func at(t testing.TB, address string) storage.Store {
	t.Helper()
	s, err := s3.Quick(s3.New(1 << 20)).Store(address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func start(t testing.TB) *s3test.Server {
	t.Helper()
	srv := s3test.Start(t)
	servertest.Alone(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", srv.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "testkey")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testsecret")
	return srv
}

func TestLaws(t *testing.T) {
	storagetest.Laws(t, func(t *testing.T) (s, other storage.Store) {
		start(t)
		return at(t, "s3://bucket/a/set"), at(t, "s3://bucket/a/set")
	})
}

func random(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	b := make([]byte, n)
	r.Read(b)
	return b
}

// large writes a file of some parts in one of the ways in which writers do.
func large(p storage.Pending, b []byte, way string) error {
	write := func(lo, hi int) error {
		n, err := p.WriteAt(b[lo:hi], int64(lo))
		if err == nil && n != hi-lo {
			err = errors.New("short")
		}
		return err
	}
	half := len(b) / 2
	switch way {
	case "in order":
		for x := b; len(x) > 0; {
			n := min(len(x), part/16+13)
			if _, err := p.Write(x[:n]); err != nil {
				return err
			}
			x = x[n:]
		}
		return nil
	case "head last":
		return errors.Join(write(part/3, part), write(part, len(b)), write(0, part/3))
	case "middle first":
		return errors.Join(write(half, len(b)), write(0, half))
	case "order lost late": // parts were sent by then
		return errors.Join(write(0, 3*part+7), write(3*part+100, len(b)), write(3*part+7, 3*part+100), write(10, 20))
	}
	panic(way)
}

var ways = []string{"in order", "head last", "middle first", "order lost late"}

func TestLargeFiles(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	b := random(4*part - 5)
	for _, memory := range []int64{0, 3 * part, part, 1} { // 0 is the default
		for i, way := range append(ways, ways...) { // the second time it is there
			if i < len(ways) {
				srv.Clear()
			}
			s := at(t, "s3://bucket/set")
			if k, ok := storage.As[storage.Keeper](s); ok && memory > 0 {
				k.SetMemory(memory)
			}
			p, err := s.Create("shard")
			if err != nil {
				t.Fatal(err)
			}
			if err := large(p, b, way); err != nil {
				t.Fatalf("%s, memory %d: %v", way, memory, err)
			}
			if way == "order lost late" && memory == 0 {
				if _, err := p.WriteAt(b[:2], part+5); err == nil {
					t.Error("a part that was sent is changed")
				}
			}
			if i < len(ways) && len(srv.Objects("/bucket/set/shard")) > 0 {
				t.Errorf("%s: visible before commit", way)
			}
			if err := p.Commit(t.Context()); err != nil {
				t.Fatalf("%s, memory %d: %v", way, memory, err)
			}
			if srv.Objects("/bucket/set/")["shard"] != string(b) {
				t.Errorf("%s, memory %d: other bytes", way, memory)
			}
			if left := srv.Uploads(); len(left) > 0 {
				t.Errorf("%s, memory %d: left %v", way, memory, left)
			}
		}
	}
}

// commit makes a file and publishes it.
func commit(ctx context.Context, t testing.TB, s storage.Store, b []byte) error {
	t.Helper()
	p, err := s.Create("shard")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	if _, err := p.Write(b); err != nil {
		return err
	}
	return p.Commit(ctx)
}

// TestAnswersThatAreLost: whatever is not answered, or answered by an error, is done once.
func TestAnswersThatAreLost(t *testing.T) {
	srv := start(t)
	for _, size := range []int{1000, 2*part + 9} {
		b := random(size)
		other := bytes.Clone(b)
		other[size-1]++
		n := 0
		for _, fault := range []s3test.Fault{s3test.Lose, s3test.Break, s3test.Refuse, s3test.Conflict, s3test.Late} {
			for at1 := 1; ; at1++ {
				srv.Clear()
				srv.SetFault(func(n int, _ *http.Request) s3test.Fault {
					if n == at1 {
						return fault
					}
					return s3test.None
				})
				s := at(t, "s3://bucket/set")
				if err := commit(t.Context(), t, s, b); err != nil {
					t.Errorf("%d bytes, fault %d at request %d: %v", size, fault, at1, err)
				}
				done := srv.Changes()
				if srv.Objects("/bucket/set/")["shard"] != string(b) {
					t.Errorf("%d bytes, fault %d at request %d: other bytes", size, fault, at1)
				}
				n++
				srv.SetFault(nil)
				if err := commit(t.Context(), t, s, other); !errors.Is(err, shardify.ErrExists) {
					t.Errorf("%d bytes, fault %d at request %d: other content: %v", size, fault, at1, err)
				}
				// The answer to the beginning of an upload may be lost: gc finds that.
				if left := srv.Uploads(); len(left) > 1 || len(left) == 1 && fault != s3test.Lose {
					t.Errorf("%d bytes, fault %d at request %d: left %v", size, fault, at1, left)
				}
				if at1 > done {
					break
				}
			}
		}
		t.Logf("%d bytes: %d faults", size, n)
	}
}

func TestWhatAnotherProgramHasCopiedIsCompared(t *testing.T) {
	srv := start(t)
	for _, size := range []int{0, 1000, 2*part + 9} {
		b := random(size)
		srv.Set("/bucket/set/shard", string(b))
		if err := commit(t.Context(), t, at(t, "s3://bucket/set"), b); err != nil {
			t.Errorf("equal bytes: %v", err)
		}
		if size == 0 {
			continue
		}
		b[size-1]++
		if err := commit(t.Context(), t, at(t, "s3://bucket/set"), b); !errors.Is(err, shardify.ErrExists) {
			t.Errorf("other bytes: %v", err)
		}
	}
}

func TestServersWithoutConditionsAreRefused(t *testing.T) {
	srv := start(t)
	srv.Unconditional = true
	err := commit(t.Context(), t, at(t, "s3://bucket/set"), []byte("x"))
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "If-None-Match") || !strings.Contains(err.Error(), "s3://bucket/set") {
		t.Errorf("%v", err)
	}
	if left := srv.Objects("/"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestUploadsThatNobodyEnds are listed, and dropped when they are old.
func TestUploadsThatNobodyEnds(t *testing.T) {
	srv := start(t)
	b := random(3 * part)
	for _, where := range []string{"s3://bucket/set", "s3://bucket/set2", "s3://bucket/other/set"} {
		s := at(t, where)
		srv.SetFault(func(_ int, r *http.Request) s3test.Fault {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
				return s3test.Die
			}
			return s3test.None
		})
		if err := commit(t.Context(), t, s, b); err == nil {
			t.Fatal("published")
		}
	}
	srv.SetFault(nil)
	s := at(t, "s3://bucket/set")
	x, _ := storage.As[storage.Temper](s)
	list, err := x.Temps()
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Name, "shard upload ") || list[0].Bytes != int64(len(b)) || !list[0].Anonymous || list[0].Age > time.Hour {
		t.Errorf("%+v, %v", list, err)
	}
	m, _ := storage.As[storage.Maker](s)
	srv.Unlisted = true
	if _, err := x.Temps(); !errors.Is(err, fs.ErrPermission) || m.Clean() != nil {
		t.Errorf("uploads may not be listed: %v, %v", err, m.Clean())
	}
	srv.Unlisted = false
	if err := m.Clean(); err != nil || len(srv.Uploads()) != 3 {
		t.Errorf("a young upload was dropped: %v, %v", srv.Uploads(), err)
	}
	srv.Age(25 * time.Hour)
	if err := m.Clean(); err != nil || strings.Join(srv.Uploads(), " ") != "/bucket/other/set/shard /bucket/set2/shard" {
		t.Errorf("left %v, %v", srv.Uploads(), err)
	}
	x, _ = storage.As[storage.Temper](at(t, "s3://bucket/set2"))
	if list, err = x.Temps(); err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for range 2 {
		if err := x.RemoveTemp(list[0].Name); err != nil {
			t.Error(err)
		}
	}
}

// TestAnUploadThatIsDroppedMeanwhile is an error, unless the file is there by then.
func TestAnUploadThatIsDroppedMeanwhile(t *testing.T) {
	start(t)
	b := random(3 * part)
	for _, there := range []bool{false, true} {
		s := at(t, "s3://bucket/set")
		p, _ := s.Create("shard")
		if _, err := p.Write(b[:2*part]); err != nil {
			t.Fatal(err)
		}
		x, _ := storage.As[storage.Temper](at(t, "s3://bucket/set"))
		list, err := x.Temps()
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		if err := x.RemoveTemp(list[0].Name); err != nil {
			t.Fatal(err)
		}
		if there {
			if err := commit(t.Context(), t, at(t, "s3://bucket/set"), b); err != nil {
				t.Fatal(err)
			}
		}
		_, err = p.Write(b[2*part:])
		if err == nil {
			err = p.Commit(t.Context())
		}
		if there != (err == nil) || err != nil && (!strings.Contains(err.Error(), "dropped") || errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("there %v: %v", there, err)
		}
		p.Abort()
	}
}

func TestAStopEndsWhatIsBeingSent(t *testing.T) {
	srv := start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	s := at(t, "s3://bucket/set")
	storage.EndWrites(ctx, s)
	stop := errors.New("stop")
	srv.SetFault(func(n int, r *http.Request) s3test.Fault {
		if r.URL.Query().Has("partNumber") {
			cancel(stop)
		}
		return s3test.None
	})
	if err := commit(ctx, t, s, random(4*part)); err == nil {
		t.Error("published")
	}
	if len(srv.Uploads()) > 0 || srv.Objects("/bucket/set/")["shard"] != "" {
		t.Errorf("left %v", srv.Uploads())
	}
}
