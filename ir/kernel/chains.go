package kernel

import (
	"slices"

	"healc/ir/scalar"
)

// Chains are how the loop of a contract adds its products.
type Chains struct {
	Multiply, Add *Let // ends a step: twice the same where that is an fma
	// The steps of a block, which is two chains that take turns (Note [Products by blocks] in ir/ops); 0: there is one
	// chain.
	Block int64
	Turns []Stmt // in the loop: begin a block, and add the one before to the sum
	Fold  []Stmt // behind the loop: adds the last block to the sum
	Sum   Ref    // of all products
}

// Chains reads the loop of a contract; nil when a step ends in another way than with a multiply-add, or when something
// else reads the sum.
func (c *Contract) Chains(k *Kernel) *Chains {
	before, l, after := c.Parts(k)
	if l == nil || len(l.Next) != len(l.Vars) {
		return nil
	}
	switch len(l.Vars) {
	case 1:
		return oneChain(l)
	case 3:
		return blockChains(before, l, after)
	}
	return nil
}

// oneChain is Chains of a loop that carries a sum.
func oneChain(l *Loop) *Chains {
	next, acc := l.Next[0], l.Vars[0]
	uses, defs := usesOf(l.Body.Stmts), letsOf(l.Body.Stmts)
	last := defs[next]
	if last == nil || uses[acc] != 1 || uses[next] != 0 {
		return nil
	}
	switch in := last.In; {
	case in.Op == scalar.Fma && in.Args[2] == acc:
		return &Chains{Multiply: last, Add: last, Sum: l.IDs[0]}
	case in.Op == scalar.Add && in.Type.IsInt():
		product := in.Args[0]
		if product == acc {
			product = in.Args[1]
		}
		if mul := defs[product]; mul != nil && mul.In.Op == scalar.Mul && uses[product] == 1 {
			return &Chains{Multiply: mul, Add: last, Sum: l.IDs[0]}
		}
	}
	return nil
}

// blockChains is Chains of a loop that carries a sum and two chains:
//
//	%2: f32, %3: f32, %4: f32 = loop %5 in 0..K carry %6: f32 = %0, %7: f32 = %0, %8: f32 = %0 {
//	  %9: i64 = and %5, 31
//	  %10: bool = eq %9, 0
//	  %11: f32 = add %7, %8
//	  %12: f32 = add %6, %11
//	  %13: f32 = select %10, %12, %6
//	  %14: f32 = select %10, %0, %7
//	  %15: f32 = select %10, %0, %8
//	  ... the factors %16 and %17
//	  %18: f32 = fma %16, %17, %14
//	  next %13, %15, %18
//	}
//	%19: f32 = add %3, %4
//	%20: f32 = add %2, %19
func blockChains(before []Stmt, l *Loop, after []Stmt) *Chains {
	defs := letsOf(before)
	for id, let := range letsOf(l.Body.Stmts) {
		defs[id] = let
	}
	sum, first, second := l.Vars[0], l.Vars[1], l.Vars[2]
	// A value that starts anew where a block begins: what it is there, what it is elsewhere, and the condition.
	anew := func(x Ref) (begins, there, elsewhere Ref) {
		if let := defs[x]; let != nil && let.In.Op == scalar.Select {
			return let.In.Args[0], let.In.Args[1], let.In.Args[2]
		}
		return scalar.None, scalar.None, scalar.None
	}
	add := func(x, of, to Ref) bool {
		let := defs[x]
		return let != nil && let.In.Op == scalar.Add && let.In.Args[0] == to && let.In.Args[1] == of
	}
	fma := defs[l.Next[2]]
	if fma == nil || fma.In.Op != scalar.Fma {
		return nil
	}
	begins, zero, goesOn := anew(fma.In.Args[2])
	begins2, zero2, waits := anew(l.Next[1])
	begins3, folded, same := anew(l.Next[0])
	if begins == scalar.None || begins2 != begins || begins3 != begins || goesOn != first || waits != second ||
		same != sum || !isConst(defs[zero], 0) || !isConst(defs[zero2], 0) {
		return nil
	}
	fold := defs[folded]
	if fold == nil || !add(folded, fold.In.Args[1], sum) || !add(fold.In.Args[1], second, first) {
		return nil
	}
	block := blockSize(defs, begins, l.Axis.Var)
	if block < 2 || dependOn(l, fma.In.Args[:2]) {
		return nil
	}
	c := &Chains{Multiply: fma, Add: fma, Block: block}
	turns := []Ref{defs[begins].In.Args[0], begins, fold.In.Args[1], folded, l.Next[0], fma.In.Args[2], l.Next[1]}
	for _, st := range l.Body.Stmts {
		if let, ok := st.(*Let); ok && slices.Contains(turns, let.ID) {
			c.Turns = append(c.Turns, st)
		}
	}
	uses, outer := usesOf(after), letsOf(after)
	for _, st := range after {
		let, ok := st.(*Let)
		if !ok || let.In.Op != scalar.Add || let.In.Args[0] != l.IDs[0] {
			continue
		}
		chains := outer[let.In.Args[1]]
		if chains == nil || chains.In.Op != scalar.Add || chains.In.Args[0] != l.IDs[1] ||
			chains.In.Args[1] != l.IDs[2] || uses[chains.ID] != 1 {
			return nil
		}
		c.Fold, c.Sum = []Stmt{chains, let}, let.ID
		break
	}
	if c.Fold == nil || uses[l.IDs[0]] != 1 || uses[l.IDs[1]] != 1 || uses[l.IDs[2]] != 1 {
		return nil
	}
	return c
}

// blockSize is the n of a condition that index mod n is 0, for a power of two; 0 for any other condition.
func blockSize(defs map[Ref]*Let, condition, index Ref) int64 {
	eq := defs[condition]
	if eq == nil || eq.In.Op != scalar.Eq || !isConst(defs[eq.In.Args[1]], 0) {
		return 0
	}
	and := defs[eq.In.Args[0]]
	if and == nil || and.In.Op != scalar.And || and.In.Args[0] != index {
		return 0
	}
	mask := defs[and.In.Args[1]]
	if mask == nil || mask.In.Op != scalar.Const || mask.In.Imm > 1<<16 || mask.In.Imm&(mask.In.Imm+1) != 0 {
		return 0
	}
	return int64(mask.In.Imm) + 1
}

// dependOn reports that scalars in the body of a loop follow from what it carries.
func dependOn(l *Loop, of []Ref) bool {
	carried := map[Ref]bool{}
	for _, v := range l.Vars {
		carried[v] = true
	}
	for _, st := range l.Body.Stmts {
		reads := false
		Visitor{Read: func(r *Ref) { reads = reads || carried[*r] }}.Stmt(st)
		switch st := st.(type) {
		case *Let:
			carried[st.ID] = reads
		case *Load:
			carried[st.ID] = reads
		}
	}
	for _, r := range of {
		if carried[r] {
			return true
		}
	}
	return false
}

func isConst(let *Let, bits uint64) bool {
	return let != nil && let.In.Op == scalar.Const && let.In.Imm == bits
}

// letsOf are the definitions among statements, by what they define.
func letsOf(stmts []Stmt) map[Ref]*Let {
	out := map[Ref]*Let{}
	for _, st := range stmts {
		if let, ok := st.(*Let); ok {
			out[let.ID] = let
		}
	}
	return out
}

// usesOf is how often statements read each scalar.
func usesOf(stmts []Stmt) map[Ref]int {
	uses := map[Ref]int{}
	Visitor{Read: func(r *Ref) { uses[*r]++ }}.All(&Block{Stmts: stmts})
	return uses
}
