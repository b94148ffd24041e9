package host

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestQuotaTables: what several versions of the commands print.
func TestQuotaTables(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct {
		name, text, device string
		want               []Quota
	}{
		{"lfs with headings", `Disk quotas for usr bob (uid 500):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
    /mnt/testfs  307200       0  409600       -       1   10000   11000       -
`, "", []Quota{{"x", 100 * m, 10999}}},
		{"lfs -q, older", "      /scratch 2097152* 1048576 3145728 6d23h59m57s    4123       0       0       -\n", "", []Quota{{"x", 1024 * m, -1}}},
		{"lfs -q, a long name", "/lustre/a/very/long/mount/point\n                1048576  2097152       0       -  100*      50     100 expired\n", "", []Quota{{"x", 1024 * m, 0}}},
		{"lfs -q, newer, defaults", "          /home1  3632  104857600  105906176       -      62  307200  312320       -\nuid 375879 is using default block quota setting\nuid 375879 is using default file quota setting\n", "", []Quota{{"x", (105906176 - 3632) << 10, 312320 - 62}}},
		{"lfs -q, a target is away", "        /lustre   [1024]       0    2048       -    [12]       0       0       -\nSome errors happened when getting quota info. Some devices may be not working or deactivated. The data in \"[]\" is inaccurate.\n", "", []Quota{{"x", m, -1}}},
		{"lfs, no limits", "              .  6202327       0       0       -   51652       0       0       -\n", "", []Quota{{"x", -1, -1}}},
		{"lfs, over the limit", " /scratch 4096*  1024  2048  none  1  0  0  -\n", "", []Quota{{"x", 0, -1}}},
		{"quota -w -p, several file systems", `Disk quotas for user ann (uid 7): 
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sda1   20480       0       0       0      12       0       0       0
nfs:/export/home  20480*  10240   30720  604800     900       0    1000       0
`, "nfs:/export/home", []Quota{{"x", 10 * m, 100}}},
		{"quota of several groups", `Disk quotas for group staff (gid 50): 
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
            dev       1       0       2       0       1       0       0       0
Disk quotas for group lab (gid 7): 
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
            dev    1024       0    2048       0       1       0       0       0
`, "dev", []Quota{{"x", m, -1}}},
		{"quota, none", "Disk quotas for user root (uid 0): none\n", "dev", nil},
		{"an error", "Cannot resolve path \"/x\": No such file or directory (2).\nquota failed for /x\n", "", nil},
		{"sizes for people", " /scratch 4k 2T 2.1T - 1 0 0 -\n", "", nil},
		{"rubbish", "1 2 3 4 5 6 7 8\n\x00\n - - - - - - - - -\n99999999999999999999 1 1 - 1 1 1 - 1", "", nil},
	} {
		if got := parseQuotas(c.text, "x", c.device, 7); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestQuotasAskTheCommandOfTheFileSystem: with the ids that new files will have, and
// commands that fail, or hang, are as good as none.
func TestQuotasAskTheCommandOfTheFileSystem(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	command := func(name, script string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	command("lfs", `case "$*" in
"project -d `+dir+`") echo "   41 P `+dir+`";;
"quota -q -u `+fmt.Sprint(os.Getuid())+` `+dir+`") echo " `+dir+` 1 0 0 - 1 0 0 -";;
"quota -q -p 41 `+dir+`") echo "`+dir+`"; echo "  1024 0 2048 - 5 0 7 -"; exit 1;;
*) echo "$*" >&2; exit 2;;
esac`)
	if got, want := quotas(dir, lfsCommand), []Quota{{"project 41", 1 << 20, 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	command("quota", `[ "$3" = -u ] && echo "Disk quotas for user x (uid `+fmt.Sprint(os.Getuid())+`):" && echo "`+deviceOf(dir)+` 1024 0 2048 0 1 0 0 0"`)
	if got, want := quotas(dir, quotaCommand), []Quota{{fmt.Sprintf("user %d", os.Getuid()), 1 << 20, -1}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := quotas(dir, nobody); got != nil {
		t.Errorf("a file system without quotas: %+v", got)
	}
	command("quota", "sleep 60 & sleep 60")
	quotaPatience = 200 * time.Millisecond
	t.Cleanup(func() { quotaPatience = 3 * time.Second })
	start := time.Now()
	if s := ask("quota"); s != "" || time.Since(start) > 30*time.Second {
		t.Errorf("a command that hangs: %q after %v", s, time.Since(start))
	}
	if s := ask("no-such-command-" + strings.Repeat("x", 5)); s != "" {
		t.Errorf("no command: %q", s)
	}
}

func FuzzQuotaTable(f *testing.F) {
	f.Add("Disk quotas for user x (uid 7):\n a 1 2 3 - 4 5 6 -\n", "a")
	f.Add("/long\n [1]* 2 3 - 4 5 6 -\n", "")
	f.Fuzz(func(t *testing.T, text, device string) {
		for _, q := range parseQuotas(text, "x", device, 7) {
			if q.Bytes < -1 || q.Inodes < -1 {
				t.Errorf("%+v", q)
			}
		}
	})
}

// TestSpaceCountsInodes: a file system with few says so.
func TestSpaceCountsInodes(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("shardify-test", dir, "tmpfs", 0, "size=1m,nr_inodes=10"); err != nil {
		t.Skip("mount needs rights that are not there: ", err)
	}
	defer unix.Unmount(dir, 0)
	if s := SpaceOf(filepath.Join(dir, "a/b")); s.Bytes != 1<<20 || s.Inodes < 1 || s.Inodes > 10 {
		t.Errorf("%+v", s)
	}
}
