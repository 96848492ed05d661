package heal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"healc/runtime/tensor"
)

// asRanks runs f on each rank of a cluster in this process.
func asRanks(t *testing.T, n int, f func(c Cluster) error) []error {
	t.Helper()
	comms, err := LocalCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, c := range comms {
		all.Go(func() { errs[r] = f(c) })
	}
	all.Wait()
	return errs
}

// callAs compiles src as a rank and calls one of its functions.
func callAs(c Cluster, backend, src, name string, system System, args ...*tensor.Tensor) error {
	m, err := Compile(src, Options{Backend: backend, Cluster: c, System: system, Threads: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Func(name)
	if err != nil {
		return err
	}
	out, err := f.CallAll(context.Background(), args...)
	for _, t := range out {
		t.Close()
	}
	return err
}

// diary is a System that keeps what programs print and write.
type diary struct {
	mu      sync.Mutex
	printed string
	files   map[string]*tensor.Tensor
	full    bool
}

func (d *diary) Print(text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.printed += text
	return nil
}

func (d *diary) LoadNpy(path string) (*tensor.Tensor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] == nil {
		return nil, fs.ErrNotExist
	}
	return d.files[path].Clone()
}

func (d *diary) SaveNpy(path string, t *tensor.Tensor) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errors.New("the disk is full")
	}
	if d.files[path] != nil {
		return errors.New("it is written twice")
	}
	d.files[path], err = t.Clone()
	return err
}

// TestRanksPrintOnce: every rank runs the program; rank 0 prints and writes, and what it has written the others find.
func TestRanksPrintOnce(t *testing.T) {
	const src = `@io fn f() = { print("begin"); save_npy("x.npy", [1.0, 2.0]); print(load_npy[f32, 2]("x.npy")); }`
	for _, backend := range []string{CPU, Interp} {
		d := &diary{files: map[string]*tensor.Tensor{}}
		for r, err := range asRanks(t, 3, func(c Cluster) error { return callAs(c, backend, src, "f", d) }) {
			if err != nil {
				t.Errorf("%s: rank %d: %v", backend, r, err)
			}
		}
		if d.printed != "begin\n[1. 2.]\n" {
			t.Errorf("%s: printed %q", backend, d.printed)
		}
	}
}

// TestRankFails: what fails on one rank fails on all, with what has failed on that one.
func TestRankFails(t *testing.T) {
	const src = `@io fn f(n: i32) = { print(n); assert(n < 3); save_npy("x.npy", [1.0]); }`
	for _, backend := range []string{CPU, Interp} {
		for _, n := range []int32{2, 3} { // the disk is full; the assertion does not hold
			d := &diary{full: true}
			for r, err := range asRanks(t, 3, func(c Cluster) error {
				return callAs(c, backend, src, "f", d, tensor.Scalar(n))
			}) {
				var failed *RankError
				var here *RuntimeError
				switch {
				case !errors.As(err, &failed) || failed.Rank != 0 || failed.Code != 3 || !failed.Known:
					t.Errorf("%s, %d: rank %d: %v", backend, n, r, err)
				case r == 0 && (failed.Err == nil || !errors.As(err, &here)), r > 0 && failed.Err != nil:
					t.Errorf("%s, %d: rank %d: %v", backend, n, r, err)
				}
			}
		}
	}
}

// TestEarliestFailure: where ranks fail in different places, the first place of the program counts.
func TestEarliestFailure(t *testing.T) {
	const src = `@io fn f() = { print(load_npy[i32]("first.npy")); print(load_npy[i32]("second.npy")); }`
	for _, backend := range []string{CPU, Interp} {
		d := &diary{files: map[string]*tensor.Tensor{"first.npy": tensor.Scalar[int32](1)}}
		none := &diary{}
		for r, err := range asRanks(t, 3, func(c Cluster) error {
			if c.Rank() == 0 {
				return callAs(c, backend, src, "f", d) // it fails where it reads the second file
			}
			return callAs(c, backend, src, "f", none)
		}) {
			var failed *RankError
			var here *RuntimeError
			if !errors.As(err, &failed) || failed.Rank != 1 || !failed.Known || errors.As(err, &here) != (r == 1) {
				t.Errorf("%s: rank %d: %v", backend, r, err)
			}
		}
	}
}

