package gpu

import (
	"slices"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Updates in order]: a loop that changes elements at computed places, one after the other, as scatter_add does,
//
//	loop %i { %p = ...; %x = ...; %old = load row[%p]; %new = add %old, %x; store row[%p], %new }
//
// has to keep its order only where two iterations change the same element. So a warp takes 32 iterations at a time:
// each thread computes %p and %x of one; threads with the same place find each other (match.any), and the first of them
// loads the element, takes what the others computed, in the order of their numbers, and stores it once. Then come the
// next 32.
//
// That is one warp for a row. More of them share it by places: each goes through all iterations, and does those whose
// places are its own. In a block the four warps are parted so, and where there are few rows a row has several blocks,
// its parts; each of them also initialises the elements of its own.

const (
	// updateTeams is how many teams keep a device busy.
	updateTeams = 256
	// updateParts is the most parts of a row.
	updateParts = 64
	// updateLeast is the least number of iterations for which a row has parts.
	updateLeast = 2048
	// updateRows are so many that a thread for each is better: neighbours read neighbours.
	updateRows = 1 << 14
	// updateAhead is how many times 32 iterations are on their way at a time.
	updateAhead = 4
)

// update is a loop of updates in order.
type update struct {
	load   *kernel.Load // of the element
	store  *kernel.Store
	before []kernel.Stmt // what is computed without the element
	chain  []kernel.Stmt // and with it
	feeds  []kernel.Ref  // what the chain takes from before
}

