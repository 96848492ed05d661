package ir

// Use is one place where a value is used: operand Arg of Op, or, when Op is nil, yield Arg of Block.
type Use struct {
	Op    *Op
	Block *Block
	Arg   int
}

// Walk calls visit for every operation of b and of the regions below it, an operation before its regions.
func Walk(b *Block, visit func(*Op)) {
	for _, op := range b.Ops {
		visit(op)
		for _, r := range op.Regions {
			Walk(r, visit)
		}
	}
}

// WalkBlocks calls visit for b and every block below it, outer ones first.
func WalkBlocks(b *Block, visit func(*Block)) {
	visit(b)
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			WalkBlocks(r, visit)
		}
	}
}

// Uses lists the uses of every value in b and below it, in the order of the text.
func Uses(b *Block) map[*Value][]Use {
	uses := map[*Value][]Use{}
	collectUses(b, uses)
	return uses
}

func collectUses(b *Block, uses map[*Value][]Use) {
	for _, op := range b.Ops {
		for i, a := range op.Args {
			uses[a] = append(uses[a], Use{Op: op, Block: b, Arg: i})
		}
		for _, r := range op.Regions {
			collectUses(r, uses)
		}
	}
	for i, y := range b.Yields {
		uses[y] = append(uses[y], Use{Block: b, Arg: i})
	}
}

// Replace puts with[v] in the place of v in every operand and yield of b and below it. Replacements may
// be replaced in turn; a cycle is a bug of the caller.
func Replace(b *Block, with map[*Value]*Value) {
	if len(with) == 0 {
		return
	}
	WalkBlocks(b, func(b *Block) {
		for _, op := range b.Ops {
			replaceAll(op.Args, with)
		}
		replaceAll(b.Yields, with)
	})
}

func replaceAll(vs []*Value, with map[*Value]*Value) {
	for i, v := range vs {
		for w, ok := with[v]; ok; w, ok = with[v] {
			v = w
		}
		vs[i] = v
	}
}

// Captures lists the values that b uses, itself or in regions below, and that are defined outside of it;
// each once, in the order of first use.
func Captures(b *Block) []*Value { return Captured{}.Of(b) }

// Captured has what blocks capture, in the order of Captures. Each block is gone through once, however deep it is in
// others, and has to stay as it is meanwhile.
type Captured map[*Block][]*Value

// Of is Captures(b).
func (c Captured) Of(b *Block) []*Value {
	if out, known := c[b]; known {
		return out
	}
	seen := map[*Value]bool{}
	for _, p := range b.Params {
		seen[p] = true
	}
	var out []*Value
	add := func(vs []*Value) {
		for _, v := range vs {
			if !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	for _, op := range b.Ops {
		add(op.Args)
		for _, r := range op.Regions {
			add(c.Of(r))
		}
		for _, r := range op.Results {
			seen[r] = true
		}
	}
	add(b.Yields)
	c[b] = out
	return out
}
