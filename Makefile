# shardify. `make demo` builds and shows the main job on real data, `make test`
# runs the quick tests; `make help` lists the rest.

GOBUILD  = CGO_ENABLED=0 go build -trimpath -ldflags "-s -w"
PROGRAMS = bin/shardify bin/verify bin/shardify-gpu
VENV     = build/venv
PYTHON  ?= $(VENV)/bin/python
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# All that is compiled here, also by scripts and tests, is compiled in one way, and so once.
# Nobody reads the tables for debuggers: programs are stripped. Releases have no such flags.
# The compiler collects no garbage below 1 GiB, which takes a quarter less time. Bytes are the same.
ONE_WAY      = -trimpath -gcflags=all=-dwarf=false '-toolexec=env GOGC=off GOMEMLIMIT=1GiB'
USERS_FLAGS := $(shell go env GOFLAGS 2>/dev/null)
export GOFLAGS = $(filter-out $(ONE_WAY),$(USERS_FLAGS)) $(ONE_WAY)
dist wheel release: ONE_WAY =

.PHONY: help build licences demo test test-go test-plain test-race test-programs test-long test-python test-arm64 pylib test-peers servers lint fuzz mutate mutants crash faults netfaults objects cache slurm scale bench bench-against bench-loader bench-stream bench-science bench-budget bench-remote bench-augment bench-tables bench-records bench-labels science-table bench-cells bench-atoms bench-tokens bench-grids bench-libraries bench-binary bench-limits house pictures site golden golden-bytes dist wheel release clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: $(PROGRAMS) ## build bin/shardify and bin/verify (static), and bin/shardify-gpu

bin/%: FORCE
	@mkdir -p bin
	$(GOBUILD) -o $@ ./cmd/$*

# What opens the CUDA driver is linked dynamically. It needs neither CUDA nor a GPU to
# be built, nor a C library of a certain age to run.
bin/shardify-gpu: FORCE
	@mkdir -p bin
	$(GOBUILD) -tags cuda -o $@ ./cmd/shardify-gpu

FORCE:

demo: build ## convert real images and arrays, verify them, read them back
	@sh testdata/demo/demo.sh

