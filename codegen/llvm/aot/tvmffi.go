package aot

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"healc/codegen"
	"healc/codegen/llvm/aot/names"
	"healc/lang/types"
)

// Note [tvm-ffi]
//
// A function of the calling convention of tvm-ffi takes an array of tagged arguments, whatever they are, and says what
// does not fit. Libraries that speak it (PyTorch, JAX, NumPy, Paddle, and C++, Rust and Python by libtvm_ffi) find it
// by its name, and pass tensors without copies. It does what the function for tensors does, which it calls.
//
// Results are written where further arguments say, one tensor for each. Without these they are returned: tensors are
// asked of the caller's library, and numbers are numbers. libtvm_ffi is not linked: what is needed of it is looked for
// when it is, as it may have been loaded later, and where it is not there, results have to be given, and errors have no
// text.

//go:embed tvmffi.ll
var tvmFFIText string

// What a function for tvm-ffi fails with beside the codes of the header.
const (
	codeType     = 12 // also in tvmffi.ll
	codeOverflow = 13 // also in tvmffi.ll
)

// ffiFunctions are those of libtvm_ffi that are asked for, as tvmffi.ll numbers them.
var ffiFunctions = []string{"TVMFFIErrorSetRaisedFromCStr", "TVMFFIEnvTensorAlloc", "TVMFFIFunctionGetGlobal",
	"TVMFFIFunctionCall", "TVMFFIObjectDecRef"}

// ffiErrors are the names that errors have in Python, by their codes.
var ffiErrors = []string{CodeOK: "", CodeMemory: "MemoryError", CodeArgument: "ValueError", CodeIndex: "IndexError",
	CodeDivide: "ZeroDivisionError", CodeNegativeExponent: "ValueError", CodeRecursion: "RecursionError",
	CodeEmpty: "ValueError", CodeAssert: "AssertionError", CodeFailed: "RuntimeError", CodeStopped: "InterruptedError",
	CodeRanks: "RuntimeError", codeType: "TypeError", codeOverflow: "OverflowError"}

