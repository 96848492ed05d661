#!/usr/bin/env bash
# tests/fuzz.sh DURATION: every fuzz target of the project for DURATION (such as 60s), one after another,
# then random programs, the interpreter against the CPU, for as long. A failing input is left in the
# target's testdata/fuzz folder; a failing random program is shrunk and printed with its seed.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: tests/fuzz.sh DURATION}
failed=()

# The targets are found in the sources, so that a new one needs no entry here.
while IFS=: read -r file line; do
	target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
	package=./$(dirname "$file")
	echo "== $package $target"
	go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x || failed+=("$package $target")
done < <(find . -name '*_test.go' -not -path './.*' -exec grep -HE '^func Fuzz[A-Za-z0-9_]*\(' {} + | sed 's|^\./||' | sort)

echo "== random programs"
HEAL_RANDOM=$time go test ./tests/random -run '^TestRandomPrograms$' -count 1 -timeout 0 -v -random.seed="$(date +%s%N)" || failed+=("./tests/random")
go test ./tests/random -run '^TestSources$' -count 1 -timeout 0 -v -random.source="$(date +%s)" || failed+=("./tests/random sources")

if ((${#failed[@]})); then
	printf 'FAILED: %s\n' "${failed[@]}"
	exit 1
fi