# Tests write their files in memory where there is room: that takes half the system time, and
# waits for no disk. TMPDIR, if it is set, decides.
SCRATCH := $(or $(TMPDIR),$(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 6*1024*1024 { print "/dev/shm" }'),/tmp)
test test-go test-plain test-race test-programs test-python: export TMPDIR = $(SCRATCH)

# The parts run at the same time: each waits a good deal, for disks, processes and clocks.
# Two idle cores take 7 minutes, and more when everything has to be compiled first.
test: build ## the quick tests (8 minutes on two cores); what is skipped is named with a reason
	@$(MAKE) --no-print-directory -j 4 --output-sync=target test-python test-programs test-plain test-race

test-go: test-programs test-plain test-race

# go vet is part of make lint. Tests that hang end after TIMEOUT, which leaves room for machines
# that do other things, too.
TIMEOUT ?= 20m
# Linked without the table of symbols, which debuggers read, a test program takes a third less time.
STRIPPED = -s -w
GOTEST   = go test -vet=off -timeout $(TIMEOUT) -ldflags "$(STRIPPED)"
PROGRAM_TESTS = tests/faulttest|tests/docstest|tests/endtoend|tests/archtest

# Reads of released memory are found. -race does so by itself.
POISON = -ldflags "$(STRIPPED) -X github.com/shardify/shardify/internal/poison.on=yes"

# -race finds what goroutines do to each other. The packages whose tests import tests/race are tested
# so; what computes one thing after the other calls race.Sequential. All tests run without -race, too.
RACE = $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | sed -n 's| .*/tests/race\b.*||p')

# As the programs are built, so that packages are compiled once for both.
test-plain test-programs: export CGO_ENABLED = 0

test-plain:
	@mkdir -p build
	@$(GOTEST) $(POISON) -v $$(go list ./... | grep -vE '$(PROGRAM_TESTS)|gpuload/capi') >build/test.log 2>&1; code=$$?; awk "$$TOLD" build/test.log; exit $$code
	$(GOTEST) $(POISON) -tags cuda -run 'Device|Driver' ./gpuload # the device path, on a stand-in for the driver
	$(GOTEST) $(POISON) -tags cuda ./cmd/shardify-gpu

# What go test -v prints: all of a package that failed, and what corpus tests left out.
export define TOLD
/^=== / { corpus = $$3 ~ /Corpus/; next }
/^ *--- PASS/ { next }
/^(ok|FAIL|\?) *\t/ { if ($$1 != "?") print ($$1 == "ok" ? left : all) $$0; all = left = ""; next }
{ all = all $$0 "\n"; if (corpus && /^ +[a-z_]+_test\.go:/) left = left $$0 "\n" }
END { printf "%s", all }
endef

# Without it each program waits a second at its end. A race is reported when it is seen.
test-race: export GORACE := $(GORACE) atexit_sleep_ms=0

test-race:
	$(GOTEST) -race -short $(RACE)
	$(GOTEST) -race -short -tags cuda -run 'Device|Driver' ./gpuload

# tests/archtest reads the sources: make lint runs it.
test-programs:
	$(GOTEST) $$(go list ./... | grep -E '$(PROGRAM_TESTS)' | grep -v archtest)

# What has a long form has a short one in make test.
test-long: build ## the long forms of all tests that have one (hours)
	SHARDIFY_LONG=1 go test -count=1 -timeout 6h ./...
	SHARDIFY_LONG=1 go test -count=1 -timeout 6h -tags cuda -run 'Device|Driver' ./gpuload
	go test -race -count=1 -timeout 6h $$(go list ./... | grep -vE '$(PROGRAM_TESTS)')
	go test -race -count=1 -timeout 6h -tags cuda -run 'Device|Driver' ./gpuload
	go test -race -count=1 -timeout 6h -tags cuda ./cmd/shardify-gpu

# What looks at processes, traces them or opens libraries of the system is left out: the
# emulator's are not those of such a machine. The bytes of both kinds of processor are compared by make test.
test-arm64: ## the Go tests as programs for arm64 with pages of 64 KiB, by qemu (Debian: qemu-user-static)
	GOARCH=arm64 CGO_ENABLED=0 QEMU_PAGESIZE=65536 go test -exec "$$(command -v qemu-aarch64 || command -v qemu-aarch64-static)" \
		$$(go list ./... | grep -vE '$(PROGRAM_TESTS)|archtest|cmd/|pipeline/cluster|gpuload/capi|gpuload/internal/cuda')

# The library behind shardify.Loader, for this machine. Wheels have one of their own
# for each kind of machine.
pylib: ## python/shardify/_shardify.so, which shardify.Loader loads (needs a C compiler)
	@sh python/pylib.sh

# The Python package is tested in a virtual environment of its own, made on the
# first run. Where there is no python3 the tests are skipped.
test-python: build
	@sh python/test.sh $(VENV)

test-peers: build ## webdataset, wids, safetensors, datasets, Energon, tar read what we write; h5py, zarr, xarray, xbatcher, uproot, pandas, polars and sqlite3, torchvision and pycocotools agree on what we read, tokenizers, sentencepiece and tiktoken on ids
	@sh python/pylib.sh || true # without it the peers of the loader say that they are skipped
	python3 python/tests/peers/run.py --shardify bin/shardify --work build/peers

# tests/servertest starts what is here. minio takes five minutes of a processor.
SERVERS ?= versitygw minio
servers: $(SERVERS:%=build/servers/%) ## build/servers: object stores that the tests of s3:// start (from the Go proxy; once, 10 min)

build/servers/versitygw: MODULE = github.com/versity/versitygw/cmd/versitygw@v1.8.0
build/servers/minio: MODULE = github.com/minio/minio@latest
build/servers/%:
	@mkdir -p build/servers
	GOBIN=$(CURDIR)/build/servers GOFLAGS= CGO_ENABLED=0 go install $(MODULE)

lint: ## gofmt, go vet, staticcheck, import rules, a build for macOS
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }
	go vet ./...
	go vet -tags cuda ./gpuload/... ./cmd/shardify-gpu
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build ./... # README says that it builds there
	go run $(STATICCHECK) ./...
	$(GOTEST) ./tests/archtest

