package gpu

import (
	"fmt"
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Transforms as grids]: a group for each row leaves most of a device idle where there are few rows. Where nothing
// but scalars stands before a transform, its stages are entries of their own before that of the kernel:
//
//	k$outer0    a thread for each unit of the outer stages, once or more
//	k$inner     a block for each part, or for the parts of several rows with 4096 elements together
//	k           the kernel, in which the transform has been done
//	k$rows      a thread for some elements of the loop that ends the kernel, such as a permutation, where there are
//	            few long rows
//
// Each of them computes the scalars of its row again. Checks are left to the last one, as is the failure of a row:
// where a modulus, an element or a factor is out of range, each warp that has seen it says so in a word of the
// transform's spare memory, and the kernel looks at the words of its row.

const transformThreads = partElements >> partStages // of a block: one for each unit of a part

// splitTransform is the first transform of k that entries of their own can do, with what stands before it in its row.
type splitTransform struct {
	*transformPlan
	before []kernel.Stmt // of the body
	arm    *kernel.If    // in which the transform is, or nil
	other  bool          // in the other arm
	inside []kernel.Stmt // before it in the arm
}

// splitOf finds the transform to split; nil is none.
func splitOf(k *kernel.Kernel) *splitTransform {
	for i, s := range k.Body.Stmts {
		before := k.Body.Stmts[:i]
		switch s := s.(type) {
		case *kernel.Transform:
			return splitAt(k, s, &splitTransform{before: before})
		case *kernel.If:
			if scalars(k, s) {
				continue
			}
			for n, b := range []*kernel.Block{s.Then, s.Else} {
				at := slices.IndexFunc(b.Stmts, func(s kernel.Stmt) bool { return !scalars(k, s) })
				if at < 0 {
					continue
				}
				if st, ok := b.Stmts[at].(*kernel.Transform); ok {
					return splitAt(k, st, &splitTransform{before: before, arm: s, other: n == 1, inside: b.Stmts[:at]})
				}
				return nil
			}
		}
		if !scalars(k, s) {
			return nil
		}
	}
	return nil
}

// splitAt is split for s, if each row has spare memory of its own.
func splitAt(k *kernel.Kernel, s *kernel.Transform, split *splitTransform) *splitTransform {
	if k.Params[s.Spare.Param].Local {
		return nil
	}
	for _, a := range k.Axes {
		n, known := count([]kernel.Axis{a})
		own := slices.ContainsFunc(s.Spare.At.Terms, func(t kernel.Term) bool { return t.Var == a.Var })
		if !own && !(known && n <= 1) {
			return nil
		}
	}
	split.transformPlan = planTransform(s)
	return split
}

// tailOf is the plan of the loop that ends k, as a kernel with what it needs of the scalars before it; nil is none.
func tailOf(k *kernel.Kernel, tune *profile.GPU) *elementwisePlan {
	end := len(k.Body.Stmts) - 1
	loop, ok := k.Body.Stmts[end].(*kernel.Loop)
	if !ok {
		return nil
	}
	needs := map[kernel.Ref]bool{}
	read := func(s kernel.Stmt) {
		kernel.Visitor{Read: func(r *kernel.Ref) { needs[*r] = true }}.All(&kernel.Block{Stmts: []kernel.Stmt{s}})
	}
	defines := func(s kernel.Stmt) (needed bool) {
		kernel.Visitor{Define: func(r *kernel.Ref) { needed = needed || needs[*r] }}.Stmt(s)
		return needed
	}
	read(loop)
	stmts := []kernel.Stmt{loop}
	for i := end - 1; i >= 0; i-- {
		s := k.Body.Stmts[i]
		if !defines(s) {
			continue
		}
		if !scalars(k, s) {
			return nil
		}
		read(s)
		stmts = append([]kernel.Stmt{s}, stmts...)
	}
	alone := *k
	alone.Body = &kernel.Block{Stmts: stmts}
	p := planElementwise(&alone, tune)
	if p == nil || p.rows == nil {
		return nil
	}
	p.part = "rows"
	return p
}

