package shardings

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/tests/sample"
)

// written are tensors that a program writes: each with the extents of the file, of which N is one.
var written = []struct{ name, source string }{
	{"rows", `let x: f32[N, 5] sharded(0) = tabulate(N, 5, |i, j| sin((i * 5 + j) as f32)); save_npy(PATH, x)`},
	{"columns, in short runs", `let x: f64[N, 31] sharded(1) = tabulate(N, 31, |i, j| (i * 31 + j) as f64);
    save_npy(PATH, x)`},
	{"columns, of few rows", `let x: i32[2, N] sharded(1) = tabulate(2, N, |i, j| i * 31 + j); save_npy(PATH, x)`},
	{"columns, in long runs", `let x: i32[3, 60000, 5] sharded(1) = tabulate(3, 60000, 5, |i, j, k| i * j + k + N);
    save_npy(PATH, x)`},
	{"an inner part", `let x: f32[N, 5] sharded(0) = tabulate(N, 5, |i, j| (i * 5 + j) as f32);
    save_npy(PATH, x[1..N - 1, 1..3] + x[2..N, 2..4])`},
	{"bools", `let x: i32[N] sharded(0) = 0..N; save_npy(PATH, x % 3 == 1)`},
	{"nothing", `let x: f32[0, 3] sharded(0) = tabulate(0, 3, |i, j| (i + j) as f32); save_npy(PATH, x)`},
	{"a tensor of every rank", `save_npy(PATH, tabulate(N, |i| cos(i as f32)))`},
	{"a picture", `let x: u8[N, 9, 3] sharded(0) = tabulate(N, 9, 3, |i, j, k| (i * j + k) as u8); save_png(PATH, x)`},
	{"one that was gathered", `let x: f32[N] sharded(0) = tabulate(N, |i| cos(i as f32)); print(x); save_npy(PATH, x)`},
}

// TestFiles: what ranks write together is the file that one writes, to the byte, and is there for all of them to read.
func TestFiles(t *testing.T) {
	day := sample.Today(t)
	for k, c := range written {
		t.Run(c.name, func(t *testing.T) {
			for i, n := range sizes {
				if !sample.All() && (day+k+i)%len(sizes) > 1 {
					continue // each number has its days
				}
				for _, extent := range []int{3, 100, 6007} {
					dir := t.TempDir()
					want, got := filepath.Join(dir, "want.npy"), filepath.Join(dir, "got.npy")
					save := func(path string, comms []cluster.Comm) error {
						fill := strings.NewReplacer("PATH", fmt.Sprintf("%q", path), "N", fmt.Sprint(extent))
						return mains("@io fn main() = {\n    "+fill.Replace(c.source)+";\n}\n", comms)
					}
					if err := save(want, make([]cluster.Comm, 1)); err != nil {
						t.Fatal(err)
					}
					comms, err := heal.LocalCluster(n)
					if err != nil {
						t.Fatal(err)
					}
					if err := save(got, comms); err != nil {
						t.Fatalf("%d ranks: %v", n, err)
					}
					one, err := os.ReadFile(want)
					if err != nil {
						t.Fatal(err)
					}
					if all, err := os.ReadFile(got); err != nil || !bytes.Equal(one, all) {
						t.Errorf("%d ranks write another file, of %d bytes and not %d: %v", n, len(all), len(one), err)
					}
					if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
						t.Errorf("%d ranks leave %q", n, left)
					}
				}
			}
		})
	}
}

// mains runs main on each of these ranks; nil is one alone.
func mains(source string, comms []cluster.Comm) error {
	errs := make([]error, len(comms))
	var all sync.WaitGroup
	for rank, c := range comms {
		all.Go(func() {
			m, err := engine.Compile(source, engine.Options{Threads: 1, Once: true, Cluster: c,
				System: runtime.OS{Out: io.Discard}})
			if err == nil {
				defer m.Close()
				var f *engine.Func
				if f, err = m.Func("main"); err == nil {
					_, err = f.CallAll(context.Background())
				}
			}
			if c != nil && err == nil {
				err = c.Close()
			} else if c != nil {
				c.Abort(1, err.Error())
			}
			errs[rank] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