FUZZTIME ?= 60s
fuzz: ## run every fuzz target for FUZZTIME each
	@sh bench/fuzz.sh $(FUZZTIME)

MUTATIONS ?= 1000000
mutate: ## MUTATIONS damaged inputs through every parser
	SHARDIFY_LONG=1 SHARDIFY_MUTATIONS=$(MUTATIONS) go test -count=1 -timeout 4h -v -run 'Mutat' ./readers/... ./index/... ./verify/... ./codecs/inflate/... ./codecs/filter ./tokenize ./images/jpeg ./images/png

MUTANTS ?= 100000
mutants: ## whole conversions of MUTANTS damaged inputs of every format and of sets of every output (10 min)
	SHARDIFY_LONG=1 SHARDIFY_MUTATIONS=$(MUTANTS) go test -count=1 -timeout 4h -v -run 'MutatedInputsLose' ./readers

crash: build ## kill a conversion at each of its state-changing system calls (Linux, amd64)
	SHARDIFY_LONG=1 go test -count=1 -timeout 2h -v -run Crash ./tests/faulttest

# kill, power, errno, space, limits, damaged, writers, tasks, parts, objects; several as a|b
FAULTS ?= .
faults: build ## break conversions in every way of docs/design/reliability.md, with counts (Linux, amd64, root; 1 h); FAULTS=power runs one suite
	SHARDIFY_LONG=1 go test -count=1 -timeout 4h -v -run 'TestFaults/($(FAULTS))' ./tests/faulttest

netfaults: build ## 10,000 faults of servers each over single reads, and over conversions and the loader (10 min)
	SHARDIFY_LONG=1 go test -count=1 -timeout 2h -v -run 'FaultsGiveNoWrongByte|FaultsOfServers|FailsSkipsNothing' ./storage/http ./tests/endtoend

cache: ## 500 kills, full disks and 8 processes at the cache of remote data (5 min)
	SHARDIFY_LONG=1 go test -count=1 -timeout 1h -v ./storage/cache

objects: build ## data sets in object stores: ended at every request, answers lost, 1,000 rounds of writers; on the servers of make servers, too (1 h)
	SHARDIFY_LONG=1 go test -count=1 -timeout 4h -v -run 'Conversions|Request|Writers|Servers' ./storage/s3
	SHARDIFY_LONG=1 go test -count=1 -timeout 4h -v -run 'TestFaults/objects' ./tests/faulttest

slurm: ## 100 random events under a real Slurm, 200 moments of TERM (Linux, amd64, root, slurm-wlm and munge; 30 min); SHARDIFY_SLURM=1 uses the Slurm that runs
	SHARDIFY_LONG=1 go test -count=1 -timeout 2h -v -run "Slurm|TermEnds" ./tests/faulttest

scale: ## plans of 10^9 generated and 10^7 real names, 10^6 small files, 280,000 receipts, 10,000 footers 20 ms away: seconds and memory (15 min; 10 GB of disk)
	SHARDIFY_LONG=1 go test -count=1 -timeout 2h -v -run Long ./tests/parttest
	SHARDIFY_LONG=1 go test -count=1 -timeout 2h -v -run VeryMany ./cmd/shardify
	SHARDIFY_LONG=1 go test -count=1 -timeout 1h -v -run TenThousand ./pipeline

bench: build ## every figure of bench/RESULTS.md, against the named peers on the same files
	@sh bench/run.sh

bench-against: build ## the rows of make bench against another build of shardify: make bench-against OTHER=path
	@sh bench/run.sh --against $(OTHER)

bench-loader: build ## bench/LOADER.md: shardify.Loader against PyTorch's DataLoader and webdataset on the same files
	@sh bench/loader.sh

