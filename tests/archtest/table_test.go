package archtest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// layer is one layer of packages. Everything that its packages reach, also through others, is in
// the layers that it names, or in itself.
type layer struct {
	name    string
	reaches string // layers, joined by commas
	what    string
}

const onDisk = "base, storage, vocabulary, helpers, on disk"

var layers = []layer{
	{"base", "", "small tools that know nothing of data sets"},
	{"storage", "base", ""},
	{"vocabulary", "base, storage", "batches, errors, memory; and what formats declare, spans, types that all packages share: fields"},
	{"helpers", "base, storage, vocabulary", "and the storages there are, what readers share"},
	{"on disk", "base, storage, vocabulary, helpers", "and the one reader of our own shards, our bytes on disk"},
	{"readers", onDisk, "one package for each input format"},
	{"writers", onDisk, "one package for each output format"},
	{"transforms", "base, storage, vocabulary, helpers", "changes of samples"},
	{"plans", onDisk, "planning from metadata, and carrying a plan out; gets readers, writers and transforms from its caller"},
	{"transform", onDisk + ", transforms, plans", "the table of operations: --where, --define and the others"},
	{"tables", onDisk + ", readers, writers", "the tables of formats"},
	{"loader", onDisk + ", transforms", "from shards to the trainer; reaches no reader, no writer and no plan"},
	{"questions", onDisk + ", readers, writers, transforms, plans, transform, tables", "what a user may want of a conversion: its settings, and a package for each question"},
	{"application", onDisk + ", readers, writers, transforms, plans, transform, tables, questions, loader", "what commands do, as calls"},
	{"commands", onDisk + ", readers, writers, transforms, plans, transform, tables, questions, loader, application", "flags and printing, and the library for Python"},
	{"tests", "*", "suites and their tools; only tests and other suites import them"},
}

// row is a package: its layer, and what of ours it imports.
type row struct{ name, layer, imports string }

