package parser

import (
	"healc/lang/ast"
	"healc/lang/diag"
)

// The levels of language.md, section 4, from loosest to tightest.
const (
	precPipe    = 1
	precOr      = 5
	precAnd     = 6
	precCompare = 10
	precRange   = 15
	precSum     = 20
	precProduct = 30
	precMatmul  = 35
	// Prefix operators (37), power (38) and postfix forms (40) are functions of their own: unary,
	// power and postfix.
)

var binaryPrec = func() map[string]int {
	m := map[string]int{"|>": precPipe, "||": precOr, ".||": precOr, "&&": precAnd, ".&&": precAnd,
		"..": precRange, "..=": precRange, "@": precMatmul, "++": precSum}
	for prec, ops := range map[int][]string{
		precCompare: {"==", "!=", "<", "<=", ">", ">="},
		precSum:     {"+", "-"},
		precProduct: {"*", "/", "%"},
	} {
		for _, op := range ops {
			m[op], m["."+op] = prec, prec
		}
	}
	return m
}()

// Precedence returns the level of a binary operator of language.md, section 4, or 0.
func Precedence(op string) int {
	if op == ".^" {
		return 38
	}
	return binaryPrec[op]
}

// expr parses any expression.
func (p *parser) expr() ast.Expr {
	defer p.frame()()
	return p.binary(precPipe)
}

// binary parses operands joined by operators of level least and above.
func (p *parser) binary(least int) ast.Expr {
	start := p.start()
	return p.climb(p.unary(), start, least)
}

// climb continues the expression x, which starts at start, with operators of level least and above.
func (p *parser) climb(x ast.Expr, start, least int) ast.Expr {
	for {
		op := p.tok()
		prec := binaryPrec[op.text]
		if prec < least || prec == 0 {
			return x
		}
		p.link()
		p.next()
		var split ast.Expr
		if op.text == "@" {
			split = p.matmulOptions()
		}
		y := p.binary(prec + 1)
		switch prec {
		case precPipe:
			x = p.pipe(x, y, start)
		case precRange:
			x = &ast.Range{At: p.from(start), Lo: x, Hi: y, Inclusive: op.text == "..="}
		default:
			x = &ast.Binary{At: p.from(start), Op: op.text, OpLoc: p.spanOf(op), X: x, Y: y, Split: split}
		}
		if next := p.tok(); (prec == precCompare || prec == precRange) && binaryPrec[next.text] == prec {
			d := p.fail(diag.CodeNonAssoc, p.spanOf(next), "`%s` after `%s` needs parentheses", next.text, op.text)
			d.Related = []diag.Label{{Span: p.spanOf(op), Text: "the other operator"}}
			if d.Help = "ranges do not associate"; prec == precCompare {
				d.Help = "comparisons do not associate: write `a < b && b < c`, or add parentheses"
			}
		}
	}
}

func (p *parser) pipe(x, y ast.Expr, start int) ast.Expr {
	switch y.(type) {
	case *ast.Call, *ast.Name, *ast.Member, *ast.BadExpr:
	default:
		p.report(diag.CodePipeTarget, y.Span(), "the right of `|>` is neither a call nor the name of a function").Help =
			"`x |> f(y)` is `f(x, y)`"
	}
	return &ast.Pipe{At: p.from(start), X: x, F: y}
}

// unary parses prefix operators, prefix reductions and folds, and what is tighter. Every level of
// nesting of expressions comes by here, so here they are counted.
func (p *parser) unary() ast.Expr {
	defer p.nest()()
	start := p.start()
	t := p.tok()
	switch t.text {
	case "-", "!":
		p.next()
		x := p.unary()
		return &ast.Unary{At: p.from(start), Op: t.text, X: x}
	case "+/", "-/", "*/", "//", "&&/", "||/":
		p.next()
		r := &ast.Reduce{Op: t.text[:len(t.text)-1]}
		p.reduceOptions(r)
		r.X = p.unary()
		r.At = p.from(start)
		return r
	}
	x := p.postfix()
	if p.at("/") {
		if f := p.foldFunction(x); f != nil {
			return p.fold(f, start)
		}
	}
	if p.at(".^") {
		op := p.next()
		y := p.unary()
		return &ast.Binary{At: p.from(start), Op: op.text, OpLoc: p.spanOf(op), X: x, Y: y}
	}
	return x
}

// foldFunction returns the function when x before `/` is one (see the package comment), else nil.
func (p *parser) foldFunction(x ast.Expr) ast.Expr {
	switch x := x.(type) {
	case *ast.Name:
		if !p.isValue(x.Name) {
			return x
		}
	case *ast.Paren:
		if l, ok := x.X.(*ast.Lambda); ok {
			return l
		}
	}
	return nil
}

// fold parses the rest of `f/v`, at the `/`.
func (p *parser) fold(f ast.Expr, start int) ast.Expr {
	p.next()
	r := &ast.Reduce{Fun: f}
	p.reduceOptions(r)
	r.X = p.unary()
	r.At = p.from(start)
	r.Divided = p.at("/")
	return r
}

