package gpu_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
)

// A mutation breaks PTX at each place that matches a pattern, one at a time.
type mutation struct {
	name             string
	pattern, replace string
	kinds            []machine.Kind // what the PTX interpreter reports for one place at least
	values           bool           // some places only change values, which no check can see
}

// guarded executes an instruction in the threads whose special register is less than n.
func guarded(register, n string) string {
	return "{ .reg .pred %mp; .reg .b32 %mr; mov.u32 %mr, " + register + "; setp.lt.u32 %mp, %mr, " + n + "; @%mp $0 }"
}

var (
	noBarrier = mutation{"a missing barrier", `bar\.sync\s+0;`, "", []machine.Kind{machine.Race}, false}
	someWarps = mutation{"a barrier in one warp", `bar\.sync\s+0;`, guarded("%tid.x", "32"),
		[]machine.Kind{machine.BarrierDivergence, machine.Race, machine.Uninitialised}, false}
	someLanes = mutation{"a barrier in some lanes", `bar\.sync\s+0;`, guarded("%laneid", "20"),
		[]machine.Kind{machine.BarrierDivergence, machine.Race, machine.Uninitialised}, false}
	wrongMask = mutation{"a member mask without lane 31", `(shfl\.sync\.[a-z]+\.b32\s[^;]*), -1;`, "$1, 0x7fffffff;",
		[]machine.Kind{machine.WarpDivergence}, false}
	halfShuffle = mutation{"a shuffle with half of the lanes", `(shfl\.sync\.[a-z]+\.b32\s[^;]*), -1;`,
		guarded("%laneid", "16"), []machine.Kind{machine.WarpDivergence}, false}
	lessEqual = mutation{"a bound that is one too large", `setp\.lt\.(s|u)(32|64)`, "setp.le.$1$2",
		[]machine.Kind{machine.OutOfBounds}, true}
	greater = mutation{"a bound that is one too large", `setp\.ge\.(s|u)(32|64)`, "setp.gt.$1$2",
		[]machine.Kind{machine.OutOfBounds}, true}
	loadBeside = mutation{"a load beside", `(ld\.global[^;]*\[[^\]+]*)\]`, "$1+4]",
		[]machine.Kind{machine.OutOfBounds, machine.Misaligned}, true}
	storeBeside = mutation{"a store beside", `(st\.global[^;]*\[[^\]+]*)\]`, "$1+4]",
		[]machine.Kind{machine.OutOfBounds}, true}
	sharedBeside = mutation{"a load beside, in shared memory", `(ld\.shared[^;]*\[[^\]+]*)\]`, "$1+4]",
		[]machine.Kind{machine.Misaligned, machine.Uninitialised}, true}
	noStore = mutation{"a missing store to shared memory", `st\.shared[^;]*;`, "",
		[]machine.Kind{machine.Uninitialised}, true}
	halfStride = mutation{"a stride of 8 bytes for vectors of 16", `(shl\.b(32|64)\s[^;]*), 4;`, "$1, 3;",
		[]machine.Kind{machine.Misaligned}, true}
	laneForTid = mutation{"the lane for the thread", `%tid\.x`, "%laneid", []machine.Kind{machine.Race}, true}
	halfMask   = mutation{"a match without lane 31", `(match\.any\.sync\.b64\s[^;]*), -1;`, "$1, 0x7fffffff;",
		[]machine.Kind{machine.WarpDivergence}, false}
	noWarpBarrier = mutation{"no barrier of a warp", `bar\.warp\.sync\s+-1;`, "",
		[]machine.Kind{machine.Race, machine.Uninitialised}, false}
	smallBlock = mutation{"the size of a block minus one", `%ntid\.x`, "127", []machine.Kind{machine.Race}, true}
)

