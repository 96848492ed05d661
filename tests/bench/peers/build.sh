#!/bin/bash
# Makes healc a peer of the benchmark in FOLDER, a copy of the peers (with bench.py): compiles rows.heal into a library,
# and glue.c into one with the functions that bench.py calls. Needs a C compiler.
#
#   cp -r PEERS /tmp/bench && tests/bench/peers/build.sh /tmp/bench && /tmp/bench/run.sh --peers healc,expert
set -e
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${1:?usage: build.sh FOLDER}" && pwd)
cd "$here/../../.."
CGO_ENABLED=0 go run ./cmd/healc compile "$here/rows.heal" -o "$folder/rows.so" --emit so,header
# The library is found beside this one, wherever both are.
${CC:-cc} -O2 -Wall -shared -fPIC -I"$folder" "$here/glue.c" "$folder/rows.so" -Wl,-rpath,'$ORIGIN' -o "$folder/healc.so"
cp "$here/peer_extra.py" "$folder/"
