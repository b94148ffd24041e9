// Package wds writes WebDataset shards: one tar per shard in the form that
// webdataset, wids, Megatron-Energon, DALI and Hugging Face datasets read alike,
// an offset index beside it, and for the whole set the files that wids and
// Energon open. docs/reference/format.md section 4 states the bytes, package index encodes
// them.
//
//	sink, err := wds.Format.New(store, spec)
//	err = sink.Write(batch)
//	shard, err := sink.Commit(ctx)
package wds

import (
	"fmt"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: index.FormatWDS, Words: []string{"webdataset", "tar", "tars"},
	Help: "WebDataset: one tar of samples per shard, for files and images",
	Ext:  ".tar",
	Options: []format.Option{
		{Name: "dali", Idle: format.Always, Kind: format.KindBool, Default: "false", Help: "write an index for NVIDIA DALI beside every shard"},
	},
	Check:       check,
	SampleBytes: sampleBytes,
	KeyRule:     keyRule,
	Members: func(schema []shardify.Field, _ format.Options) (map[string]string, error) {
		return tar.MemberNames(schema)
	},
	Frame:  frame,
	New:    newSink,
	Finish: finish, FinishSplits: finishSplits,
	Owns:    owns,
	Move:    move,
	Verify:  verify,
	Rebuild: rebuild,
	Lint:    &linter,
	Hint:    hint,
}

// owns: the index of a shard for us and for DALI, and what wids and Energon open.
func owns(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "shard-") && strings.HasSuffix(base, tar.IndexExt) || name == widsName || strings.HasPrefix(name, energonFolder)
}

func hint(folder string, quote func(string) string) string {
	return "python3 -c " + quote(fmt.Sprintf("import shardify; ds = shardify.open(%q); print(len(ds), ds[0])", folder))
}

// maxPlans bounds the orders of members that images of varying type can have.
const maxPlans = 1 << 16

func check(schema []shardify.Field, keyed bool, _ format.Options) error {
	members, err := tar.Members(schema)
	if err != nil {
		return shardify.Annotate(err, "write wds", "", "")
	}
	plans := 1
	for i := range members {
		m := &members[i]
		for _, name := range m.Names() {
			if n := tar.RowKeyBytes + 1 + len(name); !keyed && n > tar.MaxName {
				return shardify.Annotate(shardify.Mismatch("member %s gives names of %d bytes, a tar holds %d: rename the field", name, n, tar.MaxName),
					"write wds", "", "")
			}
		}
		if m.Kind == tar.MemberImage {
			plans *= len(m.Exts)
		}
		if plans > maxPlans {
			return shardify.Annotate(shardify.Unsupported("image fields of %d combinations of types", plans), "write wds", "", "")
		}
	}
	return nil
}

// keyRule is tar.CheckKey; a dot and one of the members follow the key.
func keyRule(schema []shardify.Field, _ format.Options) (memberMax int, check func([]byte) error) {
	members, err := tar.Members(schema)
	if err != nil {
		return 0, func([]byte) error { return err }
	}
	for i := range members {
		for _, name := range members[i].Names() {
			memberMax = max(memberMax, len(name))
		}
	}
	return memberMax, tar.CheckKey
}

// sampleBytes counts a header block per member, the NumPy headers, and half a
// block of filler where the length varies.
func sampleBytes(schema []shardify.Field, _ bool) (fixed int64, factor float64) {
	members, err := tar.Members(schema)
	if err != nil {
		return 0, 1
	}
	for i := range members {
		m := &members[i]
		f := &schema[m.Field]
		fixed += tar.Block
		size := int64(f.ElemBytes())
		switch m.Kind {
		case tar.MemberClass:
			fixed += tar.Block - size
			continue
		case tar.MemberNPY:
			h := npy.NewHeader(f)
			fixed += int64(h.Len())
			if f.Levels == 0 {
				fixed += tar.Pad(int64(h.Len()) + size)
				continue
			}
		}
		fixed += tar.Block / 2
		for _, c := range []int{m.Shape, m.Ext} { // companions are not written
			if c >= 0 {
				fixed -= int64(schema[c].ElemBytes())
			}
		}
	}
	return fixed, 1
}