// updateOf recognises a loop of updates in order of work memory; nil is none.
func updateOf(k *kernel.Kernel, s *kernel.Loop) *update {
	if s.Parallel || len(s.Init) > 0 {
		return nil
	}
	u := &update{}
	inside := map[kernel.Ref]bool{s.Axis.Var: true}
	changed := map[kernel.Ref]bool{} // by the element
	uses := func(refs []kernel.Ref, set map[kernel.Ref]bool) bool {
		return slices.ContainsFunc(refs, func(r kernel.Ref) bool { return r != scalar.None && set[r] })
	}
	places := func(at kernel.Access) (refs []kernel.Ref) {
		for _, t := range at.Terms {
			refs = append(refs, t.Var)
		}
		return refs
	}
	for _, st := range s.Body.Stmts {
		if u.store != nil {
			return nil // something comes behind it
		}
		switch st := st.(type) {
		case *kernel.Store:
			if u.load == nil || st.Param != u.load.Param || !k.Params[st.Param].Work || !sameAccess(st.At, u.load.At) ||
				!changed[st.Val] {
				return nil
			}
			u.store = st
			continue
		case *kernel.Load:
			if k.Params[st.Param].Work {
				if u.load != nil {
					return nil
				}
				u.load = st
				changed[st.ID] = true
				continue
			}
			if uses(places(st.At), changed) {
				return nil
			}
			inside[st.ID] = true
		case *kernel.Let:
			if uses(st.In.Args[:], changed) {
				if st.In.Op == scalar.Check {
					return nil
				}
				changed[st.ID] = true
				u.chain = append(u.chain, st)
				for _, r := range st.In.Args {
					if inside[r] && r != scalar.None && !slices.Contains(u.feeds, r) {
						u.feeds = append(u.feeds, r)
					}
				}
				continue
			}
			inside[st.ID] = true
		case *kernel.DimValue:
			inside[st.ID] = true
		case *kernel.If:
			if u.load != nil || touchesWork(k, st) {
				return nil
			}
			for _, r := range st.IDs {
				inside[r] = true
			}
		case *kernel.Reduce:
			if u.load != nil || touchesWork(k, st) {
				return nil
			}
			inside[st.ID] = true
		default:
			return nil
		}
		u.before = append(u.before, st)
	}
	if u.store == nil || !uses(places(u.load.At), inside) {
		return nil
	}
	return u
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

// splitOf is into how many parts the rows of k may be taken, by the places of what it changes, and by how many bits the
// places are shifted before. It is 1 when something else is done in k than to initialise one buffer and to update it.
func splitOf(k *kernel.Kernel) (parts int64, shift uint) {
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
				if u := updateOf(k, s); u != nil {
					n, known := count([]kernel.Axis{s.Axis})
					long = long || !known || n >= updateLeast
					of = u.store.Param
				} else if st := initialises(k, s); st != nil {
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
	for parts = 1; parts < updateParts && rows*parts < updateTeams; parts *= 2 {
	}
	if size >= warpSize*parts { // neighbours stay together
		shift = 5
	}
	return parts, shift
}

// initialises is the store of a parallel loop that does nothing but set elements of work memory; nil for any other.
func initialises(k *kernel.Kernel, s *kernel.Loop) *kernel.Store {
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

// own reports whether an element, by its number in the buffer, is one of the team's part of a row.
func (t *team) own(at value.Value) value.Value {
	if t.plan.split <= 1 {
		return constant.True
	}
	b := t.Block()
	return b.NewICmp(enum.IPredEQ, b.NewAnd(b.NewLShr(at, ci(i64, int64(t.plan.shift))), ci(i64, t.plan.split-1)),
		t.part)
}

// initialise does a loop that initialises elements, for those of the team's part.
func (t *team) initialise(s *kernel.Loop, st *kernel.Store) {
	lo, hi := t.Plus(ci(i64, s.Axis.Begin), t.wide(t.member)), t.Extent(s.Axis.Extent)
	t.Count(lo, hi, ci(i64, int64(t.plan.size)), nil, func(v value.Value, _ []value.Value) []value.Value {
		t.Define(s.Axis.Var, v)
		t.guarded(s.Body, nil, func() []value.Value {
			t.Statements(func(s kernel.Stmt) bool {
				if s != kernel.Stmt(st) {
					return false
				}
				t.when(t.own(t.Offset(st.At)), func() { t.Statements(nil, st) })
				return true
			}, s.Body.Stmts...)
			return nil
		})
		return nil
	})
}

// updates does a loop of updates in order.
func (t *team) updates(s *kernel.Loop, u *update) {
	lane := value.Value(t.Block().NewAnd(t.member, ci(i32, warpSize-1)))
	warp := t.wide(t.Block().NewLShr(t.member, ci(i32, 5)))
	n, begin := t.length(s.Axis), ci(i64, s.Axis.Begin)
	nothing := []value.Value{constant.False, ci(i64, 0)}
	for _, r := range u.feeds {
		nothing = append(nothing, constant.NewZeroInitializer(llvm.RegisterType(t.k.Types[r])))
	}
	t.Count(ci(i64, 0), n, ci(i64, warpSize*updateAhead), nil, func(p value.Value, _ []value.Value) []value.Value {
		var ahead [][]value.Value
		for a := range int64(updateAhead) {
			i := t.Plus(t.Plus(p, t.wide(lane)), ci(i64, a*warpSize))
			ahead = append(ahead, t.choose(t.Block().NewICmp(enum.IPredSLT, i, n), func() []value.Value {
				return t.guarded(s.Body, nothing, func() []value.Value {
					t.Define(s.Axis.Var, t.Plus(i, begin))
					t.Statements(nil, u.before...)
					at := t.Offset(u.load.At)
					mine := t.own(at)
					if t.plan.size > warpSize {
						b := t.Block()
						of := b.NewAnd(b.NewLShr(at, ci(i64, int64(t.plan.shift)+lowBits(t.plan.split))),
							ci(i64, blockSize/warpSize-1))
						mine = b.NewAnd(mine, b.NewICmp(enum.IPredEQ, of, warp))
					}
					out := []value.Value{mine, at}
					for _, r := range u.feeds {
						out = append(out, t.Value(r))
					}
					return out
				})
			}, nothing))
		}
		for _, x := range ahead {
			mine, at, feeds := x[0], x[1], x[2:]
			any := t.Block().NewCall(t.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), mine)
			t.when(any, func() { t.inOrder(u, lane, mine, at, feeds) })
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

// inOrder changes the elements of a warp: each thread whose `mine` is true has one, at a place of the buffer.
func (t *team) inOrder(u *update, lane, mine, at value.Value, feeds []value.Value) {
	elem := llvm.RegisterType(t.k.Types[u.load.ID])
	b := t.Block()
	// Whoever has none is alone: its number is none of a place.
	alone := b.NewXor(t.wide(lane), ci(i64, -1))
	same := value.Value(b.NewCall(t.Intrinsic("llvm.nvvm.match.any.sync.i64", i32, i32, i64), ci(i32, -1),
		b.NewSelect(mine, at, alone)))
	lower := b.NewSub(b.NewShl(ci(i32, 1), lane), ci(i32, 1))
	first := b.NewAnd(mine, b.NewICmp(enum.IPredEQ, b.NewAnd(same, lower), ci(i32, 0)))
	old := t.choose(first, func() []value.Value {
		t.Statements(nil, &kernel.Load{ID: u.load.ID, Param: u.load.Param, At: t.element(at)})
		return []value.Value{t.Value(u.load.ID)}
	}, []value.Value{constant.NewZeroInitializer(elem)})[0]
	rest := t.Block().NewSelect(first, same, ci(i32, 0)) // of the threads whose part is still missing

	pre, head, body, exit := t.Block(), t.NewBlock(), t.NewBlock(), t.NewBlock()
	pre.NewBr(head)
	acc, left := head.NewPhi(lir.NewIncoming(old, pre)), head.NewPhi(lir.NewIncoming(rest, pre))
	some := head.NewICmp(enum.IPredNE, left, ci(i32, 0))
	any := head.NewCall(t.Intrinsic("llvm.nvvm.vote.any.sync", i1, i32, i1), ci(i32, -1), some)
	head.NewCondBr(any, body, exit)
	t.SetBlock(body)
	from := t.Block().NewAnd(t.Block().NewCall(t.Intrinsic("llvm.cttz.i32", i32, i32, i1), left, constant.False),
		ci(i32, warpSize-1))
	for i, r := range u.feeds {
		t.Define(r, t.shuffle("idx", feeds[i], from))
	}
	t.Define(u.load.ID, acc)
	t.Statements(nil, u.chain...)
	next := t.Block().NewSelect(some, t.Value(u.store.Val), acc)
	fewer := t.Block().NewAnd(left, t.Block().NewSub(left, ci(i32, 1)))
	acc.Incs = append(acc.Incs, lir.NewIncoming(next, t.Block()))
	left.Incs = append(left.Incs, lir.NewIncoming(fewer, t.Block()))
	t.Block().NewBr(head)
	t.SetBlock(exit)

	t.when(first, func() {
		t.Define(u.store.Val, acc)
		t.Statements(nil, &kernel.Store{Param: u.store.Param, At: t.element(at), Val: u.store.Val})
	})
	t.Block().NewCall(t.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
}

// element is the access of an element by its number in a buffer.
func (t *team) element(at value.Value) kernel.Access {
	t.Define(t.place, at)
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: t.place}}}
}
