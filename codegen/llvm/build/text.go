package build

import (
	"fmt"
	"strconv"
	"strings"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Note [Text of modules]
//
// The library that holds modules prints each instruction by formatting strings of strings, which takes longer than all
// that decides what is generated. Text gives the same text: it writes the instructions that there are most of by
// itself, into one buffer, and asks the library for all else.

// shell is the block that stands for the body of a function while the library prints what is around.
const shell = "heal.body"

// Text is m.String().
func Text(m *lir.Module) string {
	var p printer
	var bodies []int // where each ends
	defined := map[*lir.Func][]*lir.Block{}
	for _, f := range m.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		if err := f.AssignIDs(); err != nil {
			panic(err)
		}
		p.body(f.Blocks)
		bodies = append(bodies, len(p.b))
		defined[f] = f.Blocks
	}
	for f := range defined {
		b := lir.NewBlock(shell)
		b.NewUnreachable()
		f.Blocks = []*lir.Block{b}
	}
	around := m.String()
	for f, blocks := range defined {
		f.Blocks = blocks
	}
	var out strings.Builder
	out.Grow(len(around) + len(p.b))
	from := 0
	for _, end := range bodies {
		before, after, _ := strings.Cut(around, "{\n"+shell+":\n\tunreachable\n}")
		out.WriteString(before)
		out.Write(p.b[from:end])
		around, from = after, end
	}
	out.WriteString(around)
	return out.String()
}

// printer collects text.
type printer struct{ b []byte }

func (p *printer) text(s string) { p.b = append(p.b, s...) }

// body writes the blocks of a function.
func (p *printer) body(blocks []*lir.Block) {
	p.text("{\n")
	for i, b := range blocks {
		if i > 0 {
			p.text("\n")
		}
		if b.Term == nil {
			panic("BUG: a block has no end: " + b.LLString())
		}
		p.label(b)
		for _, inst := range b.Insts {
			p.text("\t")
			p.instruction(inst)
			p.text("\n")
		}
		p.text("\t")
		p.terminator(b.Term)
		p.text("\n")
	}
	p.text("}")
}

// label writes the line that names a block.
func (p *printer) label(b *lir.Block) {
	if b.IsUnnamed() {
		p.b = strconv.AppendInt(p.b, b.LocalID, 10)
		p.text(":\n")
		return
	}
	alone := lir.NewBlock(b.LocalName)
	alone.NewUnreachable()
	line, _, _ := strings.Cut(alone.LLString(), "\n")
	p.text(line)
	p.text("\n")
}

