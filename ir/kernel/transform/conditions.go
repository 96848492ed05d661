package transform

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// mostCondition is how many statements both arms have at most of a branch that is taken apart.
const mostCondition = 12

// Conditions computes both arms of short branches that give bools, as `i > k && j < n` has one, and chooses. Numbers of
// no axes that the arms read are read before everything else. What is left is a comparison of an index with what is
// known before the loops, which is vector code, and bounds loops (Note [Windows] in ir/kernel/analysis).
//
//	over %0 in 0..9 { %1 = lt %0, 5; %4 = if %1 { %2 = load n[0]; %3 = le %2, %0; yield %3 } else { yield false } }
//
// becomes
//
//	over %0 in 0..9 { %2 = load n[0]; %1 = lt %0, 5; %3 = le %2, %0; %4 = select %1, %3, false }
func Conditions(k *kernel.Kernel) {
	c := &conditions{k: k}
	c.block(k.Body)
	k.Body.Stmts = append(c.loads, k.Body.Stmts...)
}

type conditions struct {
	k     *kernel.Kernel
	loads []kernel.Stmt
}

func (c *conditions) block(b *kernel.Block) {
	var out []kernel.Stmt
	for _, st := range b.Stmts {
		kernel.Visitor{Block: c.block}.Stmt(st) // inner ones first
		s, ok := st.(*kernel.If)
		if !ok || !c.short(s) {
			out = append(out, st)
			continue
		}
		for _, arm := range []*kernel.Block{s.Then, s.Else} {
			for _, st := range arm.Stmts {
				if _, ok := st.(*kernel.Load); ok {
					c.loads = append(c.loads, st)
				} else {
					out = append(out, st)
				}
			}
		}
		for i, id := range s.IDs {
			out = append(out, &kernel.Let{ID: id, In: scalar.Instr{Op: scalar.Select, Type: types.Bool,
				Args: [3]kernel.Ref{s.Cond, s.ThenVals[i], s.ElseVals[i]}}})
		}
	}
	b.Stmts = out
}

// short reports that both arms of s may be computed: they give bools by a few instructions that cannot fail, from what
// is there and from numbers of no axes.
func (c *conditions) short(s *kernel.If) bool {
	for _, id := range s.IDs {
		if c.k.Types[id] != types.Bool {
			return false
		}
	}
	if len(s.IDs) == 0 || len(s.Choices) > 0 || len(s.Then.Stmts)+len(s.Else.Stmts) > mostCondition {
		return false
	}
	for _, arm := range []*kernel.Block{s.Then, s.Else} {
		for _, st := range arm.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				switch st.In.Op {
				case scalar.Check, scalar.Div, scalar.Rem, scalar.Sqrt:
					return false
				}
			case *kernel.Load:
				if p := c.k.Params[st.Param]; p.Out || len(p.Shape) > 0 {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}
