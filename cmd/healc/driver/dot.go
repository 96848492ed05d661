package driver

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Dot writes the plan of km as a graph for Graphviz: kernels are boxes with what was fused into them,
// buffers are ellipses (grey: temporary), and arrows show what reads and writes what. The arms of a
// condition are clusters.
func Dot(w io.Writer, km *kernel.Module) error {
	g := &graph{w: bufio.NewWriter(w), kernels: map[string]*kernel.Kernel{}}
	for _, k := range km.Kernels {
		g.kernels[k.Name] = k
	}
	g.line("digraph %s {", strconv.Quote(km.Plan.Name))
	g.line("  rankdir=TB; node [fontname=\"monospace\", fontsize=10];")
	for i, f := range km.Plan.Funcs {
		g.function(i, f)
	}
	g.line("}")
	return g.w.Flush()
}

type graph struct {
	w       *bufio.Writer
	kernels map[string]*kernel.Kernel
	fn      int          // the function that is drawn
	next    int          // number of the next step
	used    map[int]bool // buffers with an arrow
}

func (g *graph) line(format string, args ...any) { fmt.Fprintf(g.w, format+"\n", args...) }

func (g *graph) function(index int, f *abi.Function) {
	g.fn, g.next, g.used = index, 0, map[int]bool{}
	g.line("  subgraph cluster_f%d {", index)
	g.line("    label=%s;", quoteDot(f.Name))
	g.steps(f.Steps, "    ")
	for i := range f.Results {
		r := &f.Results[i]
		g.line("    f%d_result%d [shape=plaintext, label=\"result %d\"];", index, i, i)
		g.arrow("    ", g.buffer(r.Buffer), fmt.Sprintf("f%d_result%d", index, i))
	}
	for _, p := range f.Params {
		g.used[p] = true
	}
	for i := range f.Buffers {
		if g.used[i] {
			g.line("    %s [%s];", g.buffer(i), bufferLook(i, &f.Buffers[i]))
		}
	}
	g.line("  }")
}

// bufferLook is the label and style of a buffer.
func bufferLook(i int, b *abi.Buffer) string {
	if b.DType == types.String {
		return "shape=ellipse, label=" + quoteDot(strconv.Quote(Cut(b.Str, 24)))
	}
	kind := [...]string{"input", "output", "temp", "data"}[b.Kind]
	style := ""
	if b.Kind == abi.Temp {
		style = ", style=filled, fillcolor=gray90"
	}
	return fmt.Sprintf("shape=ellipse%s, label=%s", style, quoteDot(fmt.Sprintf("%d: %s\n%s", i, kind, BufferType(b))))
}

func (g *graph) buffer(i int) string {
	g.used[i] = true
	return fmt.Sprintf("f%d_b%d", g.fn, i)
}

func (g *graph) arrow(indent, from, to string) { g.line("%s%s -> %s;", indent, from, to) }

// box draws a step with its operands and results.
func (g *graph) box(indent, look, label string, in, out []int) {
	name := fmt.Sprintf("f%d_s%d", g.fn, g.next)
	g.line("%s%s [%s, label=%s];", indent, name, look, quoteDot(label))
	for _, b := range in {
		g.arrow(indent, g.buffer(b), name)
	}
	for _, b := range out {
		if b >= 0 {
			g.arrow(indent, name, g.buffer(b))
		}
	}
}

func (g *graph) steps(steps []abi.Step, indent string) {
	for _, s := range steps {
		switch {
		case s.Launch != nil:
			g.launch(s.Launch, indent)
		case s.Host != nil:
			g.box(indent, "shape=box, style=rounded", s.Host.Name, viewBuffers(s.Host.Args), s.Host.Out)
		case s.Call != nil:
			g.box(indent, "shape=box, style=rounded", fmt.Sprintf("call of function %d", s.Call.Func),
				viewBuffers(s.Call.Args), s.Call.Out)
		case s.Copy != nil:
			g.box(indent, "shape=box, style=rounded", "copy", []int{s.Copy.From.Buffer}, []int{s.Copy.To})
		case s.Fail != nil:
			g.box(indent, "shape=octagon", "fail where "+types.Shape(s.Fail.Where).String(), nil, nil)
		case s.Loop != nil:
			g.box(indent, "shape=diamond", "loop", []int{s.Loop.Count}, nil)
			g.line("%ssubgraph cluster_f%d_s%d {", indent, g.fn, g.next)
			g.line("%s  label=%q;", indent, "again and again")
			g.next++
			g.steps(s.Loop.Body, indent+"  ")
			g.line("%s}", indent)
		case s.If != nil:
			g.box(indent, "shape=diamond", "if", []int{s.If.Cond}, nil)
			number := g.next
			for arm, list := range [][]abi.Step{s.If.Then, s.If.Else} {
				g.line("%ssubgraph cluster_f%d_s%d_%d {", indent, g.fn, number, arm)
				g.line("%s  label=%q;", indent, [...]string{"then", "else"}[arm])
				g.next++
				g.steps(list, indent+"  ")
				g.line("%s}", indent)
			}
		}
		g.next++
	}
}

// launch draws a kernel with what was fused into it.
func (g *graph) launch(l *abi.Launch, indent string) {
	k := g.kernels[l.Kernel]
	label := l.Kernel + "\nover " + kernel.FormatExtent(l.Outer)
	for _, n := range k.Notes {
		label += "\n" + n.String()
	}
	var in, out []int
	for i, b := range l.Args {
		if k.Params[i].Out {
			out = append(out, b)
		}
		if !k.Params[i].Out || k.Params[i].InPlace {
			in = append(in, b)
		}
	}
	g.box(indent, "shape=box", label, in, out)
}

func viewBuffers(vs []abi.View) []int {
	out := make([]int, len(vs))
	for i, v := range vs {
		out[i] = v.Buffer
	}
	return out
}

// quoteDot quotes a label; line ends are left-aligned.
func quoteDot(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\l`).Replace(s) + `"`
}