// reduceOptions parses `[axis = e, keep, init = e]` after the operator of a reduction, if it is there. Anything
// else in brackets is an array literal, the operand; so is `[keep]` where no operand follows it.
func (p *parser) reduceOptions(r *ast.Reduce) {
	if !p.at("[") || !p.optionsAhead() {
		return
	}
	p.items("]", func() {
		switch name := p.peek(0); {
		case name.text == "axis" && r.Axis == nil:
			p.next()
			p.expect("=")
			r.Axis = p.expr()
		case name.text == "keep" && !r.Keep:
			p.next()
			r.Keep = true
		case name.text == "init" && r.Init == nil:
			p.next()
			p.expect("=")
			r.Init = p.expr()
		case name.text == "axis" || name.text == "keep" || name.text == "init":
			p.fail(diag.CodeUnexpected, p.here(), "`%s` is given twice", name.text)
		default:
			d := p.unexpected("`axis = ...`, `keep` or `init = ...`")
			if near := diag.Nearest(name.text, []string{"axis", "keep", "init"}); near != "" && d.Help == "" {
				d.Help = "did you mean `" + near + "`?"
			}
		}
	})
}

// matmulOptions parses `[split = e]` after `@`, if it is there; any other bracket is an array literal, the operand.
func (p *parser) matmulOptions() (split ast.Expr) {
	if !p.at("[") || p.peek(1).text != "split" || p.peek(2).text != "=" {
		return nil
	}
	p.items("]", func() {
		if name := p.peek(0); name.text != "split" || split != nil {
			p.unexpected("`split = ...` once")
			return
		}
		p.next()
		p.expect("=")
		split = p.expr()
	})
	return split
}

// optionsAhead reports whether the bracket here holds the options of a reduction.
func (p *parser) optionsAhead() bool {
	switch p.peek(1).text {
	case "axis", "init":
		return p.peek(2).text == "="
	case "keep":
		if p.peek(2).text == "," {
			next := p.peek(3).text
			return (next == "axis" || next == "init") && p.peek(4).text == "="
		}
		if p.peek(2).text != "]" {
			return false
		}
		t := p.peek(3)
		return startsOperand(t)
	}
	return false
}

// postfix parses a primary and the calls, indices, members and casts after it.
func (p *parser) postfix() ast.Expr {
	start := p.start()
	x := p.primary()
	if isBlockLike(x) {
		return x // what follows `}` in the next line is no call
	}
	for {
		switch {
		case p.at("("):
			x = p.call(x, nil, start)
		case p.at("["):
			x = p.index(x, start)
		case p.at("."):
			p.next()
			module, ok := x.(*ast.Name)
			if !ok {
				help := p.methodHelp()
				d := p.fail(diag.CodeUnexpected, p.from(p.end-1).Loc, "`.` stands only after the name of a module")
				d.Help = help
				return x
			}
			name := p.ident("a name")
			x = &ast.Member{At: p.from(start), Module: ast.Ident{At: module.At, Name: module.Name}, Name: name}
		case p.at("as"):
			p.next()
			t := p.typeExpr(false)
			x = &ast.Cast{At: p.from(start), X: x, Type: t}
		default:
			return x
		}
		p.link()
	}
}

func isBlockLike(x ast.Expr) bool {
	switch x.(type) {
	case *ast.Block, *ast.If, *ast.Match:
		return true
	}
	return false
}

// call parses the arguments of a call of fun, at the parenthesis.
func (p *parser) call(fun ast.Expr, generics []ast.Expr, start int) ast.Expr {
	c := &ast.Call{Fun: fun, Generics: generics}
	if paren, ok := fun.(*ast.Paren); ok {
		if l, ok := paren.X.(*ast.Lambda); ok {
			c.Fun = l
		}
	}
	p.items(")", func() {
		var a ast.Arg
		if p.isName() && p.peek(1).text == "=" {
			name := p.ident("a name")
			a.Name = &name
			p.next()
		}
		a.Value = p.expr()
		c.Args = append(c.Args, a)
	})
	c.At = p.from(start)
	return c
}

// index parses the brackets after x: an index, or the explicit shape arguments of a call when a name
// stands before and a parenthesis directly after.
func (p *parser) index(x ast.Expr, start int) ast.Expr {
	i := &ast.Index{X: x, Indices: []ast.Expr{}}
	p.items("]", func() { i.Indices = append(i.Indices, p.indexItem()) })
	i.At = p.from(start)
	if !p.at("(") {
		return i
	}
	switch x.(type) {
	case *ast.Name, *ast.Member:
		return p.call(x, i.Indices, start)
	}
	return i
}

// indexItem parses an index: an expression, or a range whose bounds may be left out, with a step.
func (p *parser) indexItem() ast.Expr {
	defer p.frame()()
	start := p.start()
	var lo ast.Expr
	if !p.at("..") && !p.at("..=") {
		lo = p.binary(precSum)
		if !p.at("..") && !p.at("..=") {
			return p.climb(lo, start, precPipe)
		}
	}
	r := &ast.Range{Lo: lo, Inclusive: p.next().text == "..="}
	if !p.at(",") && !p.at("]") && !p.stepAhead() {
		r.Hi = p.binary(precSum)
	}
	if p.stepAhead() {
		p.next()
		r.Step = p.binary(precSum)
	}
	r.At = p.from(start)
	return r
}

// stepAhead reports whether `by`, which is an ordinary name elsewhere, starts the step of a range: an
// operand follows it. Directly after the dots `by[0]` and `by(x)` are that name still.
func (p *parser) stepAhead() bool {
	if !p.at("by") {
		return false
	}
	t := p.peek(1)
	if p.last.text == ".." || p.last.text == "..=" {
		return startsOperand(t) && t.text != "(" && t.text != "["
	}
	return startsOperand(t)
}
