#!/bin/bash
# Fourier transforms beside FFTW 3 (libfftw3.so.3, libfftw3f.so.3), on one thread. Needs a C compiler.
#
#   tests/bench/fftw/run.sh [SECONDS [THREADS [ROW...]]]     # seconds for each row, then rows, as ld_65536
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$here/../../.."
CGO_ENABLED=0 go run ./cmd/healc compile "$here/rows.heal" -o "$folder/rows.so" --emit so --cpu native
${CC:-cc} -O2 -Wall -o "$folder/fftw" "$here/fftw.c" -ldl -lm
seconds=${1:-1} threads=${2:-1}
shift $(($# < 2 ? $# : 2))
if [ $# = 0 ]; then
  set -- $(sed -n 's/^pub fn \([a-z0-9_]*\).*/\1/p' "$here/rows.heal")
fi
"$folder/fftw" "$folder/rows.so" "$seconds" "$threads" "$@"
