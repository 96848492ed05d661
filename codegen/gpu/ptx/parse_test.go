package ptx

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// header begins every module that is written in a test.
const header = ".version 7.0\n.target sm_80\n.address_size 64\n"

// parse parses a module that has to be right.
func parse(t *testing.T, text string) *Module {
	t.Helper()
	m, err := Parse("test.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each text is wrong at the line that ends with "// here".
func TestErrors(t *testing.T) {
	body := func(s string) string {
		return header + ".entry f(.param .u64 p) {\n.reg .b32 %r<3>;\n" + s + "\nret;\n}\n"
	}
	for _, k := range []struct{ text, want string }{
		{".version 7.0\n.address_size 32 // here", "32 bits"},
		{"", "no .version"},
		{header + ".global .align 3 .b8 x[4]; // here", "power of two"},
		{header + ".global .v4 .f32 x; // here", "vector type"},
		{header + ".global .b8 x[4] = {1,2,3,4,5}; // here", "more values"},
		{header + ".global .u32 x = y; // here", "64 bits"},
		{header + ".global .u64 x = y; // here", "y, which is no global"},
		{header + ".extern .global .u32 x; // here", "arrays of shared memory"},
		{header + ".shared .b8 x; .shared .b8 x; // here", "declared twice"},
		{header + ".texref x; // here", "not supported here"},
		{header + ".entry f() { ret; // here", "does not end"},
		{header + ".section .debug { { } // here", "does not end"},
		{header + ".entry f() { ret; }\n.entry f() { // here\n ret; }", "defined twice"},
		{body(".reg .b8 %b; // here"), "not a type of a register"},
		{body("{ .reg .b32 %i<2000>; } // here"), "2000 registers between inner braces"},
		{body("a: a: ret; // here"), "label a is there twice"},
		{body("@%r1 .u32; // here"), "expected an instruction"},
		{body("mov.u32 %r1, 99999999999999999999; // here"), "not a number"},
		{body("mov.u32 %r1 %r2; // here"), "expected \",\""},
		{body("/* // here"), "comment does not end"},
		{body("\" // here"), "string does not end"},
	} {
		_, err := Parse("test.ptx", k.text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("no error %q but %v in\n%s", k.want, err, k.text)
			continue
		}
		if !strings.Contains(e.Msg, k.want) {
			t.Errorf("%q has no %q", e.Error(), k.want)
		}
		if i := strings.Index(k.text, "// here"); i >= 0 && e.Line != 1+strings.Count(k.text[:i], "\n") {
			t.Errorf("%v: not the line", e)
		}
	}
}

// TestTree: what a text says stands in its tree.
func TestTree(t *testing.T) {
	m := parse(t, header+`.file 1 "f.heal"
.global .align 16 .f32 table[3] = {0f3F800000, 0d4000000000000000, 3};
.const .u64 where = table+8;
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) g(.param .b32 a, .param .align 8 .b8 b[12]);
.visible .entry f(.param .u32 n, .param .u64 p) .maxntid 128, 2 {
	.reg .b32 %r<4>, %a; .reg .pred %p;
	.local .align 8 .b8 stack[24];
	.loc 1 7 3
	{ .reg .f32 %a; neg.f32 %a, %a; }
again:
	@!%p ld.global.v2.u32 {%r1, _}, [table-4];
t: .branchtargets again, out;
out:
	shfl.sync.bfly.b32 %r2|%p, %tid.x, 1, 0xff;
	call (r), g, (n, !%p);
}
`)
	if m.Version != "7.0" || m.Target != "sm_80" || m.Files[1] != "f.heal" {
		t.Errorf("the module is %q for %q, with files %v", m.Version, m.Target, m.Files)
	}
	if want := []string{"f"}; !slices.Equal(m.Entries(), want) {
		t.Errorf("the entries are %v, want %v", m.Entries(), want)
	}
	for i, want := range []string{
		"table in global memory: 12 bytes, aligned to 16, of [0 0 128 63 0 0 0 64 3 0 0 0]",
		"where in const memory: 8 bytes, aligned to 8, of [] [{0 table 8 false}]",
		"dynamic in shared memory: 0 bytes, aligned to 16, of [], extern",
	} {
		v := m.Variables[i]
		got := fmt.Sprintf("%s in %s memory: %d bytes, aligned to %d, of %v", v.Name, v.Space, v.Size, v.Align, v.Init)
		if v.Refs != nil {
			got += fmt.Sprint(" ", v.Refs)
		}
		if v.Extern {
			got += ", extern"
		}
		if got != want {
			t.Errorf("variable %d is %s, want %s", i, got, want)
		}
	}
	g, f := m.Functions["g"], m.Functions["f"]
	if g.Defined || g.Entry || g.Params[1].Offset != 8 || g.ParamBytes != 20 || g.AreaBytes != 24 {
		t.Errorf("function g is %+v", g)
	}
	if !f.Defined || m.ParamBytes("f") != 16 || !f.Params[1].OfEntry || f.MaxThreads != 256 || f.LocalBytes != 24 {
		t.Errorf("function f is %+v", f)
	}
	for name, want := range map[string]Type{"%r3": B32, "%r4": NoType, "%a": B32, "%p": Pred, "%r03": NoType} {
		if typ, ok := f.Register(name); ok != (want != NoType) || ok && typ != want {
			t.Errorf("register %s has type %s, %v; want %s", name, typ, ok, want)
		}
	}
	if want := map[string]int{"again": 1, "out": 2}; !reflect.DeepEqual(f.Labels, want) {
		t.Errorf("the labels are %v, want %v", f.Labels, want)
	}
	if want := map[string][]string{"t": {"again", "out"}}; !reflect.DeepEqual(f.Targets, want) {
		t.Errorf("the targets are %v, want %v", f.Targets, want)
	}
	for i, want := range []string{
		"13 f.heal:7:3: neg [f32] register %a@2, register %a@2",
		"15 f.heal:7:3: @!register %p ld [global v2 u32] {register %r1, _}, [variable table + -4]",
		"18 f.heal:7:3: shfl [sync bfly b32] register %r2|register %p, register %tid.x, integer 1, integer ff",
		"19 f.heal:7:3: call [] (symbol r), symbol g, (variable n, !register %p)",
	} {
		if got := describe(m, f.Instructions[i]); got != want {
			t.Errorf("instruction %d is %s\nwant %s", i, got, want)
		}
	}
}

// describe writes what the tree has of an instruction.
func describe(m *Module, in *Instruction) string {
	at := in.Location
	s := fmt.Sprintf("%d %s:%d:%d: ", in.Line, m.Files[at.File], at.Line, at.Column)
	if in.Guard != nil {
		s += map[bool]string{false: "@", true: "@!"}[in.Negated] + operands(*in.Guard) + " "
	}
	return s + fmt.Sprint(in.Opcode, " ", in.Modifiers, " ", operands(in.Operands...))
}

// operands writes a list of operands.
func operands(list ...Operand) string {
	var all []string
	for _, a := range list {
		s := a.Name
		if a.Variable != nil {
			s = "variable " + a.Variable.Name
		} else if a.Kind == SymbolOperand {
			s = "symbol " + a.Name
		}
		switch a.Kind {
		case RegisterOperand:
			s = "register " + a.Name
		case IntegerOperand:
			s = fmt.Sprintf("integer %x", a.Bits)
		case FloatOperand:
			s = fmt.Sprintf("float %x", a.Bits)
		case MemoryOperand:
			s = fmt.Sprintf("[%s + %d]", s, a.Offset)
		case VectorOperand:
			s = "{" + operands(a.List...) + "}"
		case PairOperand:
			s = operands(a.List[0]) + "|" + operands(a.List[1])
		case ListOperand:
			s = "(" + operands(a.List...) + ")"
		case SinkOperand:
			s = "_"
		}
		if a.Not {
			s = "!" + s
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// TestFloatBits: a float constant stands for the value of its type nearest to it.
func TestFloatBits(t *testing.T) {
	single := Operand{Kind: FloatOperand, Bits: 0x3fc00000}
	double := Operand{Kind: FloatOperand, Bits: 0x3ff8 << 48, Wide: true}
	for _, k := range []struct {
		a    Operand
		t    Type
		want uint64
	}{
		{single, F32, single.Bits}, {single, F64, double.Bits}, {double, F64, double.Bits}, {double, F32, single.Bits},
	} {
		if got := k.a.FloatBits(k.t); got != k.want {
			t.Errorf("%+v as %s is %x, want %x", k.a, k.t, got, k.want)
		}
	}
}
