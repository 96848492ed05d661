package scalar

import (
	"errors"
	"fmt"

	"healc/lang/types"
)

// Verify checks f and returns all that is wrong with it, one line each, or nil:
//
//   - every operand and result is the value of an earlier instruction, and no Check or Nop;
//   - the number of operands is that of the op, and unused ones are None;
//   - types: see VerifyInstr;
//   - a Param names a parameter and has its type; a Const fits its type.
func Verify(f *Func) error {
	var errs []error
	fail := func(r Ref, in Instr, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%%%d (%s): %s", r, in.Op, fmt.Sprintf(format, args...)))
	}
	isValue := func(r Ref, before int) bool {
		return r >= 0 && int(r) < before && f.Instrs[r].Op != Check && f.Instrs[r].Op != Nop
	}
	for i, in := range f.Instrs {
		ok := true
		for _, a := range operands(in) {
			if !isValue(a, i) {
				fail(Ref(i), in, "operand %%%d is not a value defined before", a)
				ok = false
			}
		}
		if in.Op == Param && (in.Imm >= uint64(len(f.Params)) || f.Params[in.Imm] != in.Type) {
			fail(Ref(i), in, "there is no parameter %d of type %s", in.Imm, in.Type)
		}
		if !ok {
			continue
		}
		if err := VerifyInstr(in, func(r Ref) types.DType { return f.Instrs[r].Type }); err != nil {
			fail(Ref(i), in, "%s", err)
		}
	}
	for _, r := range f.Results {
		if !isValue(r, len(f.Instrs)) {
			errs = append(errs, fmt.Errorf("result %%%d is not a value", r))
		}
	}
	return errors.Join(errs...)
}

// VerifyInstr checks the operand count and the types of one instruction; typeOf gives the type of an
// operand. Arithmetic takes numbers, the float functions floats, the bit operations integers and bool;
// operands and result share one type, except that comparisons give bool, Select and Check take a bool
// first, and Cast and Bitcast convert.
func VerifyInstr(in Instr, typeOf func(Ref) types.DType) error {
	if in.Op >= numOps {
		return fmt.Errorf("there is no instruction %d", in.Op)
	}
	args := operands(in)
	for k, a := range args {
		if in.Args[k] != a {
			return fmt.Errorf("operand %d is missing", k)
		}
	}
	if n := in.Op.Info().Arity; len(args) != n && (in.Op != Check || len(args) == 0) {
		return fmt.Errorf("%d operands, not %d", n, len(args))
	}
	t := in.Type
	if in.Op == Nop || in.Op == Check {
		switch {
		case t != types.Invalid:
			return fmt.Errorf("it has no result, so no type")
		case in.Op == Check && typeOf(args[0]) != types.Bool:
			return fmt.Errorf("the first operand is %s, not bool", typeOf(args[0]))
		case in.Op == Check && (in.Imm == 0 || in.Imm > uint64(CheckRequire)):
			return fmt.Errorf("there is no check kind %d", in.Imm)
		}
		return nil
	}
	if !t.Converts() {
		return fmt.Errorf("a result cannot be %s", t)
	}
	switch in.Op {
	case Const:
		if t.Bits() < 64 && in.Imm>>t.Bits() != 0 {
			return fmt.Errorf("the bits %#x do not fit %s", in.Imm, t)
		}
		return nil
	case Param:
		return nil
	case Cast:
		if s := typeOf(args[0]); !s.Computes() || !t.Computes() {
			return fmt.Errorf("it does not convert %s to %s", s, t)
		}
		return nil
	case Bitcast:
		if s := typeOf(args[0]); s.Bits() != t.Bits() {
			return fmt.Errorf("%s and %s differ in width", s, t)
		}
		return nil
	case Select:
		if s := typeOf(args[0]); s != types.Bool {
			return fmt.Errorf("the condition is %s, not bool", s)
		}
		args = args[1:]
	case Eq, Ne, Lt, Le:
		if t != types.Bool {
			return fmt.Errorf("the result is %s, not bool", t)
		}
		t = typeOf(args[0])
	}
	for _, a := range args {
		if s := typeOf(a); s != t {
			return fmt.Errorf("an operand is %s, not %s", s, t)
		}
	}
	if !accepts(in.Op, t) {
		return fmt.Errorf("it is not defined on %s", t)
	}
	return nil
}

// accepts reports whether op is defined on operands of type t.
func accepts(op Op, t types.DType) bool {
	switch op {
	case Min, Max, Eq, Ne, Lt, Le:
		return t.Computes()
	case Add, Sub, Mul, Div, Rem, Neg, Abs:
		return t.IsNumber()
	case Fma, Sqrt, Floor, Ceil, Trunc, Round, CopySign, MulExact, Flush:
		return t.IsFloat()
	case Mul52Lo, Mul52Hi:
		return t == types.U64
	case Digits52, Doubles, DoubleSums, Compresses:
		return t == types.Bool
	case MulHi:
		return t.IsInt()
	case And, Or, Xor, Not, Shl, Shr, Clz, Popcnt:
		return t.IsInt() || t == types.Bool
	}
	return true
}