bench-budget: build ## bench/BUDGET.md: batches by a budget beside LengthGroupedSampler and BatchSampler (1 min)
	@sh bench/torch_venv.sh
	@SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so sh python/pylib.sh $(CURDIR)/build/bench/_shardify.so
	SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so PYTHONPATH=python build/bench/loader-venv/bin/python bench/budget.py bin/shardify build/bench/budget --out bench/BUDGET.md

bench-stream: build ## bench/STREAM.md: random order from files beside memory, warm and cold; OTHER=path of another build to compare with
	@SHARDIFY=bin/shardify python3 bench/stream.py $${SHARDIFY_BENCH_DATA:-build/bench/data}/stream $(if $(OTHER),--other $(OTHER)) --out bench/STREAM.md

bench-remote: build build/servers/versitygw ## bench/REMOTE.md: sets in an object store, against webdataset, s3torchconnector, MosaicML streaming and litdata (30 min)
	@sh bench/remote.sh

bench-augment: build ## bench/AUGMENT.md: --augment against Pillow, torchvision and numpy, the codecs of images against libjpeg-turbo and Pillow
	@sh bench/augment.sh

bench-tables: build ## bench/TABLES.md: CSV, Feather and SQLite against pyarrow, polars, pandas and sqlite3 on the same files
	@[ -x build/bench/tables-venv/bin/python ] || { python3 -m venv build/bench/tables-venv && build/bench/tables-venv/bin/python -m pip install --quiet --disable-pip-version-check pandas pyarrow polars; }
	SHARDIFY=bin/shardify build/bench/tables-venv/bin/python bench/tables.py build/bench/tables --out bench/TABLES.md

bench-science: build ## bench/SCIENCE.md: NIfTI, MRC, WAV, FITS and DICOM beside nibabel, mrcfile, scipy, astropy and pydicom on the same files, and the floor of both (5 min)
	@[ -x build/bench/science-venv/bin/python ] || { python3 -m venv build/bench/science-venv && build/bench/science-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy nibabel mrcfile scipy astropy pydicom; }
	@go build -o build/bench/floor ./bench/floor
	@SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so sh python/pylib.sh $(CURDIR)/build/bench/_shardify.so
	SHARDIFY=bin/shardify SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so PYTHONPATH=python build/bench/science-venv/bin/python bench/science.py build/bench/science --out bench/SCIENCE.md

science-table: build ## bench/SCIENCE_FILES.md: files of the tests of nibabel, mrcfile, scipy, astropy and pydicom: equal, refused, wrong (2 min)
	@[ -x build/bench/science-venv/bin/python ] || { python3 -m venv build/bench/science-venv && build/bench/science-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy nibabel mrcfile scipy astropy pydicom; }
	@build/bench/science-venv/bin/python -m pip install --quiet --disable-pip-version-check pillow pylibjpeg pylibjpeg-libjpeg
	@[ -d build/bench/mrcfile-1.5.4 ] || { build/bench/science-venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary mrcfile --dest build/bench mrcfile==1.5.4 && tar xzf build/bench/mrcfile-1.5.4.tar.gz -C build/bench; }
	SHARDIFY=bin/shardify MRC_FILES=build/bench/mrcfile-1.5.4/tests/test_data PYTHONPATH=python build/bench/science-venv/bin/python python/tests/peers/science_table.py build/peers bench/SCIENCE_FILES.md

bench-records: build ## bench/RECORDS.md: TFRecord, LMDB, Parquet and Arrow against tfrecord, tf.data, py-lmdb, pyarrow and cp (2 GB of disk)
	@[ -x build/bench/records-venv/bin/python ] || { python3 -m venv build/bench/records-venv && build/bench/records-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy pyarrow lmdb tfrecord; }
	@[ -x build/bench/tensorflow-venv/bin/python ] || { python3 -m venv build/bench/tensorflow-venv && build/bench/tensorflow-venv/bin/python -m pip install --quiet --disable-pip-version-check tensorflow-cpu; }
	CGO_ENABLED=0 go test -c -o build/bench/mdb.test ./readers/lmdb/mdb
	CGO_ENABLED=0 go test -c -o build/bench/tfrecord.test ./readers/tfrecord
	@go build -o build/bench/floor ./bench/floor
	SHARDIFY=bin/shardify build/bench/records-venv/bin/python bench/records.py build/bench/records --tensorflow build/bench/tensorflow-venv/bin/python --walk build/bench/mdb.test --read build/bench/tfrecord.test --floor build/bench/floor --out bench/RECORDS.md

