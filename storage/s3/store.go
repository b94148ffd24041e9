package s3

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Store is a folder of a bucket in which data sets are published. A file is an object, made
// by one request with the condition that its name is free: a PUT, or the completion of an
// upload in parts. So it is whole or absent, and of two writers one wins; the other one
// compares.
type Store struct {
	bucket
	files *Files
	root  string // of keys; "" or with a slash at its end
	shown string // the address
	ctx   atomic.Pointer[context.Context]

	memory  memory
	written atomic.Int64 // bytes that came, and that were sent in parts

	mu      sync.Mutex
	asked   bool  // whether the server knows conditions
	refused error // it does not

	makeScratch sync.Once
	scratch     *local.Dir
	scratchErr  error
}

// Store is where data sets are published below an address.
func (f *Files) Store(address string) (storage.Store, error) {
	address = storage.Clean(address)
	c, root, err := f.at(address)
	if err != nil {
		return nil, failed("open", address, err)
	}
	if root != "" {
		root += "/"
	}
	s := &Store{bucket: bucket{c}, files: f, root: root, shown: address, scratch: local.NewDir("", local.SyncNone)}
	s.SetMemory(defaultMemory)
	return s, nil
}

// Until ends requests of files that are written with ctx.
func (s *Store) Until(ctx context.Context) { s.ctx.Store(&ctx) }

func (s *Store) context() context.Context {
	if ctx := s.ctx.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

// SetMemory bounds what is kept of files that are written.
func (s *Store) SetMemory(bytes int64) { s.memory.set(bytes) }

func (s *Store) address(name string) string { return storage.Join(s.shown, name) }

// Open opens a published file.
func (s *Store) Open(name string) (storage.Blob, error) {
	if err := storage.CheckName(name); err != nil {
		return nil, err
	}
	return s.files.Open(s.context(), s.address(name))
}

// Size asks for the size of a file.
func (s *Store) Size(name string) (int64, error) {
	info, err := s.head(s.context(), s.root+name)
	return info.Size, failed("stat", s.address(name), err)
}

func (s *Store) folder(dir string) string {
	if dir = strings.Trim(dir, "/"); dir != "" {
		dir += "/"
	}
	return s.root + dir
}

// List yields the published files below dir.
func (s *Store) List(dir string) iter.Seq2[storage.FileInfo, error] {
	return func(yield func(storage.FileInfo, error) bool) {
		for o, err := range s.list(s.context(), s.folder(dir)) {
			if err != nil {
				yield(storage.FileInfo{}, failed("list", s.address(dir), err))
				return
			}
			// Objects that stand for folders are not ours.
			if strings.HasSuffix(o.Key, "/") {
				continue
			}
			if !yield(storage.FileInfo{Name: strings.TrimPrefix(o.Key, s.root), Size: o.Size}, nil) {
				return
			}
		}
	}
}

// Remove removes a published file; a missing one is no error.
func (s *Store) Remove(name string) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	return failed("remove", s.address(name), s.remove(s.context(), s.root+name))
}

// Replace publishes a file that may take the place of another.
func (s *Store) Replace(ctx context.Context, name string, content []byte) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	return s.published(ctx, name, s.put(ctx, s.root+name, content, digestOf(content), ""))
}

// published makes an error one of publishing a file.
func (s *Store) published(ctx context.Context, name string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &shardify.Error{Op: "publish", File: s.address(name), Sample: -1, Offset: -1, Err: err}
}

// Moves is a number that changes while bytes come or are sent.
func (s *Store) Moves() int64 { return s.written.Load() }

// SetJob names who makes scratch files. The server does not say whose an upload is.
func (s *Store) SetJob(job, restart string) { s.scratch.SetJob(job, restart) }

// SetScratch says where on this machine files are made that are not written from first to
// last; without it that is the system's temporary folder.
func (s *Store) SetScratch(folder string) error {
	s.makeScratch.Do(func() { s.scratchErr = s.scratch.SetScratch(folder) })
	return s.scratchErr
}

// DropScratch removes that folder, unless another process uses it.
func (s *Store) DropScratch() { s.scratch.DropScratch() }

// Scratch makes a file of this machine without a name.
func (s *Store) Scratch() (*os.File, error) {
	if err := s.SetScratch(os.TempDir()); err != nil {
		return nil, err
	}
	return s.scratch.Scratch()
}

// Failed adds to the error of a scratch file what is known about the room there.
func (s *Store) Failed(f *os.File, err error) error { return s.scratch.Failed(f, err) }

// Temps are the uploads that were started and not ended. The server does not say whose they
// are, and some servers list all of a bucket or none.
func (s *Store) Temps() (list []storage.Temp, err error) {
	for u, err := range s.uploads(s.context(), s.root, "") {
		if err != nil {
			return nil, failed("list", s.shown, err)
		}
		key := strings.TrimPrefix(u.Key, s.root)
		list = append(list, storage.Temp{
			Name: key + uploadMark + u.UploadID, Bytes: s.uploaded(s.context(), u.Key, u.UploadID), Age: time.Since(u.Initiated), Anonymous: true,
		})
	}
	return list, nil
}

// uploadMark comes between the name of a file and the number of its upload.
const uploadMark = " upload "

// RemoveTemp drops an upload; one that is gone is no error.
func (s *Store) RemoveTemp(name string) error {
	i := strings.LastIndex(name, uploadMark)
	if i < 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	return failed("remove", s.address(name[:i]), s.abort(s.context(), s.root+name[:i], name[i+len(uploadMark):]))
}

// Clean drops uploads that are too old to be in use. A user who may publish may not be
// allowed to list uploads: then gc says so, and a run continues.
func (s *Store) Clean() error {
	var old []minio.ObjectMultipartInfo
	for u, err := range s.uploads(s.context(), s.root, s.root) {
		if errors.Is(err, fs.ErrPermission) || has(err, http.StatusNotImplemented, "NotImplemented") {
			return nil
		}
		if err != nil {
			return failed("list", s.shown, err)
		}
		if time.Since(u.Initiated) > local.TempAge {
			old = append(old, u)
		}
	}
	for _, u := range old {
		if err := s.abort(s.context(), u.Key, u.UploadID); err != nil {
			return failed("remove", s.address(strings.TrimPrefix(u.Key, s.root)), err)
		}
	}
	return nil
}
