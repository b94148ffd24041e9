// Package programs builds our programs for tests: once for all packages and runs, as long as
// the sources are the same.
//
//	err := programs.Build("../..", dir, []string{"CGO_ENABLED=0"}, "./cmd/shardify", "./cmd/verify")
package programs

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Build builds packages of the module at root, with variables added to the environment, and
// puts the programs into the folder dir. Arguments that begin with - go to go build.
// The linker's results are kept in the user's cache, where go build finds out by itself that
// nothing has changed.
func Build(root, dir string, env []string, args ...string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	kept, err := folder(root, env, args)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(kept+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	// As the Makefile does, so that packages are compiled once for both.
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-o", kept + string(filepath.Separator)}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	entries, err := os.ReadDir(kept)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// A copy, as the one that is kept may be built again meanwhile.
		if err := Copy(filepath.Join(kept, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// folder is where the programs of one way of building are kept.
func folder(root string, env, args []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	key := fmt.Sprintf("%q %q %q %s", root, env, args, os.Getenv("GOFLAGS"))
	dir := filepath.Join(cache, "shardify-tests", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:16])
	return dir, os.MkdirAll(dir, 0o777)
}

// Copy copies a file, a program too, into a folder that it makes.
func Copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o777)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// Tree makes files with these texts, by their slash paths, in a new folder and returns that.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
