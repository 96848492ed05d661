package scalar

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"healc/lang/types"
)

// Note [Scalar text]
//
//	func    = "func" "(" [ types ] ")" "{" { instr "\n" } "return" [ values ] "\n" "}"
//	instr   = value ":" type "=" op [ operands ]  |  "check" kind values
//	operand = values, a number (const), a parameter's position (param)
//
// Values are "%" and the position of the instruction, so a check takes a number but shows none. A "//"
// comment ends with its line. String prints a Func and ParseFunc reads it back, exactly.
//
//	func(f32, i32) {
//	  %0: f32 = param 0
//	  %1: i32 = param 1
//	  %2: f32 = const 1.5
//	  %3: f32 = cast %1
//	  %4: f32 = fma %0, %2, %3
//	  return %4
//	}

var checkNames = [...]string{
	CheckDivideByZero: "divide_by_zero", CheckNegativeExponent: "negative_exponent", CheckIndex: "index",
	CheckRecursion: "recursion", CheckEmpty: "empty", CheckModulus: "modulus", CheckNoInverse: "no_inverse",
	CheckPowerOfTwo: "power_of_two",
	CheckRequire:    "require",
}

// String returns the name of the kind in texts.
func (k CheckKind) String() string {
	if int(k) < len(checkNames) && checkNames[k] != "" {
		return checkNames[k]
	}
	return fmt.Sprintf("check(%d)", uint8(k))
}

// ParseCheckKind returns the kind called name.
func ParseCheckKind(name string) (CheckKind, bool) {
	for k, n := range checkNames {
		if n == name && n != "" {
			return CheckKind(k), true
		}
	}
	return 0, false
}

// FormatBits returns the value of type t with the given bits: true, -3, 1.5, nan, -inf. Floats have the
// shortest form that ParseBits reads back, always with a point, an exponent or letters; a NaN other
// than the standard one shows its bits, as in nan(0x7fc00001). Types that are only stored show their bits as a number.
func FormatBits(t types.DType, bits uint64) string {
	switch {
	case t == types.Bool:
		return strconv.FormatBool(bits != 0)
	case t.IsSigned():
		return strconv.FormatInt(extend(bits, unusedBits(t)), 10)
	case !t.IsFloat():
		return strconv.FormatUint(bits, 10)
	}
	v := FloatValue(t, bits)
	switch {
	case v != v && bits == FloatBits(t, math.NaN()):
		return "nan"
	case v != v:
		return fmt.Sprintf("nan(%#x)", bits)
	case math.IsInf(v, 0):
		if v < 0 {
			return "-inf"
		}
		return "inf"
	}
	s := shortest(t, bits, v)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func shortest(t types.DType, bits uint64, v float64) string {
	switch t {
	case types.F64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case types.F32:
		return strconv.FormatFloat(v, 'g', -1, 32)
	}
	for digits := 1; ; digits++ { // five digits tell all values of f16 and of bf16 apart
		s := strconv.FormatFloat(v, 'g', digits, 64)
		if x, err := strconv.ParseFloat(s, 64); err == nil && FloatBits(t, x) == bits {
			return s
		}
	}
}

// FloatValue returns the value of a float of type t, or of one that is only stored, which is always a float64.
func FloatValue(t types.DType, bits uint64) float64 {
	if t.IsStored() {
		return float64(types.StoredValue(t, uint8(bits)))
	}
	return math.Float64frombits(EvalInstr(Cast, types.F64, t, bits))
}

// ParseBits reads what FormatBits writes, and any other literal of Go's syntax for t.
func ParseBits(t types.DType, s string) (uint64, error) {
	fail := func() (uint64, error) { return 0, fmt.Errorf("%q is not a value of type %s", s, t) }
	if !t.Converts() {
		return fail()
	}
	if inner, ok := strings.CutPrefix(s, "nan("); ok && strings.HasSuffix(inner, ")") {
		b, err := strconv.ParseUint(strings.TrimSuffix(inner, ")"), 0, t.Bits())
		if err != nil || !t.IsFloat() || FloatValue(t, b) == FloatValue(t, b) {
			return fail()
		}
		return b, nil
	}
	switch {
	case t == types.Bool:
		if s != "true" && s != "false" {
			return fail()
		}
		return b2u(s == "true"), nil
	case t.IsSigned():
		n, err := strconv.ParseInt(s, 0, t.Bits())
		if err != nil {
			return fail()
		}
		return IntBits(t, n), nil
	case t.IsUnsigned() || t.IsStored():
		n, err := strconv.ParseUint(s, 0, t.Bits())
		if err != nil {
			return fail()
		}
		return n, nil
	}
	size := 64
	if t == types.F32 {
		size = 32 // rounds once from the text; f16 and bf16 do so for texts of up to 17 digits
	}
	x, err := strconv.ParseFloat(s, size)
	bits := FloatBits(t, x)
	if err != nil || math.IsInf(FloatValue(t, bits), 0) && !math.IsInf(x, 0) {
		return fail()
	}
	return bits, nil
}

// String returns the text of f.
func (f *Func) String() string {
	var b strings.Builder
	b.WriteString("func(")
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.String())
	}
	b.WriteString(") {\n")
	name := func(r Ref) string { return "%" + strconv.Itoa(int(r)) }
	for i, in := range f.Instrs {
		b.WriteString("  " + FormatInstr(Ref(i), in, name) + "\n")
	}
	b.WriteString("  return")
	writeRefs(&b, f.Results, name)
	b.WriteString("\n}\n")
	return b.String()
}

