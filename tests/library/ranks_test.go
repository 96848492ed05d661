package library

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	heal "healc"
	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/cluster"
	"healc/runtime/exchange"
	"healc/runtime/tensor"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/sources"
)

// hosts are the communicators of ranks, each of which has a copy of a library. C functions find theirs by its number.
var hosts struct {
	sync.Mutex
	all []cluster.Comm
}

func host(i uintptr) cluster.Comm {
	hosts.Lock()
	defer hosts.Unlock()
	return hosts.all[i]
}

// at is n elements in C memory.
func at[T any](addr uintptr, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice(*(**T)(unsafe.Pointer(&addr)), n)
}

// lengths are counts of bytes, and how many they are together.
func lengths(addr uintptr, n int) (counts []int, total int) {
	for _, c := range at[int64](addr, n) {
		counts, total = append(counts, int(c)), total+int(c)
	}
	return counts, total
}

func done(err error) uintptr {
	if err != nil {
		return 1
	}
	return 0
}

// cluster functions as a library calls them, in the order of heal_cluster.
var calls = sync.OnceValue(func() [4]uintptr {
	return [4]uintptr{
		purego.NewCallback(func(context, all, counts uintptr) uintptr {
			c := host(context)
			n, total := lengths(counts, c.Size())
			return done(c.AllGather(at[byte](all, total), n))
		}),
		purego.NewCallback(func(context, send, to, receive, from uintptr) uintptr {
			c := host(context)
			n, sent := lengths(to, c.Size())
			m, received := lengths(from, c.Size())
			return done(c.AllToAll(at[byte](send, sent), n, at[byte](receive, received), m))
		}),
		purego.NewCallback(func(context, send, bytes, to, receive, length, from uintptr) uintptr {
			return done(host(context).SendRecv(at[byte](send, int(bytes)), int(int32(to)),
				at[byte](receive, int(length)), int(int32(from))))
		}),
		purego.NewCallback(func(context, code, message uintptr) uintptr {
			host(context).Abort(int(int32(code)), "a function has failed")
			return 0
		}),
	}
})

// onRanks are copies of a library, one for each rank.
type onRanks struct {
	libs []*Lib
}

// copies opens as many copies of a library as there are ranks.
func copies(t *testing.T, l *aot.Library, n int) *onRanks {
	t.Helper()
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := aot.Link(objects, l.Prefix, "ranks.so", l.Target.Triple)
	if err != nil {
		t.Fatal(err)
	}
	out, dir := &onRanks{}, t.TempDir()
	for r := range n {
		path := filepath.Join(dir, fmt.Sprintf("rank%d.so", r))
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		lib, err := Open(path, l.Prefix)
		if err != nil {
			t.Fatal(err)
		}
		out.libs = append(out.libs, lib)
		t.Cleanup(func() { lib.Close() })
	}
	return out
}

// each runs a function of all ranks, each on a thread of its own, with new communicators.
func (o *onRanks) each(t *testing.T, n int, f func(rank int, lib *Lib) error) []error {
	t.Helper()
	comms, err := heal.LocalCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	hosts.Lock()
	first := len(hosts.all)
	hosts.all = append(hosts.all, comms...)
	hosts.Unlock()
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank, lib := range o.libs[:n] {
		all.Go(func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			w := &words{memory: outside(64)}
			defer w.free()
			c := calls()
			given := w.add(uint64(first+rank), uint64(rank)|uint64(n)<<32, uint64(c[0]), uint64(c[1]), uint64(c[2]),
				uint64(c[3]))
			code, err := lib.Do(lib.Own("set_cluster"), given)
			if err == nil && code != 0 {
				err = &Failure{code, lib.LastError()}
			}
			if err == nil {
				err = f(rank, lib)
			}
			if errs[rank] = err; err != nil {
				comms[rank].Abort(1, err.Error())
			} else {
				errs[rank] = comms[rank].Close()
			}
		})
	}
	all.Wait()
	return errs
}

// block is the part of an array that a rank has, along an axis; -1 is all of it.
func block(a *ir.Array, axis, rank, n int) *ir.Array {
	if axis < 0 {
		return a
	}
	b := exchange.CutFor(a.Shape[axis], n)
	lo, hi := b.Of(rank)
	l := exchange.LayoutOf(int64(axis), b, a.Shape, 1)
	out := &ir.Array{DType: a.DType, Shape: slices.Clone(a.Shape)}
	out.Shape[axis] = hi - lo
	for o := range l.Outer {
		out.Bits = append(out.Bits, a.Bits[(o*l.Extent+lo)*l.Inner:][:(hi-lo)*l.Inner]...)
	}
	return out
}

