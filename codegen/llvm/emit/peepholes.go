package emit

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/scalar"
)

// Peephole is another way to write some instructions in vectors, with those before them that nothing else reads.
type Peephole struct {
	Name string
	For  string
	Find func(g *Func, in scalar.Instr) value.Value // nil where the instruction or the machine is another
}

// The peepholes.
var (
	CrossProducts = Peephole{"cross products", "products of the halves of two factors across each other, both at once",
		(*Func).crosses}
	Scaling = Peephole{"scaling", "a product with a power of two whose exponent is computed, by vscalef",
		(*Func).scaled}
	LowerBound = Peephole{"lower bound", "raising to the least number that an exponential does not make 0",
		(*Func).raised}
	Logarithms = Peephole{"logarithm", "the logarithm of f32 in whole registers", (*Func).logarithm}
)

// The peepholes of devices, of code for processors that is compiled fast, and of any other.
var (
	DevicePeepholes = []Peephole{CrossProducts, Scaling}
	BriefPeepholes  = []Peephole{CrossProducts, Scaling, LowerBound}
	Peepholes       = []Peephole{CrossProducts, Scaling, LowerBound, Logarithms}
)
