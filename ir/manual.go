package ir

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Example is the example of one operation.
type Example struct {
	Op   *OpDef
	Expr string // `expr == expr`, a bool or a tensor of them
}

// Examples lists the examples of the table, sorted by operation. An operation that no program can spell
// has none.
func Examples() []Example {
	var out []Example
	for _, d := range Ops() {
		if d.Example != "" {
			out = append(out, Example{d, d.Example})
		}
	}
	return out
}

// Program is a whole source file whose function `example` returns whether the example holds.
func (x Example) Program() string {
	io := ""
	if x.Op.Traits.Has(Effect) {
		io = "@io "
	}
	decls := x.Op.Decls
	if decls != "" {
		decls += "\n\n"
	}
	return decls + io + "fn example() -> bool = &&/(" + x.Expr + ")\n"
}

// classTitles are the headings of the manual, in the order of the classes.
var classTitles = [...]string{
	Pointwise: "Element by element", Reindex: "Moving elements", Source: "Sources", Reduce: "Reductions",
	Contract: "Products", Scope: "Functions and control", Host: "Calls, input and output",
	Fused: "Made by the compiler",
	Rows:  "Rows in memory",
}

func (c Class) String() string {
	return [...]string{"pointwise", "reindex", "source", "reduce", "contract", "scope", "host", "fused", "rows"}[c]
}

// WriteManual writes the table as a page of Markdown.
func WriteManual(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b,
		"# Operations\n\n"+
			"Every operation of the tensor IR, from the table in `ir/ops`. `go test ./ir -run Manual -update`\n"+
			"writes this page.\n\nAll of them obey these rules too:\n\n")
	for _, c := range GeneralConstraints {
		fmt.Fprintf(b, "- %s: %s.\n", c.Name, c.Text)
	}
	for class, title := range classTitles {
		fmt.Fprintf(b, "\n## %s\n", title)
		for _, d := range Ops() {
			if d.Class == Class(class) {
				d.writeManual(b)
			}
		}
	}
	return b.Flush()
}

// Manual is the operation's part of the manual.
func (d *OpDef) Manual() string {
	var b strings.Builder
	d.writeManual(&b)
	return strings.TrimSpace(b.String())
}

func (d *OpDef) writeManual(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n%s\n\n", d.Name, d.Summary)
	if d.Surface != "" {
		fmt.Fprintf(w, "- written `%s`\n", d.Surface)
	}
	fmt.Fprintf(w, "- operands: %s", arityText(d.Arity))
	if d.Regions != 0 {
		fmt.Fprintf(w, "; regions: %s", arityText(d.Regions))
	}
	fmt.Fprintln(w)
	for _, a := range d.Attrs {
		optional := ""
		if a.Optional {
			optional = ", optional"
		}
		fmt.Fprintf(w, "- attribute `%s` (%s%s): %s\n", a.Name, a.Kind, optional, a.Doc)
	}
	for _, c := range d.Constraints {
		fmt.Fprintf(w, "- %s: %s\n", c.Name, c.Text)
	}
	if traits := d.Traits.names(); traits != "" {
		fmt.Fprintf(w, "- %s\n", traits)
	}
	if d.NoGrad != "" {
		fmt.Fprintf(w, "- no gradient: %s\n", d.NoGrad)
	}
	if d.Example != "" {
		fmt.Fprintln(w, "\n```")
		if d.Decls != "" {
			fmt.Fprintln(w, d.Decls)
		}
		fmt.Fprintf(w, "%s\n```\n", d.Example)
	}
}

func arityText(n int) string {
	if n == Variadic {
		return "any number"
	}
	return fmt.Sprint(n)
}

// names lists the traits in words.
func (t Traits) names() string {
	var out []string
	for i, name := range []string{
		"commutative", "associative", "input or output: keeps its order", "may stop the program",
		"cheap enough to compute twice", "a view: no cost by itself",
	} {
		if t.Has(1 << i) {
			out = append(out, name)
		}
	}
	return strings.Join(out, "; ")
}

func (k AttrKind) String() string {
	return [...]string{"integer", "integers", "flag", "string", "element type", "extent", "extents", "constant",
		"types"}[k]
}
