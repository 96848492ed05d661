package shardings

import (
	"sync"
	"testing"

	"healc"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/internal/testhook"
	"healc/tests/random"
)

// TestOnce: four ranks with an empty cache make code of each kernel once, those with neighbours on both sides of the
// same ones, and none with a full one. A loop, products in tasks of their own, branches and functions that are called
// are among them.
func TestOnce(t *testing.T) {
	wanted := map[string]bool{"heat": true, "products": true, "in order": true, "choices": true, "training": true}
	for _, p := range programs {
		if !wanted[p.name] {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			input := p.input()
			want, err := outcome(p.source, input, engine.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatal(err)
			}
			made, mu := map[string]int{}, sync.Mutex{}
			hook := testhook.Compiled
			defer func() { testhook.Compiled = hook }()
			testhook.Compiled = func(kernel string) {
				mu.Lock()
				defer mu.Unlock()
				made[kernel]++
			}
			o := engine.Options{Threads: 1, Cache: &cache.Cache{Dir: t.TempDir()}}
			for _, cold := range []bool{true, false} {
				for rank, got := range onRanks(t, 4, p.source, input, o) {
					if d := random.Diff(want, got); d != "" {
						t.Errorf("rank %d, cold: %v: %s", rank, cold, d)
					}
				}
				if cold == (len(made) == 0) {
					t.Errorf("cold: %v: code is made of %d kernels", cold, len(made))
				}
				for kernel, n := range made {
					if n != 1 {
						t.Errorf("code of %s is made %d times", kernel, n)
					}
				}
				clear(made)
			}
		})
	}
}