// dlpackKinds are the names of the kinds of elements, by their numbers in DLPack.
var dlpackKinds = []string{"int", "uint", "float", "handle", "bfloat", "complex", "bool", "float8_e3m4", "float8_e4m3",
	"float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
	"float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "unknown kind"}

// dlpackKind is the number of the kind of an element type in DLPack. ok is false where an element is less than a byte
// there.
func dlpackKind(d types.DType) (kind int, ok bool) {
	switch {
	case d == types.I4 || d == types.F4E2M1:
		return 0, false
	case d == types.Bool:
		return 6, true
	case d == types.BF16:
		return 4, true
	case d == types.F8E4M3:
		return 10, true
	case d == types.F8E5M2:
		return 12, true
	case d == types.E8M0:
		return 14, true
	case d.IsFloat():
		return 2, true
	case d.IsSigned():
		return 0, true
	}
	return 1, true
}

// dlpackType is an element type as DLPack has it in four bytes: kind, bits, and one lane.
func dlpackType(d types.DType) int {
	kind, _ := dlpackKind(d)
	return kind | 8*d.Bytes()<<8 | 1<<16
}

// ForTVM lets the library be called by tvm-ffi, too. The error is a *codegen.Unsupported.
func (l *Library) ForTVM() error {
	for _, e := range l.Entries {
		refuse := func(why string) error {
			return &codegen.Unsupported{What: fmt.Sprintf("the function `%s`", e.Name), Target: "tvm-ffi", Why: why}
		}
		if e.Ranks != nil {
			return refuse("it has code for several ranks, which are told by a function of the library")
		}
		all := e.Results
		for _, p := range e.Params {
			all = append(all[:len(all):len(all)], p.Type)
		}
		for _, t := range all {
			if _, ok := dlpackKind(t.Elem); !ok {
				return refuse(fmt.Sprintf("tensors of %s are packed there, two elements in a byte", t.Elem))
			}
		}
	}
	l.tvm = true
	return nil
}

// tvmFFI writes the functions for tvm-ffi.
func (w *writer) tvmFFI(l *Library) {
	texts := map[string]string{
		"none":      "%s: what was given is no value of the type %s",
		"away":      "%s is on a device of DLPack's kind %d, and the library works in memory of the CPU",
		"mistyped":  "%s has elements of DLPack's type %s, %d bits, %d lanes, and their type is to be %s",
		"misranked": "%s has %d axes, and its type has %d",
		"range":     "%s is %lld, which is not from %lld to %lld",
		"alone":     "libtvm_ffi is not loaded for all of the process; pass memory for results behind the arguments",
		"result":    "the result",
	}
	for _, name := range []string{"none", "away", "mistyped", "misranked", "range", "alone", "result"} {
		typ, value := constant(texts[name])
		fmt.Fprintf(&w.b, "@heal.ffi.%s = internal constant %s %s\n", name, typ, value)
	}
	const array = "ffi.Array"
	fmt.Fprintf(&w.b, "@heal.ffi.array.name = internal constant { ptr, i64 } { ptr %s, i64 %d }\n", w.text(array),
		len(array))
	w.textTable("@heal.ffi.functions", ffiFunctions)
	w.textTable("@heal.ffi.errors", ffiErrors)
	w.textTable("@heal.ffi.kinds", dlpackKinds)
	w.b.WriteString(tvmFFIText)
	for _, e := range l.Entries {
		w.tvmFunction(e)
	}
}

// textTable writes a constant array of C strings.
func (w *writer) textTable(name string, list []string) {
	var all []string
	for _, s := range list {
		all = append(all, "ptr "+w.text(s))
	}
	fmt.Fprintf(&w.b, "%s = internal constant [%d x ptr] [%s]\n", name, len(list), strings.Join(all, ", "))
}

// tvmFunction writes the function for tvm-ffi of an entry, and the one inside it, which returns a code.
func (w *writer) tvmFunction(e *Entry) {
	f := &tvmFunction{emitter: newEmitter(), w: w, e: e}
	f.write()
	inner := "@heal.ffi." + names.C(w.prefix, e.Name)
	fmt.Fprintf(&w.b, "define internal i32 %s(ptr %%args, i32 %%n, ptr %%result) {\n%s%s}\n", inner, f.head.String(),
		f.body.String())
	fmt.Fprintf(&w.b, "define i32 @%s(ptr %%self, ptr %%args, i32 %%n, ptr %%result) {\n"+
		"  %%code = call i32 %s(ptr %%args, i32 %%n, ptr %%result)\n  %%r = call i32 @heal.ffi.raise(i32 %%code)\n"+
		"  ret i32 %%r\n}\n", names.TVM(e.Name), inner)
}

// tvmFunction writes one function.
type tvmFunction struct {
	*emitter
	w *writer
	e *Entry

	ops           []*operand // the parameters
	args, results string     // arrays of heal_tensor
	made          string     // an array of results that were made: the object, if any, and its heal_tensor
}

func (f *tvmFunction) write() {
	e := f.e
	n, m := len(e.Params), len(e.Results)
	f.args, f.results, f.made = f.array(3*n), f.array(3*m), f.array(4*m)
	f.do("call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 %d, i1 false)", f.made, 32*m)
	f.do("store i32 0, ptr %%result, align 8") // nothing
	f.do("store i64 0, ptr %s, align 8", f.word("%result", 1))
	own := f.v("icmp eq i32 %%n, %d", n)
	given := f.v("icmp eq i32 %%n, %d", n+m)
	f.unless(f.v("xor i1 %s, true", f.v("or i1 %s, %s", own, given)), func() {
		text := fmt.Sprintf("%s takes %s", e.Name, types.Count(n, "argument"))
		if m > 0 {
			text += fmt.Sprintf(", or %d with memory for what it returns", n+m)
		}
		f.fail(codeType, text+"; it was given %d", "i32 %n")
	})
	for i, p := range e.Params {
		f.param(i, p)
	}
	if m > 0 {
		take, make_, call := f.label(), f.label(), f.label()
		f.branch(own, make_, take)
		f.at(take)
		for i, r := range e.Results {
			f.tensor(n+i, resultName(e, i), r, f.word(f.results, 3*i))
		}
		f.jump(call)
		f.at(make_)
		f.makeResults()
		f.jump(call)
		f.at(call)
	}
	code := f.v("call i32 @%s(ptr %s, ptr %s)", names.C(f.w.prefix, e.Name)+names.Tensors, f.args, f.results)
	f.leaveUnless(code)
	if m > 0 {
		give, end := f.label(), f.label()
		f.branch(own, give, end)
		f.at(give)
		f.giveResults()
		f.jump(end)
		f.at(end)
	}
	f.do("ret i32 0")
}

// fail leaves with an error.
func (f *tvmFunction) fail(code int, format string, values ...string) {
	args := ""
	for _, v := range values {
		args += ", " + v
	}
	f.v("call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s%s)", f.w.text(format), args)
	f.do("ret i32 %d", code)
}

// leaveUnless leaves with a code that is not 0. What was made for the results goes.
func (f *tvmFunction) leaveUnless(code string) {
	f.unless(f.v("icmp ne i32 %s, 0", code), func() {
		f.drop()
		f.do("ret i32 %s", code)
	})
}

// drop gives back the objects of the results that were made.
func (f *tvmFunction) drop() {
	for i := range f.e.Results {
		object := f.loadPtr(f.made, 4*i)
		one, next := f.label(), f.label()
		f.branch(f.v("icmp eq ptr %s, null", object), next, one)
		f.at(one)
		f.do("call void @heal.ffi.drop(ptr %s)", object)
		f.jump(next)
		f.at(next)
	}
}

// arg is the address of argument i.
func (f *tvmFunction) arg(i int) string { return f.word("%args", 2*i) }

// tensor takes argument i for a tensor of a type, and writes the heal_tensor to out.
func (f *tvmFunction) tensor(i int, name string, t types.Tensor, out string) {
	want := dlpackType(t.Elem)
	alias := want
	if t.Elem == types.Bool { // bytes that are 0 or 1
		alias = dlpackType(types.U8)
	}
	f.leaveUnless(f.v("call i32 @heal.ffi.tensor(ptr %s, i32 %d, i32 %d, i32 %d, ptr %s, ptr %s, ptr %s)", f.arg(i),
		want, alias, t.Rank(), f.w.text(f.e.Name+": "+name), f.w.text(t.Elem.String()), out))
}

// param takes argument i for a parameter: a tensor, or where that is passed by value a number, too.
func (f *tvmFunction) param(i int, p Param) {
	out := f.word(f.args, 3*i)
	if !p.byValue() || !f.number(p.Type.Elem) {
		f.tensor(i, p.Name, p.Type, out)
		f.ops = append(f.ops, &operand{name: p.Name, typ: p.Type, param: true, shape: f.loadPtr(f.args, 3*i+1)})
		return
	}
	slot := f.array(1)
	index := f.v("load i32, ptr %s, align 8", f.arg(i))
	is, number, after := f.label(), f.label(), f.label()
	tensor := f.v("or i1 %s, %s", f.v("icmp eq i32 %s, 7", index), f.v("icmp eq i32 %s, 70", index))
	f.branch(tensor, is, number)
	f.at(is)
	f.tensor(i, p.Name, p.Type, out)
	f.jump(after)
	f.at(number)
	name, typ := f.w.text(f.e.Name+": "+p.Name), f.w.text(p.Type.Elem.String())
	switch d := p.Type.Elem; {
	case d == types.Bool:
		f.leaveUnless(f.v("call i32 @heal.ffi.bool(ptr %s, ptr %s, ptr %s, ptr %s)", f.arg(i), name, typ, slot))
	case d.IsFloat():
		f.leaveUnless(f.v("call i32 @heal.ffi.float(ptr %s, ptr %s, ptr %s, ptr %s)", f.arg(i), name, typ, slot))
		if d == types.F32 {
			x := f.v("load double, ptr %s, align 8", slot)
			f.do("store float %s, ptr %s, align 8", f.v("fptrunc double %s to float", x), slot)
		}
	default: // the first bytes of a word are the number
		low, high := int64(0), int64(math.MaxInt64)
		if bits := 8 * d.Bytes(); d.IsSigned() {
			low, high = math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits)
		} else if bits < 64 {
			high = 1<<bits - 1
		}
		f.leaveUnless(f.v("call i32 @heal.ffi.int(ptr %s, i64 %d, i64 %d, ptr %s, ptr %s, ptr %s)", f.arg(i), low, high,
			name, typ, slot))
	}
	f.storePtr(out, 0, slot)
	f.storePtr(out, 1, "null")
	f.storePtr(out, 2, "null")
	f.jump(after)
	f.at(after)
}