// table has every package. An import that is not in it is refused, and so is a line
// about one that is gone.
var table = []row{
	{"numbers/elementary", "base", ""},
	{"tests/fakecuda", "base", ""},
	{"readers/internal/flatbuf", "base", ""},
	{"numbers/half", "base", ""},
	{"internal/host", "base", ""},
	{"codecs/inflate", "base", ""},
	{"internal/openfiles", "base", ""},
	{"codecs/crc32c", "base", ""},
	{"pipeline/inspect/page", "base", "internal/printable"},
	{"internal/minisign", "base", ""},
	{"internal/poison", "base", ""},
	{"internal/printable", "base", ""},
	{"internal/stall", "base", ""},
	{"internal/suggest", "base", ""},
	{"codecs/varint", "base", ""},
	{"internal/version", "base", ""},
	{"storage", "storage", ""},
	{"storage/filemap", "storage", ""},
	{"storage/local/dirfd", "storage", ""},
	{"shardify", "vocabulary", "internal/poison"},
	{"format", "vocabulary", "internal/printable shardify storage verify/problem"},
	{"verify/problem", "vocabulary", "shardify"},
	{"readers/internal/cf", "helpers", "shardify"},
	{"readers/internal/chunks", "helpers", "format internal/columns readers/internal/grid readers/internal/rows/set shardify"},
	{"codecs", "helpers", "internal/guard shardify"},
	{"codecs/protowire", "helpers", "shardify"},
	{"internal/columns", "helpers", "format internal/printable internal/suggest shardify"},
	{"readers/internal/dims", "helpers", ""},
	{"images/exif", "helpers", ""},
	{"internal/filekind", "helpers", "format images/exif images/png internal/glance shardify"},
	{"internal/glance", "helpers", "shardify"},
	{"codecs/filter", "helpers", "codecs codecs/inflate shardify"},
	{"readers/internal/grid", "helpers", "format internal/numeric numbers/elementary readers/internal/cf shardify"},
	{"internal/guard", "helpers", "shardify"},
	{"images/jpeg", "helpers", "shardify"},
	{"readers/internal/lines", "helpers", "codecs/inflate format internal/printable readers/internal/rows/set readers/internal/rows/survey readers/made shardify storage"},
	{"internal/key", "helpers", "internal/numeric shardify"},
	{"internal/numeric", "helpers", "numbers/half shardify"},
	{"images/moves", "helpers", "shardify"},
	{"images/png", "helpers", "codecs/inflate shardify"},
	{"images/resize", "helpers", "images/jpeg numbers/elementary shardify"},
	{"readers/internal/rows", "helpers", "format internal/printable shardify storage"},
	{"readers/internal/rows/coltype", "helpers", "format internal/numeric shardify"},
	{"readers/internal/rows/set", "helpers", "format internal/numeric internal/openfiles readers/internal/grid readers/internal/rows readers/internal/rows/coltype shardify storage storage/storages"},
	{"readers/internal/rows/survey", "helpers", "format internal/columns internal/printable readers/internal/grid readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set shardify storage storage/storages"},
	{"readers/internal/rows/sampleaxis", "helpers", "format readers/internal/rows/set shardify"},
	{"dataset/pass", "helpers", "shardify"},
	{"dataset/stats", "helpers", "dataset/pass images/jpeg internal/guard internal/numeric numbers/half shardify"},
	{"tokenize", "helpers", "internal/printable shardify tokenize/chars tokenize/model tokenize/normal tokenize/pattern tokenize/split tokenize/trie"},
	{"tokenize/chars", "base", ""},
	{"tokenize/model", "base", "tokenize/trie"},
	{"tokenize/normal", "helpers", "shardify tokenize/chars tokenize/trie"},
	{"tokenize/pattern", "base", "tokenize/chars"},
	{"tokenize/split", "base", "tokenize/chars tokenize/model tokenize/pattern tokenize/trie"},
	{"tokenize/trie", "base", ""},
	{"codecs/sound", "helpers", "codecs/voxels shardify"},
	{"codecs/npy", "helpers", "codecs/voxels internal/numeric shardify"},
	{"codecs/nifti", "helpers", "codecs/inflate codecs/voxels shardify"},
	{"codecs/tensorproto", "helpers", "codecs/protowire shardify"},
	{"codecs/voxels", "helpers", "shardify"},
	{"internal/value", "helpers", "shardify"},
	{"storage/walk", "helpers", "format internal/filekind shardify storage storage/folders storage/local storage/local/dirfd storage/storages storage/zips"},
	{"storage/zips", "helpers", "codecs/inflate shardify storage"},
	{"storage/folders", "helpers", "storage storage/local/dirfd"},
	{"storage/http", "helpers", "internal/version shardify storage storage/remote"},
	{"storage/local", "helpers", "internal/host shardify storage storage/local/dirfd"},
	{"storage/memory", "helpers", "shardify storage"},
	{"storage/cache", "helpers", "codecs/crc32c storage"},
	{"storage/remote", "helpers", "shardify storage storage/cache"},
	{"storage/s3", "helpers", "internal/version shardify storage storage/http storage/local storage/remote"},
	{"storage/storages", "helpers", "format shardify storage storage/cache storage/http storage/local storage/remote storage/s3 storage/xrootd storage/zips"},
	{"storage/xrootd", "helpers", "codecs/crc32c shardify storage storage/http storage/remote"},
	{"readers/internal/lists", "helpers", "format shardify"},
	{"dataset", "on disk", "format index index/mds index/megatron index/npy index/tar internal/columns internal/printable shardify storage storage/local storage/storages storage/walk"},
	{"dataset/diff", "on disk", "dataset/pass dataset/proof format internal/printable pipeline/inspect/page shardify"},
	{"dataset/proof", "on disk", "format index shardify"},
	{"index", "on disk", "codecs/crc32c format shardify storage"},
	{"index/npy", "on disk", "shardify"},
	{"index/view", "on disk", "format index internal/printable shardify"},
	{"index/megatron", "on disk", "index shardify"},
	{"index/tar", "on disk", "format index/npy shardify"},
	{"stage", "on disk", "dataset format index internal/host internal/stall shardify storage storage/local storage/storages"},
	{"readers/internal/labels", "readers", "codecs/varint format index internal/columns internal/key internal/numeric readers/csv readers/internal/coco readers/jsonl readers/parquet readers/star shardify storage storage/local storage/walk"},
	{"index/tfrecord", "on disk", "codecs/crc32c codecs/inflate codecs/protowire shardify"},
	{"readers/tfrecord", "readers", "codecs/inflate dataset format index/tfrecord internal/columns internal/filekind internal/numeric numbers/half readers/internal/lines readers/internal/rows readers/internal/rows/set readers/internal/rows/survey readers/tfrecord/schema shardify storage storage/storages"},
	{"readers/tfrecord/schema", "readers", "format index/tfrecord internal/filekind shardify"},
	{"writers/tfrecord", "writers", "format index index/arrayrecord index/tfrecord internal/numeric numbers/half shardify storage verify/problem writers/shard"},
	{"index/arrow", "on disk", ""},
	{"index/arrayrecord", "on disk", "shardify"},
	{"writers/shard", "writers", "format index index/tar shardify storage"},
	{"writers/table", "writers", "format index index/arrow shardify storage"},
	{"writers/arrow", "writers", "format index index/arrow internal/numeric shardify storage verify/problem writers/shard writers/table"},
	{"writers/parquet", "writers", "format index/arrow shardify storage verify/problem writers/shard writers/table"},
	{"index/mds", "on disk", "format index shardify"},
	{"readers/arrow", "readers", "codecs dataset format internal/columns internal/numeric readers/internal/flatbuf readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/csv", "readers", "format internal/columns internal/numeric readers/internal/lines readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/internal/tars", "readers", "format index/tar shardify storage storage/storages storage/walk"},
	{"readers/internal/pairs", "readers", "format internal/printable readers/internal/exts readers/internal/labels readers/internal/sketch readers/internal/tars shardify storage/walk"},
	{"readers/files", "readers", "format internal/columns internal/filekind internal/printable readers/internal/exts readers/internal/labels readers/internal/pairs readers/internal/tars shardify storage storage/folders storage/local/dirfd storage/storages storage/walk tokenize/chars"},
	{"readers/hdf5", "readers", "format index internal/columns readers/hdf5/internal/array readers/hdf5/internal/column readers/hdf5/internal/element readers/hdf5/internal/h5 readers/hdf5/internal/look readers/hdf5/internal/naming readers/hdf5/internal/tree readers/internal/anndata readers/internal/chunks readers/internal/grid readers/internal/labels readers/internal/lists readers/internal/rows readers/internal/rows/sampleaxis readers/internal/rows/set readers/internal/rows/survey shardify storage storage/local storage/storages"},
	{"readers/hdf5/internal/array", "readers", "codecs/filter readers/hdf5/internal/dataset readers/hdf5/internal/datatype readers/hdf5/internal/h5 readers/hdf5/internal/heap readers/hdf5/internal/meta readers/internal/grid readers/internal/rows shardify storage"},
	{"readers/hdf5/internal/btree", "readers", "readers/hdf5/internal/meta shardify"},
	{"readers/hdf5/internal/column", "readers", "format readers/hdf5/internal/array readers/hdf5/internal/datatype readers/hdf5/internal/element readers/hdf5/internal/h5 readers/hdf5/internal/heap readers/hdf5/internal/naming readers/hdf5/internal/pandas readers/internal/cf readers/internal/lists readers/internal/rows/survey shardify storage"},
	{"readers/hdf5/internal/dataset", "readers", "readers/hdf5/internal/btree readers/hdf5/internal/datatype readers/hdf5/internal/heap readers/hdf5/internal/meta shardify"},
	{"readers/hdf5/internal/datatype", "readers", "readers/hdf5/internal/meta"},
	{"readers/hdf5/internal/element", "readers", "readers/hdf5/internal/datatype readers/hdf5/internal/h5 readers/hdf5/internal/heap readers/hdf5/internal/naming readers/hdf5/internal/number readers/internal/cf shardify"},
	{"readers/hdf5/internal/h5", "readers", "readers/hdf5/internal/btree readers/hdf5/internal/dataset readers/hdf5/internal/datatype readers/hdf5/internal/heap readers/hdf5/internal/meta shardify"},
	{"readers/hdf5/internal/heap", "readers", "codecs codecs/inflate readers/hdf5/internal/btree readers/hdf5/internal/meta shardify"},
	{"readers/hdf5/internal/look", "readers", "format internal/columns internal/printable readers/hdf5/internal/array readers/hdf5/internal/column readers/hdf5/internal/dataset readers/hdf5/internal/datatype readers/hdf5/internal/element readers/hdf5/internal/h5 readers/hdf5/internal/meta readers/hdf5/internal/naming readers/hdf5/internal/tree readers/internal/cf readers/internal/chunks readers/internal/dims readers/internal/grid readers/internal/lists readers/internal/rows/sampleaxis readers/internal/rows/set readers/internal/rows/survey shardify"},
	{"readers/hdf5/internal/meta", "readers", "codecs shardify"},
	{"readers/hdf5/internal/naming", "readers", ""},
	{"readers/hdf5/internal/number", "readers", "shardify"},
	{"readers/hdf5/internal/pandas", "readers", "format readers/hdf5/internal/element readers/hdf5/internal/h5 shardify"},
	{"readers/jsonl", "readers", "format index internal/columns internal/numeric internal/printable readers/internal/lines readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey readers/made shardify storage storage/storages"},
	{"readers/mmap", "readers", "dataset format index index/view shardify storage storage/storages"},
	{"readers/fits", "readers", "codecs/hdu codecs/readat format internal/columns readers/internal/arrayfile readers/internal/labels readers/internal/rows readers/internal/rows/sampleaxis readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"codecs/readat", "helpers", "codecs/inflate shardify"},
	{"codecs/hdu", "helpers", "codecs/inflate codecs/readat codecs/voxels format shardify"},
	{"readers/mat", "readers", "codecs/mat5 format readers/internal/arrays readers/internal/arrays/node readers/internal/arrays/store readers/internal/grid readers/internal/lists readers/internal/rows/sampleaxis readers/internal/rows/survey shardify storage"},
	{"codecs/mat5", "helpers", "codecs/inflate codecs/readat codecs/voxels shardify"},
	{"readers/dicom", "readers", "codecs/dcm codecs/voxels format readers/internal/arrayfile readers/internal/labels readers/internal/rows/sampleaxis shardify"},
	{"codecs/dcm", "helpers", "codecs/inflate codecs/readat codecs/voxels images/jpeg shardify"},
	{"readers/mds", "readers", "dataset format index index/mds internal/columns readers/internal/rows readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/megatron", "readers", "dataset format index index/megatron internal/columns readers/internal/rows readers/internal/rows/sampleaxis readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/netcdf3", "readers", "format readers/internal/arrays readers/internal/arrays/node readers/internal/arrays/store readers/internal/grid readers/internal/lists readers/internal/rows/sampleaxis readers/internal/rows/survey readers/netcdf3/internal/cdf shardify storage"},
	{"readers/netcdf3/internal/cdf", "readers", "readers/internal/cf shardify"},
	{"readers/nifti", "readers", "codecs/nifti codecs/voxels format readers/internal/arrayfile readers/internal/labels readers/internal/rows/sampleaxis shardify"},
	{"readers/mrc", "readers", "codecs/mrc format readers/internal/arrayfile readers/internal/labels readers/internal/rows/sampleaxis shardify"},
	{"codecs/mrc", "helpers", "shardify"},
	{"readers/wav", "readers", "codecs/readat codecs/sound format readers/internal/arrayfile readers/internal/labels shardify"},
	{"readers/internal/arrayfile", "readers", "codecs/inflate codecs/readat codecs/varint codecs/voxels format internal/columns readers/internal/labels readers/internal/pairs readers/internal/rows readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/npz", "readers", "codecs/npy format internal/columns readers/internal/labels readers/internal/pairs readers/internal/rows readers/internal/rows/coltype readers/internal/rows/sampleaxis readers/internal/rows/survey readers/npz/internal/members shardify storage storage/local storage/storages storage/zips"},
	{"readers/npz/internal/members", "readers", "codecs/inflate codecs/npy format shardify storage storage/zips"},
	{"readers/parquet", "readers", "dataset format internal/columns readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey readers/parquet/internal/page readers/parquet/internal/pq shardify storage storage/storages"},
	{"readers/parquet/internal/page", "readers", "codecs codecs/inflate internal/guard internal/numeric readers/parquet/internal/pq shardify"},
	{"readers/parquet/internal/pq", "readers", "internal/guard readers/internal/flatbuf shardify"},
	{"readers/root", "readers", "format internal/columns internal/numeric readers/internal/rows readers/internal/rows/set readers/internal/rows/survey readers/root/internal/entries readers/root/internal/rfile readers/root/internal/rntuple readers/root/internal/ttree shardify storage storage/storages"},
	{"readers/root/internal/block", "readers", "codecs codecs/inflate shardify"},
	{"readers/root/internal/entries", "readers", "format internal/numeric readers/root/internal/rfile readers/root/internal/ttree readers/root/internal/wire shardify"},
	{"readers/root/internal/rfile", "readers", "readers/root/internal/block shardify storage"},
	{"readers/root/internal/rntuple", "readers", "format internal/numeric readers/root/internal/block shardify"},
	{"readers/root/internal/ttree", "readers", "readers/root/internal/block readers/root/internal/rfile shardify"},
	{"readers/root/internal/wire", "readers", "shardify"},
	{"readers/sqlite", "readers", "format internal/columns internal/guard readers/ase readers/internal/lines readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey readers/made readers/xyz shardify storage storage/storages"},
	{"readers/synth", "readers", "format shardify"},
	{"readers/tar", "readers", "codecs/inflate codecs/varint dataset format index index/npy index/tar internal/guard shardify storage storage/storages"},
	{"readers/text", "readers", "format internal/columns internal/printable readers/internal/lines readers/internal/rows readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/wds", "readers", "dataset format index index/tar shardify storage storage/storages"},
	{"readers/zarr", "readers", "format readers/internal/anndata readers/internal/arrays readers/internal/arrays/store readers/internal/grid readers/internal/lists readers/internal/rows/sampleaxis readers/internal/rows/survey"},
	{"readers/internal/arrays", "readers", "format internal/columns internal/openfiles readers/internal/anndata readers/internal/arrays/attrs readers/internal/arrays/node readers/internal/arrays/shelf readers/internal/arrays/store readers/internal/cf readers/internal/chunks readers/internal/dims readers/internal/grid readers/internal/lists readers/internal/rows readers/internal/rows/sampleaxis readers/internal/rows/set readers/internal/rows/survey shardify storage storage/storages"},
	{"readers/internal/arrays/store", "readers", "format readers/internal/arrays/node readers/internal/rows shardify storage"},
	{"readers/internal/arrays/node", "readers", "codecs codecs/crc32c codecs/filter codecs/inflate internal/numeric numbers/half shardify"},
	{"readers/internal/arrays/attrs", "readers", "readers/internal/cf shardify"},
	{"readers/internal/arrays/shelf", "readers", "shardify"},
	{"writers/mds", "writers", "format index index/tar shardify storage storage/local verify/problem"},
	{"writers/megatron", "writers", "format index index/megatron shardify storage verify/problem"},
	{"writers/mmap", "writers", "dataset format index shardify storage storage/local verify/problem"},
	{"writers/wds", "writers", "dataset format index index/npy index/tar shardify storage verify/problem"},
	{"augment", "transforms", "format images/exif images/jpeg images/moves images/png images/resize internal/filekind internal/guard internal/numeric numbers/elementary numbers/half shardify transform/op"},
	{"transform/expr", "transforms", "format internal/guard internal/key internal/numeric internal/suggest numbers/elementary shardify"},
	{"transform/sequence", "transforms", "shardify storage storage/local transform/op"},
	{"plan", "plans", "codecs/varint format index internal/value plan/splits shardify storage storage/local"},
	{"convert", "plans", "convert/flow convert/shuffle dataset dataset/proof format index index/tar internal/host internal/stall plan plan/splits shardify storage storage/local storage/storages"},
	{"convert/flow", "plans", "convert/flow/route format index internal/numeric plan plan/splits shardify storage"},
	{"convert/shuffle", "plans", "format index internal/openfiles shardify storage"},
	{"transform", "transform", "augment convert/flow format internal/columns internal/printable internal/suggest plan plan/splits shardify storage transform/annotations transform/cast transform/codes transform/condition transform/expr transform/fields transform/lists transform/op transform/samples transform/sequence transform/tables"},
	{"readers", "tables", "dataset format index internal/printable readers/arrow readers/csv readers/dicom readers/files readers/fits readers/hdf5 readers/internal/grid readers/internal/labels readers/internal/tars readers/jsonl readers/lmdb readers/mat readers/mds readers/megatron readers/mmap readers/mrc readers/mtx readers/netcdf3 readers/nifti readers/npz readers/parquet readers/root readers/sqlite readers/star readers/synth readers/tar readers/text readers/tfrecord readers/wav readers/wds readers/xyz readers/zarr shardify storage storage/local storage/storages storage/walk storage/zips"},
	{"writers", "tables", "format shardify writers/arrow writers/mds writers/megatron writers/mmap writers/parquet writers/tfrecord writers/wds"},
	{"gpuload", "loader", "dataset format gpuload/internal/cost gpuload/internal/device gpuload/internal/load gpuload/internal/tier gpuload/internal/trace gpuload/order index index/view internal/host internal/poison internal/printable shardify stage storage/storages"},
	{"gpuload/internal/cuda", "loader", "gpuload/order shardify"},
	{"gpuload/internal/device", "loader", "gpuload/internal/load gpuload/order index internal/host shardify"},
	{"gpuload/internal/images", "loader", "augment images/jpeg images/moves images/png images/resize internal/guard numbers/elementary numbers/half shardify"},
	{"gpuload/internal/trace", "loader", ""},
	{"gpuload/internal/cost", "loader", "dataset shardify"},
	{"gpuload/internal/load", "loader", "dataset gpuload/internal/cost gpuload/internal/memory gpuload/internal/trace index index/megatron index/tar index/view numbers/half shardify storage storage/filemap"},
	{"gpuload/internal/memory", "loader", "internal/host shardify"},
	{"gpuload/internal/tier", "loader", "gpuload/internal/device gpuload/internal/load gpuload/internal/trace gpuload/order index shardify"},
	{"gpuload/order", "loader", ""},
	{"gpuload/internal/sparse", "loader", "gpuload/internal/load numbers/elementary shardify"},
	{"pipeline/cluster", "application", "index internal/host internal/printable internal/suggest plan shardify storage storage/local storage/storages"},
	{"pipeline/driver", "application", "internal/host internal/printable pipeline/cluster shardify"},
	{"pipeline/queues", "application", "internal/printable pipeline/cluster plan"},
	{"pipeline/inspect", "application", "augment convert/flow dataset dataset/stats format index index/npy internal/filekind internal/glance internal/printable numbers/half pipeline/inspect/page pipeline/internal/propose plan plan/splits plan/splits/column readers shardify storage storage/local storage/storages storage/walk tokenize writers"},
	{"pipeline/internal/blend", "application", "dataset index index/megatron shardify storage storage/local"},
	{"pipeline/internal/sets", "application", "convert/flow dataset dataset/pass dataset/proof format index internal/numeric internal/printable internal/stall numbers/half plan readers shardify storage storage/local storage/storages transform/condition transform/op verify writers"},
	{"cmd/internal/trainer", "application", "gpuload internal/printable pipeline/inspect/page shardify"},
	{"pipeline", "application", "convert convert/flow dataset dataset/diff dataset/stats format index internal/filekind internal/host internal/printable internal/stall internal/value pipeline/cluster pipeline/inspect pipeline/internal/blend pipeline/internal/propose pipeline/internal/sets pipeline/queues pipeline/settings plan plan/splits questions questions/ask readers shardify stage storage storage/local storage/storages storage/walk transform verify writers"},
	{"view", "application", "augment codecs/sound dataset dataset/pass dataset/stats format gpuload index internal/numeric internal/printable pipeline pipeline/inspect pipeline/inspect/page readers shardify transform/expr"},
	{"verify", "application", "convert convert/flow dataset format index index/tar internal/host internal/minisign internal/printable plan questions questions/ask readers shardify storage storage/local storage/memory storage/storages verify/problem writers"},
	{"bench/delay", "tests", "tests/netfault"},
	{"bench/floor", "commands", "codecs/crc32c codecs/inflate"},
	{"bench/licences", "commands", ""},
	{"bench/opentime", "commands", "format plan readers shardify"},
	{"cmd/shardify", "commands", "cmd/internal/benchcmd cmd/internal/cli cmd/internal/verifycmd convert internal/host internal/printable internal/value internal/version pipeline pipeline/cluster pipeline/driver pipeline/inspect pipeline/queues readers shardify storage/cache storage/storages verify view writers"},
	{"cmd/shardify-gpu", "commands", "cmd/internal/benchcmd cmd/internal/cli cmd/internal/trainer gpuload internal/printable internal/version shardify"},
	{"cmd/verify", "commands", "cmd/internal/cli cmd/internal/verifycmd internal/version"},
	{"gpuload/capi", "commands", "convert dataset format gpuload gpuload/internal/device gpuload/internal/images gpuload/internal/sparse gpuload/order index pipeline pipeline/settings readers shardify storage storage/storages writers"},
	{"cmd/internal/benchcmd", "commands", "cmd/internal/cli cmd/internal/trainer dataset gpuload index internal/printable internal/value shardify storage/local"},
	{"cmd/internal/cli", "commands", "augment convert dataset dataset/stats format index internal/printable internal/suggest internal/value pipeline pipeline/cluster pipeline/inspect pipeline/settings plan plan/splits readers shardify stage storage storage/local storage/storages tokenize transform transform/expr writers"},
	{"cmd/internal/verifycmd", "commands", "cmd/internal/cli internal/printable internal/value pipeline shardify verify"},
	{"bench", "tests", ""},
	{"bench/libraries", "tests", ""},
	{"tests/archtest", "tests", ""},
	{"tests/corpus", "tests", ""},
	{"tests/docstest", "tests", ""},
	{"tests/endtoend", "tests", ""},
	{"tests/faulttest", "tests", ""},
	{"tests/parttest", "tests", ""},
	{"tests/rivals", "tests", ""},
	{"tests/programs", "tests", ""},
	{"tests/netfault", "tests", ""},
	{"tests/race", "tests", ""},
	{"tests/busy", "tests", ""},
	{"tests/servertest", "tests", "tests/busy"},
	{"index/megatron/megatrontest", "tests", "index/megatron shardify"},
	{"readers/internal/rows/rowstest", "tests", "format internal/columns readers/internal/rows/set readers/internal/rows/survey shardify"},
	{"readers/internal/arrayfile/arrayfiletest", "tests", "format readers/readertest shardify tests/corpus"},
	{"readers/readertest", "tests", "format shardify tests/race"},
	{"storage/fault", "tests", "storage"},
	{"storage/s3/s3test", "tests", ""},
	{"storage/storagetest", "tests", "shardify storage storage/memory storage/storages"},
	{"transform/transformtest", "tests", "format readers/synth shardify tests/race"},
	{"writers/writertest", "tests", "format index shardify storage storage/fault storage/local storage/memory verify/problem"},
	{"pipeline/settings", "questions", "augment convert format index internal/suggest internal/value plan plan/splits readers shardify storage storage/local storage/storages transform writers"},
	{"questions", "questions", "format index plan questions/ask questions/group questions/operations questions/split questions/static questions/window shardify storage transform"},
	{"questions/ask", "questions", "convert/flow format index pipeline/settings plan readers shardify storage transform"},
	{"questions/group", "questions", "format internal/key internal/value plan questions/ask questions/group/rows questions/internal/table readers shardify storage"},
	{"questions/group/rows", "questions", "codecs/varint convert/shuffle format internal/key internal/numeric plan shardify storage storage/local"},
	{"questions/internal/table", "questions", "format internal/key pipeline/settings plan questions/ask questions/group/rows readers shardify storage storage/local"},
	{"questions/operations", "questions", "convert/flow format index internal/glance internal/key internal/printable pipeline/settings plan questions/ask questions/internal/table shardify storage storage/local storage/storages tokenize transform transform/annotations transform/codes transform/fields transform/tables"},
	{"questions/split", "questions", "format index internal/key internal/printable internal/suggest internal/value pipeline/settings plan plan/splits plan/splits/column questions/ask readers shardify storage storage/storages storage/walk transform transform/expr"},
	{"questions/static", "questions", "dataset format index internal/key internal/printable internal/value plan questions/ask readers shardify storage storage/memory storage/storages writers"},
	{"questions/window", "questions", "codecs/varint convert/flow dataset format index index/view internal/key internal/printable internal/value pipeline/settings plan plan/splits questions/ask shardify storage writers"},
	{"plan/splits", "plans", "format index internal/value plan/splits/conditions shardify storage/walk"},
	{"transform/op", "transforms", "format internal/suggest shardify storage"},
	{"transform/cast", "transforms", "internal/numeric numbers/half shardify transform/op"},
	{"transform/codes", "transforms", "format shardify tokenize transform/op"},
	{"transform/fields", "transforms", "format shardify transform/cast transform/expr transform/op"},
	{"transform/lists", "transforms", "format numbers/half shardify transform/cast transform/op"},
	{"transform/samples", "transforms", "format shardify storage storage/local transform/condition transform/op"},
	{"transform/tables", "transforms", "internal/key shardify transform/cast transform/op"},
	{"readers/hdf5/internal/tree", "readers", "format internal/columns readers/hdf5/internal/array readers/hdf5/internal/column readers/hdf5/internal/dataset readers/hdf5/internal/datatype readers/hdf5/internal/element readers/hdf5/internal/h5 readers/hdf5/internal/heap readers/hdf5/internal/meta readers/hdf5/internal/naming readers/hdf5/internal/pandas readers/internal/dims readers/internal/grid readers/internal/lists readers/internal/rows/sampleaxis shardify storage"},
	{"plan/splits/conditions", "plans", "shardify"},
	{"plan/splits/column", "plans", "internal/key internal/numeric shardify"},
	{"convert/flow/route", "plans", "format plan plan/splits plan/splits/column shardify"},
	{"transform/condition", "transforms", "shardify transform/expr transform/op"},
	{"transform/annotations", "transforms", "codecs/nifti codecs/npy codecs/sound codecs/tensorproto codecs/voxels format internal/numeric shardify transform/codes transform/op"},
	{"pipeline/internal/propose", "application", "codecs/nifti codecs/npy format internal/filekind internal/glance internal/printable plan/splits readers readers/jsonl shardify storage storage/storages storage/walk"},
	{"readers/internal/coco", "readers", "format internal/key internal/numeric readers/jsonl shardify storage"},
	{"readers/internal/exts", "readers", "format shardify"},
	{"readers/internal/sketch", "readers", ""},
	{"readers/mtx", "readers", "format readers/internal/anndata readers/internal/lines readers/internal/rows readers/internal/rows/survey readers/mtx/internal/market shardify storage storage/storages"},
	{"readers/mtx/internal/market", "readers", "readers/internal/lines shardify storage"},
	{"readers/lmdb", "readers", "format internal/columns internal/filekind readers/ase readers/internal/lines readers/internal/rows readers/internal/rows/set readers/internal/rows/survey readers/jsonl readers/lmdb/entries readers/lmdb/mdb readers/lmdb/msgpack readers/lmdb/values readers/made readers/xyz shardify storage storage/storages"},
	{"readers/lmdb/entries", "readers", "format readers/lmdb/mdb shardify"},
	{"readers/lmdb/values", "readers", "codecs/inflate codecs/protowire internal/filekind readers/lmdb/msgpack shardify"},
	{"readers/lmdb/mdb", "readers", "shardify"},
	{"readers/lmdb/msgpack", "readers", ""},
	{"readers/ase", "readers", "format shardify"},
	{"readers/made", "vocabulary", "format shardify storage"},
	{"readers/star", "readers", "codecs/mrc codecs/readat codecs/voxels format internal/columns readers/internal/rows readers/internal/rows/survey readers/jsonl readers/made shardify storage storage/storages"},
	{"readers/xyz", "readers", "format internal/columns internal/numeric readers/internal/lines readers/internal/rows readers/internal/rows/coltype readers/internal/rows/set readers/internal/rows/survey readers/made readers/xyz/internal/frame shardify storage storage/storages"},
	{"readers/xyz/internal/frame", "readers", "internal/numeric shardify"},
	{"readers/internal/anndata", "readers", "format internal/columns internal/printable readers/internal/rows readers/internal/rows/set readers/internal/rows/survey shardify storage storage/local storage/storages"},
}

func rowOf(name string) *row {
	if i := slices.IndexFunc(table, func(r row) bool { return r.name == name }); i >= 0 {
		return &table[i]
	}
	return nil
}

func layerOf(name string) *layer {
	if i := slices.IndexFunc(layers, func(l layer) bool { return l.name == name }); i >= 0 {
		return &layers[i]
	}
	return nil
}

// may reports whether packages of the layer may reach those of another.
func (l *layer) may(other string) bool {
	return l.name == other || l.reaches == "*" || slices.Contains(strings.Split(l.reaches, ", "), other)
}

// short is the name of one of our packages, "" for others.
func short(path string) string {
	if path == module {
		return "shardify"
	}
	name, ours := strings.CutPrefix(path, module+"/")
	if !ours {
		return ""
	}
	return name
}

// ours are the short names of those of our packages that are among paths.
func ours(paths []string) (out []string) {
	for _, p := range paths {
		if s := short(p); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// TestImportsFollowTheTable: each package has a line, imports what it says there, and
// reaches, also through others, only layers that its own may reach.
func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range list(t) {
		name := short(p.ImportPath)
		r := rowOf(name)
		if r == nil {
			t.Errorf("%s has no line in the table of tests/archtest/table_test.go", name)
			continue
		}
		l, may := layerOf(r.layer), strings.Fields(r.imports)
		if l == nil {
			t.Errorf("%s: no layer %q", name, r.layer)
			continue
		}
		for _, imp := range ours(p.Imports) {
			if !slices.Contains(may, imp) {
				t.Errorf("%s imports %s, which its line does not have", name, imp)
			}
		}
		for _, dep := range ours(p.Deps) {
			if d := rowOf(dep); d != nil && !l.may(d.layer) {
				t.Errorf("%s (%s) reaches %s (%s)", name, r.layer, dep, d.layer)
			}
		}
	}
}

// TestTheTableIsUpToDate: no line is about a package or an import that is gone.
func TestTheTableIsUpToDate(t *testing.T) {
	all := map[string][]string{}
	for _, p := range list(t) {
		all[short(p.ImportPath)] = ours(p.Imports)
	}
	for _, r := range table {
		imports, ok := all[r.name]
		if !ok {
			t.Errorf("there is no package %s", r.name)
		}
		for _, imp := range strings.Fields(r.imports) {
			if ok && !slices.Contains(imports, imp) {
				t.Errorf("%s no longer imports %s", r.name, imp)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table into ARCHITECTURE.md")

// TestArchitectureHasTheTable: ARCHITECTURE.md shows it, with what doc.go says first.
func TestArchitectureHasTheTable(t *testing.T) {
	const file, begin, end = "../../ARCHITECTURE.md", "<!-- packages: go test ./tests/archtest -update -->\n", "<!-- end of packages -->\n"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	was, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table: %s", file, begin)
	}
	is := printed(t)
	if was == is {
		return
	}
	if !*update {
		t.Fatalf("%s has another table of packages than tests/archtest: go test ./tests/archtest -run Architecture -update", file)
	}
	if err := os.WriteFile(file, []byte(head+begin+is+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printed is the table as text.
func printed(t *testing.T) string {
	docs := map[string]string{}
	for _, p := range list(t) {
		docs[short(p.ImportPath)] = synopsis(p.Doc)
	}
	var b strings.Builder
	for _, l := range layers {
		fmt.Fprintf(&b, "\n**%s**: %s.", l.name, l.what)
		if l.reaches != "" && l.reaches != "*" {
			fmt.Fprintf(&b, " May reach: %s.", l.reaches)
		}
		b.WriteString("\n\n| package | what it is | imports of ours |\n|---|---|---|\n")
		for _, r := range table {
			if r.layer == l.name {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.name, docs[r.name], strings.ReplaceAll(r.imports, " ", ", "))
			}
		}
	}
	return b.String() + "\n"
}

// synopsis is the first sentence of a package's documentation, without its first words.
func synopsis(doc string) string {
	words := strings.Fields(doc)
	if len(words) < 3 {
		return ""
	}
	if words[0] == "Package" || words[0] == "Command" {
		words = words[2:]
	}
	return strings.ReplaceAll(strings.TrimSuffix(strings.Join(words, " "), "."), "|", "\\|")
}
