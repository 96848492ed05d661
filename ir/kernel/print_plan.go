package kernel

import (
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"healc/lang/types"
	"healc/runtime/abi"
)

// PrintPlan writes the plan as comments for people: the buffers with their lives, and the steps in order.
//
//	// plan "f"
//	//   buffer 0: input f32[N]
//	//   buffer 1: temp f32[N], alive 0..2
//	//   0: launch @k0(0, 1) over N
//	//   return 1
//
// each, which may be nil, is told of the step whose lines come next.
func PrintPlan(w io.Writer, prog *abi.Program, each func(s *abi.Step)) {
	pp := &planPrinter{w: w, each: each}
	for i, f := range prog.Funcs {
		if i > 0 {
			pp.line("")
		}
		pp.fn(f)
	}
}

type planPrinter struct {
	w    io.Writer
	each func(s *abi.Step)
	next int // number of the next step, counted in pre-order as in abi.Buffer.First
}

func (pp *planPrinter) line(s string) {
	fmt.Fprintln(pp.w, strings.TrimRight("// "+s, " "))
}

func (pp *planPrinter) fn(f *abi.Function) {
	pp.next = 0
	pp.line("plan " + strconv.Quote(f.Name))
	for i, b := range f.Buffers {
		kind := [...]string{"input", "output", "temp", "data"}[b.Kind]
		s := fmt.Sprintf("  buffer %d: %s %s%s", i, kind, b.DType, formatExtents(b.Shape))
		switch {
		case b.DType == types.String && b.Kind == abi.Data:
			s = fmt.Sprintf("  buffer %d: data string %s", i, strconv.Quote(b.Str))
		case b.Strides != nil:
			s += " strides " + types.Shape(b.Strides).String()
		case b.Kind == abi.Temp:
			s += fmt.Sprintf(", alive %d..%d", b.First, b.Last)
		case b.Kind == abi.Data:
			s += fmt.Sprintf(", %d bytes", len(b.Bytes))
		}
		pp.line(s)
	}
	params := make([]string, len(f.Params))
	for i, b := range f.Params {
		params[i] = strconv.Itoa(b)
	}
	pp.line("  params " + strings.Join(params, ", "))
	pp.steps(f.Steps, "  ")
	pp.line("  return " + formatViews(f.Results))
}

func (pp *planPrinter) steps(steps []abi.Step, indent string) {
	for i := range steps {
		s := &steps[i]
		if pp.each != nil {
			pp.each(s)
		}
		head := fmt.Sprintf("%s%d: ", indent, pp.next)
		pp.next++
		switch {
		case s.Launch != nil:
			l := s.Launch
			text := fmt.Sprintf("launch @%s(%s) over %s", l.Kernel, joinInts(l.Args), FormatExtent(l.Outer))
			if l.Work > 0 {
				text += fmt.Sprintf(", %d operations and %d bytes per index", l.Work, l.Bytes)
			}
			for _, e := range l.Edges {
				text += fmt.Sprintf(", %d at the first %d and the last %d", e.Buffer, e.First, e.Last)
			}
			pp.line(head + text)
		case s.Host != nil:
			h := s.Host
			pp.line(head + fmt.Sprintf("host %s(%s)%s%s", h.Name, formatViews(h.Args), formatOut(h.Out),
				formatStrings(h.Attrs)))
		case s.If != nil:
			pp.line(head + fmt.Sprintf("if %d", s.If.Cond))
			pp.steps(s.If.Then, indent+"  ")
			pp.line(indent + "else")
			pp.steps(s.If.Else, indent+"  ")
		case s.Loop != nil:
			pp.loop(s.Loop, head, indent)
		case s.Call != nil:
			pp.line(head + fmt.Sprintf("call function %d(%s)%s", s.Call.Func, formatViews(s.Call.Args),
				formatOut(s.Call.Out)))
		case s.Copy != nil:
			pp.line(head + fmt.Sprintf("copy %s -> %d", formatView(s.Copy.From), s.Copy.To))
		case s.Fail != nil:
			pp.line(head + fmt.Sprintf("fail where %s, site %d", types.Shape(s.Fail.Where), s.Fail.Site))
		default:
			pp.line(head + "nothing")
		}
	}
}

// loop prints a loop: `loop 3, index 4, until 5`, its steps, and `swap 1 and 2`.
func (pp *planPrinter) loop(l *abi.Loop, head, indent string) {
	text := head + "loop " + strconv.Itoa(l.Count)
	if l.Index >= 0 {
		text += ", index " + strconv.Itoa(l.Index)
	}
	if l.Until >= 0 {
		text += ", until " + strconv.Itoa(l.Until)
	}
	pp.line(text)
	pp.steps(l.Body, indent+"  ")
	for _, s := range l.Swap {
		pp.line(fmt.Sprintf("%s  swap %d and %d", indent, s[0], s[1]))
	}
}

func formatOut(out []int) string {
	if len(out) == 0 {
		return ""
	}
	return " -> " + joinInts(out)
}

func formatStrings(attrs map[string]string) string {
	keys := make([]string, 0, len(attrs))
	for k := range attrs {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, " %s=%s", k, strconv.Quote(attrs[k]))
	}
	return b.String()
}

func formatViews(vs []abi.View) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = formatView(v)
	}
	return strings.Join(parts, ", ")
}

// formatView writes a view: the buffer, and shape, offset and strides as `1[N]@4:[2]`.
func formatView(v abi.View) string {
	s := strconv.Itoa(v.Buffer) + types.Shape(v.Shape).String()
	if !v.Offset.IsConst(0) {
		s += "@" + v.Offset.String()
	}
	return s + ":" + types.Shape(v.Strides).String()
}

func joinInts(ns []int) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ", ")
}
