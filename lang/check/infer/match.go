package infer

import (
	"fmt"

	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// A match is a chain of Ifs over its value, which is evaluated once. An arm without guard whose pattern is
// a name or `_`, or a literal when no other value is left, ends the chain.

// matchArm is one arm on the way to the chain.
type matchArm struct {
	name *tree.Local // bound to the value, around the guard, the arm and those after it
	cond tree.Expr   // nil: always taken
	body tree.Expr
	at   diag.Span
	mark scope.FlowMark
}

// matcher is a match on the way to the chain.
type matcher struct {
	want     types.Type // of the arms; nil while nothing says it
	value    *tree.Local
	cover    *coverage
	arms     []matchArm
	literals []int // arms of literals, which take the type of the others
	failed   bool

	result types.Type // of the arms so far
	first  diag.Span  // the one that says so
}

// match is `match e { pattern if guard => value, ... }`.
func (c *Checker) match(e *ast.Match, want types.Type) tree.Expr {
	x := c.Expr(e.X, nil)
	if x.Type() == types.Never {
		c.Errorf(diag.CodeUnreachable, e.Loc, "this `match` is never reached").Related(x.Span(), "leaves the function")
		return tree.Bad(e.Loc)
	}
	if !types.ElemOf(want).IsNumber() && len(e.Arms) > 0 {
		if k := c.allLiterals(armBodies(e)...); k != literal.Typed {
			want = literal.Want(literal.Default(k, types.Invalid))
		}
	}
	m := &matcher{
		want:   want,
		value:  &tree.Local{Name: "matched", T: x.Type(), Loc: x.Span()},
		cover:  &coverage{t: x.Type(), literals: map[uint64]diag.Span{}},
		failed: tree.IsBad(x),
	}
	for _, a := range e.Arms {
		c.arm(m, a)
	}
	for _, i := range m.literals {
		w := m.result
		if w == types.Never {
			w = nil
		}
		m.arms[i].body = c.Expr(e.Arms[i].Body, w)
		m.failed = !c.agree(m, m.arms[i].body, e.Arms[i]) || m.failed
	}
	if !tree.IsBad(x) && !m.cover.complete() {
		m.failed = true
		head := diag.Span{File: e.Loc.File, Start: e.Loc.Start, End: e.X.Span().End}
		c.Errorf(diag.CodeCoverage, head, "this `match` does not cover %s of %s", m.cover.missing(), x.Type()).
			Label("%s", x.Type()).Help("add an arm `_ => ...` for all that is left")
	}
	if m.failed {
		c.Cur.Failed = true
		return tree.Bad(e.Loc)
	}
	return tree.NewLet(e.Loc, m.value, x, c.chain(m))
}

// arm types an arm: its pattern, its guard, and its body, unless that waits for the type of the others.
func (c *Checker) arm(m *matcher, a *ast.Arm) {
	defer c.Leave(c.Enter())
	arm, ok := c.matchPattern(a, m.value, m.cover)
	if a.Guard != nil {
		guard := c.Condition(a.Guard)
		switch {
		case tree.IsBad(guard):
			ok = false
		case arm.cond == nil:
			arm.cond = guard
		default:
			both := &tree.If{Info: tree.Of(types.Scalar(types.Bool), guard.Span()), Cond: arm.cond, Then: guard,
				Else: tree.ScalarConst(types.Bool, 0, guard.Span())}
			c.Chooses(both, arm.mark)
			arm.cond = both
		}
		arm.mark = c.Mark()
	}
	m.failed = m.failed || !ok
	if m.want == nil && c.LiteralKindOf(a.Body) != literal.Typed {
		m.literals, m.arms = append(m.literals, len(m.arms)), append(m.arms, arm)
		return
	}
	w := m.want
	if w == nil && m.result != nil && m.result != types.Never {
		w = m.result
	}
	arm.body = c.Expr(a.Body, w)
	m.failed = !c.agree(m, arm.body, a) || m.failed
	m.arms = append(m.arms, arm)
}

// agree checks that the body of an arm has the type of those before it.
func (c *Checker) agree(m *matcher, body tree.Expr, a *ast.Arm) bool {
	t := body.Type()
	switch {
	case tree.IsBad(body):
		return false
	case m.result == nil || m.result == types.Never:
		m.result, m.first = t, ResultSpan(a.Body)
	case t != types.Never && !types.Equal(m.result, t):
		at := ResultSpan(a.Body)
		r := c.Errorf(diag.CodeArms, at, "the arms of a `match` are of one type: %s and %s differ", m.result, t).
			Label("%s", t).Related(m.first, "%s", m.result)
		r.Explain(at, m.result, t)
		return false
	}
	return true
}

// chain makes the chain of choices, from the last arm on.
func (c *Checker) chain(m *matcher) tree.Expr {
	var out tree.Expr
	for i := len(m.arms) - 1; i >= 0; i-- {
		a := m.arms[i]
		if out == nil {
			out = a.body // what the arms before leave over
		} else {
			choice := &tree.If{Info: tree.Of(armsType(a.body.Type(), out.Type()), a.at), Cond: a.cond, Then: a.body,
				Else: out}
			c.Chooses(choice, a.mark)
			out = choice
		}
		if a.name != nil {
			out = tree.NewLet(a.at, a.name, tree.NewUse(m.value, a.name.Loc), out)
		}
	}
	return out
}

func armBodies(e *ast.Match) []ast.Expr {
	out := make([]ast.Expr, len(e.Arms))
	for i, a := range e.Arms {
		out[i] = a.Body
	}
	return out
}

// matchPattern types the pattern of an arm, and binds its name.
func (c *Checker) matchPattern(a *ast.Arm, value *tree.Local, cover *coverage) (matchArm, bool) {
	arm := matchArm{at: a.Loc}
	use := func(at diag.Span) tree.Expr { return tree.NewUse(value, at) }
	at := diag.Span{}
	if a.Pattern != nil {
		at = a.Pattern.Span()
	}
	if types.IsError(value.T) { // its names are bound, so that the arm can be checked
		if n, ok := a.Pattern.(*ast.Name); ok {
			c.Bind(&tree.Local{Name: n.Name, T: value.T, Loc: n.Loc})
		}
		return arm, false
	}
	if cover.complete() {
		c.Errorf(diag.CodeUnreachable, at, "this arm is never taken: those before it cover %s", value.T)
		return arm, false
	}
	switch p := a.Pattern.(type) {
	case *ast.Name:
		if p.Name != "_" {
			arm.name = &tree.Local{Name: p.Name, T: value.T, Loc: p.Loc}
			c.Bind(arm.name)
		}
		cover.all = cover.all || a.Guard == nil
		arm.mark = c.Mark()
		return arm, true
	case *ast.Lit, *ast.Unary:
		t, ok := value.T.(types.Tensor)
		if !ok || !t.IsScalar() || t.Elem != types.Bool && !t.Elem.IsInt() {
			r := c.Errorf(diag.CodePattern, at, "a pattern of a literal takes an integer, a char or a bool, not %s",
				value.T)
			r.Related(value.Loc, "%s", value.T)
			if ok && t.Elem.IsFloat() {
				r.Help("compare in a guard: `v if v < 0.5 => ...`")
			}
			return arm, false
		}
		k, ok := c.ScalarOf(p, t.Elem, "this pattern").(*tree.Const)
		if !ok {
			return arm, false
		}
		bits := k.Value.Bits[0]
		if before, dup := cover.literals[bits]; dup {
			c.Errorf(diag.CodeUnreachable, at, "this arm is never taken").Related(before, "%s is covered here",
				scalar.FormatBits(t.Elem, bits))
			return arm, false
		}
		if a.Guard == nil {
			cover.literals[bits] = at
		}
		if !cover.complete() || a.Guard != nil {
			arm.cond = c.Apply(at, ops.Eq, nil, use(at), k)
		}
		arm.mark = c.Mark()
		return arm, true
	}
	c.Cur.Failed = true // the parser has reported it
	return arm, false
}

// coverage is what the arms of a match without guards cover.
type coverage struct {
	t        types.Type
	all      bool
	literals map[uint64]diag.Span
}

// complete reports that no value is left.
func (k *coverage) complete() bool {
	if k.all {
		return true
	}
	t, ok := k.t.(types.Tensor)
	switch {
	case !ok:
		return false
	case t.Elem == types.Bool:
		return len(k.literals) == 2
	case t.Elem.IsInt() && t.Elem.Bits() <= 16:
		return len(k.literals) == 1<<t.Elem.Bits()
	}
	return false
}

// missing is an example of what is left.
func (k *coverage) missing() string {
	t, ok := k.t.(types.Tensor)
	if !ok || !t.IsScalar() || t.Elem != types.Bool && !t.Elem.IsInt() {
		return "every value"
	}
	for n := uint64(0); ; n++ { // there are more values than literals
		if _, covered := k.literals[n]; !covered {
			return fmt.Sprintf("the value %s", scalar.FormatBits(t.Elem, n))
		}
	}
}