// number reports that values of a type are numbers of tvm-ffi, which has doubles and 64-bit integers with a sign.
func (f *tvmFunction) number(d types.DType) bool {
	return !d.IsFloat() || d == types.F32 || d == types.F64
}

// known finds the shape parameters that the arguments determine, and says whether these are all of the results'.
func (f *tvmFunction) known() bool {
	for again := true; again; {
		n := len(f.dims)
		for _, o := range f.ops {
			for k, d := range o.typ.Shape {
				f.w.solve(f.emitter, f.e, o, k, d)
			}
		}
		again = len(f.dims) > n
	}
	for _, r := range f.e.Results {
		for _, d := range r.Shape {
			for _, t := range d.Terms() {
				for _, v := range t.Vars {
					if _, ok := f.dims[v]; !ok {
						return false
					}
				}
			}
		}
	}
	return true
}

// makeResults makes memory for the results: tensors by the caller's library, and numbers here.
func (f *tvmFunction) makeResults() {
	if !f.known() {
		f.fail(codeType, f.e.Name+": the arguments do not say how long what it returns is; pass memory for that, too")
		f.at(f.label())
		return
	}
	for i, r := range f.e.Results {
		to, rank := f.word(f.results, 3*i), r.Rank()
		if rank == 0 && f.returned(r.Elem) {
			f.storePtr(to, 0, f.array(1))
			f.storePtr(to, 1, "null")
			f.storePtr(to, 2, "null")
			continue
		}
		shape := f.array(rank)
		for k, d := range r.Shape {
			extent := f.dim(d)
			f.unless(f.v("icmp ugt i64 %s, %d", extent, types.MaxExtent), func() {
				f.drop()
				f.fail(CodeArgument, fmt.Sprintf("%s: axis %d of %s, %s, would be %%lld", f.e.Name, k,
					resultName(f.e, i), d), "i64 "+extent)
			})
			f.storeWord(shape, k, extent)
		}
		made := f.word(f.made, 4*i)
		f.leaveUnless(f.v("call i32 @heal.ffi.new(i32 %d, i32 %d, ptr %s, ptr %s)", dlpackType(r.Elem), rank, shape,
			made))
		f.do("call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %s, i64 24, i1 false)", to, f.word(f.made, 4*i+1))
	}
}

