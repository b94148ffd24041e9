package pipeline

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// room is what may be written to a folder: by its file system, and by the quotas of the
// user, the group and the project.
type room struct {
	dir    string
	space  host.Space
	quotas []host.Quota
}

// look asks the file system of a folder, and the quotas.
func look(dir string) room {
	r := room{dir: dir, space: spaceOf(dir)}
	if storages.Local(dir) {
		r.quotas = host.Quotas(dir)
	}
	return r
}

// spaceOf returns the space that is certain: storages that are not file systems do not report it.
func spaceOf(dir string) host.Space {
	if !storages.Local(dir) {
		return host.Space{Bytes: -1, Inodes: -1}
	}
	return host.SpaceOf(dir)
}

// need is what a conversion writes to a folder: its bytes, their purpose, and how many files.
type need struct {
	what          string
	bytes, inodes int64
	beside        int64 // bytes of scratch files in the same place
}

// fits returns an error with everything a folder lacks for a need.
func (r *room) fits(n need) error {
	var lacks []string
	lack := func(who, what string, has, wants int64, write func(int64) string) {
		if has >= 0 && wants > has {
			lacks = append(lacks, fmt.Sprintf("%s has %s%s, %s too few", who, write(has), what, write(wants-has)))
		}
	}
	bytes := n.bytes + n.beside
	lack(r.dir, " free", r.space.Bytes, bytes, shardify.FormatSize)
	lack(r.dir, " inodes free", r.space.Inodes, n.inodes, printable.Count)
	for _, q := range r.quotas {
		lack("the quota of "+q.Of, " left", q.Bytes, bytes, shardify.FormatSize)
		lack("the quota of "+q.Of, " inodes left", q.Inodes, n.inodes, printable.Count)
	}
	if lacks == nil {
		return nil
	}
	return fmt.Errorf("%s needs about %s%s and %s in %s: %s", n.what, shardify.FormatSize(n.bytes), beside(n.beside), printable.Of(n.inodes, "inode"), r.dir, strings.Join(lacks, "; "))
}

func beside(scratch int64) string {
	if scratch == 0 {
		return ""
	}
	return ", up to " + shardify.FormatSize(scratch) + " of scratch files (less with fewer --jobs or a smaller --shard-size)"
}

// lines describes the quotas.
func (r *room) lines() (out []string) {
	for _, q := range r.quotas {
		var left []string
		if q.Bytes >= 0 {
			left = append(left, shardify.FormatSize(q.Bytes))
		}
		if q.Inodes >= 0 {
			left = append(left, printable.Of(q.Inodes, "inode"))
		}
		out = append(out, q.Of+": "+strings.Join(left, " and ")+" left")
	}
	return out
}

// space compares what is planned with what may be written.
func space(s *Settings, p *Prepared) error {
	if p.State == StateComplete {
		return nil
	}
	out := need{what: "the output", bytes: p.Plan.Pack.OutputBytes, inodes: p.inodes()}
	if s.MaxOutput > 0 && out.bytes > s.MaxOutput {
		return shardify.Hint(fmt.Errorf("the output would take about %s, --max-output is %s", shardify.FormatSize(out.bytes), shardify.FormatSize(s.MaxOutput)), p.Shrink()...)
	}
	if storages.Local(p.Output) { // others do not report their free space
		bytes, files := published(p.Store)
		out.bytes, out.inodes = out.bytes-bytes, max(out.inodes-files, 0)
	}
	scratch := need{what: "the making of shards", bytes: plan.Scratch(p.Plan, p.Job.Sink, p.Jobs)}
	fragments := need{what: "the shuffle", bytes: plan.ShuffleBytes(p.Plan), inodes: int64(2 * len(p.Plan.Pack.Shards))}
	if c, ok := p.Job.Source.(format.Collector); ok && c.CollectBytes() > 0 {
		fragments.what, fragments.bytes, fragments.inodes = "the collecting of rows", fragments.bytes+c.CollectBytes(), fragments.inodes+int64(p.Jobs)
	}
	if p.Local == "" {
		out.beside = scratch.bytes
	} else {
		scratch.bytes += min(p.Plan.Pack.OutputBytes, p.Plan.Pack.OutputBytes/int64(max(p.Plan.Outputs(), 1))*int64(p.Jobs)) // shards that are being written
	}
	switch fragmentsIn := p.fragmentsAt(); {
	case fragments.bytes == 0:
	case fragmentsIn == p.Local:
		scratch.bytes += fragments.bytes
	case fragmentsIn == p.Output:
		out.beside += fragments.bytes
	default:
		at := look(fragmentsIn)
		if err := at.fits(fragments); err != nil {
			return shardify.Hint(err, "choose another folder for it: --scratch FOLDER")
		}
	}
	if err := p.room.fits(out); err != nil {
		return shardify.Hint(err, append(p.Shrink(), "or choose another folder: -o FOLDER")...)
	}
	if p.Local != "" {
		at := look(p.Local)
		if err := at.fits(scratch); err != nil {
			return shardify.Hint(err, "fewer --jobs or a smaller --shard-size need less; without --scratch shards are made in the output folder")
		}
	}
	return nil
}

// inodes estimates how many files and folders the output takes: each shard with its index and
// receipt, and for each unit at work a file that is being written.
func (p *Prepared) inodes() int64 {
	const beside = 32 // plan, manifest, what other loaders want, folders
	shards := int64(p.Plan.Outputs()) * int64(max(len(p.Plan.Splits.Names()), 1))
	return 2*shards + shards/4000 + int64(len(p.Plan.Pack.Shards)) + 2*int64(p.Jobs) + beside
}

// published is the bytes and files that are there already.
func published(s storage.Store) (bytes, files int64) {
	for f, err := range s.List("") {
		if err != nil {
			return bytes, files
		}
		bytes, files = bytes+f.Size, files+1
	}
	return bytes, files
}
