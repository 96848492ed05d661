#!/bin/bash
# Fourier transforms beside FFTW 3 (libfftw3.so.3, libfftw3f.so.3), on one thread. Needs a C compiler.
#
#   tests/bench/fftw/run.sh [SECONDS [THREADS [ROW]]]     # seconds for each row, then one row, as d_65536
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$here/../../.."
CGO_ENABLED=0 go run ./cmd/healc compile "$here/rows.heal" -o "$folder/rows.so" --emit so
${CC:-cc} -O2 -Wall -o "$folder/fftw" "$here/fftw.c" -ldl -lm
"$folder/fftw" "$folder/rows.so" "$@"
