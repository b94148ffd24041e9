// Package readers is the table of input formats, and the choice among them.
//
//	f, why, err := readers.Choose(ctx, nil, "", inputs)
//	in, err := readers.Open(ctx, f, readers.Request{Inputs: inputs, Options: options})
//	defer in.Source.Close()
package readers

import (
	"maps"
	"slices"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/arrow"
	"github.com/shardify/shardify/readers/csv"
	"github.com/shardify/shardify/readers/dicom"
	"github.com/shardify/shardify/readers/files"
	"github.com/shardify/shardify/readers/fits"
	"github.com/shardify/shardify/readers/hdf5"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/readers/lmdb"
	"github.com/shardify/shardify/readers/mat"
	"github.com/shardify/shardify/readers/mds"
	"github.com/shardify/shardify/readers/megatron"
	"github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/readers/mrc"
	"github.com/shardify/shardify/readers/mtx"
	"github.com/shardify/shardify/readers/netcdf3"
	"github.com/shardify/shardify/readers/nifti"
	"github.com/shardify/shardify/readers/npz"
	"github.com/shardify/shardify/readers/parquet"
	"github.com/shardify/shardify/readers/root"
	"github.com/shardify/shardify/readers/sqlite"
	"github.com/shardify/shardify/readers/star"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/readers/tar"
	"github.com/shardify/shardify/readers/text"
	"github.com/shardify/shardify/readers/tfrecord"
	"github.com/shardify/shardify/readers/wav"
	"github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/readers/xyz"
	"github.com/shardify/shardify/readers/zarr"
)

// Formats is every input format. The first whose Sniff says yes is chosen, so
// what takes most comes last.
var Formats = []format.Input{npz.Format, mat.Format, fits.Format, dicom.Format, hdf5.Format, netcdf3.Format, nifti.Format, mrc.Format, wav.Format, root.Format, parquet.Format, arrow.Format, sqlite.Format, lmdb.Format, zarr.Format, mmap.Format, wds.Format, mds.Format, tfrecord.Format, megatron.Format, tar.Format, mtx.Format, csv.Format, jsonl.Format, star.Format, xyz.Format, files.Format, text.Format, synth.Format}

// CutTable separates the name of a table beside the inputs from its own options, FILE[ KEY=VALUE]...
func CutTable(text string) (name string, own []string) {
	all := make([]*format.Input, len(Formats))
	for i := range all {
		all[i] = &Formats[i]
	}
	return format.CutTable(text, all)
}

// Lookup finds a format by its name, or by what other tools call it.
func Lookup(name string) (format.Input, bool) {
	i := slices.IndexFunc(Formats, func(f format.Input) bool { return f.Name == name || slices.Contains(f.Words, name) })
	if i < 0 {
		return format.Input{}, false
	}
	return Formats[i], true
}

// OfAnyKind is the format that takes files of any kind, as bytes.
func OfAnyKind() format.Input { return files.Format }

// WantsBytes is the option given for files of a format that only the format of files of any kind has, so that
// it is the one that is meant; "" if none is given.
func WantsBytes(f *format.Input, given format.Options) string {
	joins := slices.ContainsFunc(f.Options, func(o format.Option) bool { return o.Name == "key" })
	for _, name := range slices.Sorted(maps.Keys(given)) {
		has := func(o format.Option) bool { return o.Name == name }
		i := slices.IndexFunc(files.Format.Options, has)
		if i < 0 {
			continue
		}
		table := name == "labels" && !slices.Contains([]string{labels.Auto, labels.Never, labels.Always}, given[name])
		if files.Format.Options[i].Decides || f.Bytes && (!slices.ContainsFunc(f.Options, has) || table && (!joins || given[name] == labels.Beside)) {
			return name
		}
	}
	return ""
}

// Names lists the formats.
func Names() []string {
	var out []string
	for i := range Formats {
		out = append(out, Formats[i].Name)
	}
	return out
}
