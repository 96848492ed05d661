package transform

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// HoistInvariants splits the body of a kernel into what is the same in every iteration of the axes, to be computed once
// before them, and the rest. LLVM would move most of it itself, but no division past a check: the reciprocal of a
// modulus, say. A check is moved when none before it stays, and a read when no check before it stays, so that the error
// is that of the body as it was. Nothing is moved when an inner axis may have no elements.
//
//	over %0 in 0..9 { %1 = load p[0]; %2 = div 1.0, %1; %3 = load x[%0]; %4 = mul %3, %2; store y[%0], %4 }
//
// becomes
//
//	%1 = load p[0]; %2 = div 1.0, %1
//	over %0 in 0..9 { %3 = load x[%0]; %4 = mul %3, %2; store y[%0], %4 }
//
// Requires that reads and checks in before are evaluated only where the outermost axis has an iteration. Establishes
// that before reads neither an axis of k nor a scalar of body, and that either has its statements in their old order.
// The kernel stays as it is; its statements are shared.
func HoistInvariants(k *kernel.Kernel) (before []kernel.Stmt, body *kernel.Block) {
	varies := map[kernel.Ref]bool{}
	for i, a := range k.Axes {
		varies[a.Var] = true
		if n, ok := a.Extent.Dim.Const(); i > 0 && (!ok || n <= a.Begin) {
			return nil, k.Body
		}
	}
	body = &kernel.Block{}
	checked := false // a check stays
	for _, st := range k.Body.Stmts {
		same := false
		switch st := st.(type) {
		case *kernel.Let:
			same = true
			for _, a := range st.In.Args {
				same = same && (a == scalar.None || !varies[a])
			}
			if st.In.Op == scalar.Check {
				same = same && !checked
				checked = checked || !same
			} else {
				varies[st.ID] = !same
			}
		case *kernel.DimValue:
			same = true
		case *kernel.Load:
			same = !checked && !k.Params[st.Param].Out
			for _, t := range st.At.Terms {
				same = same && !varies[t.Var]
			}
			varies[st.ID] = !same
		case *kernel.Reduce:
			// What it reduces may be computed outside of it.
			same = !checked && analysis.PlainStmts(st.Body.Stmts) && st.Chunk == scalar.None && !varies[st.Val]
			for _, in := range st.Body.Stmts {
				switch in := in.(type) {
				case *kernel.Let:
					for _, a := range in.In.Args {
						same = same && (a == scalar.None || !varies[a])
					}
				case *kernel.Load:
					same = same && !k.Params[in.Param].Out
					for _, t := range in.At.Terms {
						same = same && !varies[t.Var]
					}
				}
			}
			varies[st.ID] = !same
		default:
			checked = true // it may have one inside
			set := map[kernel.Ref]bool{}
			analysis.Define(set, st)
			for r := range set {
				varies[r] = true
			}
		}
		if same {
			before = append(before, st)
		} else {
			body.Stmts = append(body.Stmts, st)
		}
	}
	return before, body
}
