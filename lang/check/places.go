package check

import (
	"strings"

	"healc/ir"
	"healc/lang/check/infer"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Only declared types say where a tensor is: parameters, results and annotated lets. The types in the tree
// say nothing of it, so that no operation has to know places. When a source names a place other than the
// host, a pass over the typed bodies finds the place of every value and compares. A literal, and what is made
// of scalars alone, is anywhere: it takes the place of what it meets. Calls rely on what the callee declares.

// anywhere is the place of scalars, and of tensors that are in no memory yet.
const anywhere = types.Place(255)

// places checks the places of all values, and finds the functions that need another place than the host.
func (c *run) places() {
	if !c.Placed || len(c.List.Items) > 0 {
		return
	}
	told := map[diag.Span]bool{}
	var typed []*scope.Func
	for _, f := range c.Order {
		if f.Tree.Body == nil || f.Failed {
			continue
		}
		c.Cur = &scope.Owner{Name: f.OwnerName(), Fn: f}
		p := &placer{c: c, fn: f.Tree, locals: map[*tree.Local][]types.Place{}, told: told}
		p.function()
		f.Failed = c.Cur.Failed
		typed = append(typed, f)
	}
	for changed := true; changed; { // until the callers of callers know, too
		changed = false
		for _, f := range typed {
			for _, s := range f.Calls {
				if off := s.Callee.Tree.Off; off != nil && needsMore(f.Tree.Off, off.Place) {
					f.Tree.Off, changed = s.Callee.Tree.Off, true
				}
			}
		}
	}
}

// placer finds the places of the values of a function: of each, one for every tensor that it flattens to.
type placer struct {
	c      *run
	fn     *tree.Func
	locals map[*tree.Local][]types.Place
	told   map[diag.Span]bool // what was reported, perhaps in another instance
	again  bool               // in the second look at the body of a loop
}

func (p *placer) function() {
	for _, l := range p.fn.Params {
		p.locals[l] = p.declared(l.Declared, l.Loc)
	}
	at := p.fn.Loc
	if p.fn.Decl.Result != nil {
		at = p.fn.Decl.Result.Span()
	}
	want := p.declared(p.fn.Declared, at)
	got := p.expr(p.fn.Body)
	if p.fn.Body.Type() != types.Never {
		p.result(infer.ResultSpan(p.fn.Decl.Body), want, got)
	}
}

// result compares what the function returns with what it declares.
func (p *placer) result(at diag.Span, want, got []types.Place) {
	if fits(want, got) {
		return
	}
	have := placedType(p.fn.Result, got)
	if r := p.report(diag.CodeResult, at, "%s returns %s, but its body is %s", report.Quote(p.fn.DisplayName()),
		placedType(p.fn.Result, want), have); r != nil {
		r.Label("%s", have)
		if p.fn.Decl.Result != nil {
			r.Related(p.fn.Decl.Result.Span(), "the declared type")
		}
		helpMove(r, at, want)
	}
}

// declared is the places that a declared type says.
func (p *placer) declared(t types.Type, at diag.Span) []types.Place {
	for _, x := range types.Flatten(t) {
		if x.Place != types.OnHost {
			p.uses(x.Place, at)
		}
	}
	return placesDeclared(t)
}

func (p *placer) uses(place types.Place, at diag.Span) {
	if needsMore(p.fn.Off, place) {
		p.fn.Off = &tree.Placed{Place: place, Loc: at}
	}
}

// needsMore reports whether a place asks more of a backend than what is known to be needed: unified memory more than a
// device.
func needsMore(known *tree.Placed, place types.Place) bool {
	return known == nil || known.Place < place
}

// expr is the places of the value of e; nothing for types.Never.
func (p *placer) expr(e tree.Expr) []types.Place {
	for { // a block is a chain of lets
		let, ok := e.(*tree.Let)
		if !ok {
			break
		}
		got := p.expr(let.Value)
		if l := let.Local; l != nil {
			if l.Declared != nil {
				want := p.declared(l.Declared, l.Loc)
				p.compare(let.Value.Span(), "the value", l.T, want, got)
				got = want
			}
			p.locals[l] = got
		}
		e = let.Body
	}
	switch e := e.(type) {
	case *tree.Use:
		if places, ok := p.locals[e.Local]; ok {
			return places
		}
	case *tree.Apply:
		return p.apply(e)
	case *tree.Call:
		return p.call(e)
	case *tree.If:
		p.expr(e.Cond)
		then, els := p.expr(e.Then), p.expr(e.Else)
		switch {
		case e.Then.Type() == types.Never:
			return els
		case e.Else.Type() == types.Never:
			return then
		}
		return p.join(e.Else.Span(), "the arms are", then, els)
	case *tree.Assign:
		p.locals[e.Local] = p.join(e.Value.Span(), "the variable and its new value are", p.locals[e.Local],
			p.expr(e.Value))
	case *tree.Return:
		p.result(e.Value.Span(), placesDeclared(p.fn.Declared), p.expr(e.Value))
	case *tree.Move:
		p.expr(e.X)
		if e.To != types.OnHost {
			p.uses(e.To, e.Loc)
		}
		return []types.Place{e.To}
	case *tree.Tuple:
		var out []types.Place
		for _, x := range e.Elems {
			out = append(out, p.expr(x)...)
		}
		return out
	case *tree.Get:
		places, begin := p.expr(e.X), 0
		elems := e.X.Type().(types.Tuple).Elems
		for _, t := range elems[:e.Index] {
			begin += len(types.Flatten(t))
		}
		return places[begin : begin+len(types.Flatten(elems[e.Index]))]
	}
	return nowhere(e.Type())
}

// apply is the places of the results of an operation: all tensors that it has to do with are in one.
func (p *placer) apply(e *tree.Apply) []types.Place {
	at := anywhere
	meet := func(x diag.Span, places []types.Place) {
		for _, q := range places {
			at = p.join(x, "the operands are", []types.Place{at}, []types.Place{q})[0]
		}
	}
	for _, x := range e.Args {
		meet(e.Loc, p.expr(x))
	}
	start := at
	bodies := func() {
		for _, l := range e.Lambdas {
			for _, x := range l.Params {
				p.locals[x] = placesOf(x.T, at)
			}
			meet(l.Body.Span(), p.expr(l.Body))
		}
	}
	bodies()
	if start == anywhere && at != anywhere && !p.again {
		// The state of a loop starts anywhere, and is in a place after the first step. Bodies in the bodies have had
		// their second look, so a third is spared: else the looks would double with each level.
		p.again = true
		bodies()
		p.again = false
	}
	if e.Op.Class == ir.Host && at == anywhere {
		at = types.OnHost // what was read from a file
	}
	return placesOf(e.T, at)
}

func (p *placer) call(e *tree.Call) []types.Place {
	muts := e.Muts
	for i, x := range e.Args {
		l := e.Fn.Params[i]
		want := placesDeclared(l.Declared)
		p.compare(x.Span(), "argument "+report.Quote(l.Name)+" of "+report.Quote(e.Fn.DisplayName()), x.Type(), want,
			p.expr(x))
		for _, k := range e.Fn.Muts {
			if k == i {
				p.locals[muts[0]], muts = want, muts[1:]
			}
		}
	}
	return placesDeclared(e.Fn.Declared)
}

// compare reports a value that is elsewhere than it has to be.
func (p *placer) compare(at diag.Span, what string, t types.Type, want, got []types.Place) {
	if fits(want, got) {
		return
	}
	have := placedType(t, got)
	if r := p.report(diag.CodeMismatch, at, "%s has to be %s, not %s", what, placedType(t, want), have); r != nil {
		helpMove(r.Label("%s", have), at, want)
	}
}

// join is the places of what is one value or the other; it reports values that are in different places.
func (p *placer) join(at diag.Span, what string, a, b []types.Place) []types.Place {
	out := make([]types.Place, len(a))
	for i := range a {
		switch {
		case a[i] == anywhere:
			out[i] = b[i]
		case b[i] == anywhere || a[i] == b[i]:
			out[i] = a[i]
		default:
			out[i] = a[i]
			if r := p.report(diag.CodePlace, at, "%s in different places: on %s and on %s", what, a[i], b[i]); r !=
				nil {
				r.Help("`to_%s(x)` and `to_%s(x)` copy a tensor there", a[i], b[i])
			}
		}
	}
	return out
}

// report is an error at a span, nil when one was reported there.
func (p *placer) report(code diag.Code, at diag.Span, format string, args ...any) *report.Report {
	if p.told[at] {
		p.c.Cur.Failed = true
		return nil
	}
	p.told[at] = true
	return p.c.Errorf(code, at, format, args...)
}

// helpMove says which function copies a value to where it is needed, when one does.
func helpMove(r *report.Report, at diag.Span, want []types.Place) {
	if len(want) != 1 {
		r.Help("`to_host(x)`, `to_device(x)` and `to_unified(x)` copy a tensor")
		return
	}
	text := at.Text()
	if text == "" || len(text) > 30 || strings.ContainsAny(text, "\n") {
		text = "x"
	}
	r.Help("copy it: `to_%s(%s)`", want[0], text)
}

func fits(want, got []types.Place) bool {
	for i := range want {
		if want[i] != got[i] && want[i] != anywhere && got[i] != anywhere {
			return false
		}
	}
	return true
}

// nowhere is the places of a value of type t that is in no memory yet.
func nowhere(t types.Type) []types.Place { return placesOf(t, anywhere) }

// placesOf is place for each tensor of t, and anywhere for its scalars.
func placesOf(t types.Type, place types.Place) []types.Place {
	flat := types.Flatten(t)
	out := make([]types.Place, len(flat))
	for i, x := range flat {
		out[i] = place
		if x.IsScalar() {
			out[i] = anywhere
		}
	}
	return out
}

// placesDeclared is the places that a declared type says.
func placesDeclared(t types.Type) []types.Place {
	out := nowhere(t)
	for i, x := range types.Flatten(t) {
		if !x.IsScalar() {
			out[i] = x.Place
		}
	}
	return out
}

// placedType is t with places, for messages.
func placedType(t types.Type, places []types.Place) types.Type {
	return types.Map(t, func(x types.Tensor) types.Tensor {
		if places[0] != anywhere {
			x.Place = places[0]
		}
		places = places[1:]
		return x
	})
}
