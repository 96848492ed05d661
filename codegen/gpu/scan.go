package gpu

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Parallel scans]: a group shares a scan whose operation is associative, such as sums of integers and maxima.
// Each thread computes the inputs of four neighbouring steps, or of one, and combines them. The threads of a warp
// combine their results by shuffles, the warps of a block through shared memory. Then every thread goes through its
// steps again, from the state before them, and stores. Statements that do not depend on the state are computed once.

// scanLoop is such a scan.
type scanLoop struct {
	step   *kernel.Let
	feed   kernel.Ref    // the input of a step
	given  bool          // the input is made before the loop
	start  value.Value   // the identity of step
	before []kernel.Stmt // the statements that do not depend on the state
	after  []kernel.Stmt
	feeds  []kernel.Ref // values of before that after uses
}

// scanOf recognises a scan of which a group does several steps at once; nil is none. Shorter ones go by tiles, see Note
// [One thread per row].
func scanOf(k *kernel.Kernel, s *kernel.Loop, tune *profile.GPU) *scanLoop {
	if n, known := count([]kernel.Axis{s.Axis}); s.Parallel || len(s.Init) != 1 ||
		known && n < int64(tune.ScanLeast) {
		return nil
	}
	f := &scanLoop{}
	state, own := s.Vars[0], map[kernel.Ref]bool{}
	dependent := map[kernel.Ref]bool{state: true}
	need := func(refs ...kernel.Ref) {
		for _, r := range refs {
			if own[r] && !slices.Contains(f.feeds, r) {
				f.feeds = append(f.feeds, r)
			}
		}
	}
	dependsOnState := func(refs []kernel.Ref) bool {
		return slices.ContainsFunc(refs, func(r kernel.Ref) bool { return dependent[r] })
	}
	accessed := map[int]kernel.Access{} // by parameter
	consistent := func(param int, at kernel.Access) bool {
		before, ok := accessed[param]
		accessed[param] = at
		p := k.Params[param]
		return !dependsOnState(refsOf(at)) && (!p.Out || !p.Work && (!ok || sameAccess(before, at)))
	}
	for _, st := range s.Body.Stmts {
		switch st := st.(type) {
		case *kernel.Let:
			switch {
			case st.ID == s.Next[0]:
				x, y := st.In.Args[0], st.In.Args[1]
				if x != state {
					x, y = y, x
				}
				identity := identityOf(st.In.Op, k.Types[state])
				if x != state || dependent[y] || identity == nil || k.Types[y] != k.Types[state] {
					return nil
				}
				f.step, f.feed, f.start = st, y, identity
				dependent[st.ID] = true
			case dependsOnState(st.In.Args[:]):
				if st.In.Op == scalar.Check {
					return nil
				}
				dependent[st.ID] = true
				f.after = append(f.after, st)
				need(st.In.Args[:]...)
			default:
				own[st.ID] = true
				f.before = append(f.before, st)
			}
		case *kernel.DimValue:
			own[st.ID] = true
			f.before = append(f.before, st)
		case *kernel.Load:
			if !consistent(st.Param, st.At) {
				return nil
			}
			own[st.ID] = true
			f.before = append(f.before, st)
		case *kernel.Store:
			if !consistent(st.Param, st.At) {
				return nil
			}
			f.after = append(f.after, st)
			need(append(refsOf(st.At), st.Val)...)
		default:
			return nil
		}
	}
	if f.step == nil {
		return nil
	}
	f.given = !own[f.feed] && f.feed != s.Axis.Var
	return f
}

// refsOf are the variables of an access.
func refsOf(at kernel.Access) (refs []kernel.Ref) {
	for _, t := range at.Terms {
		refs = append(refs, t.Var)
	}
	return refs
}

// identityOf is the identity of an associative operation; nil for all others.
func identityOf(op scalar.Op, d types.DType) value.Value {
	switch {
	case op == scalar.Min && d != types.Bool:
		return device.Identity(ir.ReduceMin, d)
	case op == scalar.Max && d != types.Bool:
		return device.Identity(ir.ReduceMax, d)
	case op == scalar.And && d == types.Bool:
		return device.Identity(ir.ReduceAnd, d)
	case op == scalar.Or && d == types.Bool:
		return device.Identity(ir.ReduceOr, d)
	case op == scalar.Add && d.IsInt():
		return device.Identity(ir.ReduceSum, d)
	case op == scalar.Mul && d.IsInt():
		return device.Identity(ir.ReduceProd, d)
	}
	return nil
}

