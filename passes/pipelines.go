package passes

import (
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/passes/fusion"
	"healc/passes/shard"
)

// All lists every pass that `healc opt` can name. Inline works on all functions here, as no entry is known;
// specialize, which needs one and the values to bind, is in Standard only.
func All() []Pass {
	return []Pass{extentsPass("", nil), inlinePass(""), unshardPass, stopsPass, expandPass, hoistStringsPass,
		batchPass, sequentializePass, canonicalizePass, csePass, licmPass, barriersPass, mirrorPass, positionsPass,
		dcePass, ranksPass, fusePass}
}

// Standard is the pipeline of the compiler. With an entry, only what it reaches is kept, and its shape
// parameters get the values in bind; bind may leave some of them out, which then stay symbolic.
func Standard(entry string, bind map[string]int64) []Pass {
	list := []Pass{extentsPass(entry, bind), inlinePass(entry)}
	if entry != "" {
		list = append(list, specializePass(entry, bind))
	}
	return append(append(append(list, unshardPass), simplify()...), rest()...)
}

// Distributed is Standard for one of several ranks. All shape parameters of the entry are in bind.
func Distributed(entry string, bind map[string]int64, ranks shard.Ranks) []Pass {
	list := []Pass{extentsPass(entry, bind), inlinePass(entry), specializePass(entry, bind)}
	list = append(list, simplify()...)
	return append(append(append(list, shardPass(ranks)), rest()...), overlapPass)
}

// Placed is the pipeline before Distributed shards, for an entry of any shape: shard.Check reads what it leaves.
// Products by blocks stay what they are: where extents are known, few steps are one block, which is a plain product.
func Placed(entry string) []Pass {
	expand := expandPass
	expand.Run = func(m *ir.Module, remark Remark) error { return expandBut(m, remark, ops.SplitMatmul) }
	return []Pass{inlinePass(entry), stopsPass, expand, hoistStringsPass, batchPass}
}

// simplify is the passes that leave only operations which back ends lower, and those on rows outside of regions.
func simplify() []Pass { return []Pass{stopsPass, expandPass, hoistStringsPass, batchPass} }

// rest is the passes after these.
func rest() []Pass {
	return []Pass{sequentializePass, canonicalizePass, csePass, licmPass, barriersPass, mirrorPass, positionsPass,
		dcePass, ranksPass, fusePass}
}

func shardPass(ranks shard.Ranks) Pass {
	return Pass{
		Name: "shard", Doc: "makes the program of one of several ranks", Required: true,
		Run: func(m *ir.Module, _ Remark) error { return shard.Run(m, ranks) },
	}
}

var overlapPass = Pass{
	Name: "overlap", Doc: "puts kernels between exchanges of ranks and what needs what comes",
	Run: func(m *ir.Module, _ Remark) error {
		shard.Overlap(m)
		return nil
	},
}

