package ptx

import "math"

// Instruction is one instruction as it is written.
type Instruction struct {
	Line      int
	Location  Location
	Guard     *Operand // the predicate of @p, or nil
	Negated   bool     // @!p
	Opcode    string   // add, of add.s32
	Modifiers []string // s32, in order
	Operands  []Operand
}

// Location is a place in the source of the text: a .loc.
type Location struct{ File, Line, Column int }

// OperandKind tells the forms of an operand.
type OperandKind uint8

// The kinds of operands, with the fields that say which one it is.
const (
	RegisterOperand OperandKind = iota // Name, of a register or a special register
	IntegerOperand                     // Bits
	FloatOperand                       // Bits, of an f32 or, if Wide, of an f64
	SymbolOperand                      // Name, of a variable, function or label, + Offset
	MemoryOperand                      // [Name + Offset]; Name is a register, a symbol, or empty
	VectorOperand                      // {List}
	PairOperand                        // a|b, in List
	ListOperand                        // (List), of a call
	SinkOperand                        // _
)

// Operand is one operand of an instruction.
type Operand struct {
	Kind     OperandKind
	Name     string
	Bits     uint64
	Wide     bool
	Not      bool // !p
	Offset   int64
	List     []Operand
	Variable *Variable // of a symbol or of memory, when Name is a variable
}

// FloatBits are the bits of a float constant as a value of type t.
func (a Operand) FloatBits(t Type) uint64 {
	switch {
	case a.Wide && t == F32:
		return uint64(math.Float32bits(float32(math.Float64frombits(a.Bits))))
	case !a.Wide && t == F64:
		return math.Float64bits(float64(math.Float32frombits(uint32(a.Bits))))
	}
	return a.Bits
}
