package scalar

import (
	"fmt"

	"healc/lang/types"
)

// Op is the code of a scalar instruction.
type Op uint8

// The instructions. T is the type of the result and, unless said, of all operands. Every one is total:
// none traps, and none has an undefined result.
const (
	Nop Op = iota

	Const // imm: the bits of the value, zero-extended
	Param // imm: which parameter of the Func

	// Arithmetic. Integers wrap. Floats round to nearest even, f16 and bf16 compute in f32 and round once.
	Add
	Sub
	Mul
	Div // integers truncate; x / 0 is 0 (a Check goes before it), min / -1 is min
	Rem // integers: sign of the dividend; x % 0 is 0, min % -1 is 0. floats: fmod, exact
	Neg // floats: flips the sign bit, also of NaN
	Abs // integers wrap: |min| is min. floats: clears the sign bit
	Min // floats: NaN if either is NaN, -0 < +0. unsigned and signed integers, bool
	Max
	Fma  // floats: x*y + z rounded once; f16 and bf16: the Fma of f32, rounded once more
	Sqrt // floats
	Floor
	Ceil
	Trunc
	Round    // floats: to nearest, ties to even
	CopySign // floats: magnitude of x, sign of y
	MulHi    // integers: the high half of the double-width product
	// MulExact is Mul for floats, with the promise of whoever emits it that the product is exact or NaN for every value
	// that gets there. It computes what Mul does; a back end may use the promise, as in x*2^a*2^b, which is x*2^(a+b)
	// then.
	MulExact
	// Flush is the third operand where the first is below the second, else the first. Whoever emits it promises, for
	// operands that are constants with the third below the second, that the results of the program are the same with
	// the first operand itself wherever that lies between the two: a back end may then give it, as it is or raised to
	// the third operand.
	Flush // floats

	// Of u64: z plus the lower or the upper half of the product of the lower 52 bits of x and y, which has 104 bits.
	Mul52Lo
	Mul52Hi
	// Digits52 is its operand, a bool. Whoever emits it promises that the results of the program are the same with
	// false in its place: it stands before a way that is the faster one where Mul52Lo and Mul52Hi are instructions.
	// Doubles is the same before a way by Fma of f64, for processors that have an instruction for it, and none for
	// Mul52Lo and Mul52Hi.
	Digits52
	Doubles
	// DoubleSums is Doubles before a way to take a value apart, whose parts are read by nothing but what stands behind
	// the same DoubleSums. Where all of these stand in one loop whose iterations differ in the operand, false is put in
	// its place for all of them.
	DoubleSums
	// Compresses is the same before a kernel.Sort, for processors that can put the chosen elements of a vector
	// together.
	Compresses

	// Bits: integers and bool.
	And
	Or
	Xor
	Not
	Shl // the count is taken modulo the width
	Shr // arithmetic for signed, logical for unsigned; the count is taken modulo the width
	Clz
	Popcnt

	// Comparisons give Bool; operands share one type. Every comparison with NaN is false, but Ne is true.
	Eq
	Ne
	Lt
	Le

	Select  // Bool, T, T: the second operand where the first is true, else the third
	Cast    // numbers and bools to T, by language.md section 2: truncate and saturate, NaN to 0, wrap, round once
	Bitcast // the same bits as another type of the same width

	// Check fails the program when its Bool operand is false; imm is the CheckKind. It has no value.
	Check

	numOps
)

// CheckKind says what a Check guards.
type CheckKind uint8

// The kinds of run-time failure that a scalar program can find.
const (
	CheckDivideByZero CheckKind = iota + 1
	CheckNegativeExponent
	CheckIndex // operands of the Check: ok, then the index and the bound as i64, for the message
	CheckRecursion
	CheckEmpty      // a fold of nothing that has no identity
	CheckModulus    // a modulus that is not positive; detail: the modulus
	CheckNoInverse  // details: the number and the modulus, which share a factor
	CheckPowerOfTwo // a transform of a length that is no power of two; detail: the length
	CheckRequire    // a condition of the program's own; the operation has the message, details: the integers in it
)

// Ref names the result of an instruction: its position in the list that holds it.
type Ref int32

// None is the Ref of no value.
const None Ref = -1

// Instr is one instruction. Unused operands are None.
type Instr struct {
	Op   Op
	Type types.DType // of the result; Bool for comparisons; Invalid for Check
	Args [3]Ref
	Imm  uint64
}

// Func is a straight-line scalar function in SSA form: instruction i defines Ref i.
type Func struct {
	Params  []types.DType
	Instrs  []Instr
	Results []Ref
}

// Info is what the printers and verifiers know of an instruction.
type Info struct {
	Name  string
	Arity int
}

var infos = [numOps]Info{
	Nop: {"nop", 0}, Const: {"const", 0}, Param: {"param", 0},
	Add: {"add", 2}, Sub: {"sub", 2}, Mul: {"mul", 2}, Div: {"div", 2}, Rem: {"rem", 2}, Neg: {"neg", 1},
	Abs: {"abs", 1},
	Min: {"min", 2}, Max: {"max", 2}, Fma: {"fma", 3}, Sqrt: {"sqrt", 1}, Floor: {"floor", 1}, Ceil: {"ceil", 1},
	Trunc: {"trunc", 1}, Round: {"round", 1}, CopySign: {"copysign", 2}, MulHi: {"mulhi", 2},
	MulExact: {"mul_exact", 2}, Flush: {"flush", 3},
	Mul52Lo: {"mul52lo", 3}, Mul52Hi: {"mul52hi", 3}, Digits52: {"digits52", 1}, Doubles: {"doubles", 1},
	DoubleSums: {"doublesums", 1}, Compresses: {"compresses", 1},
	And: {"and", 2}, Or: {"or", 2}, Xor: {"xor", 2}, Not: {"not", 1}, Shl: {"shl", 2}, Shr: {"shr", 2},
	Clz:    {"clz", 1},
	Popcnt: {"popcnt", 1},
	Eq:     {"eq", 2}, Ne: {"ne", 2}, Lt: {"lt", 2}, Le: {"le", 2},
	Select: {"select", 3}, Cast: {"cast", 1}, Bitcast: {"bitcast", 1}, Check: {"check", 3},
}

// Info returns the name and the number of operands. A Check has up to three.
func (op Op) Info() Info { return infos[op] }

// IsChoice reports that the processor decides what op gives: its operand, or false.
func (op Op) IsChoice() bool {
	return op == Digits52 || op == Doubles || op == DoubleSums || op == Compresses
}

func (op Op) String() string {
	if op >= numOps {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return infos[op].Name
}

// ParseOp returns the instruction called name.
func ParseOp(name string) (Op, bool) {
	for op, in := range infos {
		if in.Name == name {
			return Op(op), true
		}
	}
	return Nop, false
}
