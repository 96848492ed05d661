package gpu

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/device"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Ordered scatter]: a loop that updates elements at computed indices, one after the other, as scatter_add does,
//
//	loop %i { %p = ...; %x = ...; %old = load row[%p]; %new = add %old, %x; store row[%p], %new }
//
// needs its order only where two iterations update the same element. So a warp takes 32 iterations at a time: each
// thread computes %p and %x of one. Threads with the same index find each other (match.any). The first of them loads
// the element, combines it with the %x of the others in the order of their numbers, and stores it once. Then the warp
// goes on with the next 32.
//
// Several warps share a row by the index: each goes through all iterations, and does those whose index is in its own
// partition. The four warps of a block are four partitions. Where there are few rows, a row has several blocks, each
// with a partition; each of them also initialises the elements of its own.

// scatterLoop is a loop of ordered scatter.
type scatterLoop struct {
	load   *kernel.Load // of the element
	store  *kernel.Store
	before []kernel.Stmt       // the statements that do not depend on the element
	chain  []kernel.Stmt       // and those that do
	feeds  []kernel.Ref        // values of before that the chain uses
	inside map[kernel.Ref]bool // the loop's variable, and what before defines
}

// scatterMatch is a scatterLoop as far as its statements were looked at.
type scatterMatch struct {
	scatterLoop
	k       *kernel.Kernel
	changed map[kernel.Ref]bool // depends on the element
}

// scatterOf recognises a loop of ordered scatter to work memory; nil is none.
func scatterOf(k *kernel.Kernel, s *kernel.Loop) *scatterLoop {
	if s.Parallel || len(s.Init) > 0 {
		return nil
	}
	m := &scatterMatch{k: k, changed: map[kernel.Ref]bool{}}
	m.inside = map[kernel.Ref]bool{s.Axis.Var: true}
	for _, st := range s.Body.Stmts {
		if m.store != nil || !m.add(st) {
			return nil // the store is the last statement
		}
	}
	if m.store == nil || !anyOf(refsOf(m.load.At), m.inside) {
		return nil
	}
	return &m.scatterLoop
}

// add takes the next statement of the loop; false says that the loop is no scatter.
func (m *scatterMatch) add(st kernel.Stmt) bool {
	switch st := st.(type) {
	case *kernel.Store:
		m.store = st
		return m.load != nil && st.Param == m.load.Param && m.k.Params[st.Param].Work &&
			sameAccess(st.At, m.load.At) && m.changed[st.Val]
	case *kernel.Load:
		if m.k.Params[st.Param].Work {
			if m.load != nil {
				return false
			}
			m.load = st
			m.changed[st.ID] = true
			return true
		}
		if anyOf(refsOf(st.At), m.changed) {
			return false
		}
		m.inside[st.ID] = true
	case *kernel.Let:
		if anyOf(st.In.Args[:], m.changed) {
			return m.link(st)
		}
		m.inside[st.ID] = true
	case *kernel.DimValue:
		m.inside[st.ID] = true
	case *kernel.If:
		if m.load != nil || touchesWork(m.k, st) {
			return false
		}
		for _, r := range st.IDs {
			m.inside[r] = true
		}
	case *kernel.Reduce:
		if m.load != nil || touchesWork(m.k, st) {
			return false
		}
		m.inside[st.ID] = true
	default:
		return false
	}
	m.before = append(m.before, st)
	return true
}

// link takes an instruction that depends on the element.
func (m *scatterMatch) link(st *kernel.Let) bool {
	if st.In.Op == scalar.Check {
		return false
	}
	m.changed[st.ID] = true
	m.chain = append(m.chain, st)
	for _, r := range st.In.Args {
		if r != scalar.None && m.inside[r] && !slices.Contains(m.feeds, r) {
			m.feeds = append(m.feeds, r)
		}
	}
	return true
}

// anyOf reports whether set has one of refs.
func anyOf(refs []kernel.Ref, set map[kernel.Ref]bool) bool {
	return slices.ContainsFunc(refs, func(r kernel.Ref) bool { return r != scalar.None && set[r] })
}

// touchesWork reports whether s reads work memory, or writes anything.
func touchesWork(k *kernel.Kernel, s kernel.Stmt) bool {
	found := false
	accessesOf(s, func(p int, _ kernel.Access, store bool) { found = found || store || k.Params[p].Work })
	return found
}

// sameAccess reports that two accesses are the same in every iteration.
func sameAccess(x, y kernel.Access) bool {
	return x.Offset.Equal(y.Offset) && slices.EqualFunc(x.Terms, y.Terms, func(a, b kernel.Term) bool {
		return a.Var == b.Var && a.Coef.Equal(b.Coef)
	})
}