// order documents why one pass precedes another; TestPassOrder checks it against every pipeline.
var order = []struct{ before, after, why string }{
	{"extents", "inline", "messages have the shape parameters of the function as it is written"},
	{"inline", "stops", "functions bring stops to the place of a call, which may be in a region, or have them already"},
	{"specialize", "stops", "literal extents say which stops are none"},
	{"stops", "expand", "a derivative is that of a function without stops where these can be before it"},
	{"stops", "batch", "what can fail in a tabulate stays there"},
	{"stops", "fuse", "a kernel does not reach across a stop"},
	{"inline", "specialize", "after inlining, shape parameters of one function are all there are to bind"},
	{"inline", "expand",
		"a function is expanded once for each call, so that the spans and shapes of the call are known"},
	{"specialize", "expand", "the expansion of a mean by a known count is a constant"},
	{"specialize", "canonicalize", "indices and views are proven in range by literal extents"},
	{"unshard", "expand", "a derivative keeps no value to say again what ranks have of it"},
	{"inline", "unshard", "no function is left that says something to ranks where it is called"},
	{"expand", "canonicalize", "expansions make broadcasts and constants that canonicalize merges"},
	{"canonicalize", "cse", "operands in canonical order make equal operations equal"},
	{"cse", "dce", "merged operations leave dead ones behind"},
	{"canonicalize", "licm", "an index that is in range cannot fail, and may leave the loop"},
	{"cse", "barriers", "a barrier keeps what a checkpoint computes again from being merged with the first time"},
	{"inline", "shard", "tensors are cut as they are where a function is called"},
	{"specialize", "shard", "the part of a rank has literal extents"},
	{"expand", "shard", "what is expanded is cut as the operations that it is made of"},
	{"batch", "shard", "the rows of a tabulate are one operation, of which ranks share the rows"},
	{"shard", "sequentialize", "whether a state is small shows in the part of a rank"},
	{"shard", "canonicalize", "the program of a rank has views that merge with those of the program"},
	{"barriers", "fuse", "a barrier has served its purpose, and would keep a view from being one"},
	{"inline", "hoist_strings", "a function that is called in a lambda may hold operations on strings"},
	{"specialize", "positions", "literal extents say which operations have elements that check their positions"},
	{"canonicalize", "positions", "an index that is in range is none any more"},
	{"sequentialize", "positions", "a step is evaluated where its result has no elements, too"},
	{"positions", "fuse", "a kernel without elements checks no position"},
	{"batch", "ranks", "the rows of a tabulate are one sort, of which all indices read the same ranks"},
	{"canonicalize", "ranks", "a position that is known is a slice, and one slice there is where there were several"},
	{"dce", "ranks", "an operation that nobody needs reads nothing"},
	{"ranks", "fuse", "views of a sort are in kernels then"},
	{"cse", "mirror", "the factors of a product are one value"},
	{"canonicalize", "mirror", "a transpose is one view, and a transpose of a transpose none"},
	{"specialize", "mirror", "literal extents say whether it pays"},
	{"shard", "mirror", "a rank that has a part of the product has no half of it"},
	{"mirror", "dce", "nobody needs the transpose any more"},
	{"mirror", "fuse", "each of both halves is a kernel"},
	{"hoist_strings", "fuse", "no kernel computes with strings"},
	{"licm", "fuse", "a kernel of a step of a loop would compute it again and again"},
	{"canonicalize", "dce", "rewritten operations leave dead ones behind"},
	{"inline", "batch", "a function that is called for each index is in the tabulate then"},
	{"inline", "sequentialize", "a function that is called for each index is in the tabulate then"},
	{"specialize", "sequentialize", "literal extents say which states are small"},
	{"hoist_strings", "sequentialize", "an operation on strings that is computed before needs no loop"},
	{"batch", "sequentialize", "an operation on rows is one kernel for all indices, not one for each step"},
	{"sequentialize", "canonicalize",
		"the loop reads and writes its result by views that merge with those of the program"},
	{"sequentialize", "fuse", "a kernel cannot hold what the loop has in its steps"},
	{"batch", "canonicalize", "what is left of a tabulate may not depend on the index any more"},
	{"batch", "dce", "copies of regions hold operations that nothing uses"},
	{"expand", "fuse", "what is expanded has no lowering of its own"},
	{"fuse", "overlap", "it orders kernels"},
	{"inline", "fuse", "kernels do not reach across calls"},
	{"canonicalize", "fuse", "fusion sees one view where there were several, and no constant that is computed"},
	{"cse", "fuse", "a value with two definitions would be computed by two kernels"},
	{"dce", "fuse", "dead operations have no consumer to fuse with and would become kernels"},
}

// ParsePipeline reads a list of passes such as "canonicalize,cse". Passes may be repeated.
func ParsePipeline(list string) ([]Pass, error) {
	all := All()
	var out []Pass
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		found := false
		for _, p := range all {
			if p.Name == name {
				out, found = append(out, p), true
			}
		}
		if !found {
			names := make([]string, len(all))
			for i, p := range all {
				names[i] = p.Name
			}
			return nil, &UnknownPassError{name, "does not exist; there are " + strings.Join(names, ", ")}
		}
	}
	return out, nil
}

