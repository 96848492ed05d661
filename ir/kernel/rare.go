package kernel

import "healc/ir/scalar"

// RareArm is the number of statements from which the first arm of an If is taken to run hardly ever: vectors branch
// around it when none of their elements needs it, and estimates leave it out. Operands that are no residues are what it
// is for.
const RareArm = 16

// Rare tells which first arms run hardly ever, while a kernel is walked in the order of its statements: long ones, and
// what a Transform leaves to them.
type Rare struct{ made, failed map[Ref]bool }

// Note takes notice of a statement that comes before an If.
func (r *Rare) Note(st Stmt) {
	switch st := st.(type) {
	case *Transform:
		if r.made == nil {
			r.made, r.failed = map[Ref]bool{}, map[Ref]bool{}
		}
		r.made[st.ID] = true
	case *Let:
		if st.In.Op == scalar.Not && r.made[st.In.Args[0]] {
			r.failed[st.ID] = true
		}
	}
}

// First reports whether the first arm of s is rare.
func (r *Rare) First(s *If) bool { return len(s.Then.Stmts) >= RareArm || r.failed[s.Cond] }