// instruction writes one of a block.
func (p *printer) instruction(inst lir.Instruction) {
	switch i := inst.(type) {
	case *lir.InstAdd:
		p.begin(i, "add")
		words(p, i.OverflowFlags)
		p.pair(i.X, i.Y)
	case *lir.InstSub:
		p.begin(i, "sub")
		words(p, i.OverflowFlags)
		p.pair(i.X, i.Y)
	case *lir.InstMul:
		p.begin(i, "mul")
		words(p, i.OverflowFlags)
		p.pair(i.X, i.Y)
	case *lir.InstShl:
		p.begin(i, "shl")
		words(p, i.OverflowFlags)
		p.pair(i.X, i.Y)
	case *lir.InstLShr:
		p.begin(i, "lshr")
		p.word(i.Exact, "exact")
		p.pair(i.X, i.Y)
	case *lir.InstAShr:
		p.begin(i, "ashr")
		p.word(i.Exact, "exact")
		p.pair(i.X, i.Y)
	case *lir.InstAnd:
		p.begin(i, "and")
		p.pair(i.X, i.Y)
	case *lir.InstOr:
		p.begin(i, "or")
		p.pair(i.X, i.Y)
	case *lir.InstXor:
		p.begin(i, "xor")
		p.pair(i.X, i.Y)
	case *lir.InstFAdd:
		p.begin(i, "fadd")
		words(p, i.FastMathFlags)
		p.pair(i.X, i.Y)
	case *lir.InstFSub:
		p.begin(i, "fsub")
		words(p, i.FastMathFlags)
		p.pair(i.X, i.Y)
	case *lir.InstFMul:
		p.begin(i, "fmul")
		words(p, i.FastMathFlags)
		p.pair(i.X, i.Y)
	case *lir.InstFDiv:
		p.begin(i, "fdiv")
		words(p, i.FastMathFlags)
		p.pair(i.X, i.Y)
	case *lir.InstICmp:
		p.begin(i, "icmp ")
		p.text(i.Pred.String())
		p.pair(i.X, i.Y)
	case *lir.InstFCmp:
		p.begin(i, "fcmp")
		words(p, i.FastMathFlags)
		p.text(" ")
		p.text(i.Pred.String())
		p.pair(i.X, i.Y)
	case *lir.InstLoad:
		if i.Atomic || i.Ordering != enum.AtomicOrderingNone || i.SyncScope != "" {
			p.text(i.LLString())
			return
		}
		p.begin(i, "load")
		p.word(i.Volatile, "volatile")
		p.text(" ")
		p.typ(i.ElemType)
		p.text(", ")
		p.typed(i.Src)
		p.align(i.Align)
	case *lir.InstStore:
		if i.Atomic || i.Ordering != enum.AtomicOrderingNone || i.SyncScope != "" {
			p.text(i.LLString())
			return
		}
		p.text("store")
		p.word(i.Volatile, "volatile")
		p.list(i.Src, i.Dst)
		p.align(i.Align)
	case *lir.InstGetElementPtr:
		p.begin(i, "getelementptr")
		p.word(i.InBounds, "inbounds")
		p.text(" ")
		p.typ(i.ElemType)
		p.text(",")
		p.list(i.Src)
		for _, index := range i.Indices {
			p.text(", ")
			p.typed(index)
		}
	case *lir.InstSelect:
		p.begin(i, "select")
		words(p, i.FastMathFlags)
		p.list(i.Cond, i.ValueTrue, i.ValueFalse)
	case *lir.InstPhi:
		p.begin(i, "phi")
		words(p, i.FastMathFlags)
		p.text(" ")
		p.typ(i.Typ)
		for k, inc := range i.Incs {
			if k > 0 {
				p.text(",")
			}
			p.text(" [ ")
			p.ident(inc.X)
			p.text(", ")
			p.ident(inc.Pred)
			p.text(" ]")
		}
	case *lir.InstZExt:
		p.cast(i, "zext", i.From, i.To)
	case *lir.InstSExt:
		p.cast(i, "sext", i.From, i.To)
	case *lir.InstTrunc:
		p.cast(i, "trunc", i.From, i.To)
	case *lir.InstBitCast:
		p.cast(i, "bitcast", i.From, i.To)
	case *lir.InstShuffleVector:
		p.begin(i, "shufflevector")
		p.list(i.X, i.Y, i.Mask)
	case *lir.InstExtractElement:
		p.begin(i, "extractelement")
		p.list(i.X, i.Index)
	case *lir.InstInsertElement:
		p.begin(i, "insertelement")
		p.list(i.X, i.Elem, i.Index)
	case *lir.InstCall:
		if !p.call(i) {
			p.text(i.LLString())
			return
		}
	default:
		p.text(inst.LLString())
		return
	}
	p.attachments(inst)
}

// call writes a call of a function without attributes, and reports whether it is one.
func (p *printer) call(i *lir.InstCall) bool {
	if i.Tail != enum.TailNone || len(i.FastMathFlags) > 0 || i.CallingConv != enum.CallingConvNone ||
		len(i.ReturnAttrs) > 0 || i.AddrSpace != 0 || len(i.FuncAttrs) > 0 || len(i.OperandBundles) > 0 ||
		i.Sig().Variadic {
		return false
	}
	if result := i.Type(); !result.Equal(lt.Void) {
		p.begin(i, "call ")
		p.typ(result)
	} else {
		p.text("call ")
		p.typ(result)
	}
	p.text(" ")
	p.ident(i.Callee)
	p.text("(")
	for k, x := range i.Args {
		if k > 0 {
			p.text(", ")
		}
		if arg, ok := x.(*lir.Arg); ok {
			p.text(arg.String())
		} else {
			p.typed(x)
		}
	}
	p.text(")")
	return true
}