// mutations says what is broken where. A place may be one that the program does not need at this size, such as one of
// two barriers in a row: then the results are right, too.
var mutations = []struct {
	program string
	size    []int64
	list    []mutation
}{
	{"chain", []int64{1027}, []mutation{loadBeside, storeBeside, halfStride, laneForTid, smallBlock}},
	{"rowsum", []int64{9, 5000}, []mutation{noBarrier, someWarps, someLanes, wrongMask, halfShuffle, laneForTid}},
	{"rowsum", []int64{2, 4097}, []mutation{lessEqual, greater, storeBeside, sharedBeside}},
	{"rowsum", []int64{7, 129}, []mutation{wrongMask}},
	{"softmax", []int64{3, 1025}, []mutation{noBarrier, someLanes, wrongMask, laneForTid}},
	{"softmax", []int64{5, 128}, []mutation{wrongMask, loadBeside}},
	{"total", []int64{140000}, []mutation{noBarrier, someWarps, wrongMask, laneForTid}},
	{"matmul", []int64{65, 33, 70}, []mutation{noBarrier, someLanes, noStore, sharedBeside, laneForTid}},
	{"transposed", []int64{9, 70, 100}, []mutation{noBarrier, someWarps, noStore, laneForTid}},
	{"cumsum", []int64{70, 40}, []mutation{noWarpBarrier, noStore, lessEqual, laneForTid}},
	{"scatter", []int64{1, 100, 3000}, []mutation{noWarpBarrier, halfMask}},
	{"sort", []int64{2, 100}, []mutation{noWarpBarrier}},
	{"sort", []int64{1, 1025}, []mutation{noBarrier, someWarps}},
	{"matvec", []int64{16400, 16}, []mutation{noWarpBarrier, noStore}},
}

// broken is a program whose PTX is broken, with its right results for as many blocks as there are tasks for, and for
// two.
type broken struct {
	km   *kernel.Module
	ptx  string
	args []*ir.Array
	want [2][]*ir.Array
}

func newBroken(t *testing.T, program string, size []int64) *broken {
	t.Helper()
	i := slices.IndexFunc(programs, func(p programCase) bool { return p.name == program })
	m, err := engine.Compile(programs[i].source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	fn := m.IR().Func("f")
	dims := map[string]int64{}
	for i, name := range fn.Dims {
		dims[name] = size[i]
	}
	b := &broken{}
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range fn.Body.Params {
		var shape []int64
		for _, d := range v.Type.Shape {
			n, err := d.Eval(dims)
			if err != nil {
				t.Fatal(err)
			}
			shape = append(shape, n)
		}
		b.args = append(b.args, draw(r, v.Type.Elem, shape...))
	}
	if b.km, err = m.Kernels("f", dims, nil); err != nil {
		t.Fatal(err)
	}
	text, err := gpu.Compile(b.km, codegen.Target{Kind: "gpu", CPU: "sm_80"}, libllvm.Assembly)
	if err != nil {
		t.Fatal(err)
	}
	b.ptx = string(text)
	for i := range b.want {
		if b.want[i], _, err = execute(b.km, b.ptx, nil, b.args, i == 1); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// run executes changed PTX. It gives the fault, if there is one, and whether the results are right.
func (b *broken) run(t *testing.T, ptx string) (f *machine.Fault, right bool) {
	t.Helper()
	right = true
	for i, want := range b.want {
		got, failure, err := execute(b.km, ptx, nil, b.args, i == 1)
		if errors.As(err, &f) {
			return f, false
		}
		if err != nil {
			t.Fatal(err)
		}
		right = right && failure.Site == 0
		for k := range got {
			right = right && differ(got[k], want[k]) == ""
		}
	}
	return nil, right
}

// Broken kernels are found by the checks of the PTX interpreter, whatever they compute: generated PTX is changed in one
// place, and stops with a fault unless the place does not matter.
func TestMutations(t *testing.T) {
	found, located := 0, 0
	for _, c := range mutations {
		b := newBroken(t, c.program, c.size)
		for _, mu := range c.list {
			re := regexp.MustCompile(mu.pattern)
			places := re.FindAllStringSubmatchIndex(b.ptx, -1)
			expected := 0
			for _, at := range places {
				f, right := b.run(t, b.ptx[:at[0]]+string(re.ExpandString(nil, mu.replace, b.ptx, at))+b.ptx[at[1]:])
				switch {
				case f == nil && !right && !mu.values:
					t.Errorf("%s%v, %s in line %d is not noticed: %s", c.program, c.size, mu.name, 1+
						strings.Count(b.ptx[:at[0]], "\n"), b.ptx[at[0]:at[1]])
				case f != nil:
					found++
					if strings.HasPrefix(f.Source, "<source>:1:") {
						located++
					}
					if slices.Contains(mu.kinds, f.Kind) {
						expected++
					}
				}
			}
			if expected == 0 {
				t.Errorf("%s%v, %s: none of %q in %d places", c.program, c.size, mu.name, mu.kinds, len(places))
			}
		}
	}
	t.Logf("%d broken kernels were found, %d with the line of the source", found, located)
	if located < found*3/4 { // some instructions are for several lines
		t.Errorf("%d of %d faults have the line of the source", located, found)
	}
	if found < 100 {
		t.Errorf("only %d broken kernels", found)
	}
}
