package gpu_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/gpu/ptxsim"
	"healc/codegen/llvm/libllvm"
	"healc/ir"
)

// A mutation breaks PTX at each place that matches a pattern, one at a time.
type mutation struct {
	name             string
	pattern, replace string
	kinds            []ptxsim.Kind // what the PTX interpreter may report
}

// guarded executes an instruction in the threads whose special register is less than n.
func guarded(register, n string) string {
	return "{ .reg .pred %mp; .reg .b32 %mr; mov.u32 %mr, " + register + "; setp.lt.u32 %mp, %mr, " + n + "; @%mp $0 }"
}

var (
	noBarrier    = mutation{"a missing barrier", `bar\.sync\s+0;`, "", []ptxsim.Kind{ptxsim.Race, ptxsim.Uninitialised}}
	someWarps    = mutation{"a barrier in one warp", `bar\.sync\s+0;`, guarded("%tid.x", "32"), []ptxsim.Kind{ptxsim.BarrierDivergence, ptxsim.Race, ptxsim.Uninitialised}}
	someLanes    = mutation{"a barrier in some lanes", `bar\.sync\s+0;`, guarded("%laneid", "20"), []ptxsim.Kind{ptxsim.BarrierDivergence, ptxsim.Race, ptxsim.Uninitialised}}
	wrongMask    = mutation{"a member mask without lane 31", `(shfl\.sync\.[a-z]+\.b32\s[^;]*), -1;`, "$1, 0x7fffffff;", []ptxsim.Kind{ptxsim.WarpDivergence}}
	halfShuffle  = mutation{"a shuffle with half of the lanes", `(shfl\.sync\.[a-z]+\.b32\s[^;]*), -1;`, guarded("%laneid", "16"), []ptxsim.Kind{ptxsim.WarpDivergence, ptxsim.Uninitialised}}
	lessEqual    = mutation{"a bound that is one too large", `setp\.lt\.(s|u)(32|64)`, "setp.le.$1$2", []ptxsim.Kind{ptxsim.OutOfBounds}}
	greater      = mutation{"a bound that is one too large", `setp\.ge\.(s|u)(32|64)`, "setp.gt.$1$2", []ptxsim.Kind{ptxsim.OutOfBounds}}
	loadBeside   = mutation{"a load beside", `(ld\.global[^;]*\[[^\]+]*)\]`, "$1+4]", []ptxsim.Kind{ptxsim.OutOfBounds, ptxsim.Misaligned}}
	storeBeside  = mutation{"a store beside", `(st\.global[^;]*\[[^\]+]*)\]`, "$1+4]", []ptxsim.Kind{ptxsim.OutOfBounds, ptxsim.Misaligned}}
	sharedBeside = mutation{"a load beside, in shared memory", `(ld\.shared[^;]*\[[^\]+]*)\]`, "$1+4]", []ptxsim.Kind{ptxsim.Misaligned, ptxsim.Uninitialised}}
	noStore      = mutation{"a missing store to shared memory", `st\.shared[^;]*;`, "", []ptxsim.Kind{ptxsim.Uninitialised}}
	halfStride   = mutation{"a stride of 8 bytes for vectors of 16", `(shl\.b(32|64)\s[^;]*), 4;`, "$1, 3;", []ptxsim.Kind{ptxsim.Misaligned}}
	laneForTid   = mutation{"the lane for the thread", `%tid\.x`, "%laneid", []ptxsim.Kind{ptxsim.Race}}
	smallBlock   = mutation{"the size of a block minus one", `%ntid\.x`, "127", []ptxsim.Kind{ptxsim.Race}}
)

// mutations says where every place that matches is broken by the change: of other places it may be nothing that the
// program needs, such as a barrier before a second round that there is not at this size.
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
	{"softmax", []int64{5, 128}, []mutation{wrongMask, noStore, loadBeside}},
	{"total", []int64{140000}, []mutation{noBarrier, someWarps, wrongMask, laneForTid}},
	{"matmul", []int64{65, 33, 70}, []mutation{noBarrier, someLanes, sharedBeside, laneForTid}},
	{"transpose", []int64{33, 100}, []mutation{loadBeside, storeBeside, laneForTid, smallBlock}},
}

// Broken kernels are found by the checks of the PTX interpreter, whatever they compute: generated PTX is changed in one
// place, and each such kernel has to stop with a fault. It runs with as many blocks as there are tasks for, and with two.
func TestMutations(t *testing.T) {
	total := 0
	for _, c := range mutations {
		i := slices.IndexFunc(programs, func(p programCase) bool { return p.name == c.program })
		m, err := heal.Compile(programs[i].source, heal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		fn := m.IR().Func("f")
		dims := map[string]int64{}
		for i, name := range fn.Dims {
			dims[name] = c.size[i]
		}
		r := rand.New(rand.NewPCG(1, 2))
		var args []*ir.Array
		for _, v := range fn.Body.Params {
			var shape []int64
			for _, d := range v.Type.Shape {
				n, err := d.Eval(dims)
				if err != nil {
					t.Fatal(err)
				}
				shape = append(shape, n)
			}
			args = append(args, draw(r, v.Type.Elem, shape...))
		}
		km, err := m.Kernels("f", dims, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := gpu.Compile(km, codegen.Target{Kind: "gpu", CPU: "sm_80"}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		ptx := string(text)
		for _, mu := range c.list {
			re := regexp.MustCompile(mu.pattern)
			places := re.FindAllStringSubmatchIndex(ptx, -1)
			if len(places) == 0 {
				t.Errorf("%s%v, %s: there is no place for it", c.program, c.size, mu.name)
			}
			for _, at := range places {
				broken := ptx[:at[0]] + string(re.ExpandString(nil, mu.replace, ptx, at)) + ptx[at[1]:]
				line := 1 + strings.Count(ptx[:at[0]], "\n")
				_, _, err := execute(km, broken, nil, args, false)
				if err == nil {
					_, _, err = execute(km, broken, nil, args, true)
				}
				var f *ptxsim.Fault
				switch {
				case err == nil:
					t.Errorf("%s%v, %s in line %d is not noticed: %s", c.program, c.size, mu.name, line, ptx[at[0]:at[1]])
				case !errors.As(err, &f) || !slices.Contains(mu.kinds, f.Kind):
					t.Errorf("%s%v, %s in line %d: %v", c.program, c.size, mu.name, line, err)
				}
				total++
			}
		}
	}
	t.Logf("%d broken kernels", total)
	if total < 100 {
		t.Errorf("only %d broken kernels", total)
	}
}
