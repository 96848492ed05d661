package random

import (
	"fmt"
	"strings"

	"healc"
	"healc/internal/engine"
	"healc/ir"
)

// Shrink makes a failing program smaller while it still fails: it keeps one result, removes operations
// that nothing uses, and turns the results of operations into inputs with the values that the
// interpreter finds for them.
func Shrink(p *Program, fails func(*Program) bool) *Program {
	for changed := true; changed; {
		changed = false
		for _, q := range candidates(p) {
			if ir.Verify(q.IR) == nil && fails(q) {
				p, changed = q, true
				break
			}
		}
	}
	return p
}

// candidates are the programs one step smaller than p, the most reduced first.
func candidates(p *Program) []*Program {
	var out []*Program
	f := p.IR.Funcs[0]
	if len(f.Body.Yields) > 1 {
		for i := range f.Body.Yields {
			q := p.clone()
			g := q.IR.Funcs[0]
			g.Body.Yields = []*ir.Value{g.Body.Yields[i]}
			out = append(out, q.prune())
		}
	}
	for i := len(f.Body.Ops) - 1; i >= 0; i-- {
		if q := p.cut(i); q != nil {
			out = append(out, q)
		}
	}
	if len(f.Body.Yields) == 1 { // return an operand of the result's operation instead
		if def := f.Body.Yields[0].Def; def != nil {
			for k := range def.Args {
				q := p.clone()
				g := q.IR.Funcs[0]
				g.Body.Yields = []*ir.Value{g.Body.Yields[0].Def.Args[k]}
				out = append(out, q.prune())
			}
		}
	}
	return out
}

func (p *Program) clone() *Program {
	return &Program{Seed: p.Seed, IR: p.IR.Clone(), Bind: p.Bind, Input: append([]*ir.Array{}, p.Input...)}
}

// cut replaces operation i by inputs that have its values; nil when it cannot be evaluated alone, or is
// an input already.
func (p *Program) cut(i int) *Program {
	probe := p.clone()
	f := probe.IR.Funcs[0]
	op := f.Body.Ops[i]
	if len(op.Args) == 0 || len(op.Results) != 1 {
		return nil
	}
	f.Body.Yields = []*ir.Value{op.Results[0]}
	f.Body.Ops = f.Body.Ops[:i+1]
	got, err := Run(probe.prune(), engine.Options{Backend: heal.Interp})
	if err != nil || got.Failed != "" {
		return nil
	}
	q := p.clone()
	g := q.IR.Funcs[0]
	old := g.Body.Ops[i].Results[0]
	in := g.Body.Param(fmt.Sprintf("c%d", len(g.Body.Params)), old.Type, old.Span)
	ir.Replace(g.Body, map[*ir.Value]*ir.Value{old: in})
	q.Input = append(q.Input, got.Results[0])
	return q.prune()
}

// prune removes operations that nothing uses, and sets the result types. Parameters stay: they bind the
// shape parameters.
func (p *Program) prune() *Program {
	f := p.IR.Funcs[0]
	for changed := true; changed; {
		changed = false
		uses := ir.Uses(f.Body)
		for _, y := range f.Body.Yields {
			uses[y] = append(uses[y], ir.Use{})
		}
		for i := len(f.Body.Ops) - 1; i >= 0; i-- {
			used := false
			for _, r := range f.Body.Ops[i].Results {
				used = used || len(uses[r]) > 0
			}
			if !used {
				f.Body.Ops = append(f.Body.Ops[:i:i], f.Body.Ops[i+1:]...)
				changed = true
				break
			}
		}
	}
	f.Results = f.Results[:0:0]
	for _, y := range f.Body.Yields {
		f.Results = append(f.Results, y.Type)
	}
	return p
}

// String shows a program with its inputs, long ones cut.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v\n%s", p.Seed, p.Bind, p.IR)
	for i, a := range p.Input {
		bits := a.Bits
		more := ""
		if len(bits) > 24 {
			bits, more = bits[:24], " ..."
		}
		fmt.Fprintf(&b, "input %d: %s %#x%s\n", i, a.Type(), bits, more)
	}
	return b.String()
}
