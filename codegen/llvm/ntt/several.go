package ntt

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/ir/kernel"
)

// Note [Quotients of several rows]
//
// Rows with the same table and modulus need the same quotients, so that these stay in the spare memory from one row to
// the next. Three words beside a spare memory say whose it has, by the addresses of the table and of the spare memory
// and by the modulus. The first is 0, which is no address, when the kernel begins and after a row that was not fit: it
// may have been for a factor, which is seen only where its quotient is made. A table that the kernel writes itself may
// be another one for each row; then there are no such words, and every row makes its quotients.

// keptQuotients are the words for each spare memory of a function, which copies of a statement share.
type keptQuotients struct{ of map[int]value.Value }

// quotientsOf are the words of a statement, or a null pointer.
func quotientsOf(g *emit.Func, s *kernel.Transform) value.Value {
	if g.Params[s.Table.Param].Out {
		return constant.NewNull(build.I64Ptr)
	}
	kept := emit.State[keptQuotients](g)
	words, ok := kept.of[s.Spare.Param]
	if !ok {
		words = g.Stack(build.I64, 3)
		g.Entry.NewStore(build.Int(build.I64, 0), words)
		if kept.of == nil {
			kept.of = map[int]value.Value{}
		}
		kept.of[s.Spare.Param] = words
	}
	return words
}

// words are where these words lie and what they are for this row.
func (n *Ntt) words(p value.Value) (where, is []value.Value) {
	is = []value.Value{n.Cur.NewPtrToInt(n.table, build.I64), n.Cur.NewPtrToInt(n.spare, build.I64), p}
	for i := range is {
		where = append(where, n.Cur.NewGetElementPtr(build.I64, n.kept, build.Int(build.I64, int64(i))))
	}
	return where, is
}

// missingQuotients makes the quotients of the factors that vectors share, unless the spare memory has them.
func (n *Ntt) missingQuotients(p value.Value) {
	look, missing, done := n.NewBlock(), n.NewBlock(), n.NewBlock()
	n.Cur.NewCondBr(n.Cur.NewICmp(enum.IPredNE, n.kept, constant.NewNull(build.I64Ptr)), look, missing)
	n.Cur = look
	same := value.Value(constant.True)
	where, is := n.words(p)
	for i, at := range where {
		same = n.Cur.NewAnd(same, n.Cur.NewICmp(enum.IPredEQ, n.Cur.NewLoad(build.I64, at), is[i]))
	}
	n.Cur.NewCondBr(same, done, missing)
	n.Cur = missing
	n.quotients()
	n.Cur.NewBr(done)
	n.Cur = done
}

// noteQuotients says whose quotients the spare memory has for the next row, if this one was fit.
func (n *Ntt) noteQuotients(p, fit value.Value) {
	some, done := n.NewBlock(), n.NewBlock()
	n.Cur.NewCondBr(n.Cur.NewICmp(enum.IPredNE, n.kept, constant.NewNull(build.I64Ptr)), some, done)
	n.Cur = some
	where, is := n.words(p)
	is[0] = n.Cur.NewSelect(fit, is[0], build.Int(build.I64, 0))
	for i, at := range where {
		n.Cur.NewStore(is[i], at)
	}
	n.Cur.NewBr(done)
	n.Cur = done
}

// quotients fills the spare memory for the factors that all elements of a vector share.
func (n *Ntt) quotients() {
	count := n.size / int64(n.w)
	if n.short { // and for those of some neighbours in a vector
		count = n.size / 2
	}
	each := int64(n.w)
	if n.single { // a few side by side
		each = min(4*each, count)
	}
	n.For(build.Int(build.I64, 0), build.Int(build.I64, count), each, nil,
		func(i value.Value, _ []value.Value) []value.Value {
			for k := int64(0); k < each; k += int64(n.w) {
				at := n.Add(i, build.Int(build.I64, k))
				n.keep(at, n.withQuotient(n.tabled(n.load(n.table, at)), true))
			}
			return nil
		})
}

// Note [The row that follows]
//
// The first pass of a long row waits for memory, and the last stages wait for nothing. So the blocks of a row ask for
// the lines of the operand's next row in the second-level cache, and where a row is no longer than ntt.next_result for
// those of the result's as well. Rows follow each other where one is Size elements behind the other. Lines behind the
// last row do no harm. The inverse reads memory in its first pass from end to end, which processors do by themselves.

// rowsFollow says that a row is asked for while the one before is transformed.
func rowsFollow(g *emit.Func, s *kernel.Transform) bool {
	p, bytes := g.Machine.Profile.NTT, s.Size*8
	return !s.Inverse && p.Next > 0 && bytes >= int64(p.Next) && !g.Params[s.Source.Param].Out &&
		slices.ContainsFunc(s.Source.At.Terms, func(t kernel.Term) bool { return t.Coef.IsConst(s.Size) })
}

// fetchNext asks for a line of the next row.
func (n *Ntt) fetchNext(at value.Value) {
	if !n.next {
		return
	}
	at = n.Add(at, build.Int(build.I64, n.size))
	loops.PrefetchLine(n.Func, loops.ToL2, n.Cur.NewGetElementPtr(build.I64, n.source, at))
	if n.size*8 <= int64(n.Machine.Profile.NTT.NextResult) {
		loops.PrefetchLine(n.Func, loops.ToL2, n.Cur.NewGetElementPtr(build.I64, n.data, at))
	}
}