// call calls a function on blocks of the inputs, and gives the outcome of each rank.
func (o *onRanks) call(t *testing.T, f *engine.Func, e *aot.Entry, n int, input []*ir.Array, seed uint64) (
	[]*random.Outcome, error) {
	t.Helper()
	code := map[int]*aot.Rank{}
	for _, r := range e.Ranks {
		if r.Size == n {
			code[r.Rank] = r
		}
	}
	got := make([]*random.Outcome, n)
	errs := o.each(t, n, func(rank int, lib *Lib) error {
		var args, results []*tensor.Tensor
		defer func() { Close(args); Close(results) }()
		for i, a := range input {
			part := block(a, f.Memory().ParamAxis(i), rank, n)
			x, err := tensor.FromBits(part.DType, part.Shape, part.Bits)
			if err != nil {
				return err
			}
			args = append(args, x)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		for _, typ := range code[rank].Results {
			var shape []int64
			for _, d := range typ.Shape {
				k, known := d.Const()
				if !known {
					return fmt.Errorf("the extent %s of a result is not known", d)
				}
				shape = append(shape, k)
			}
			x, err := random.Zeros(typ.Elem, shape, r.Uint64())
			if err != nil {
				return err
			}
			results = append(results, x)
		}
		if err := lib.Call(e, args, results); err != nil {
			return err
		}
		out := &random.Outcome{}
		for _, x := range results {
			out.Results = append(out.Results, &ir.Array{DType: x.DType, Shape: x.Shape, Bits: x.Bits()})
		}
		for _, k := range f.IR().Updates {
			x := args[k]
			out.Results = append(out.Results, &ir.Array{DType: x.DType, Shape: x.Shape, Bits: x.Bits()})
		}
		got[rank] = out
		return nil
	})
	return got, errors.Join(errs...)
}

// differ says how what ranks give differs from what one gives.
func differ(f *engine.Func, want *random.Outcome, got []*random.Outcome) string {
	for rank, g := range got {
		mine := &random.Outcome{}
		for i, a := range want.Results {
			mine.Results = append(mine.Results, block(a, f.Memory().ResultAxis(i), rank, len(got)))
		}
		if d := random.Diff(mine, g); d != "" {
			return fmt.Sprintf("rank %d of %d: %s", rank, len(got), d)
		}
	}
	return ""
}

// exchanging are functions that need each way in which ranks exchange.
const exchanging = `
pub fn halo[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = (roll(x, 1, 0) + roll(x, -1, 0)) * 0.5
pub fn inner[N, M](x: f32[M, N] sharded(1)) -> f32[M, N] sharded(1) = flip(x, 1)
pub fn total[N, M](x: f32[N, M] sharded(0)) -> f32 = +/(sin(x))
pub fn whole[N, M](x: f32[M, N] sharded(1)) -> f32[M, N] = replicate(x) .+ 1.0
pub fn turned[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(1) = reshard(x * x, 1)
pub fn picked[N, M](x: f32[N, M] sharded(0), i: i32) -> f32[M] = x[i]
pub fn asked[N, M](x: f32[N, M] sharded(0), at: i32[N] sharded(0)) -> f32[N, M] sharded(0) = x[at]
pub fn ordered[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = sort(x, 0)
pub fn halves[N, M](x: f16[M, N] sharded(1)) -> f16[M, N] sharded(1) = sort(x, 1)
pub fn large[N](x: u64[N] sharded(0)) -> (u64[N] sharded(0), i32[N] sharded(0)) = (sort(x), argsort(x))
pub fn small[N](x: i8[N] sharded(0)) -> i8[N] sharded(0) = sort(x)
pub fn doubles[N](x: f64[N] sharded(0)) -> f64[N] sharded(0) = sort(x)
pub fn places[N](x: i32[N] sharded(0)) -> i32[N] sharded(0) = argsort(x % 3)
pub fn added[N](x: f32[N] sharded(0), at: i32[N] sharded(0), v: f32[N] sharded(0)) -> f32[N] sharded(0) =
    scatter_add(x, at, v, 0)
pub fn sums[N](x: f32[N] sharded(0)) -> f32[N] sharded(0) = cumsum(x)
pub fn steps[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = iterate(5, x, |s| halo(s))
pub fn changed[N](x: &mut f32[N] sharded(0), a: f32) -> f32 = { x += a; +/(x) }
pub fn never[N](x: f32[N] sharded(0), no: i32) -> f32[N] sharded(0) =
    if no > 1000 { let w = full[i32, N - 200](1); reshard(x .+ (+/(w) as f32), 0) } else { reshard(x .* 2.0, 0) }
pub fn numbers[N](a: f32[N] sharded(0)) -> i32[N] sharded(0) = 0..N
pub fn plain[N](a: f32[N]) -> f32[N] = a .* 2.0
`

// exchangesOf adds the names of the operations of a plan that the host does.
func exchangesOf(steps []abi.Step, names map[string]bool) {
	for _, s := range steps {
		switch {
		case s.Host != nil:
			names[s.Host.Name] = true
		case s.Loop != nil:
			exchangesOf(s.Loop.Body, names)
		case s.If != nil:
			exchangesOf(s.If.Then, names)
			exchangesOf(s.If.Else, names)
		}
	}
}

// TestRanks: functions of a library give on blocks, on any number of ranks, the bits that they give on one.
func TestRanks(t *testing.T) {
	m, err := engine.Compile(exchanging, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	day := sample.Today(t)
	sizes := []int{2, 3, 4, 7}
	if !sample.All() {
		sizes = [][]int{{2, 7}, {3}, {4}}[day%3]
	}
	for i, n := range []int64{1, 5, 19, 100} {
		dims := map[string]int64{"N": n, "M": 3}
		bind := func(entry string) map[string]int64 {
			out := map[string]int64{}
			for _, d := range m.IR().Func(entry).Dims {
				out[d] = dims[d]
			}
			return out
		}
		if !sample.Has(day, i, 4) {
			continue
		}
		c, err := engine.Compile(exchanging, engine.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		l, err := c.Library("r", c.Names(), bind, sizes...)
		if err != nil {
			t.Fatal(err)
		}
		l.Target.CPU = plain
		libs, names := copies(t, l, 7), map[string]bool{}
		for _, e := range l.Entries {
			for _, r := range e.Ranks {
				for _, f := range r.Code.Plan.Funcs {
					exchangesOf(f.Steps, names)
				}
			}
			f, err := m.Func(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			if (e.Ranks == nil) != (e.Name == "plain") {
				t.Fatalf("%s has the code of %d ranks", e.Name, len(e.Ranks))
			}
			if e.Ranks == nil {
				continue
			}
			var input []*ir.Array
			r := rand.New(rand.NewPCG(uint64(n), 1))
			for _, p := range e.Params {
				var shape []int64
				for _, d := range p.Type.Shape {
					k, _ := d.Const()
					shape = append(shape, k)
				}
				a := random.Data(r, p.Type.Elem, shape)
				for i := range a.Bits {
					if p.Type.Elem == types.I32 {
						a.Bits[i] = uint64(r.Int64N(n))
					}
				}
				input = append(input, a)
			}
			want, err := random.Call(m, e.Name, input, 1)
			if err != nil || want.Failed != "" {
				t.Fatal(err, want)
			}
			for _, size := range append([]int{1}, sizes...) {
				got, err := libs.call(t, f, e, size, input, uint64(size))
				if err != nil {
					t.Fatalf("%s, N = %d, %d ranks: %v", e.Name, n, size, err)
				}
				if d := differ(f, want, got); d != "" {
					t.Errorf("%s, N = %d: %s", e.Name, n, d)
				}
			}
		}
		for _, name := range []string{"shard_start", "exchange_halo", "all_gather", "exchange_fetch", "all_to_all",
			"exchange_take", "exchange_sorted", "from_previous", "to_next", "exchange_update_rounds",
			"exchange_updates"} {
			if n > 1 && !names[name] {
				t.Errorf("no function needs %s, of %v", name, names)
			}
		}
	}
}

// TestRanksRefuse: what ranks cannot be is said, and ends in no call of another rank.
func TestRanksRefuse(t *testing.T) {
	goruntime.LockOSThread() // the message of a failure belongs to the thread
	defer goruntime.UnlockOSThread()
	made := func(src string) *aot.Library {
		m, err := engine.Compile(src, engine.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		l, err := m.Library("r", []string{"f"}, func(string) map[string]int64 { return map[string]int64{"N": 6} }, 2)
		if err != nil {
			t.Fatal(err)
		}
		l.Target.CPU = plain
		return l
	}
	l := made("pub fn f[N](x: f32[N] sharded(0)) -> f32[N] sharded(0) = cumsum(x)\n")
	libs := copies(t, l, 2)
	lib := libs.libs[0]
	whole := newTensor(t, func(i int) float32 { return float32(i) }, 6)
	out := newTensor(t, func(int) float32 { return 0 }, 6)
	fails := func(err error, code int32, want string) {
		t.Helper()
		var failed *Failure
		if !errors.As(err, &failed) || failed.Code != code || !strings.Contains(failed.Message, want) {
			t.Errorf("%v, want code %d: %s", err, code, want)
		}
	}
	call := func(lib *Lib, x, y *tensor.Tensor) error {
		return lib.Call(l.Entries[0], []*tensor.Tensor{x}, []*tensor.Tensor{y})
	}
	fails(call(lib, whole, out), aot.CodeRanks, "no cluster was set")
	set := func(cluster ...uint64) error {
		w := &words{memory: outside(64)}
		defer w.free()
		code, err := lib.Do(lib.Own("set_cluster"), w.add(cluster...))
		if err == nil && code != 0 {
			err = &Failure{code, lib.LastError()}
		}
		return err
	}
	c := calls()
	fails(set(0, 1|3<<32, uint64(c[0]), uint64(c[1]), uint64(c[2]), 0), aot.CodeRanks, "no code for 3 ranks")
	fails(set(0, 2|2<<32, uint64(c[0]), uint64(c[1]), uint64(c[2]), 0), aot.CodeArgument, "there is no rank 2 of 2")
	fails(set(0, 1|2<<32, uint64(c[0]), 0, uint64(c[2]), 0), aot.CodeArgument, "is missing")
	fails(call(lib, whole, out), aot.CodeRanks, "no cluster was set")
	if code, err := lib.Do(lib.Own("set_cluster"), 0); code != 0 || err != nil { // one rank
		t.Fatal(code, err)
	}
	if err := call(lib, whole, out); err != nil {
		t.Error(err)
	} else if v, err := tensor.Slice[float32](out); err != nil || v[5] != 15 {
		t.Errorf("the sums are %v, %v", v, err)
	}
	backwards, err := whole.Slice(tensor.Reversed)
	if err != nil {
		t.Fatal(err)
	}
	defer backwards.Close()
	fails(call(lib, backwards, out), aot.CodeArgument, "x is not row-major")

	for _, err := range libs.each(t, 2, func(_ int, lib *Lib) error { return call(lib, whole, out) }) {
		var failed *Failure // of the first that fails; the other hears of it
		if errors.As(err, &failed) {
			fails(err, aot.CodeArgument, "axis 0 of x has extent 6")
		}
	}
	other := copies(t, made("pub fn f[N](x: f32[N] sharded(0)) -> f32[N] sharded(0) = cumsum(x .* 2.0)\n"), 1)
	libs.libs[1] = other.libs[0]
	for rank, err := range libs.each(t, 2, func(int, *Lib) error { return nil }) {
		fails(err, aot.CodeRanks, fmt.Sprintf("rank %d has another library than rank %d", 1-rank, rank))
	}
}

// TestRandomRanks: drawn programs with tensors that are sharded at random give as libraries of ranks the bits of the
// interpreter, or fail.
func TestRandomRanks(t *testing.T) {
	n := 400 / sample.Part(40)
	if testing.Short() {
		n = 4
	}
	seed := uint64(sample.Today(t)) << 20
	if *first > 0 {
		seed, n = *first, *programsToRun
	}
	ran, refused := 0, 0
	for i := range uint64(n) {
		p, size := sources.New(seed+i, nil), []int{2, 3, 4, 7}[(seed+i)%4]
		want, err := sources.Run(p, sources.Interp, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		input, err := p.Input()
		if err != nil {
			t.Fatal(err)
		}
		m, err := engine.Compile(p.Text(), engine.Options{Threads: 1})
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		l, err := m.Library("r", []string{"f"}, func(string) map[string]int64 {
			out := map[string]int64{}
			for _, d := range p.Dims {
				out[d] = p.Bind[d]
			}
			return out
		}, size)
		var no *codegen.Unsupported
		if errors.As(err, &no) {
			refused++
			m.Close()
			continue
		} else if err != nil {
			t.Fatalf("program %d: %v\n%s", seed+i, err, p)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		if !l.ForRanks() {
			m.Close()
			continue
		}
		ran++
		l.Target.CPU = plain
		got, err := copies(t, l, size).call(t, f, l.Entries[0], size, input, seed+i)
		switch {
		case want.Failed != "" && err == nil:
			t.Errorf("program %d does not fail on %d ranks: %s\n%s", seed+i, size, want.Failed, p)
		case want.Failed != "":
			if !strings.Contains(err.Error(), "code ") {
				t.Errorf("program %d on %d ranks: %v", seed+i, size, err)
			}
		case err != nil:
			t.Errorf("program %d on %d ranks: %v\n%s", seed+i, size, err, p)
		default:
			if d := differ(f, want, got); d != "" {
				t.Errorf("program %d: %s\n%s", seed+i, d, p)
			}
		}
		m.Close()
	}
	t.Logf("%d of %d programs ran on ranks, and %d cannot be in a library", ran, n, refused)
	if ran < n/8 {
		t.Error("too few programs say something to ranks")
	}
}
