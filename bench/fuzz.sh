#!/bin/sh
# Runs every fuzz target for $1 (a Go duration) and prints how many inputs each saw.
set -eu
cd "$(dirname "$0")/.."
time=${1:-60s}
failed=0
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -h '^func Fuzz' "$dir"/*_test.go | sed -E 's/func (Fuzz[A-Za-z0-9_]*).*/\1/' | sort -u); do
		out=$(go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x 2>&1) || { failed=1; printf '%s\n' "$out" | tail -20; }
		printf '%-40s %s\n' "$dir $target" "$(printf '%s\n' "$out" | grep -E 'execs:' | tail -1 | sed -E 's/.*(execs: [0-9]+).*/\1/')"
	done
done
exit $failed
