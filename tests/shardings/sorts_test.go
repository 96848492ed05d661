package shardings

import (
	"fmt"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/tests/sample"
)

// manyKeys prints what tells whether keys are in order, and checksums of them and of the positions that they had.
const manyKeys = `
import random

const KEYS: nat = %d

fn checksum[N](x: i32[N] sharded(0)) -> i64 = {
    let place: i64[N] sharded(0) = (0..N) as i64;
    sum((x as i64 + 1) .* (place .* place %% 1_000_003 + 7) %% 1_000_000_007)
}

@io fn main() -> i32 = {
    let x: %s[KEYS] sharded(0) = %s;
    let y = sort(x);
    print(1 + sum((y[1..KEYS] .>= y[0..KEYS - 1]) as i32));
    print((y[0], y[KEYS / 2], y[KEYS - 1]));
    print((checksum(bitcast[i32](y)), checksum(argsort(x))));
    0
}`

// TestManyKeys: sorts of many keys give the same on any number of ranks, however the keys lie. In the long tests there
// are 10 million, and else two ways a day, since kernels that sort take long to compile.
func TestManyKeys(t *testing.T) {
	n := 30_000
	if sample.All() {
		n = 10_000_000
	}
	for k, keys := range []struct{ name, elem, keys string }{
		{"drawn", "f32", "random.normal[f32, KEYS](random.key(7))"},
		{"few are different", "i32", "random.integers[KEYS](random.key(7), 0, 3)"},
		{"equal", "i32", "(0..KEYS) * 0"},
		{"in order", "i32", "0..KEYS"},
		{"backwards", "i32", "-(0..KEYS)"},
		{"not numbers", "f32", "sqrt(random.normal[f32, KEYS](random.key(7)))"},
		{"one rank has the least", "i32", "map(|i| if i > KEYS - KEYS / 7 { -i } else { i }, 0..KEYS)"},
	} {
		t.Run(keys.name, func(t *testing.T) {
			turn := sample.Today(t) + k
			if !sample.All() && turn%7 > 1 {
				t.Skip("its turn is on another day")
			}
			source := fmt.Sprintf(manyKeys, n, keys.elem, keys.keys)
			o := engine.Options{Backend: heal.CPU, Threads: 1}
			want, err := printed(t, source, t.TempDir(), o)
			if err != nil {
				t.Fatal(err)
			}
			if keys.elem == "i32" && !strings.HasPrefix(want, fmt.Sprintln(n)) {
				t.Errorf("of %d keys these are in order:\n%s", n, want)
			}
			for i, ranks := range sizes {
				if !sample.All() && (turn+i)%len(sizes) > 0 {
					continue // each number has its days
				}
				got, err := printedBy(t, ranks, source, o)
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("%d ranks print\n%swant\n%s", ranks, got, want)
				}
			}
		})
	}
}
