package cli

import (
	"bytes"
	"context"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/storage/local"
)

// TestRefusalsSayWhatIsMissingAndHowToGoOn: with the path, what was written, and the
// command; the code is 75 for what is full, and only if that is asked for.
func TestRefusalsSayWhatIsMissingAndHowToGoOn(t *testing.T) {
	for _, c := range []struct {
		errno syscall.Errno
		space host.Space
		words []string
		retry int
	}{
		{syscall.ENOSPC, host.Space{Bytes: 0, Inodes: 100}, []string{"file system of /out/.shardify/tmp is full"}, 75},
		{syscall.ENOSPC, host.Space{Bytes: 5 << 30, Inodes: 0}, []string{"no inodes left", "5 GiB"}, 75},
		{syscall.EDQUOT, host.Space{Bytes: 5 << 30, Inodes: 9}, []string{"a quota is used up in /out/.shardify/tmp"}, 75},
		{syscall.EFBIG, host.Space{}, []string{"--shard-size"}, 1},
		{syscall.EMFILE, host.Space{}, []string{"ulimit -n", "--jobs"}, 1},
		{syscall.EROFS, host.Space{}, []string{"read-only"}, 1},
		{syscall.EACCES, host.Space{}, []string{"no right to this in /out/.shardify/tmp"}, 1},
		{syscall.EIO, host.Space{}, nil, 1},
	} {
		err := error(&local.Failure{Path: "/out/.shardify/tmp", Errno: c.errno, Space: c.space, Written: 3 << 20,
			Err: &fs.PathError{Op: "write", Path: "/out/.shardify/tmp/x", Err: c.errno}})
		err = shardify.Annotate(err, "publish", "/out/shard-1.tar", "")
		for retry, want := range map[bool]int{false: 1, true: c.retry} {
			var text bytes.Buffer
			o := &IO{Err: &text, Command: "shardify convert 'a b' -o out", RetryFull: retry}
			if code := o.Report(context.Background(), "shardify", err); code != want {
				t.Errorf("%v: code %d, want %d", c.errno, code, want)
			}
			words := append([]string{"/out/shard-1.tar", c.errno.Error()}, c.words...)
			if c.words != nil {
				words = append(words, "hint: this run has written 3 MiB", "hint: then continue with: shardify convert 'a b' -o out\n")
			}
			for _, w := range words {
				if !strings.Contains(text.String(), w) {
					t.Errorf("%v: no %q in %s", c.errno, w, text.String())
				}
			}
		}
	}
}