bench-labels: build ## a million boxes of a CSV beside 100,000 images, and 100,000 pairs, against scripts with pandas and Pillow (2 GB of disk)
	@[ -x build/bench/tables-venv/bin/python ] || { python3 -m venv build/bench/tables-venv && build/bench/tables-venv/bin/python -m pip install --quiet --disable-pip-version-check pandas pyarrow polars; }
	@build/bench/tables-venv/bin/python -c 'import PIL' 2>/dev/null || build/bench/tables-venv/bin/python -m pip install --quiet --disable-pip-version-check pillow
	build/bench/tables-venv/bin/python bench/labels.py bin/shardify build/bench/labels

bench-cells: build ## bench/CELLS.md, bench/CELLS_CONVERT.md: a million cells converted; sparse rows of 60,000 cells beside scipy, h5py, scDataset and annbatch (3 min; the last wants Python 3.12)
	@[ -x build/bench/cells-venv/bin/python ] || { python3 -m venv build/bench/cells-venv && build/bench/cells-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy scipy h5py anndata; }
	@for p in scDataset annbatch; do build/bench/cells-venv/bin/python -m pip install --quiet --disable-pip-version-check $$p || echo "$$p is left out"; done
	@SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so sh python/pylib.sh $(CURDIR)/build/bench/_shardify.so
	SHARDIFY=bin/shardify SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so build/bench/cells-venv/bin/python bench/cells.py build/bench/cells --out bench/CELLS.md
	SHARDIFY=bin/shardify build/bench/cells-venv/bin/python bench/cells_convert.py build/bench/cells --out bench/CELLS_CONVERT.md

bench-binary: build ## bench/BINARY.md: what is in the program, by bytes
	@mkdir -p build/bench
	CGO_ENABLED=0 go build -trimpath -o build/bench/shardify.symbols ./cmd/shardify
	python3 bench/binary.py bin/shardify build/bench/shardify.symbols --out bench/BINARY.md

bench-limits: build ## bench/LIMITS.md: conversions beside the sum of reading, decoding by public decoders in C, CRC-32C and writing (8 min)
	@[ -x build/bench/limits-venv/bin/python ] || { python3 -m venv build/bench/limits-venv && build/bench/limits-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy h5py uproot pyarrow; }
	@go build -o build/bench/floor ./bench/floor
	SHARDIFY=bin/shardify FLOOR=build/bench/floor build/bench/limits-venv/bin/python bench/limits.py $${SHARDIFY_BENCH_DATA:-build/bench/data}/limits --out bench/LIMITS.md

bench-atoms: build ## bench/ATOMS.md: extended XYZ beside ASE and extxyz (1 min)
	@[ -x build/bench/atoms-venv/bin/python ] || { python3 -m venv build/bench/atoms-venv && build/bench/atoms-venv/bin/python -m pip install --quiet --disable-pip-version-check ase==3.29.0 extxyz==0.4.6; }
	SHARDIFY=bin/shardify build/bench/atoms-venv/bin/python bench/atoms.py build/bench/atoms --out bench/ATOMS.md

RIVALS = codecs codecs/crc32c codecs/inflate images/jpeg images/png images/resize numbers/elementary
bench-libraries: ## bench/LIBRARIES.md: codecs, images and numbers against Go's standard library and modules (3 min)
	rm -rf build/rivals && mkdir -p build/rivals && CGO_ENABLED=0 go test -c -o build/rivals/ $(RIVALS:%=./%)
	for i in 1 2 3 4 5 6 7; do for t in $(notdir $(RIVALS)); do build/rivals/$$t.test -test.run '^$$' -test.bench '^BenchmarkRivals$$' -test.benchtime 15ms -test.cpu 1; done; done >build/rivals/out.txt
	go run ./bench/libraries <build/rivals/out.txt >bench/LIBRARIES.md