// TestRanksDisagree: ranks that are not about to do the same say in what they differ.
func TestRanksDisagree(t *testing.T) {
	const src = "fn f[N](x: f32[N]) -> f32[N] = x\nfn g[N](x: f32[N]) -> f32[N] = x .+ 1.0\n"
	three, four := tensor.FromSlice([]float32{1, 2, 3}), tensor.FromSlice([]float32{1, 2, 3, 4})
	for _, c := range []struct {
		what, first, then string
		call              func(c Cluster) error
	}{
		{"the programs", "IR", "IR", func(c Cluster) error {
			more := strings.Repeat("# more\n", c.Rank()) + fmt.Sprintf("fn h() -> i32 = %d\n", c.Rank()/2)
			return callAs(c, Interp, src+more, "f", nil, three)
		}},
		{"the functions", "f[N]", "g[N]", func(c Cluster) error {
			return callAs(c, Interp, src, string("ffg"[c.Rank()]), nil, three)
		}},
		{"the options", "backend interp", "backend cpu", func(c Cluster) error {
			return callAs(c, []string{Interp, Interp, CPU}[c.Rank()], src, "f", nil, three)
		}},
		{"the shapes of the inputs", "x: f32[3]", "x: f32[4]", func(c Cluster) error {
			return callAs(c, Interp, src, "f", nil, []*tensor.Tensor{three, three, four}[c.Rank()])
		}},
		{"the values of the inputs", "x: checksum", "x: checksum", func(c Cluster) error {
			return callAs(c, Interp, src, "f", nil, tensor.FromSlice([]float32{1, 2, float32(c.Rank() / 2)}))
		}},
	} {
		for r, err := range asRanks(t, 3, c.call) {
			var differ *DisagreeError
			var failed *RankError
			switch {
			case !errors.As(err, &failed) || !failed.Known || failed.Rank != 0:
				t.Errorf("%s: rank %d: %v", c.what, r, err)
			case r > 0:
			case !errors.As(err, &differ) || differ.Rank != 2 || !strings.HasPrefix(differ.What, c.what) ||
				!strings.Contains(differ.First, c.first) || !strings.Contains(differ.Then, c.then) ||
				differ.First == differ.Then:
				t.Errorf("%s: rank 0: %v", c.what, err)
			}
		}
	}
}

// TestRanksCallInto: CallInto of ranks compares too, and gives each rank all results.
func TestRanksCallInto(t *testing.T) {
	for r, err := range asRanks(t, 2, func(c Cluster) error {
		m, err := Compile(chain, Options{Cluster: c, Threads: 1})
		if err != nil {
			return err
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			return err
		}
		x, y := tensor.FromSlice([]float32{1, -2, 3}), tensor.FromSlice([]float32{0, 0, 0})
		for range 3 {
			if err := f.CallInto(context.Background(), []*tensor.Tensor{y}, x, x, x); err != nil {
				return err
			}
		}
		if v, err := tensor.Slice[float32](y); err != nil || v[0] != 2 || v[1] != 2 || v[2] != 12 {
			return fmt.Errorf("it is %v: %w", v, err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// TestRanksNoSandbox: a module in a sandbox has no ranks.
func TestRanksNoSandbox(t *testing.T) {
	for r, err := range asRanks(t, 2, func(c Cluster) error {
		_, err := Compile(chain, Options{Cluster: c, Sandbox: &Sandbox{}})
		return err
	}) {
		if !errors.Is(err, errSandboxCluster) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// TestGradientOfParts: the derivative by a parameter that is sharded is whole on every rank, as the parameter is, with
// the bits that it has on one.
func TestGradientOfParts(t *testing.T) {
	const src = `
fn loss[N, M](x: f32[N, M] sharded(0), w: f32[M], b: f32[N] sharded(0)) -> f32 = {
    let d = tanh(x @ w) .- b;
    sum(d .* d)
}
`
	x, w, b := make([]float32, 19*3), []float32{0.5, -1, 0.25}, make([]float32, 19)
	for i := range x {
		x[i] = float32(i%7) / 5
	}
	for i := range b {
		b[i] = float32(i%4) - 1.5
	}
	derive := func(c Cluster, backend string) (bits [][]uint64, err error) {
		m, err := Compile(src, Options{Backend: backend, Cluster: c, Threads: 1})
		if err != nil {
			return nil, err
		}
		defer m.Close()
		g, err := m.Gradient("loss", "x", "w", "b")
		if err != nil {
			return nil, err
		}
		args := []*tensor.Tensor{tensor.FromSlice(x, 19, 3), tensor.FromSlice(w), tensor.FromSlice(b)}
		out, err := g.CallAll(context.Background(), args...)
		if err != nil {
			return nil, err
		}
		for _, y := range out {
			bits = append(bits, y.Bits())
			y.Close()
		}
		add, err := m.AddGradient("loss", "b")
		if err != nil {
			return nil, err
		}
		sums := tensor.FromSlice(make([]float32, 19))
		for range 2 {
			if _, err := add.CallAll(context.Background(), append(args[:3:3], sums)...); err != nil {
				return nil, err
			}
		}
		return append(bits, sums.Bits()), nil
	}
	want, err := derive(nil, Interp)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3} {
		errs := asRanks(t, n, func(c Cluster) error {
			got, err := derive(c, CPU)
			if err == nil && !slices.EqualFunc(got, want, slices.Equal[[]uint64]) {
				err = fmt.Errorf("rank %d of %d: %x, want %x", c.Rank(), n, got, want)
			}
			if err != nil {
				c.Abort(1, err.Error())
				return err
			}
			return c.Close()
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}
