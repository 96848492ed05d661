package transform

import (
	"fmt"
	"maps"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Merged reductions]
//
// Sums that go down the columns of a matrix together often compute the same on the way: the digits of a product come of
// one product, and every one of the sums looks at the same operands. LLVM finds that out again, where nothing stands in
// between, in a text three times as long, and simplifies some copies in another way than others. So their bodies are
// made one, with what is equal computed once, and branches on one condition made one.

// merger makes one body of several.
type merger struct {
	sub map[kernel.Ref]kernel.Ref // what stands for a scalar
}

// MergeBodies gives reductions over the same elements, which neither store nor check, one body, that of the first. The
// others have no statements; all of them have to be evaluated one after the other, at one element.
//
//	%1 = reduce sum %2 { %3 = load x[%2]; %4 = mul %3, %3; yield %4 }
//	%5 = reduce sum %6 { %7 = load x[%6]; %8 = mul %7, %7; %9 = add %8, %7; yield %9 }
//
// becomes
//
//	%1 = reduce sum %2 { %3 = load x[%2]; %4 = mul %3, %3; %9 = add %4, %3; yield %4 }
//	%5 = reduce sum %6 { yield %9 }
//
// Requires that the bodies consist of instructions, loads and branches, that all have the same number of axes, of the
// same bounds, and that nothing is stored between them that they read. Establishes that in a block of the new body no
// two instructions and no two loads are equal. The result is no kernel that can be verified, because later reductions
// read scalars of the first. sums stay as they are.
func MergeBodies(sums []*kernel.Reduce) (out []*kernel.Reduce) {
	m := &merger{sub: map[kernel.Ref]kernel.Ref{}}
	all := &kernel.Block{}
	for _, s := range sums {
		for i, a := range s.Axes {
			m.sub[a.Var] = sums[0].Axes[i].Var
		}
		m.block(all, s.Body)
		one := *s
		one.Val = m.ref(s.Val)
		one.Body = &kernel.Block{}
		out = append(out, &one)
	}
	out[0].Body = all
	return out
}

func (m *merger) ref(r kernel.Ref) kernel.Ref {
	if to, ok := m.sub[r]; ok {
		return to
	}
	return r
}

func (m *merger) refs(rs []kernel.Ref) []kernel.Ref {
	out := slices.Clone(rs)
	for i := range out {
		out[i] = m.ref(out[i])
	}
	return out
}

// block adds the statements of src that dst has not got.
func (m *merger) block(dst, src *kernel.Block) {
	have, at := map[string]kernel.Ref{}, map[kernel.Ref]int{}
	note := func(st kernel.Stmt, i int) {
		switch st := st.(type) {
		case *kernel.Let:
			have[fmt.Sprint(st.In)], at[st.ID] = st.ID, i
		case *kernel.Load:
			have[fmt.Sprint(st.Param, st.At)], at[st.ID] = st.ID, i
		case *kernel.If:
			for _, id := range st.IDs {
				at[id] = i
			}
		}
	}
	for i, st := range dst.Stmts {
		note(st, i)
	}
	for _, st := range src.Stmts {
		key, id := "", scalar.None
		switch s := st.(type) {
		case *kernel.Let:
			one := *s
			for i, a := range one.In.Args {
				one.In.Args[i] = m.ref(a)
			}
			st, key, id = &one, fmt.Sprint(one.In), s.ID
		case *kernel.Load:
			one := *s
			one.At.Terms = slices.Clone(s.At.Terms)
			for i, t := range one.At.Terms {
				one.At.Terms[i].Var = m.ref(t.Var)
			}
			st, key, id = &one, fmt.Sprint(one.Param, one.At), s.ID
		case *kernel.If:
			one := *s
			one.Cond, one.IDs = m.ref(s.Cond), slices.Clone(s.IDs)
			one.Then, one.Else = &kernel.Block{}, &kernel.Block{}
			into := &one
			for i, o := range dst.Stmts {
				if o, ok := o.(*kernel.If); ok && o.Cond == one.Cond && m.readsBefore(s, i, at) {
					into = o
				}
			}
			m.block(into.Then, s.Then)
			m.block(into.Else, s.Else)
			if into != &one {
				into.ThenVals = append(into.ThenVals, m.refs(s.ThenVals)...)
				into.ElseVals = append(into.ElseVals, m.refs(s.ElseVals)...)
				into.IDs = append(into.IDs, s.IDs...)
				for _, c := range s.Choices {
					if !slices.Contains(into.Choices, c) {
						into.Choices = append(slices.Clone(into.Choices), c)
					}
				}
				for _, id := range s.IDs {
					at[id] = slices.Index(dst.Stmts, kernel.Stmt(into))
				}
				continue
			}
			one.ThenVals, one.ElseVals = m.refs(s.ThenVals), m.refs(s.ElseVals)
			st = into
		}
		if old, ok := have[key]; ok && key != "" {
			m.sub[id] = old
			continue
		}
		note(st, len(dst.Stmts))
		dst.Stmts = append(dst.Stmts, st)
	}
}

// readsBefore reports that what an arm of s reads of the block, whose scalars at counts, stands before statement number
// i.
func (m *merger) readsBefore(s *kernel.If, i int, at map[kernel.Ref]int) bool {
	after := map[kernel.Ref]bool{}
	for r, k := range at {
		if k >= i {
			after[r] = true
		}
	}
	for r, to := range maps.Clone(m.sub) {
		if after[to] {
			after[r] = true
		}
	}
	return !analysis.ArmsRead(s, after)
}
