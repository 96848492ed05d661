#!/usr/bin/env bash
# tests/bench/run.sh [flags of tests/bench]: speed of healc beside the machine's limits, NumPy and numexpr, all in one run.
# Installs Debian's python3-numpy and python3-numexpr when they are missing: only the benchmark uses them.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=/usr/bin/python3
if ! "$python" -c 'import numpy, numexpr' 2>/dev/null; then
	echo "installing python3-numpy and python3-numexpr" >&2
	as_root=()
	if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
	"${as_root[@]}" apt-get update -qq
	"${as_root[@]}" apt-get install -y -qq --no-install-recommends python3-numpy python3-numexpr
fi
export CGO_ENABLED=0
go build -trimpath -o bin/healc ./cmd/healc
go build -trimpath -buildvcs=true -o bin/bench ./tests/bench
exec bin/bench -python "$python" -healc bin/healc -json tests/bench/last.json -svg docs/sizes.svg "$@"
