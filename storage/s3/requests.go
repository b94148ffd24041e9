package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// bucket makes the requests by which data sets are published. Each is made again where that
// may help, so those that another writer may have made are conditional.
type bucket struct{ c *client }

const codeNoUpload = "NoSuchUpload"

func (b *bucket) do(ctx context.Context, request func(context.Context, *minio.Core) error) error {
	return b.c.do(ctx, request)
}

// has reports whether a server answered by a status, or by an error of this name.
func has(err error, status int, code string) bool {
	f := failureOf(err)
	return f != nil && (f.status == status || f.code == code)
}

// taken: the condition of a request did not hold.
func taken(err error) bool { return has(err, http.StatusPreconditionFailed, "PreconditionFailed") }

// gone: another process has ended the upload.
func gone(err error) bool { return has(err, 0, codeNoUpload) }

// body is what is sent: its checksums are the same for each try.
type body struct {
	bytes  []byte
	md5    [md5.Size]byte
	sha256 string
}

func (b *bucket) body(p []byte) body {
	x := body{bytes: p, md5: md5.Sum(p)}
	if b.c.endpoint.Scheme != "https" { // TLS guards it, too
		sum := sha256.Sum256(p)
		x.sha256 = hex.EncodeToString(sum[:])
	}
	return x
}

func (x *body) base64() string { return base64.StdEncoding.EncodeToString(x.md5[:]) }

func options(meta map[string]string, condition string) minio.PutObjectOptions {
	o := minio.PutObjectOptions{UserMetadata: meta, DisableContentSha256: true}
	switch condition {
	case "":
	case absent:
		o.SetMatchETagExcept("*")
	default:
		o.SetMatchETag(condition)
	}
	return o
}

// absent is the condition that there is no object of the key; any other is the ETag that it
// has to have.
const absent = "*"

func (b *bucket) put(ctx context.Context, key string, p []byte, meta map[string]string, condition string) error {
	x := b.body(p)
	return b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		_, err := m.PutObject(ctx, b.c.bucket, key, bytes.NewReader(x.bytes), int64(len(p)), x.base64(), x.sha256, options(meta, condition))
		return err
	})
}

func (b *bucket) begin(ctx context.Context, key string, meta map[string]string) (id string, err error) {
	err = b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		id, err = m.NewMultipartUpload(ctx, b.c.bucket, key, options(meta, ""))
		return err
	})
	return id, err
}

func (b *bucket) part(ctx context.Context, key, id string, number int, x body) (etag string, err error) {
	err = b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		p, err := m.PutObjectPart(ctx, b.c.bucket, key, id, number, bytes.NewReader(x.bytes), int64(len(x.bytes)),
			minio.PutObjectPartOptions{Md5Base64: x.base64(), Sha256Hex: x.sha256, DisableContentSha256: true})
		etag = p.ETag
		return err
	})
	return etag, err
}

func (b *bucket) complete(ctx context.Context, key, id string, parts []minio.CompletePart) error {
	return b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		_, err := m.CompleteMultipartUpload(ctx, b.c.bucket, key, id, parts, options(nil, absent))
		return err
	})
}

// abort drops an upload; one that is gone is no error.
func (b *bucket) abort(ctx context.Context, key, id string) error {
	err := b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		return m.AbortMultipartUpload(ctx, b.c.bucket, key, id)
	})
	if has(err, http.StatusNotFound, codeNoUpload) {
		return nil
	}
	return err
}

func (b *bucket) head(ctx context.Context, key string) (info minio.ObjectInfo, err error) {
	err = b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		info, err = m.StatObject(ctx, b.c.bucket, key, minio.StatObjectOptions{})
		return err
	})
	return info, err
}

func (b *bucket) remove(ctx context.Context, key string) error {
	err := b.do(ctx, func(ctx context.Context, m *minio.Core) error {
		return m.RemoveObject(ctx, b.c.bucket, key, minio.RemoveObjectOptions{})
	})
	if has(err, http.StatusNotFound, "NoSuchKey") {
		return nil
	}
	return err
}

// pages of a listing have at most so many keys.
const pageKeys = 1000

// list yields the objects whose keys have a prefix, in the order of their bytes.
func (b *bucket) list(ctx context.Context, prefix string) iter.Seq2[minio.ObjectInfo, error] {
	return func(yield func(minio.ObjectInfo, error) bool) {
		for token := ""; ; {
			page, err := b.c.page(ctx, prefix, token, "", pageKeys)
			if err != nil {
				yield(minio.ObjectInfo{}, err)
				return
			}
			for _, o := range page.Contents {
				if !yield(o, nil) {
					return
				}
			}
			if token = page.NextContinuationToken; !page.IsTruncated || token == "" {
				return
			}
		}
	}
}

// uploads yields those that were started and not ended, of all keys with a prefix. asked is
// the prefix that the request has: some servers find nothing by less than a whole key.
func (b *bucket) uploads(ctx context.Context, prefix, asked string) iter.Seq2[minio.ObjectMultipartInfo, error] {
	return func(yield func(minio.ObjectMultipartInfo, error) bool) {
		for key, id := "", ""; ; {
			var page minio.ListMultipartUploadsResult
			err := b.do(ctx, func(ctx context.Context, m *minio.Core) (err error) {
				page, err = m.ListMultipartUploads(ctx, b.c.bucket, asked, key, id, "", pageKeys)
				return err
			})
			if err != nil {
				yield(minio.ObjectMultipartInfo{}, err)
				return
			}
			for _, u := range page.Uploads {
				if strings.HasPrefix(u.Key, prefix) && !yield(u, nil) {
					return
				}
			}
			if !page.IsTruncated || page.NextKeyMarker == key && page.NextUploadIDMarker == id {
				return
			}
			key, id = page.NextKeyMarker, page.NextUploadIDMarker
		}
	}
}

// uploaded is the bytes of the parts of an upload, as far as a page of them goes.
func (b *bucket) uploaded(ctx context.Context, key, id string) (bytes int64) {
	var page minio.ListObjectPartsResult
	err := b.do(ctx, func(ctx context.Context, m *minio.Core) (err error) {
		page, err = m.ListObjectParts(ctx, b.c.bucket, key, id, 0, pageKeys)
		return err
	})
	if err != nil {
		return 0
	}
	for _, p := range page.ObjectParts {
		bytes += p.Size
	}
	return bytes
}