// partitionsOf is into how many partitions the elements of a row of k may be divided, and the number of low bits of an
// index that do not count. It is 1 when k does anything but initialise one buffer and scatter to it.
func partitionsOf(k *kernel.Kernel, tune *profile.GPU) (n int64, shift uint) {
	rows, known := count(k.Axes)
	if !known {
		return 1, 0
	}
	ok, long, size := true, false, int64(0)
	param := -1
	var walk func(stmts []kernel.Stmt)
	walk = func(stmts []kernel.Stmt) {
		for _, s := range stmts {
			switch s := s.(type) {
			case *kernel.Let:
				ok = ok && s.In.Op != scalar.Check
			case *kernel.DimValue:
			case *kernel.Load:
				ok = ok && !k.Params[s.Param].Out
			case *kernel.If:
				ok = ok && len(s.IDs) == 0
				walk(s.Then.Stmts)
				walk(s.Else.Stmts)
			case *kernel.Loop:
				of := -1
				if u := scatterOf(k, s); u != nil {
					n, known := count([]kernel.Axis{s.Axis})
					long = long || !known || n >= int64(tune.ScatterLeast)
					of = u.store.Param
				} else if st := fillOf(k, s); st != nil {
					size, _ = count([]kernel.Axis{s.Axis})
					of = st.Param
				}
				ok = ok && of >= 0 && (param < 0 || param == of)
				param = of
			default:
				ok = false
			}
		}
	}
	walk(k.Body.Stmts)
	if !ok || !long {
		return 1, 0
	}
	for n = 1; n < int64(tune.ScatterPartitions) && rows*n < int64(tune.BusyGroups); n *= 2 {
	}
	if size >= warpSize*n { // neighbours stay together
		shift = 5
	}
	return n, shift
}

// fillOf is the store of a parallel loop that does nothing but set elements of work memory; nil for any other.
func fillOf(k *kernel.Kernel, s *kernel.Loop) *kernel.Store {
	if !s.Parallel || len(s.Body.Stmts) == 0 {
		return nil
	}
	last := len(s.Body.Stmts) - 1
	st, ok := s.Body.Stmts[last].(*kernel.Store)
	if !ok || !k.Params[st.Param].Work {
		return nil
	}
	for _, s := range s.Body.Stmts[:last] {
		if touchesWork(k, s) {
			return nil
		}
	}
	return st
}

// inPartition reports whether an element, by its number in the buffer, is in the group's partition of a row.
func (g *group) inPartition(at value.Value) value.Value {
	if g.plan.partitions <= 1 {
		return constant.True
	}
	b := g.Block()
	shifted := b.NewLShr(at, ci(i64, int64(g.plan.partitionShift)))
	return b.NewICmp(enum.IPredEQ, b.NewAnd(shifted, ci(i64, g.plan.partitions-1)), g.partition)
}

// fillPartition does a loop that initialises elements, for those of the group's partition.
func (g *group) fillPartition(s *kernel.Loop, st *kernel.Store) {
	lo, hi := g.Plus(ci(i64, s.Axis.Begin), g.zext(g.member)), g.Extent(s.Axis.Extent)
	g.Count(lo, hi, ci(i64, int64(g.plan.size)), nil, func(v value.Value, _ []value.Value) []value.Value {
		g.Define(s.Axis.Var, v)
		g.guarded(s.Body, nil, func() []value.Value {
			g.Statements(func(s kernel.Stmt) bool {
				if s != kernel.Stmt(st) {
					return false
				}
				g.when(g.inPartition(g.Offset(st.At)), func() { g.Statements(nil, st) })
				return true
			}, s.Body.Stmts...)
			return nil
		})
		return nil
	})
}

