# make run and make test do everything on a fresh Debian machine, installing what they need.
SHELL := /bin/bash
ifeq ($(origin PATH),command line) # make module PATH=…: programs are found where they were before
MODULE := $(PATH)
override PATH := $(shell PATH=/usr/bin:/bin; tr '\0' '\n' </proc/$$PPID/environ | sed -n 's/^PATH=//p')
endif
override export PATH := $(CURDIR)/.tools/go/bin:$(PATH)
export CGO_ENABLED := 0
FUZZTIME ?= 60s

.PHONY: all setup mpi build run check test test-long test-ptx test-gpu test-arm64 race lint lattigo onnx bench bench-gpu fuzz codehash golden generate hashes module dist site exhaustive ptxas vscode clean

all: build

setup: ## install Go and libLLVM where they are missing
	@.ci/setup

mpi: setup ## install MPICH where there is no MPI, for tests
	@.ci/setup mpi

build: setup ## bin/healc
	@go build -o bin/healc ./cmd/healc

run: build ## the main job: nearest-mean classification of 1797 real digits
	bin/healc run --time examples/digits.heal

# The build, the tests and vet have the same flags, so that packages are compiled once; vet, which looks at more than
# go test would, is for `make lint`. A slow machine may take longer than the usual 10 minutes for a package.
# Tests make garbage while they compile and interpret, a tenth of their time where it is collected at the usual pace.
# The linker writes a program for each package with tests, sooner without DWARF (-w), which traces need none of.
test: mpi ## all tests, of long sweeps the part of this day (docs/testing.md)
	GOGC=300 go test -vet=off -ldflags=-w -timeout 1h ./...

check: setup ## the everyday: everything before code generation, and a sample of generated code
	GOGC=300 go test -vet=off -ldflags=-w -short ./...

test-long: mpi ## the whole of all sweeps, which takes hours
	HEAL_TEST_LONG=1 GOGC=300 go test -vet=off -timeout 0 ./...

hashes: setup ## docs/one-answer.md: hashes of programs over ranks, threads, instruction sets and backends
	go test -vet=off ./tests/shardings -run TestHashes -hashes

# What runs on a device, beside the interpreter and the CPU.
DEVICE_TESTS = . ./stdlib ./tests/lang ./tests/programs ./tests/run ./tests/random ./tests/residues ./tests/modular ./tests/transcripts ./codegen/gpu/...

test-ptx: setup ## every case of the suites on the PTX interpreter, of which make test takes a sample
	HEAL_TEST_DEVICE=ptxsim go test -timeout 0 $(DEVICE_TESTS)

test-gpu: build ## the same on a GPU
	@if bin/healc doctor | grep -q '^GPU *[0-9]'; then HEAL_TEST_DEVICE=gpu go test -timeout 0 $(DEVICE_TESTS); \
	else echo "skipped: no device"; bin/healc doctor | grep '^GPU'; fi

# What runs machine code, or asks the system for something; GNU/Linux on AArch64 differs in both.
ARM64_TESTS = . ./runtime/... ./internal/... ./codegen/llvm/... ./tests/bits ./tests/run ./tests/lang ./tests/random ./tests/sources
ARM64 ?= .tools/arm64

test-arm64: setup ## the tests as AArch64 runs them, below qemu, which is unpacked into ARM64=FOLDER; hours
	FLAGS="-short" tests/emulated/arm64.sh $(ARM64) $(ARM64_TESTS)

# Whatever has threads of its own, or is called by several goroutines at once. The detector needs a C compiler.
RACE = . ./runtime/... ./internal/... ./codegen/... ./cmd/healc/... ./tests/library ./tests/run ./tests/random ./tests/transcripts

race: setup ## the race detector, over what runs threads
	@if command -v "$$(go env CC)" >/dev/null; then CGO_ENABLED=1 GOGC=300 go test -race -short -timeout 1h -vet=off $(RACE); \
	else echo "skipped: the race detector needs a C compiler (apt-get install gcc libc6-dev)"; fi

