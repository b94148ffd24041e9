// Package servertest starts servers of object stores for tests. They are not part of the
// repository: make servers builds them, and tests that want them skip where they are absent.
package servertest

import (
	"context"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// Key and Secret are what the servers want.
	Key    = "testkey"
	Secret = "testsecret-of-servers" // see Key
)

// S3 starts versitygw or minio with an empty bucket, named data, and sets the variables of
// AWS's tools to it until the test ends. Other variables and files that they would read are
// taken away. It is an address of http.
func S3(t testing.TB, program string) string {
	t.Helper()
	path := find(t, program)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "buckets", "data"), 0o777); err != nil {
		t.Fatal(err)
	}
	args := []string{"server", "--quiet", "--address", address, "--console-address", "127.0.0.1:0", filepath.Join(dir, "buckets")}
	if program == "versitygw" {
		args = []string{"--port", address, "--access", Key, "--secret", Secret, "--keep-alive", "--quiet", "posix", filepath.Join(dir, "buckets")}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+Key, "MINIO_ROOT_PASSWORD="+Secret)
	if err := cmd.Start(); err != nil {
		t.Skipf("%s does not start: %v", program, err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		// minio listens before it can answer, which it says with 503.
		a, err := http.Get("http://" + address + "/minio/health/ready")
		if err == nil {
			a.Body.Close()
		}
		if err == nil && a.StatusCode != http.StatusServiceUnavailable {
			break
		}
		select {
		case err := <-done:
			done <- err
			b, _ := os.ReadFile(log.Name())
			t.Skipf("%s ended: %v\n%s", program, err, b)
		default:
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%s does not answer", program)
		}
	}
	Alone(t)
	t.Setenv("AWS_ACCESS_KEY_ID", Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	t.Setenv("AWS_ENDPOINT_URL", "http://"+address)
	return "http://" + address
}

// Upload puts the files of a folder into the bucket of S3, below a prefix.
func Upload(t testing.TB, dir, prefix string) {
	t.Helper()
	c, err := minio.New(strings.TrimPrefix(os.Getenv("AWS_ENDPOINT_URL"), "http://"), &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			_, err = c.FPutObject(context.Background(), "data", prefix+"/"+filepath.ToSlash(name), path, minio.PutObjectOptions{DisableContentSha256: true})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Alone takes away what AWS's tools find on this machine, until the test ends.
func Alone(t testing.TB) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "S3_ENDPOINT_URL", "AWS_CA_BUNDLE", "AWS_NO_SIGN_REQUEST", "AWS_VIRTUAL_HOSTING",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_EC2_METADATA_DISABLED",
	} {
		t.Setenv(name, "")
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
}

// find is a program in the folder of SHARDIFY_SERVERS, in that of make servers, or in PATH.
func find(t testing.TB, program string) string {
	t.Helper()
	folders := []string{os.Getenv("SHARDIFY_SERVERS")}
	for dir, _ := os.Getwd(); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			folders = append(folders, filepath.Join(dir, "build", "servers"))
			break
		}
	}
	for _, dir := range folders {
		if path := filepath.Join(dir, program); dir != "" {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("no %s: make servers builds it (SHARDIFY_SERVERS names its folder)", program)
	}
	return path
}