// scan does a scan.
func (g *group) scan(s *kernel.Loop, f *scanLoop) {
	n, begin := g.length(s.Axis), ci(i64, s.Axis.Begin)
	again := func() {} // gives the input its value again, where the loop does not make it
	if f.given {
		x := g.Value(f.feed)
		again = func() { g.Define(f.feed, x) }
	}
	state := []value.Value{g.Value(s.Init[0])}
	done, size := value.Value(ci(i64, 0)), int64(g.plan.size)
	if _, ok := device.CanVectorise(g.k, s.Axis.Var, slices.Concat(f.before, f.after), s.Vars[0], s.Next[0]); ok &&
		s.Axis.Begin%threadLanes == 0 {
		done = g.roundDown(n, size*threadLanes)
		state = g.Count(ci(i64, 0), done, ci(i64, size*threadLanes), state,
			func(p value.Value, state []value.Value) []value.Value {
				at := g.Plus(g.Plus(p, begin), g.Times(g.zext(g.member), ci(i64, threadLanes)))
				given := map[kernel.Ref][]value.Value{f.feed: g.Vector(threadLanes, s.Axis.Var, at, nil, f.before,
					f.feed)}
				before, now, next := g.combineLanes(s, f, given[f.feed], state[0])
				given[s.Vars[0]], given[s.Next[0]] = before, now
				g.Vector(threadLanes, s.Axis.Var, at, given, f.after, scalar.None)
				return []value.Value{next}
			})
		again()
	}
	state = g.Count(done, n, ci(i64, size), state, func(p value.Value, state []value.Value) []value.Value {
		i := g.Plus(p, g.zext(g.member))
		at := g.Plus(i, begin)
		inside := g.Block().NewICmp(enum.IPredSLT, i, n)
		nothing := []value.Value{f.start}
		for _, r := range f.feeds {
			nothing = append(nothing, constant.NewZeroInitializer(device.RegisterType(g.k.Types[r])))
		}
		x := g.ifElse(inside, func() []value.Value {
			return g.guarded(s.Body, nothing, func() []value.Value {
				g.Define(s.Axis.Var, at)
				g.Statements(nil, f.before...)
				out := []value.Value{g.Value(f.feed)}
				for _, r := range f.feeds {
					out = append(out, g.Value(r))
				}
				return out
			})
		}, nothing)
		before, now, next := g.combineLanes(s, f, x[:1], state[0])
		g.when(inside, func() {
			g.Define(s.Axis.Var, at)
			g.Define(f.feed, x[0])
			for n, r := range f.feeds {
				g.Define(r, x[n+1])
			}
			g.Define(s.Vars[0], before[0])
			g.Define(s.Next[0], now[0])
			g.Statements(nil, f.after...)
		})
		return []value.Value{next}
	})
	again() // what comes after the loop may use it, too
	g.Define(s.IDs[0], state[0])
}

// combineLanes returns the states before and after each step of a thread, and the state after all steps of the group. x
// are the inputs of the thread's steps, carry is the state before those of the group.
func (g *group) combineLanes(s *kernel.Loop, f *scanLoop, x []value.Value, carry value.Value) (before,
	now []value.Value, next value.Value) {
	join := func(x, y value.Value) value.Value {
		g.Define(s.Vars[0], x)
		g.Define(f.feed, y)
		g.Statements(nil, f.step)
		return g.Value(s.Next[0])
	}
	mine := []value.Value{x[0]}
	for _, y := range x[1:] {
		mine = append(mine, join(mine[len(mine)-1], y))
	}
	lane := value.Value(g.Block().NewAnd(g.member, ci(i32, warpSize-1)))
	all := mine[len(mine)-1] // of this thread and those before it in the warp
	for w := int64(1); w < warpSize; w *= 2 {
		y := join(g.shuffle("up", all, ci(i32, w)), all)
		all = g.Block().NewSelect(g.Block().NewICmp(enum.IPredUGE, lane, ci(i32, w)), y, all)
	}
	others := g.shuffle("up", all, ci(i32, 1))
	if g.plan.size == blockSize {
		last := ci(i32, warpSize-1)
		warp := g.Block().NewLShr(g.member, ci(i32, 5))
		base := carry
		for w, total := range g.exchange([]value.Value{all}, last) {
			if w > 0 {
				base = g.Block().NewSelect(g.Block().NewICmp(enum.IPredEQ, warp, ci(i32, int64(w))), carry, base)
			}
			carry = join(carry, total[0])
		}
		next, carry = carry, base
	} else {
		next = join(carry, g.shuffle("idx", all, ci(i32, warpSize-1)))
	}
	first := g.Block().NewICmp(enum.IPredEQ, lane, ci(i32, 0))
	state := value.Value(g.Block().NewSelect(first, carry, join(carry, others)))
	for _, y := range x {
		before = append(before, state)
		state = join(state, y)
		now = append(now, state)
	}
	return before, now, next
}