# vet and staticcheck make garbage, too.
lint: export GOGC := 300
lint: setup ## gofmt, vet, the length of lines, go.mod; staticcheck and govulncheck where they can be had
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt'ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go test -vet=off -ldflags=-w ./tests -run TestColumns
	go mod tidy -diff
	@bash -n .ci/run .ci/setup .ci/ptxas .ci/linters tests/emulated/arm64.sh docs/install.sh internal/packaging/*.sh
	@.ci/linters

module: setup ## PATH=host/owner/heal: another path for the module, in all files
	@go run ./tests/module "$(MODULE)"

dist: setup ## dist/: archives, packages, checksums of a release (CONTRIBUTING.md); URL=, MAINTAINER=
	@cd internal/packaging/nfpm && go build -o ../../../.tools/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
	@rm -rf dist
	@go run ./internal/packaging -o dist -nfpm .tools/nfpm -url "$(URL)" $(if $(MAINTAINER),-maintainer "$(MAINTAINER)")

vscode: ## editors/vscode/heal.vsix, the extension for VS Code; npm installs what bundles it
	@command -v npm >/dev/null || { echo "vscode: there is no npm (apt-get install npm)"; exit 1; }
	cd editors/vscode && npm ci --ignore-scripts --no-audit --no-fund && cp ../../LICENSE LICENSE.txt && npm run package

# A module of its own, for goldmark, which healc does not need.
site: setup ## dist/site: all documents as pages with a search, to be opened from disk or served
	@cd internal/site && go vet . && go test . && go run . -o ../../dist/site

codehash: setup ## a hash of all generated code, which a refactoring of code generation leaves as it is
	@go run ./tests/codehash

golden: setup ## rewrite the golden files; read the diff before committing
	go test $$(grep -rl --include=*_test.go 'Bool("update"' . | xargs -n1 dirname | sort -u) -update

ptxas: setup ## check generated PTX with NVIDIA's assembler, from a package that is unpacked and not installed
	@.ci/ptxas
	go test ./codegen/gpu -run Assembler -v -count=1

# The module has Lattigo as a dependency, which healc has not.
LATTIGO ?= .tools/lattigo

onnx: setup ## ONNX's own backend tests in FOLDER=onnx/backend/test/data, and the counts of docs/onnx.md
	HEAL_ONNX_DATA="$(abspath $(FOLDER))" go test ./internal/onnx -run 'Folder|Light' -update

lattigo: setup ## Lattigo's own tests of ring, rlwe, rgsw and ckks with the transforms of healc, in a copy of it, LATTIGO=FOLDER
	cd examples/lattigo && go vet ./... && go test ./...
	rm -rf "$(LATTIGO)" && mkdir -p "$(dir $(LATTIGO))"
	cd examples/lattigo && go run ./patched -tests -o "$(abspath $(LATTIGO))"
	cd "$(LATTIGO)" && go test -vet=off -timeout 1h ./ring ./core/rlwe ./core/rgsw ./schemes/ckks

bench: build ## speed beside the limits of the machine, NumPy and numexpr (installs Debian's packages of them)
	tests/bench/run.sh
	cd bench && go run .

bench-gpu: setup ## speed on a GPU, beside copies within it, PyTorch and the CPU
	go run ./tests/bench/gpu

fuzz: setup ## every fuzz target for FUZZTIME, then random programs, shrinking what fails
	tests/fuzz.sh $(FUZZTIME)

exhaustive: setup ## all 2^32 inputs of every unary f32 function; many of the f64 ones and of pow and atan2
	HEAL_EXHAUSTIVE=1 go test -run 'Exhaustive|Judge|F64|Pow|Atan2' -v -timeout 0 ./ir/scalar/elementary

clean:
	rm -rf bin dist .tools