bench-tokens: build ## bench/TOKENS.md: --tokenize against tokenizers, tiktoken, sentencepiece, datatrove and a Megatron-style script; SIZE=1000 MB of text
	@[ -x build/bench/tokens-venv/bin/python ] || { python3 -m venv build/bench/tokens-venv && build/bench/tokens-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy zstandard tokenizers tiktoken sentencepiece datatrove orjson; }
	CGO_ENABLED=0 go test -c -o build/bench/encode ./tokenize
	SHARDIFY=$(CURDIR)/bin/shardify ENCODE=$(CURDIR)/build/bench/encode build/bench/tokens-venv/bin/python bench/tokens.py build/bench/tokens --size $(or $(SIZE),1000) --out bench/TOKENS.md

# xbatcher's part is a DataLoader of PyTorch.
bench-grids: build ## bench/GRIDS.md: Zarr and NetCDF-4 into windows, against tensorstore, zarr-python and xbatcher (5 GB of disk); STEPS=300 ROUNDS=3 is shorter
	@[ -x build/bench/grids-venv/bin/python ] || { python3 -m venv build/bench/grids-venv && build/bench/grids-venv/bin/python -m pip install --quiet --disable-pip-version-check numpy zarr numcodecs tensorstore xarray xbatcher netCDF4 torch; }
	@SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so sh python/pylib.sh $(CURDIR)/build/bench/_shardify.so
	SHARDIFY=bin/shardify SHARDIFY_LIBRARY=$(CURDIR)/build/bench/_shardify.so PYTHONPATH=python build/bench/grids-venv/bin/python bench/grids.py build/bench/grids --steps $(or $(STEPS),1000) --rounds $(or $(ROUNDS),5) --out bench/GRIDS.md

pictures: build pylib ## docs/pictures: the way of the data, and what the commands of README.md print (needs torch; PYTHON=path)
	@$(PYTHON) docs/pictures.py

SITE = build/site-venv
site: build ## the documentation as a site in build/site, with all links checked (fetches mkdocs-material from PyPI)
	[ -x $(SITE)/bin/mkdocs ] || { python3 -m venv $(SITE) && $(SITE)/bin/python -m pip install --quiet --disable-pip-version-check mkdocs-material==9.8.1; }
	rm -rf build/site-commands && bin/shardify man --markdown build/site-commands >/dev/null
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict --quiet --config-file packaging/site/mkdocs.yml

golden-bytes: ## compare every published byte of 45 conversions with tests/endtoend/testdata/golden.txt
	go test -count=1 -v -run GoldenBytes ./tests/endtoend

golden: ## rewrite the golden dumps and digests; review the diff
	go test ./index ./writers/wds -run 'Golden|MmapShardBytes' -update
	go test ./tests/endtoend -run GoldenBytes -update

house: ## print the measures of the source that archtest holds: lines, rooms, complexity, riddling words
	CGO_ENABLED=1 go test -count=1 -v -run TestHouse ./tests/archtest

licences: ## build/THIRD_PARTY_LICENSES: the licences of the modules that are linked; make dist and make wheel add it
	@mkdir -p build
	go run ./bench/licences >build/THIRD_PARTY_LICENSES.part && mv build/THIRD_PARTY_LICENSES.part build/THIRD_PARTY_LICENSES

dist: ## static binaries for linux amd64 and arm64, completions, man pages, licences, SBOM, SHA256SUMS
	@sh bench/dist.sh

wheel: ## Python wheel with the loader's library for this machine into dist/, tested in an empty environment; ARCH=all (or amd64, arm64): those of other machines, too
	@sh python/wheel.sh build/wheel $(VENV) "$(ARCH)"

release: ARCH = all
release: dist wheel ## all that a release publishes, into dist/: archives, wheels, SBOM, SHA256SUMS
	cd dist && rm -f SHA256SUMS && sha256sum * >SHA256SUMS && cat SHA256SUMS

clean: ## remove what was built
	rm -rf bin build dist
