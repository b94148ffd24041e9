package endtoend

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEndToEndSignedAddresses: what signs an address opens it, and is in no file and no message.
func TestEndToEndSignedAddresses(t *testing.T) {
	const secret = "TopSecret9"
	dir := workFolder(t)
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("X-Amz-Signature") != secret {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	inputs, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	if err != nil || len(inputs) == 0 {
		inputs, _ = filepath.Glob(filepath.Join(dir, "*", "*.npz"))
	}
	if len(inputs) == 0 {
		t.Fatal("no inputs")
	}
	name, err := filepath.Rel(dir, inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	address := server.URL + "/" + filepath.ToSlash(name) + "?X-Amz-Date=20260101&X-Amz-Signature=" + secret
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte(address+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"inspect", address}},
		{0, []string{"convert", address, "-o", filepath.Join(out, "one"), "--provenance", "--cache", filepath.Join(out, "cache")}},
		{0, []string{"convert", address, "-o", filepath.Join(out, "one"), "--provenance"}},
		{0, []string{"convert", "--files-from", list, "-o", filepath.Join(out, "two")}},
		{0, []string{"plan", address, "-o", filepath.Join(out, "three")}},
		{0, []string{"status", filepath.Join(out, "one")}},
		{1, []string{"convert", server.URL + "/none.npz?X-Amz-Signature=" + secret, "-o", filepath.Join(out, "four")}},
		{1, []string{"convert", server.URL + "/x.npz?sig=" + secret, "-o", filepath.Join(out, "five")}},
	} {
		cmd := exec.Command(bin+"shardify", c.args...)
		b, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code && (c.code == 0 || code == 0) {
			t.Errorf("%v: %d\n%s", c.args, code, b)
		}
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%v says the secret:\n%s", c.args, b)
		}
	}
	n := 0
	err = filepath.WalkDir(out, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if n++; bytes.Contains(b, []byte(secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return err
	})
	if err != nil || n < 8 {
		t.Errorf("%d files, %v", n, err)
	}
}