// returned reports that a scalar result is returned as a number. One of u64 may have none.
func (f *tvmFunction) returned(d types.DType) bool { return d != types.U64 && f.number(d) }

// giveResults returns what was made.
func (f *tvmFunction) giveResults() {
	m := len(f.e.Results)
	anys := "%result"
	if m > 1 {
		anys = f.array(2 * m)
	}
	for i, r := range f.e.Results {
		any := f.word(anys, 2*i)
		put := func(index int, value string) {
			f.do("store i64 %d, ptr %s, align 8", index, any)
			f.storeWord(any, 1, value)
		}
		if r.Rank() > 0 || !f.returned(r.Elem) {
			put(70, f.loadWord(f.made, 4*i))
			continue
		}
		x := f.v("load %s, ptr %s, align 8", memType(r.Elem), f.loadPtr(f.results, 3*i))
		switch {
		case r.Elem == types.Bool:
			put(2, f.v("zext i8 %s to i64", x))
		case r.Elem == types.F32:
			x = f.v("fpext float %s to double", x)
			put(3, f.v("bitcast double %s to i64", x))
		case r.Elem == types.F64:
			put(3, f.v("bitcast double %s to i64", x))
		case r.Elem.Bytes() == 8:
			put(1, x)
		case r.Elem.IsSigned():
			put(1, f.v("sext %s %s to i64", memType(r.Elem), x))
		default:
			put(1, f.v("zext %s %s to i64", memType(r.Elem), x))
		}
	}
	if m > 1 {
		code := f.v("call i32 @heal.ffi.array(ptr %s, i32 %d, ptr %%result)", anys, m)
		f.drop() // the array has them
		f.do("ret i32 %s", code)
		f.at(f.label())
	}
}
