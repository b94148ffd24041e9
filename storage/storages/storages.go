// Package storages is the table of storages: whatever has a name of the form
// SCHEME://PLACE is in the storage of that line. Names without a scheme are paths of this
// machine.
//
//	f, err := storages.Files.Open(ctx, "file:///data/a.root")
//	s, err := storages.Open("out", storages.Output{Sync: local.SyncShard})
package storages

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/s3"
	"github.com/shardify/shardify/storage/xrootd"
)

// Storage is a line of the table.
type Storage struct {
	Scheme string // of its names, in small letters
	// Files are its inputs, by their whole addresses. It connects when it is first asked.
	Files storage.FS
	// Store is where data sets are published below an address; nil if that is not
	// supported.
	Store func(address string) (storage.Store, error)
}

// Table has the storages other than that of this machine.
var Table = []Storage{
	{Scheme: "http", Files: web},
	{Scheme: "https", Files: web},
	{Scheme: "root", Files: xrd},
	{Scheme: "roots", Files: xrd},
	{Scheme: "xroot", Files: xrd},
	{Scheme: "xroots", Files: xrd},
	{Scheme: "s3", Files: objects, Store: objects.Store},
	{Scheme: "gs", Files: objects, Store: objects.Store},
}

// keptBytes is how much of what was fetched is kept in memory, by all files of a storage.
const keptBytes = 64 << 20

var (
	web     = http.New(keptBytes)
	xrd     = xrootd.New(keptBytes)
	objects = s3.New(keptBytes)
)

// Schemes are those that names may have.
func Schemes() []string {
	out := []string{"file"}
	for i := range Table {
		out = append(out, Table[i].Scheme)
	}
	return out
}

// find is the line of a name; nil for a path of this machine, which is then its path.
func find(name string) (s *Storage, path string, err error) {
	scheme := storage.Scheme(name)
	switch i := slices.IndexFunc(Table, func(s Storage) bool { return s.Scheme == scheme }); {
	case scheme == "":
		return nil, name, nil
	case scheme == "file":
		return nil, strings.TrimPrefix(name[len("file://"):], "localhost"), nil
	case i >= 0:
		return &Table[i], name, nil
	}
	return nil, name, shardify.Unsupported("no storage has the scheme %s://: there is %s://; fetch it first, with %s", scheme, strings.Join(Schemes(), "://, "), fetches(scheme))
}

// fetchers is what fetches each kind of address.
var fetchers = map[string]string{
	"xrootd": "xrdcp", "davs": "gfal-copy", "dav": "gfal-copy", "gsiftp": "gfal-copy", "srm": "gfal-copy",
	"s3a": "aws s3 sync", "gcs": "gcloud storage rsync",
	"az": "azcopy", "abfs": "azcopy", "abfss": "azcopy", "wasb": "azcopy", "oci": "rclone", "ais": "ais object get", "swift": "rclone",
	"ftp": "wget", "sftp": "sftp or rsync", "ssh": "rsync", "rsync": "rsync",
	"hdfs": "hdfs dfs -get", "hf": "hf download", "globus": "globus transfer", "dvc": "dvc pull",
}

func fetches(scheme string) string {
	if tool := fetchers[scheme]; tool != "" {
		return tool
	}
	return "rclone, which knows most kinds of storage"
}

// Of is where the inputs of a table are: wherever their names say, unless it says
// otherwise.
func Of(t *format.Table) storage.FS {
	if t == nil || t.FS == nil {
		return Files
	}
	return t.FS
}

// Output says how data sets are published.
type Output struct {
	Sync local.Sync // on this machine
}

// Open is where a data set is, or is to be published: a folder, or an address.
func Open(name string, o Output) (storage.Store, error) {
	switch s, path, err := find(name); {
	case err != nil:
		return nil, err
	case s == nil:
		return local.NewDir(path, o.Sync), nil
	case s.Store == nil:
		return nil, shardify.Unsupported("%s: data sets are not published to %s://", name, s.Scheme)
	default:
		return s.Store(name)
	}
}

// Read is a published data set as a store, to be read: nothing can be published in one of a
// storage that is for inputs alone.
func Read(name string) (storage.Store, error) {
	if s, _, err := find(name); err == nil && s != nil && s.Store == nil {
		return storage.ReadOnly(s.Files, name), nil
	}
	return Open(name, Output{Sync: local.SyncShard})
}

// Stream opens what a user names to be read once: also a pipe, or what a shell puts in the
// place of a command.
func Stream(ctx context.Context, name string) (io.ReadCloser, error) {
	if path, ok := storage.Path(Files, name); ok {
		return local.Stream(path)
	}
	f, err := Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, 0, f.Size()), f}, nil
}

// Plain is a name as it may be written down: the path of one of this machine, and an address
// without what signs it, which is remembered until this process ends.
func Plain(name string) string {
	s, path, _ := find(name)
	if s != nil && s.Files == storage.FS(web) {
		return web.Unsigned(path)
	}
	return path
}

// Arguments are those of a command as they may be written down: without what signs addresses.
func Arguments(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		flag, value, ok := strings.Cut(a, "=")
		if !ok || !strings.HasPrefix(flag, "-") || strings.Contains(flag, "://") {
			flag, value = "", a
		} else {
			flag += "="
		}
		if s, _, _ := find(value); s != nil {
			value = Plain(value)
		}
		out[i] = flag + value
	}
	return out
}

// Local reports whether a name is a path of this machine.
func Local(name string) bool {
	s, _, err := find(name)
	return s == nil && err == nil
}
