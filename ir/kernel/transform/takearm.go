package transform

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// TakeArm is the body with the statements of the arm that is taken in the place of branches on c. What they gave is
// handed on by a branch without statements, whose condition is a constant now.
//
//	%1 = if %c { %2 = mul %0, %0; yield %2 } else { yield %0 }; store y[%i], %1
//
// becomes, where c is true,
//
//	%2 = mul %0, %0; %1 = if %c { yield %2 } else { yield %2 }; store y[%i], %1
//
// Requires that c has this value wherever the new body runs. Establishes that no branch on c has statements, and that a
// load or a choice in b that defined c is a constant; any other definition of c stays. b stays as it is, and its
// statements may be shared: copies for both values can stand in one kernel after Block.Clone and Renumber.
func TakeArm(b *kernel.Block, c kernel.Ref, taken bool) *kernel.Block {
	has := false
	kernel.Each(b, func(s *kernel.If) { has = has || s.Cond == c })
	out := &kernel.Block{}
	for _, st := range b.Stmts {
		switch s := st.(type) {
		case *kernel.Load: // of a row of conditions
			if s.ID == c {
				st = boolConst(c, taken)
			}
		case *kernel.Let: // see Note [Digits]
			if s.ID == c && s.In.Op.IsChoice() {
				st = boolConst(c, taken)
			}
		case *kernel.If:
			if s.Cond == c {
				arm, vals := s.Then, s.ThenVals
				if !taken {
					arm, vals = s.Else, s.ElseVals
				}
				out.Stmts = append(out.Stmts, TakeArm(arm, c, taken).Stmts...)
				st = &kernel.If{Cond: c, Then: &kernel.Block{}, Else: &kernel.Block{}, ThenVals: vals, ElseVals: vals,
					IDs: s.IDs, Choices: s.Choices}
			} else if has {
				st = &kernel.If{Cond: s.Cond, Then: TakeArm(s.Then, c, taken), Else: TakeArm(s.Else, c, taken),
					ThenVals: s.ThenVals, ElseVals: s.ElseVals, IDs: s.IDs, Choices: s.Choices}
			}
		case *kernel.Loop:
			if has {
				l := *s
				l.Body, st = TakeArm(s.Body, c, taken), &l
			}
		case *kernel.Iterate:
			if has {
				l := *s
				l.Body, st = TakeArm(s.Body, c, taken), &l
			}
		case *kernel.Reduce:
			if has {
				l := *s
				l.Body, st = TakeArm(s.Body, c, taken), &l
			}
		}
		out.Stmts = append(out.Stmts, st)
	}
	return out
}

// boolConst gives c a constant.
func boolConst(c kernel.Ref, x bool) *kernel.Let {
	in := scalar.Instr{Op: scalar.Const, Type: types.Bool, Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
	if x {
		in.Imm = 1
	}
	return &kernel.Let{ID: c, In: in, Site: -1}
}