// FormatInstr returns the text of the instruction that defines r; name gives the name of a value.
func FormatInstr(r Ref, in Instr, name func(Ref) string) string {
	var b strings.Builder
	if in.Op == Check {
		b.WriteString("check " + CheckKind(in.Imm).String())
	} else {
		b.WriteString(name(r) + ": " + in.Type.String() + " = " + in.Op.String())
	}
	switch in.Op {
	case Const:
		b.WriteString(" " + FormatBits(in.Type, in.Imm))
	case Param:
		b.WriteString(" " + strconv.FormatUint(in.Imm, 10))
	}
	writeRefs(&b, operands(in), name)
	return b.String()
}

func writeRefs(b *strings.Builder, refs []Ref, name func(Ref) string) {
	for i, r := range refs {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + name(r))
	}
}

// ParseFunc reads the text of a Func and verifies it. The error names the line.
func ParseFunc(text string) (*Func, error) {
	f := &Func{}
	names := map[string]Ref{}
	resolve := func(s string) (Ref, bool) {
		r, ok := names[s]
		return r, ok
	}
	state := 0 // 0: before the head, 1: in the body, 2: after return, 3: after the brace
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var err error
		switch {
		case state == 0:
			f.Params, err = parseHead(line)
			state = 1
		case state == 1 && (line == "return" || strings.HasPrefix(line, "return ")):
			f.Results, err = parseRefs(strings.TrimPrefix(line, "return"), resolve)
			state = 2
		case state == 1:
			var name string
			var in Instr
			name, in, err = ParseInstr(line, resolve)
			if _, twice := names[name]; twice && err == nil && name != "" {
				err = fmt.Errorf("%s is defined twice", name)
			}
			if name != "" {
				names[name] = Ref(len(f.Instrs))
			}
			f.Instrs = append(f.Instrs, in)
		case state == 2 && line == "}":
			state = 3
		default:
			err = fmt.Errorf("unexpected %q", line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if state != 3 {
		return nil, fmt.Errorf("the text ends before the function does")
	}
	return f, Verify(f)
}

func parseHead(line string) ([]types.DType, error) {
	inner, ok := strings.CutPrefix(line, "func(")
	if ok {
		inner, ok = strings.CutSuffix(inner, ") {")
	}
	if !ok {
		return nil, fmt.Errorf("expected func(types) {")
	}
	var params []types.DType
	for _, s := range splitList(inner) {
		t, ok := types.ParseDType(s)
		if !ok {
			return nil, fmt.Errorf("%q is not a type", s)
		}
		params = append(params, t)
	}
	return params, nil
}

func splitList(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func parseRefs(s string, resolve func(string) (Ref, bool)) ([]Ref, error) {
	var refs []Ref
	for _, name := range splitList(s) {
		r, ok := resolve(name)
		if !ok {
			return nil, fmt.Errorf("%q is not a value defined before", name)
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// ParseInstr reads one line as FormatInstr writes it; resolve gives the Ref of an operand's name. It
// returns the name of the result, "" for a check. It checks the number of operands, not their types.
func ParseInstr(line string, resolve func(string) (Ref, bool)) (string, Instr, error) {
	in := Instr{Args: [3]Ref{None, None, None}}
	name, body, hasName := strings.Cut(line, "=")
	if !hasName {
		body = line
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(body), " ")
	op, ok := ParseOp(word)
	if !ok || op == Nop {
		return "", in, fmt.Errorf("%q is not an instruction", word)
	}
	in.Op = op
	if (op == Check) == hasName {
		return "", in, fmt.Errorf("%s: a check has no result, and every other instruction has one", op)
	}
	if hasName {
		value, typ, _ := strings.Cut(name, ":")
		name = strings.TrimSpace(value)
		if in.Type, ok = types.ParseDType(strings.TrimSpace(typ)); !ok || !strings.HasPrefix(name, "%") ||
			len(name) == 1 {
			return "", in, fmt.Errorf("expected %%name: type before =")
		}
	} else {
		name = ""
	}
	rest = strings.TrimSpace(rest)
	switch op {
	case Const:
		var err error
		in.Imm, err = ParseBits(in.Type, rest)
		return name, in, err
	case Param:
		n, err := strconv.ParseUint(rest, 10, 31)
		if err != nil {
			return "", in, fmt.Errorf("%q is not the position of a parameter", rest)
		}
		in.Imm = n
		return name, in, nil
	case Check:
		word, rest, _ = strings.Cut(rest, " ")
		kind, ok := ParseCheckKind(word)
		if !ok {
			return "", in, fmt.Errorf("%q is not a kind of check", word)
		}
		in.Imm = uint64(kind)
	}
	refs, err := parseRefs(rest, resolve)
	if err != nil {
		return "", in, err
	}
	if n := op.Info().Arity; len(refs) != n && (op != Check || len(refs) == 0 || len(refs) > n) {
		return "", in, fmt.Errorf("%s has %d operands, not %d", op, n, len(refs))
	}
	copy(in.Args[:], refs)
	return name, in, nil
}