// scalars reports whether s only computes scalars, of what the kernel does not write.
func scalars(k *kernel.Kernel, s kernel.Stmt) bool {
	ok := true
	kernel.Walk(s, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.If:
		case *kernel.Load:
			ok = ok && !k.Params[s.Param].Out
		default:
			ok = false
		}
	})
	return ok
}

// units is the number of units of a pass over a row.
func (s *splitTransform) units(n passes) int64 { return s.Size >> n.count }

// partThreads is the number of threads for a part.
func (s *splitTransform) partThreads() int64 { return s.part >> partStages }

// words is the number of words in which a row says whether something is out of range: one for each warp.
func (s *splitTransform) words() int64 {
	n := s.parts * s.partWords()
	for _, o := range s.outer {
		n += s.units(o) / warpSize
	}
	return n
}

// partWords is the number of words of a part.
func (s *splitTransform) partWords() int64 { return max(1, s.partThreads()/warpSize) }

// emit writes the entries of the stages.
func (s *splitTransform) emit(m *module, k *kernel.Kernel) []abi.DeviceKernel {
	var all []abi.DeviceKernel
	word, bound := s.parts*s.partWords(), 0
	outer := func(i int) {
		var kernel abi.DeviceKernel
		kernel, bound = s.outerEntry(m, k, i, bound, word)
		all, word = append(all, kernel), word+s.units(s.outer[i])/warpSize
	}
	inner := func() { all = append(all, s.innerEntry(m, k, bound)) }
	if s.Inverse {
		inner()
		bound = innerBound
		for i := len(s.outer) - 1; i >= 0; i-- {
			outer(i)
		}
		return all
	}
	for i := range s.outer {
		outer(i)
	}
	inner()
	return all
}

// row computes what stands before the transform in row i, and reports whether the row comes to the transform.
func (s *splitTransform) row(t *thread, i value.Value) value.Value {
	t.setAxes(i)
	unchecked := func(s kernel.Stmt) bool {
		l, ok := s.(*kernel.Let)
		return ok && l.In.Op == scalar.Check
	}
	t.Statements(unchecked, s.before...)
	if s.arm == nil {
		return constant.True
	}
	yes := t.Value(s.arm.Cond)
	if s.other {
		yes = t.Block().NewXor(yes, constant.True)
	}
	t.Statements(unchecked, s.inside...)
	return yes
}

// outerEntry writes the entry of outer pass i. Blocks are pieces of a row.
func (s *splitTransform) outerEntry(m *module, k *kernel.Kernel, i, bound int, word int64) (abi.DeviceKernel, int) {
	t := m.entry(k, fmt.Sprintf("outer%d", i), transformThreads)
	n := s.outer[i]
	pieces := s.units(n) / transformThreads
	after := 0
	all := t.Times(t.iterations(), ci(i64, pieces))
	t.Count(t.zext(t.register("ctaid.x")), all, t.zext(t.register("nctaid.x")), nil,
		func(piece value.Value, _ []value.Value) []value.Value {
			row := t.Block().NewLShr(piece, ci(i64, lowBits(pieces)))
			yes := s.row(t, row)
			t.when(yes, func() {
				r, l := t.ring(s.Transform), t.lines(s.Transform)
				if bound > 0 {
					l = l.next(s.transformPlan, bound)
				}
				piece := t.Block().NewAnd(piece, ci(i64, pieces-1))
				u := t.Plus(t.Times(piece, ci(i64, transformThreads)), t.zext(t.register("tid.x")))
				after = r.outerUnit(s.transformPlan, l, n, u)
				at := t.Plus(t.Block().NewLShr(u, ci(i64, lowBits(warpSize))), ci(i64, word))
				s.note(t, r, warpSize, at, constant.True)
			})
			return nil
		})
	t.Finish()
	return s.launch(t, k, pieces, 1), after
}

