package s3

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// inFlight is how many parts of a file are sent at a time.
const inFlight = 4

// upload is a file that is sent in parts.
type upload struct {
	s         *Store
	name, key string
	id        string
	token     string // of this upload alone
	ctx       context.Context
	cancel    context.CancelFunc

	mu    sync.Mutex
	ended sync.Cond // a part was sent
	going int       // parts that are being sent
	parts []minio.CompletePart
	sums  [][md5.Size]byte // of the parts
	err   error
	lost  bool // another process has dropped the upload
	done  bool
}

func (s *Store) newUpload(name string) (*upload, error) {
	u := &upload{s: s, name: name, key: s.root + name, token: rand.Text()}
	u.ended.L = &u.mu
	u.ctx, u.cancel = context.WithCancel(s.context())
	var err error
	if u.id, err = s.begin(u.ctx, u.key, map[string]string{tokenKey: u.token}); err != nil {
		u.cancel()
		return nil, err
	}
	return u, nil
}

func (u *upload) running() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.going
}

// await waits until at most so many parts are being sent; false if that is below 0.
func (u *upload) await(most int) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if most < 0 {
		return false, u.err
	}
	for u.going > most {
		u.ended.Wait()
	}
	return true, u.err
}

// send sends a part, whose buffer it gives back.
func (u *upload) send(number int, b []byte) error {
	if _, err := u.await(inFlight - 1); err != nil {
		u.s.memory.give(b)
		return err
	}
	u.mu.Lock()
	for len(u.parts) < number {
		u.parts, u.sums = append(u.parts, minio.CompletePart{PartNumber: len(u.parts) + 1}), append(u.sums, [md5.Size]byte{})
	}
	u.going++
	lost := u.lost
	u.mu.Unlock()
	go func() {
		x := u.s.body(b)
		var etag string
		var err error
		if !lost {
			etag, err = u.s.part(u.ctx, u.key, u.id, number, x)
			u.s.written.Add(int64(len(b)))
		}
		u.s.memory.give(b)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.parts[number-1].ETag, u.sums[number-1] = etag, x.md5
		if gone(err) {
			u.lost = true // the file may be there all the same: Commit looks
		} else if err != nil && u.err == nil {
			u.err = fmt.Errorf("part %d: %w", number, err)
		}
		u.going--
		u.ended.Broadcast()
	}()
	return nil
}

// complete makes an object of the parts, unless there is one.
func (u *upload) complete(ctx context.Context, size int64) error {
	if _, err := u.await(0); err != nil {
		return err
	}
	if !u.lost {
		err := u.s.complete(ctx, u.key, u.id, u.parts)
		if err == nil {
			u.done = true
			return nil
		}
		// The answer to a retry does not say whether it is about the first try.
		if u.lost = gone(err); !u.lost && !taken(err) {
			return err
		}
	}
	err := u.s.same(ctx, u.name, &wanted{size: size, token: u.token, etag: u.etag(), sums: u.sums})
	if u.lost && isAbsent(err) {
		return errors.New("its upload was dropped by another process, such as gc; the same command makes it again")
	}
	return err
}

// etag is what most servers give to the object of these parts.
func (u *upload) etag() string {
	h := md5.New()
	for _, s := range u.sums {
		h.Write(s[:])
	}
	return fmt.Sprintf("%s-%d", hex.EncodeToString(h.Sum(nil)), len(u.sums))
}

// dropPatience is how long it may take to drop an upload: if it fails, gc finds it.
const dropPatience = 10 * time.Second

// drop ends what is being sent, and drops the upload unless it is an object now.
func (u *upload) drop() error {
	u.cancel()
	u.await(0)
	if u.done {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), dropPatience)
	defer cancel()
	return u.s.published(ctx, u.name, u.s.abort(ctx, u.key, u.id))
}
