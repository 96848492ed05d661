package aot

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// emitter writes the text of one LLVM function. What is computed once, such as extents, goes to the head, which
// comes before the body: so it is there wherever the body goes.
type emitter struct {
	head, body strings.Builder
	out        *strings.Builder // where v and do write: the head or the body
	next       int
	dims       map[string]string // SSA names of shape parameters
	known      map[string]string // of dims that were computed
	overflow   []string          // flags: an extent does not fit in 64 bits
}

func newEmitter() *emitter {
	e := &emitter{dims: map[string]string{}, known: map[string]string{}}
	e.out = &e.body
	return e
}

// inHead runs f with the head as the place to write to.
func (e *emitter) inHead(f func()) {
	saved := e.out
	e.out = &e.head
	f()
	e.out = saved
}

func (e *emitter) name() string {
	e.next++
	return fmt.Sprintf("%%t%d", e.next)
}

// v writes an instruction that has a value and returns the value's name.
func (e *emitter) v(format string, args ...any) string {
	n := e.name()
	fmt.Fprintf(e.out, "  %s = %s\n", n, fmt.Sprintf(format, args...))
	return n
}

// do writes an instruction without a value.
func (e *emitter) do(format string, args ...any) {
	fmt.Fprintf(e.out, "  %s\n", fmt.Sprintf(format, args...))
}

// label returns a new name for a block.
func (e *emitter) label() string {
	e.next++
	return fmt.Sprintf("b%d", e.next)
}

// at begins a block of the body.
func (e *emitter) at(label string) { fmt.Fprintf(e.out, "%s:\n", label) }

// branch goes to yes when cond holds, else to no.
func (e *emitter) branch(cond, yes, no string) {
	e.do("br i1 %s, label %%%s, label %%%s", cond, yes, no)
}

func (e *emitter) jump(to string) { e.do("br label %%%s", to) }

// unless continues in a new block when bad is false, and runs fail, which leaves the function, when it is true.
func (e *emitter) unless(bad string, fail func()) {
	no, ok := e.label(), e.label()
	e.do("br i1 %s, label %%%s, label %%%s, !prof !0", bad, no, ok)
	e.at(no)
	fail()
	e.at(ok)
}

func (e *emitter) alloca(typ string, align int) string {
	var n string
	e.inHead(func() { n = e.v("alloca %s, align %d", typ, align) })
	return n
}

// array reserves n words on the stack.
func (e *emitter) array(n int) string { return e.alloca(fmt.Sprintf("[%d x i64]", max(n, 1)), 8) }

// word is the address of word i behind base.
func (e *emitter) word(base string, i int) string {
	if i == 0 {
		return base
	}
	return e.v("getelementptr i64, ptr %s, i64 %d", base, i)
}

func (e *emitter) loadWord(base string, i int) string {
	return e.v("load i64, ptr %s, align 8", e.word(base, i))
}

func (e *emitter) loadPtr(base string, i int) string {
	return e.v("load ptr, ptr %s, align 8", e.word(base, i))
}

func (e *emitter) storeWord(base string, i int, value string) {
	e.do("store i64 %s, ptr %s, align 8", value, e.word(base, i))
}

func (e *emitter) storePtr(base string, i int, value string) {
	e.do("store ptr %s, ptr %s, align 8", value, e.word(base, i))
}

// checked is x op y; what does not fit in 64 bits raises a flag of overflow. Constants are folded.
func (e *emitter) checked(op, x, y string) string {
	if op == "mul" && x == "1" {
		return y
	}
	if op == "mul" && y == "1" {
		return x
	}
	pair := e.v("call { i64, i1 } @llvm.s%s.with.overflow.i64(i64 %s, i64 %s)", op, x, y)
	e.overflow = append(e.overflow, e.v("extractvalue { i64, i1 } %s, 1", pair))
	return e.v("extractvalue { i64, i1 } %s, 0", pair)
}

// dim is the value of a dim whose parameters are all in dims.
func (e *emitter) dim(d types.Dim) string {
	if n, ok := d.Const(); ok {
		return fmt.Sprint(n)
	}
	key := d.String()
	if v, ok := e.known[key]; ok {
		return v
	}
	sum := ""
	for _, t := range d.Terms() {
		product := fmt.Sprint(t.Coef)
		for _, name := range t.Vars {
			v, ok := e.dims[name]
			if !ok {
				panic("BUG: the shape parameter " + name + " has no value in a library")
			}
			product = e.checked("mul", product, v)
		}
		if sum == "" {
			sum = product
		} else {
			sum = e.checked("add", sum, product)
		}
	}
	e.known[key] = sum
	return sum
}

// constant makes text a C string and returns the initialiser and its type.
func constant(text string) (typ, value string) {
	return bytesConstant(append([]byte(text), 0))
}

func bytesConstant(raw []byte) (typ, value string) {
	var b strings.Builder
	b.Grow(3*len(raw) + 4)
	b.WriteString(`c"`)
	for _, c := range raw {
		if c >= ' ' && c < 127 && c != '"' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%02X`, c)
		}
	}
	b.WriteString(`"`)
	return fmt.Sprintf("[%d x i8]", len(raw)), b.String()
}
