package gpu

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Prefixes]: a scan whose steps may be taken in any order, such as sums of integers and maxima, is the work of a
// whole team. Each thread computes what comes in at four neighbours, or at one, and combines them; the threads of a
// warp combine theirs by shuffles, and the warps of a block through shared memory; then every thread goes through its
// neighbours again, from what came in before them, and stores. What does not follow from the state is computed once.

// prefixLeast is the least length of a row: shorter ones go by tiles, see Note [Chains on devices].
const prefixLeast = 64

// prefix is a loop that is such a scan.
type prefix struct {
	step   *kernel.Let
	feed   kernel.Ref // that comes in
	start  value.Value
	before []kernel.Stmt // what does not follow from the state
	after  []kernel.Stmt
	needs  []kernel.Ref // what after takes from before
}

// prefixOf recognises a scan of which a team does several steps at once; nil is none.
func prefixOf(k *kernel.Kernel, s *kernel.Loop) *prefix {
	if n, known := count([]kernel.Axis{s.Axis}); s.Parallel || len(s.Init) != 1 || known && n < prefixLeast {
		return nil
	}
	f := &prefix{}
	state, own := s.Vars[0], map[kernel.Ref]bool{}
	follows := map[kernel.Ref]bool{state: true}
	need := func(refs ...kernel.Ref) {
		for _, r := range refs {
			if own[r] && !slices.Contains(f.needs, r) {
				f.needs = append(f.needs, r)
			}
		}
	}
	any := func(refs []kernel.Ref) bool {
		return slices.ContainsFunc(refs, func(r kernel.Ref) bool { return follows[r] })
	}
	places := map[int]kernel.Access{} // of what is read and written
	place := func(param int, at kernel.Access) bool {
		before, ok := places[param]
		places[param] = at
		return !any(refsOf(at)) && (!k.Params[param].Out || !k.Params[param].Work && (!ok || sameAccess(before, at)))
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
				if x != state || follows[y] || identity == nil || k.Types[y] != k.Types[state] {
					return nil
				}
				f.step, f.feed, f.start = st, y, identity
				follows[st.ID] = true
			case any(st.In.Args[:]):
				if st.In.Op == scalar.Check {
					return nil
				}
				follows[st.ID] = true
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
			if !place(st.Param, st.At) {
				return nil
			}
			own[st.ID] = true
			f.before = append(f.before, st)
		case *kernel.Store:
			if !place(st.Param, st.At) {
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
	return f
}

// refsOf are the scalars of an access.
func refsOf(at kernel.Access) (refs []kernel.Ref) {
	for _, t := range at.Terms {
		refs = append(refs, t.Var)
	}
	return refs
}

// identityOf is what changes nothing when it is combined by op, for operations that may be done in any order; nil for
// all others.
func identityOf(op scalar.Op, d types.DType) value.Value {
	switch {
	case op == scalar.Min && d != types.Bool:
		return llvm.Identity(ir.ReduceMin, d)
	case op == scalar.Max && d != types.Bool:
		return llvm.Identity(ir.ReduceMax, d)
	case op == scalar.And && d == types.Bool:
		return llvm.Identity(ir.ReduceAnd, d)
	case op == scalar.Or && d == types.Bool:
		return llvm.Identity(ir.ReduceOr, d)
	case op == scalar.Add && d.IsInt():
		return llvm.Identity(ir.ReduceSum, d)
	case op == scalar.Mul && d.IsInt():
		return llvm.Identity(ir.ReduceProd, d)
	}
	return nil
}

// prefixes does a scan.
func (t *team) prefixes(s *kernel.Loop, f *prefix) {
	n, begin := t.length(s.Axis), ci(i64, s.Axis.Begin)
	state := []value.Value{t.Value(s.Init[0])}
	done, size := value.Value(ci(i64, 0)), int64(t.plan.size)
	if _, ok := llvm.CanVectorise(t.k, s.Axis.Var, slices.Concat(f.before, f.after), s.Vars[0], s.Next[0]); ok &&
		s.Axis.Begin%teamVector == 0 {
		done = t.whole(n, size*teamVector)
		state = t.Count(ci(i64, 0), done, ci(i64, size*teamVector), state,
			func(p value.Value, state []value.Value) []value.Value {
				at := t.Plus(t.Plus(p, begin), t.Times(t.wide(t.member), ci(i64, teamVector)))
				given := map[kernel.Ref][]value.Value{f.feed: t.Vector(teamVector, s.Axis.Var, at, nil, f.before,
					f.feed)}
				before, now, next := t.combined(s, f, given[f.feed], state[0])
				given[s.Vars[0]], given[s.Next[0]] = before, now
				t.Vector(teamVector, s.Axis.Var, at, given, f.after, scalar.None)
				return []value.Value{next}
			})
	}
	state = t.Count(done, n, ci(i64, size), state, func(p value.Value, state []value.Value) []value.Value {
		i := t.Plus(p, t.wide(t.member))
		at := t.Plus(i, begin)
		inside := t.Block().NewICmp(enum.IPredSLT, i, n)
		nothing := []value.Value{f.start}
		for _, r := range f.needs {
			nothing = append(nothing, constant.NewZeroInitializer(llvm.RegisterType(t.k.Types[r])))
		}
		x := t.choose(inside, func() []value.Value {
			return t.guarded(s.Body, nothing, func() []value.Value {
				t.Define(s.Axis.Var, at)
				t.Statements(nil, f.before...)
				out := []value.Value{t.Value(f.feed)}
				for _, r := range f.needs {
					out = append(out, t.Value(r))
				}
				return out
			})
		}, nothing)
		before, now, next := t.combined(s, f, x[:1], state[0])
		t.when(inside, func() {
			t.Define(s.Axis.Var, at)
			t.Define(f.feed, x[0])
			for n, r := range f.needs {
				t.Define(r, x[n+1])
			}
			t.Define(s.Vars[0], before[0])
			t.Define(s.Next[0], now[0])
			t.Statements(nil, f.after...)
		})
		return []value.Value{next}
	})
	t.Define(s.IDs[0], state[0])
}

// combined gives the states before and after each of a thread's neighbours, from what comes in at them and the state
// before the team's, and the state after the team's.
func (t *team) combined(s *kernel.Loop, f *prefix, x []value.Value, carry value.Value) (before, now []value.Value,
	next value.Value) {
	join := func(x, y value.Value) value.Value {
		t.Define(s.Vars[0], x)
		t.Define(f.feed, y)
		t.Statements(nil, f.step)
		return t.Value(s.Next[0])
	}
	mine := []value.Value{x[0]}
	for _, y := range x[1:] {
		mine = append(mine, join(mine[len(mine)-1], y))
	}
	lane := value.Value(t.Block().NewAnd(t.member, ci(i32, warpSize-1)))
	all := mine[len(mine)-1] // of this thread and those before it in the warp
	for w := int64(1); w < warpSize; w *= 2 {
		y := join(t.shuffle("up", all, ci(i32, w)), all)
		all = t.Block().NewSelect(t.Block().NewICmp(enum.IPredUGE, lane, ci(i32, w)), y, all)
	}
	others := t.shuffle("up", all, ci(i32, 1))
	if t.plan.size == blockSize {
		last := ci(i32, warpSize-1)
		warp := t.Block().NewLShr(t.member, ci(i32, 5))
		base := carry
		for w, total := range t.exchange([]value.Value{all}, last) {
			if w > 0 {
				base = t.Block().NewSelect(t.Block().NewICmp(enum.IPredEQ, warp, ci(i32, int64(w))), carry, base)
			}
			carry = join(carry, total[0])
		}
		next, carry = carry, base
	} else {
		next = join(carry, t.shuffle("idx", all, ci(i32, warpSize-1)))
	}
	first := t.Block().NewICmp(enum.IPredEQ, lane, ci(i32, 0))
	state := value.Value(t.Block().NewSelect(first, carry, join(carry, others)))
	for _, y := range x {
		before = append(before, state)
		state = join(state, y)
		now = append(now, state)
	}
	return before, now, next
}