// terminator writes the end of a block.
func (p *printer) terminator(term lir.Terminator) {
	switch t := term.(type) {
	case *lir.TermBr:
		p.text("br")
		p.list(t.Target)
	case *lir.TermCondBr:
		p.text("br")
		p.list(t.Cond, t.TargetTrue, t.TargetFalse)
	default:
		p.text(term.LLString())
		return
	}
	p.attachments(term)
}

// begin writes what an instruction defines, and its name.
func (p *printer) begin(v value.Value, name string) {
	p.ident(v)
	p.text(" = ")
	p.text(name)
}

func (p *printer) word(is bool, word string) {
	if is {
		p.text(" ")
		p.text(word)
	}
}

func words[T fmt.Stringer](p *printer, flags []T) {
	for _, f := range flags {
		p.word(true, f.String())
	}
}

// pair writes two operands of one type.
func (p *printer) pair(x, y value.Value) {
	p.list(x)
	p.text(", ")
	p.ident(y)
}

func (p *printer) cast(v value.Value, name string, from value.Value, to lt.Type) {
	p.begin(v, name)
	p.list(from)
	p.text(" to ")
	p.typ(to)
}

// list writes a space, and operands.
func (p *printer) list(vs ...value.Value) {
	for k, v := range vs {
		if k > 0 {
			p.text(",")
		}
		p.text(" ")
		p.typed(v)
	}
}

func (p *printer) align(a lir.Align) {
	if a != 0 {
		p.text(", ")
		p.text(a.String())
	}
}

func (p *printer) attachments(x any) {
	if m, ok := x.(interface{ MDAttachments() []*metadata.Attachment }); ok {
		for _, md := range m.MDAttachments() {
			p.text(", ")
			p.text(md.String())
		}
	}
}

// typed writes an operand with its type.
func (p *printer) typed(v value.Value) {
	p.typ(v.Type())
	p.text(" ")
	p.ident(v)
}

// plainConstant is the first number that the library may write in another base.
const plainConstant = 0x1000

// ident writes what stands for a value.
func (p *printer) ident(v value.Value) {
	switch c := v.(type) {
	case *constant.Int:
		if c.Typ.BitSize > 1 && c.X.IsInt64() && c.X.Int64() < plainConstant {
			p.b = strconv.AppendInt(p.b, c.X.Int64(), 10)
			return
		}
	case *constant.Vector:
		p.text("<")
		for i, e := range c.Elems {
			if i > 0 {
				p.text(", ")
			}
			p.typed(e)
		}
		p.text(">")
		return
	case constant.Constant, *lir.InlineAsm:
	case interface {
		IsUnnamed() bool
		ID() int64
	}:
		if c.IsUnnamed() {
			p.text("%")
			p.b = strconv.AppendInt(p.b, c.ID(), 10)
			return
		}
	}
	p.text(v.Ident())
}

// typ writes a type.
func (p *printer) typ(t lt.Type) {
	if t.Name() == "" {
		switch t := t.(type) {
		case *lt.IntType:
			p.text("i")
			p.b = strconv.AppendUint(p.b, t.BitSize, 10)
			return
		case *lt.FloatType:
			p.text(t.Kind.String())
			return
		case *lt.LabelType:
			p.text("label")
			return
		case *lt.PointerType:
			if t.AddrSpace == 0 {
				p.typ(t.ElemType)
				p.text("*")
				return
			}
		case *lt.VectorType:
			if !t.Scalable {
				p.text("<")
				p.b = strconv.AppendUint(p.b, t.Len, 10)
				p.text(" x ")
				p.typ(t.ElemType)
				p.text(">")
				return
			}
		}
	}
	p.text(t.String())
}
