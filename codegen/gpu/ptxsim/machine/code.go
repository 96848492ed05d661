package machine

import "healc/codegen/gpu/ptx"

// This file has what a translation makes of a module.

// Module is a module of which all functions were translated. It is immutable, and may run on any number of devices.
type Module struct {
	*ptx.Module

	Code map[string]*Function // by name
}

// Function is a translated function.
type Function struct {
	*ptx.Function

	Code       []Op
	Values     int             // slots of values in a frame: registers, then constants and symbols
	Predicates int             // slots of predicates
	Fixed      []Fixed         // the slots that are no registers
	Tracked    bool            // some register may be read before it is written
	Symbols    []*ptx.Variable // shared, global and constant variables that it names
	Calls      []*Function
}

// Step executes an instruction for the lanes of a mask.
type Step func(w *Warp, m uint32)

// OpKind says what the run loop does with an operation.
type OpKind uint8

// The kinds of operations.
const (
	OpPlain   OpKind = iota // Run, go on
	OpBranch                // to Target
	OpIndexed               // to one of Targets
	OpCall                  // Call
	OpReturn
	OpExit
	OpTrap
	OpBarrier // of the block: Barrier
	OpSync    // Run when the lanes of a member mask are there
)

// Op is a translated instruction.
type Op struct {
	Kind         OpKind
	GuardNegated bool
	Guard        int32 // predicate slot, or -1
	Target       int32 // where a branch goes
	Join         int32 // where the ways of a branch meet again, or -1
	Run          Step
	Instruction  *ptx.Instruction

	Uses, Defs                   []int32 // slots of values
	PredicateUses, PredicateDefs []int32 // slots of predicates

	// For Note [Undefined registers]:
	Effect            bool // the operands matter at once
	Loads             bool // the results are defined whatever the operands are
	Spread            Propagation
	UsedBits          []uint64 // of each of Uses, the bits that matter
	Operands          []int32  // SpreadAnd, SpreadOr: all, constants among them
	Moved             []int32  // SpreadMoves: slots, constants among them
	MovedBits         int      // SpreadMoves: the width of Moved
	Selected          [2]int32 // SpreadSelect: slots, of which Selector takes the first where it holds
	Selector          int32
	SelectorNegated   bool
	Decides           int     // +1: one true operand decides what an instruction of predicates gives; -1: a false one
	PredicatesNegated [2]bool // of PredicateUses, for Decides

	Targets []int32
	Index   int32 // slot that selects one of Targets
	Members int32 // OpSync: slot of the member mask
	Call    *Call
	Barrier *Barrier
}

// Fixed is a slot of a frame that is no register.
type Fixed struct {
	Slot     int32
	Kind     FixedKind
	Bits     uint64
	Variable *ptx.Variable
	Fill     func(w *Warp, v *Lanes)
}

// FixedKind says what is in such a slot.
type FixedKind uint8

// The kinds of slots that are no registers.
const (
	FixedConst   FixedKind = iota // Bits
	FixedSymbol                   // the address of Variable in its state space, + Bits
	FixedLocal                    // that of Variable in the stack frame, + Bits
	FixedSpecial                  // a special register: what Fill gives
)

// Call is a call: the variables that are passed, as offsets in the areas of both frames.
type Call struct {
	Function      *Function
	Args, Results []Passed
}

// Passed is bytes that are copied between areas.
type Passed struct{ From, To, Bytes int }

// Barrier is a barrier of the block.
type Barrier struct {
	ID     int32 // slot
	Count  int32 // slot, or -1: all threads
	Arrive bool  // does not wait
	// All threads of a block come to the same instruction. Otherwise warps may meet at several.
	Aligned bool
	Reduce  func(warps []*Warp)
}
