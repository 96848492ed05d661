package sources

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"healc/ir"
	"healc/lang/types"
	"healc/tests/random"
)

// Program is a random program: the function `f`, those that it calls, and inputs for it.
type Program struct {
	Seed    uint64
	Fns     []*Node // in front of f
	Body    *Node
	Params  []Param
	Dims    []string         // the shape parameters of f
	Bind    map[string]int64 // the values of all names of extents
	Imports []string
	Unfit   bool // with an operation whose shapes do not fit: code for any shape does not see that
}

// Param is a parameter of f.
type Param struct {
	Name string
	Type types.Tensor
}

// Text is the source.
func (p *Program) Text() string {
	w := &writer{lits: map[string]types.Dim{}, generic: types.Invalid}
	for name, n := range p.Bind {
		if !slices.Contains(p.Dims, name) && name[0] != 'A' && name[0] != 'B' && // A and B are of helpers
			!p.named(name) {
			w.lits[name] = types.Lit(n)
		}
	}
	for _, m := range p.Imports {
		fmt.Fprintf(w, "import %s\n", m)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Bind)) {
		if p.named(name) {
			fmt.Fprintf(w, "const %s: nat = %d\n", name, p.Bind[name])
		}
	}
	for _, f := range p.Fns {
		w.node(f)
		w.WriteString("\n")
	}
	w.generic = types.Invalid
	w.WriteString("fn f")
	if len(p.Dims) > 0 {
		fmt.Fprintf(w, "[%s]", strings.Join(p.Dims, ", "))
	}
	w.WriteString("(")
	for i, q := range p.Params {
		if i > 0 {
			w.WriteString(", ")
		}
		fmt.Fprintf(w, "%s: %s", q.Name, w.typ(q.Type))
	}
	fmt.Fprintf(w, ") -> %s = ", w.typ(p.Body.Type))
	w.node(p.Body)
	w.WriteString("\n")
	return w.String()
}

// named reports that an extent is a constant with a name in the text.
func (p *Program) named(name string) bool { return p.Seed >= since && p.Seed%3 == 0 && name[0] == 'L' }

// Input draws the arguments of f, the same for the same names and types.
func (p *Program) Input() ([]*ir.Array, error) {
	var out []*ir.Array
	for _, q := range p.Params {
		var shape []int64
		for _, d := range q.Type.Shape {
			n, err := d.Eval(p.Bind)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%s of %s: %d, %v", d, q.Name, n, err)
			}
			shape = append(shape, n)
		}
		h := fnv.New64()
		fmt.Fprint(h, q.Name, q.Type)
		out = append(out, random.Data(rand.New(rand.NewPCG(p.Seed, h.Sum64())), q.Type.Elem, shape))
	}
	return out, nil
}

// String is the source with what it is called with.
func (p *Program) String() string {
	var names []string
	for _, d := range p.Dims {
		names = append(names, fmt.Sprintf("%s = %d", d, p.Bind[d]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# seed %d, %s\n%s", p.Seed, strings.Join(names, ", "), p.Text())
	input, err := p.Input()
	if err != nil {
		return b.String() + err.Error()
	}
	for i, a := range input {
		bits, more := a.Bits, ""
		if len(bits) > 24 {
			bits, more = bits[:24], " ..."
		}
		fmt.Fprintf(&b, "# %s: %s %#x%s\n", p.Params[i].Name, a.Type(), bits, more)
	}
	return b.String()
}
