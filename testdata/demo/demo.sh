#!/bin/sh
# make demo: real images, arrays, HDF5 and ROOT files through the whole of shardify.
set -eu
cd "$(dirname "$0")/../.."
work=build/demo
rm -rf "$work"
mkdir -p "$work"

bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "1. Real input: 1,797 handwritten digits, as a folder of PNG images and as an NPZ"
CGO_ENABLED=0 go run ./testdata/demo testdata/demo/digits.npz "$work/digits"
cp testdata/demo/digits.npz "$work/digits.npz"

say "2. Look before you convert"
run bin/shardify inspect "$work/digits.npz"

say "3. Images -> WebDataset shards"
run bin/shardify convert "$work/digits" -o "$work/images-wds"

say "4. Arrays -> mmap shards (safetensors)"
run bin/shardify convert "$work/digits.npz" -o "$work/arrays-mmap"

say "5. And the other way round: images -> mmap, arrays -> WebDataset"
run bin/shardify convert "$work/digits" -o "$work/images-mmap" --format mmap --quiet
run bin/shardify convert "$work/digits.npz" -o "$work/arrays-wds" --format wds --quiet

say "6. HDF5 -> mmap: the same digits, written by h5py"
for f in digits.h5 digits.zarr.zip calo.hdf5 digits.parquet digits.csv digits.jsonl digits.feather digits.db digits.txt HZZ.root; do cp "testdata/demo/$f" "$work/"; done
run bin/shardify inspect "$work/digits.h5"
run bin/shardify convert "$work/digits.h5" -o "$work/hdf5-mmap"

say "   Parquet -> WebDataset: the same as Hugging Face stores images"
run bin/shardify inspect "$work/digits.parquet"
run bin/shardify convert "$work/digits.parquet" -o "$work/parquet-wds"

say "7. ROOT -> mmap: 2,421 collision events with jagged particles"
run bin/shardify inspect "$work/HZZ.root"
run bin/shardify convert "$work/HZZ.root:events" -o "$work/root-mmap"

say "8. Verify every byte, and the values against the source"
run bin/verify "$work/images-wds" --against "$work/digits"
run bin/verify "$work/arrays-mmap" --against "$work/digits.npz"
run bin/verify "$work/hdf5-mmap" --against "$work/digits.h5"
run bin/verify "$work/parquet-wds" --against "$work/digits.parquet"
run bin/verify "$work/root-mmap" --against "$work/HZZ.root:events"
run bin/verify "$work/images-mmap"
run bin/verify "$work/arrays-wds"

say "9. One sample"
run bin/shardify inspect "$work/images-wds" --sample 42

say "10. Read them back in Python"
if sh python/venv.sh build/venv >"$work/venv.log" 2>&1; then
	run env PYTHONPATH=python build/venv/bin/python testdata/demo/read.py "$work"
else
	echo "skipped: $(tail -1 "$work/venv.log")"
fi

say "11. Train on the shards; killed in the middle of an epoch, the run goes on where it was"
if [ ! -x build/venv/bin/python ]; then
	echo "skipped: there is no Python with numpy"
elif ! sh python/pylib.sh "$work/_shardify.so" >"$work/library.log" 2>&1; then
	echo "skipped: $(tail -1 "$work/library.log")"
else
	run env PYTHONPATH=python SHARDIFY_LIBRARY="$PWD/$work/_shardify.so" build/venv/bin/python testdata/demo/train.py "$work/arrays-mmap"
fi

say "Done. Try next:"
cat <<END
  bin/shardify inspect YOUR_FILE_OR_FOLDER     what is in it, with the convert line to paste; --stats reads the data too
  bin/shardify convert YOUR_FOLDER -o OUT --split train=0.9,val=0.1 --shuffle global
                                               then: bin/verify OUT
  bin/shardify bench OUT/train --step-ms 20    whether this storage feeds a model with steps of 20 ms
  README.md, docs/tutorials/quickstart.md      from a folder to a training loop
END