// scatter does a loop of ordered scatter.
func (g *group) scatter(s *kernel.Loop, u *scatterLoop) {
	lane := value.Value(g.Block().NewAnd(g.member, ci(i32, warpSize-1)))
	warp := g.zext(g.Block().NewLShr(g.member, ci(i32, 5)))
	n, begin := g.length(s.Axis), ci(i64, s.Axis.Begin)
	nothing := []value.Value{constant.False, ci(i64, 0)}
	for _, r := range u.feeds {
		nothing = append(nothing, constant.NewZeroInitializer(device.RegisterType(g.k.Types[r])))
	}
	deep := int64(g.tune.ScatterAhead)
	g.Count(ci(i64, 0), n, ci(i64, warpSize*deep), nil, func(p value.Value, _ []value.Value) []value.Value {
		var ahead [][]value.Value
		for a := range deep {
			i := g.Plus(g.Plus(p, g.zext(lane)), ci(i64, a*warpSize))
			ahead = append(ahead, g.ifElse(g.Block().NewICmp(enum.IPredSLT, i, n), func() []value.Value {
				return g.guarded(s.Body, nothing, func() []value.Value {
					g.Define(s.Axis.Var, g.Plus(i, begin))
					g.Statements(nil, u.before...)
					at := g.Offset(u.load.At)
					mine := g.inPartition(at)
					if g.plan.size > warpSize {
						b := g.Block()
						of := b.NewAnd(b.NewLShr(at, ci(i64, int64(g.plan.partitionShift)+lowBits(g.plan.partitions))),
							ci(i64, blockSize/warpSize-1))
						mine = b.NewAnd(mine, b.NewICmp(enum.IPredEQ, of, warp))
					}
					out := []value.Value{mine, at}
					for _, r := range u.feeds {
						out = append(out, g.Value(r))
					}
					return out
				})
			}, nothing))
		}
		for _, x := range ahead {
			mine, at, feeds := x[0], x[1], x[2:]
			any := g.Block().NewCall(g.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), mine)
			g.when(any, func() { g.applyInOrder(u, lane, mine, at, feeds) })
		}
		return nil
	})
}

// lowBits is the logarithm of a power of two.
func lowBits(n int64) (bits int64) {
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// applyInOrder updates the elements of a warp: each thread whose `mine` is true has one, number `at` of the buffer.
func (g *group) applyInOrder(u *scatterLoop, lane, mine, at value.Value, feeds []value.Value) {
	elem := device.RegisterType(g.k.Types[u.load.ID])
	b := g.Block()
	// A thread without an element takes a number that is no index and that no other thread has.
	alone := b.NewXor(g.zext(lane), ci(i64, -1))
	same := value.Value(b.NewCall(g.Intrinsic("llvm.nvvm.match.any.sync.i64", i32, i32, i64), ci(i32, -1),
		b.NewSelect(mine, at, alone)))
	lower := b.NewSub(b.NewShl(ci(i32, 1), lane), ci(i32, 1))
	first := b.NewAnd(mine, b.NewICmp(enum.IPredEQ, b.NewAnd(same, lower), ci(i32, 0)))
	old := g.ifElse(first, func() []value.Value {
		g.Statements(nil, &kernel.Load{ID: u.load.ID, Param: u.load.Param, At: g.element(at)})
		return []value.Value{g.Value(u.load.ID)}
	}, []value.Value{constant.NewZeroInitializer(elem)})[0]
	rest := g.Block().NewSelect(first, same, ci(i32, 0)) // of the threads whose value is still missing

	pre, head, body, exit := g.Block(), g.NewBlock(), g.NewBlock(), g.NewBlock()
	pre.NewBr(head)
	acc, left := head.NewPhi(lir.NewIncoming(old, pre)), head.NewPhi(lir.NewIncoming(rest, pre))
	some := head.NewICmp(enum.IPredNE, left, ci(i32, 0))
	any := head.NewCall(g.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), some)
	head.NewCondBr(any, body, exit)
	g.SetBlock(body)
	from := g.Block().NewAnd(g.Block().NewCall(g.Intrinsic("llvm.cttz.i32", i32, i32, i1), left, constant.False),
		ci(i32, warpSize-1))
	for i, r := range u.feeds {
		g.Define(r, g.shuffle("idx", feeds[i], from))
	}
	g.Define(u.load.ID, acc)
	g.Statements(nil, u.chain...)
	next := g.Block().NewSelect(some, g.Value(u.store.Val), acc)
	fewer := g.Block().NewAnd(left, g.Block().NewSub(left, ci(i32, 1)))
	acc.Incs = append(acc.Incs, lir.NewIncoming(next, g.Block()))
	left.Incs = append(left.Incs, lir.NewIncoming(fewer, g.Block()))
	g.Block().NewBr(head)
	g.SetBlock(exit)

	g.when(first, func() {
		g.Define(u.store.Val, acc)
		g.Statements(nil, &kernel.Store{Param: u.store.Param, At: g.element(at), Val: u.store.Val})
	})
	g.Block().NewCall(g.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
}

// element is the access of an element by its number in a buffer.
func (g *group) element(at value.Value) kernel.Access {
	g.Define(g.elementRef, at)
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: g.elementRef}}}
}
