package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/zeebo/xxh3"
)

// Metadata of our objects, as names of HTTP headers behind x-amz-meta-. An ETag is no digest.
const (
	digestKey = "Shardify-Xxh3"   // of the content, where it is known before it is sent
	tokenKey  = "Shardify-Upload" // which upload made it
)

func digestOf(b []byte) map[string]string {
	sum := xxh3.Hash128(b).Bytes()
	return map[string]string{digestKey: fmt.Sprintf("%x", sum)}
}

// wanted is what a file should hold.
type wanted struct {
	size   int64
	digest string
	token  string
	etag   string
	sums   [][md5.Size]byte // of its parts of partBytes
}

// putNew makes an object, unless there is one.
func (s *Store) putNew(ctx context.Context, name string, b []byte) error {
	meta := digestOf(b)
	err := s.put(ctx, s.root+name, b, meta, absent)
	if !taken(err) {
		return err
	}
	return s.same(ctx, name, &wanted{size: int64(len(b)), digest: meta[digestKey], sums: [][md5.Size]byte{md5.Sum(b)}})
}

// Swap publishes a file in the place of one that the caller has read. It refuses a server that does not
// keep the condition.
func (s *Store) Swap(ctx context.Context, name string, old, content []byte) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	return s.published(ctx, name, s.swap(ctx, name, old, content))
}

func (s *Store) swap(ctx context.Context, name string, old, content []byte) error {
	if err := s.conditional(ctx); err != nil {
		return err
	}
	// A server that knows If-None-Match need not know If-Match.
	if err := s.put(ctx, s.root+probeName, []byte("If-Match"), nil, "0"); !taken(err) {
		return cmp.Or(err, error(shardify.Unsupported("the server of %s does not keep the condition If-Match, without which one writer could take the place of another", s.shown)))
	}
	there, err := s.files.Open(ctx, s.address(name))
	if err != nil {
		return err
	}
	defer there.Close()
	b, err := storage.ReadWhole(there, s.address(name), max(there.Size(), int64(len(content))))
	switch {
	case err != nil:
		return err
	case bytes.Equal(b, content):
		return nil // it came, and the answer was lost
	case !bytes.Equal(b, old):
		return errSwapped
	}
	err = s.put(ctx, s.root+name, content, digestOf(content), there.Stamp().Version)
	if !taken(err) {
		return err
	}
	info, err := s.head(ctx, s.root+name)
	if err == nil && info.UserMetadata[digestKey] != digestOf(content)[digestKey] {
		err = errSwapped
	}
	return err
}

var errSwapped = fmt.Errorf("another writer has changed it: %w", shardify.ErrExists)

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// same refuses an object of other content than ours. It may be our own: the answer that it
// was made was lost, and the second try found it.
func (s *Store) same(ctx context.Context, name string, c *wanted) error {
	key := s.root + name
	info, err := s.head(ctx, key)
	if err != nil {
		return failed("compare", s.address(name), err)
	}
	other := fmt.Errorf("a file of other content is there: %w", shardify.ErrExists)
	digest := info.UserMetadata[digestKey]
	switch {
	case info.Size != c.size:
		return other
	case c.token != "" && info.UserMetadata[tokenKey] == c.token, c.digest != "" && digest == c.digest, c.etag != "" && info.ETag == c.etag:
		return nil
	case c.digest != "" && digest != "":
		return other
	}
	// It was copied there, or its server makes ETags in another way.
	there := &object{c: s.c, key: key, stamp: storage.Stamp{Size: info.Size, Version: info.ETag}}
	b := s.memory.get(true)
	defer s.memory.give(b)
	for i, sum := range c.sums {
		off := int64(i) * partBytes
		b = b[:min(partBytes, c.size-off)]
		if len(b) > 0 {
			err := s.do(ctx, func(ctx context.Context, m *minio.Core) error {
				_, err := there.fetch(ctx, m, b, off)
				return err
			})
			if err != nil {
				return failed("compare", s.address(name), err)
			}
		}
		if md5.Sum(b) != sum {
			return other
		}
	}
	return nil
}

// probeName is an object by which the server is asked whether it knows conditions. It stays,
// so that one request is enough the next time.
const probeName = storage.Private + "/conditions"

// conditional refuses a server that makes an object although there is one: of two writers
// the second one would take the place of the first.
func (s *Store) conditional(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		return s.refused
	}
	for range 2 {
		err := s.put(ctx, s.root+probeName, []byte("If-None-Match: *"), nil, absent)
		switch {
		case taken(err):
			s.asked = true
			return nil
		case has(err, http.StatusNotImplemented, "NotImplemented"):
		case err != nil:
			return err
		}
	}
	s.asked = true
	s.refused = shardify.Hint(shardify.Unsupported("the server of %s does not keep the condition If-None-Match: *, without which one writer could take the place of another", s.shown),
		"publish to a folder, and copy that when it is complete, shardify.json last")
	return errors.Join(s.refused, s.remove(ctx, s.root+probeName))
}