func extentsPass(entry string, bind map[string]int64) Pass {
	return Pass{
		Name: "extents", Doc: "stops the program where shape parameters make an extent that is none", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return Extents(m, entry, bind, remark) },
	}
}

func inlinePass(entry string) Pass {
	return Pass{
		Name: "inline", Doc: "puts the bodies of functions in the place of their calls, except for recursive ones",
		Required: true,
		Run:      func(m *ir.Module, remark Remark) error { return Inline(m, entry, remark) },
	}
}

func specializePass(entry string, bind map[string]int64) Pass {
	return Pass{
		Name: "specialize", Doc: "gives shape parameters of the entry their values", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return Specialize(m, entry, bind) },
	}
}

var (
	unshardPass = Pass{
		Name: "unshard", Doc: "removes what is said to ranks, where there is one",
		Run: func(m *ir.Module, remark Remark) error { return Unshard(m, remark) },
	}
	expandPass = Pass{
		Name: "expand", Doc: "rewrites operations such as mean into simpler ones", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return Expand(m, remark) },
	}
	stopsPass = Pass{
		Name: "stops", Doc: "puts what stops the program before regions that do not decide about it",
		Run: func(m *ir.Module, remark Remark) error { return Stops(m, remark) },
	}
	batchPass = Pass{
		Name: "batch", Doc: "takes sorting and its like out of tabulate, so that one kernel computes all rows",
		Run: func(m *ir.Module, remark Remark) error { return Batch(m, remark) },
	}
	sequentializePass = Pass{
		Name:     "sequentialize",
		Doc:      "makes loops of tabulates, folds and scans whose functions cannot be part of a kernel",
		Required: true,
		Run:      func(m *ir.Module, remark Remark) error { return Sequentialize(m, remark) },
	}
	canonicalizePass = Pass{
		Name: "canonicalize", Doc: "merges views, folds constants and applies algebra that keeps every bit",
		Run: func(m *ir.Module, remark Remark) error { return Canonicalize(m, remark) },
	}
	csePass = Pass{
		Name: "cse", Doc: "computes equal operations once",
		Run: func(m *ir.Module, remark Remark) error { return CSE(m, remark) },
	}
	licmPass = Pass{
		Name: "licm", Doc: "computes what no step of a loop changes before the loop",
		Run: func(m *ir.Module, remark Remark) error { return LICM(m, remark) },
	}
	barriersPass = Pass{
		Name: "barriers", Doc: "removes what kept equal values from being computed once", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return Barriers(m, remark) },
	}
	positionsPass = Pass{
		Name: "positions", Doc: "checks the positions that no element of an operation looks at", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return Positions(m, remark) },
	}
	hoistStringsPass = Pass{
		Name: "hoist_strings", Doc: "takes operations on strings out of lambdas", Required: true,
		Run: func(m *ir.Module, remark Remark) error { return HoistStrings(m, remark) },
	}
	dcePass = Pass{
		Name: "dce", Doc: "removes operations without effect whose results are not used",
		Run: func(m *ir.Module, remark Remark) error { return DCE(m, remark) },
	}
	ranksPass = Pass{
		Name: "ranks", Doc: "sorts only as far as what is sorted is read",
		Run: func(m *ir.Module, remark Remark) error { return Ranks(m, remark) },
	}
	mirrorPass = Pass{
		Name: "mirror", Doc: "computes one half of the product of a matrix with its own transpose", OnCPU: true,
		Run: func(m *ir.Module, remark Remark) error { return fusion.Mirror(m, remark) },
	}
	fusePass = Pass{
		Name: "fuse", Doc: "gathers operations into fusion operations, each of which becomes one kernel",
		Required: true,
		Run:      func(m *ir.Module, remark Remark) error { return fusion.Fuse(m, remark) },
	}
)
