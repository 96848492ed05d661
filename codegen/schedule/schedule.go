package schedule

import (
	"fmt"
	"slices"

	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// Bounds of the code that is written several times: they keep compiling fast, and no machine decides them.
const (
	maxSubranges            = 8
	maxSubrangeCode         = 600 // statements
	maxUnswitched           = 3   // branches taken before the loops, one in an arm of another
	maxUnswitchedCode       = 700 // statements of a body
	minUnswitchedArm        = 8   // statements of both arms together
	maxTransposedStatements = 64  // of a body that stands in the code once for each step
)

// Options are what a schedule depends on beside the kernel and the target.
type Options struct {
	// Brief says that the program runs briefly: code is written once, and compiled fast.
	Brief bool
	// Least says that it runs so briefly that loops stay as they stand in the kernel.
	Least bool
	// Launched says that a plan launches the kernel, so that it can be told in how many units a product is shared out.
	Launched bool

	loops bool // the kernel is a product in plain loops
}

// A Form is a way to write a whole kernel.
type Form struct {
	Name   string // the directive
	For    string // which kernels
	Why    string // and why it stands before those after it
	decide func(s *scope) *kernel.Directive
}

// Forms are the forms in the order in which they are tried: a kernel takes the first that fits. Where none does its
// loops stay as they are, each with what the schedule says of it.
var Forms = []Form{
	{
		Name:   "interleave",
		For:    "element-wise kernels with a short last axis, whose operands lie along the axis before it",
		Why:    "a transposition of a short axis has no tiles to be made of",
		decide: (*scope).interleave,
	},
	{
		Name:   "transpose",
		For:    "element-wise kernels that read an operand along another axis than the one along which they write",
		Why:    "collapsed axes would read such an operand element by element",
		decide: (*scope).transpose,
	},
	{
		Name:   "collapse",
		For:    "kernels with a short last axis, along which something is computed that does not depend on the others",
		Why:    "the loops as they stand have vectors no longer than the last axis",
		decide: (*scope).collapse,
	},
	{
		Name:   "stage",
		For:    "chunks of reductions over several axes, and loops along rows, whose operands do not lie in that order",
		Why:    "the loops as they stand read such an operand element by element",
		decide: (*scope).stage,
	},
}

// For decides how a kernel is written for a processor.
func For(k *kernel.Kernel, machine target.Machine, o Options) *kernel.Schedule {
	out := &kernel.Schedule{}
	fresh := func() *scope {
		return &scope{k: k, brief: o.Brief, least: o.Least, settled: map[kernel.Ref]bool{}, phase: scalar.None,
			Code: Code{Types: k.Types, Params: k.Params, Machine: machine.WithDefaults(),
				Lets: map[kernel.Ref]*scalar.Instr{}},
			rejected: &out.Rejected}
	}
	if o.Least {
		out.Directives = fresh().nest()
		return out
	}
	c := ProductOf(k, o)
	if c != nil {
		d, rejected := Matmul(c, machine)
		if out.Rejected = rejected; d != nil {
			out.Directives = []*kernel.Directive{d, unitsOf(MatmulOf(c, d))}
			return out
		}
	}
	for _, f := range Forms {
		if c != nil && !c.Free || o.loops {
			break
		}
		if d := f.decide(fresh()); d != nil {
			out.Directives = append(out.Directives, d)
			break
		}
	}
	if len(out.Directives) == 0 {
		s := fresh()
		out.Directives = slices.Concat(s.nextRows(), s.gatheredRows(), s.nest())
	}
	if c != nil && !c.Free {
		out.Directives = append(out.Directives, unitsOf(MatmulOf(c, nil)))
		return out
	}
	noted := out.Rejected
	if d := fresh().threads(out.Directives); d != nil {
		out.Directives = append(out.Directives, d)
	}
	out.Rejected = noted
	return out
}

// ProductOf is the product that a kernel is, nil when it is none or cannot be shared out as one.
func ProductOf(k *kernel.Kernel, o Options) *analysis.Contraction {
	if !o.Launched || o.Least {
		return nil
	}
	return analysis.ContractionOf(k)
}

// unitsOf is the directive for how a product is shared out.
func unitsOf(p *MatmulPlan) *kernel.Directive {
	d := kernel.NewDirective("threads", scalar.None)
	if p.Free {
		return d.Set("align", p.Chunk).Because("parts are whole tiles")
	}
	outer, inner, byRows := p.Grid()
	first, second := "columns", "rows"
	if byRows {
		first, second = second, first
	}
	return d.Set("tasks", p.Units()).Because(fmt.Sprintf("%d parts of the %s by %d of the %s, for any processor", outer,
		first, inner, second))
}

// threads is the directive for the multiples of an index at which the outermost axis is cut, of a kernel whose schedule
// is that otherwise; nil where any will do.
func (s *scope) threads(ds kernel.Directives) *kernel.Directive {
	align, why := int64(0), ""
	if len(s.k.Axes) > 0 && ds.Find("stage", s.k.Axes[0].Var) != nil {
		align, why = ds.Find("stage", s.k.Axes[0].Var).Get("rows"), "parts are the rows of whole stages"
	} else if t, _ := s.TranspositionOf(s.k); t != nil {
		if t.Across == 0 {
			align, why = t.Part(), "parts share no lines of the operand"
		}
	} else if len(s.k.Axes) == 1 {
		_, body := transform.HoistInvariants(s.k)
		v := s.k.Axes[0].Var
		w, _ := s.vectorWidth(v, body)
		if c, _ := s.StripOf(v, body, nil); c != nil {
			w = c.Width
		}
		align, why = int64(w), "parts are whole vectors"
	}
	if align == 0 {
		return nil
	}
	return (&kernel.Directive{Kind: "threads", On: scalar.None, Param: -1}).Set("align", align).Because(why)
}