// innerEntry writes the entry of the inner stages. The threads of a block do neighbouring parts, of one row or several.
func (s *splitTransform) innerEntry(m *module, k *kernel.Kernel, bound int) abi.DeviceKernel {
	t := m.entry(k, "inner", transformThreads)
	memory := m.code.Shared(t.name+".parts", i64, sharedWords(partElements))
	threads, tid := s.partThreads(), t.zext(t.register("tid.x"))
	perBlock := transformThreads / threads
	group := t.Block().NewLShr(tid, ci(i64, lowBits(threads)))
	member := t.Block().NewAnd(tid, ci(i64, threads-1))
	team := team{member, threads, memory, t.Times(group, ci(i64, s.part)), t.barrier}
	all := t.Times(t.iterations(), ci(i64, s.parts))
	begin := t.Times(t.zext(t.register("ctaid.x")), ci(i64, perBlock))
	step := t.Times(t.zext(t.register("nctaid.x")), ci(i64, perBlock))
	t.Count(begin, all, step, nil, func(i value.Value, _ []value.Value) []value.Value {
		i = t.Plus(i, group)
		there := value.Value(constant.True)
		if c, known := constantInt(all); !known || c%perBlock != 0 {
			there = t.Block().NewICmp(enum.IPredULT, i, all)
			i = t.Block().NewSelect(there, i, ci(i64, 0))
		}
		row := t.Block().NewLShr(i, ci(i64, lowBits(s.parts)))
		q := t.Block().NewAnd(i, ci(i64, s.parts-1))
		yes := s.row(t, row)
		wanted := value.Value(constant.True)
		if s.arm != nil {
			there = t.Block().NewAnd(there, yes)
			wanted = t.voteBlock(there)
		}
		t.when(wanted, func() {
			r, l := t.ring(s.Transform), t.lines(s.Transform)
			if bound > 0 {
				l = l.next(s.transformPlan, bound)
			}
			r.innerStages(s.transformPlan, l, q, team, there)
			at := t.Plus(t.Times(q, ci(i64, s.partWords())), t.Block().NewLShr(member, ci(i64, lowBits(warpSize))))
			s.note(t, r, min(threads, warpSize), at, there)
		})
		return nil
	})
	t.Finish()
	return s.launch(t, k, s.parts, perBlock)
}

// launch is that of an entry for so many pieces of each row.
func (s *splitTransform) launch(t *thread, k *kernel.Kernel, pieces, perBlock int64) abi.DeviceKernel {
	of := append(items(k), abi.Extent{Dim: types.Lit(pieces)})
	return kernelOf(abi.DeviceLaunch{Entry: t.name, Items: of, PerBlock: perBlock, Threads: transformThreads}, 0)
}

// note writes whether something was out of range for any of so many neighbouring threads of a warp.
func (s *splitTransform) note(t *thread, r *ring, threads int64, at, store value.Value) {
	b := t.Block()
	odd := b.NewXor(r.ok(), constant.True)
	ballot := t.Intrinsic("llvm.nvvm.vote.ballot.sync", i32, i32, i1)
	bad := value.Value(b.NewCall(ballot, ci(i32, -1), odd))
	lane := b.NewAnd(t.register("tid.x"), ci(i32, warpSize-1))
	first := b.NewAnd(lane, ci(i32, -threads))
	if threads < warpSize {
		bad = b.NewAnd(bad, b.NewShl(ci(i32, 1<<threads-1), first))
	}
	leader := b.NewAnd(store, b.NewICmp(enum.IPredEQ, lane, first))
	t.when(leader, func() {
		words := t.Address(s.Spare.Param, s.Spare.At)
		t.Block().NewStore(t.Block().NewZExt(bad, i64), t.at(words, at))
	})
}

// done reads whether the transform of the row was done.
func (g *group) done(s *splitTransform) {
	words := g.Address(s.Spare.Param, s.Spare.At)
	bad := g.Count(g.zext(g.member), ci(i64, s.words()), ci(i64, int64(g.plan.size)), []value.Value{ci(i64, 0)},
		func(i value.Value, state []value.Value) []value.Value {
			return []value.Value{g.Block().NewOr(state[0], g.Block().NewLoad(i64, g.at(words, i)))}
		})[0]
	odd := g.voteAny(g.Block().NewICmp(enum.IPredNE, bad, ci(i64, 0)))
	g.Define(s.ID, g.Block().NewXor(odd, constant.True))
}
