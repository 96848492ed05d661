package kernel

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Schedules]
//
// A schedule says how the loops of a kernel are written for one target, and never what they compute: with any schedule
// that fits, a kernel has the same bits. It is a tree. A directive stands inside of another one when it speaks of the
// code that the outer one makes:
//
//	schedule {
//	  unswitch %3 {
//	    then {
//	      vector %0 width 32 {
//	        stream y
//	        prefetch x ahead 4096 level 1
//	      }
//	    }
//	    else {
//	      vector %0 width 16
//	    }
//	  }
//	}
//
// A loop that no directive speaks of goes one iteration after the other, as it stands in the kernel. So no schedule at
// all is the schedule of code that is compiled fast and runs briefly, and of a thread of a GPU.
//
// Package codegen/schedule writes them, from the kernel, its shape and the target. The emitters read them.

// Directive is one decision of a schedule.
type Directive struct {
	Kind  string
	On    Ref // the variable of the loop, or the condition, that it speaks of; None for neither
	Param int // the buffer that it speaks of; -1 for none
	Args  []Arg
	Sub   []*Directive
	Why   string // the reason, with the estimates it rests on; a comment of the text form
}

// Arg is a parameter of a directive.
type Arg struct {
	Name  string
	Value int64
}

// Schedule is how a kernel is written.
type Schedule struct {
	Directives []*Directive
	Rejected   []Rejection // not part of the text form but as comments
}

// Rejection is what was considered and not taken.
type Rejection struct{ What, Why string }

// DirectiveKind describes directives of one kind.
type DirectiveKind struct {
	Name string
	On   On
	Args []ArgKind
	Sub  bool // others may stand inside
	Doc  string
}

// On is what a directive speaks of.
type On uint8

// What a directive speaks of.
const (
	OnNothing   On = iota
	OnLoop         // the variable of a loop
	OnCondition    // a bool
	OnBuffer       // a parameter of the kernel
)

// ArgKind is a parameter of directives of one kind.
type ArgKind struct {
	Name      string
	Low, High int64  // the values that have a meaning
	Unit      string // what it counts
	Power     bool   // a power of two
	Many      bool   // may stand there several times, in ascending order
	Optional  bool   // 0 where it does not stand there
	Fixed     bool   // follows from the kernel
}

// DirectiveKinds are the words of schedules. The emitters of processors and of devices share them.
var DirectiveKinds = []DirectiveKind{
	{Name: "matmul", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "rows", Low: 1, High: 64, Unit: "rows", Optional: true},
			{Name: "vectors", Low: 1, High: 8, Unit: "vectors", Optional: true},
			{Name: "width", Low: 2, High: 64, Unit: "columns", Power: true, Optional: true},
			{Name: "piece", Low: 1, High: 1 << 40, Unit: "steps", Optional: true},
			{Name: "block", Low: 1, High: 1 << 40, Unit: "columns", Optional: true},
			{Name: "chunk", Low: 1, High: 1 << 40, Unit: "rows", Optional: true},
			{Name: "low", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "pairs", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "fours", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "amx", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "together", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "ahead", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "straight", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "tile", Low: 1, High: 1 << 10, Unit: "rows and columns", Power: true, Optional: true},
			{Name: "depth", Low: 1, High: 1 << 10, Unit: "steps", Power: true, Optional: true},
			{Name: "blockdim", Low: 1, High: 1 << 10, Unit: "threads", Power: true, Optional: true}},
		Doc: "the product along this loop goes by tiles of sums in registers, so many rows by so many vectors; on a " +
			"device a block of threads computes a square tile, from slices of some steps in shared memory"},
	{Name: "axpy", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "width", Low: 2, High: 64, Unit: "columns", Power: true},
			{Name: "block", Low: 1, High: 1 << 40, Unit: "columns"},
			{Name: "rows", Low: 1, High: 64, Unit: "rows"}},
		Doc: "the product of a vector and a matrix adds some rows at a time to the sums of a block of columns"},
	{Name: "dot", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "width", Low: 2, High: 64, Unit: "columns", Power: true},
			{Name: "vectors", Low: 1, High: 8, Unit: "vectors"},
			{Name: "behind", Low: 0, High: 1 << 12, Unit: "bytes", Optional: true},
			{Name: "ahead", Low: 0, High: 1, Unit: "yes or no", Optional: true},
			{Name: "next", Low: 0, High: 16, Unit: "lines", Optional: true},
			{Name: "along", Low: 0, High: 1 << 12, Unit: "bytes", Optional: true}},
		Doc: "the product of a matrix and a vector transposes squares of the matrix in registers"},
	{Name: "packrows",
		Args: []ArgKind{{Name: "band", Low: 1, High: 1 << 20, Unit: "rows", Optional: true},
			{Name: "ahead", Low: 0, High: 1 << 10, Unit: "steps", Optional: true},
			{Name: "beside", Low: 0, High: 1, Unit: "yes or no", Optional: true}},
		Doc: "what a tile reads of the factor that differs between rows is copied: a band of so many rows at a time, " +
			"or with the elements of a step side by side"},
	{Name: "packcolumns", Args: []ArgKind{{Name: "along", Low: 0, High: 1, Unit: "yes or no", Optional: true}},
		Doc: "what the tiles of a block read of the factor that differs between columns is copied; it is read along " +
			"the chains, and transposed"},
	{Name: "window", On: OnLoop,
		Doc: "the loop goes over the range alone in which elements that are changed in place may get other values"},
	{Name: "unswitch", On: OnCondition, Sub: true,
		Doc: "the branch is taken before the loops, which are written once for each arm: loop unswitching"},
	{Name: "then", Sub: true, Doc: "the loops where the condition of an unswitch holds"},
	{Name: "else", Sub: true, Doc: "the loops where it does not, or where rows are too long for a stage"},
	{Name: "mixed", Sub: true, Doc: "the loops where it holds for some positions of a collapsed axis, not for others"},
	{Name: "collapse", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "period", Low: 2, High: 1 << 10, Unit: "iterations", Fixed: true},
			{Name: "joined", Low: 0, High: 1, Unit: "yes or no", Fixed: true}},
		Doc: "what depends on a short last axis is kept in rows, and the axis may be one with the axis before"},
	{Name: "split", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "at", Low: -1 << 40, High: 1 << 40, Unit: "iterations", Many: true, Fixed: true}},
		Doc:  "the range is cut where conditions on the position change: index-set splitting"},
	{Name: "part", Sub: true, Doc: "one piece of a split range, in the order of the pieces"},
	{Name: "jam", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "rows", Low: 2, High: 64, Unit: "iterations"}},
		Doc:  "so many iterations go side by side in the loop inside: unroll and jam"},
	{Name: "strip", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "width", Low: 4, High: 128, Unit: "columns", Power: true},
			{Name: "columns", Low: 1, High: 1 << 20, Unit: "columns"},
			{Name: "rows", Low: 1, High: 64, Unit: "rows", Power: true},
			{Name: "rest", Low: 4, High: 128, Unit: "columns", Power: true},
			{Name: "ahead", Low: 0, High: 16, Unit: "groups of rows"}},
		Doc: "reductions down columns go by strips of columns, some rows at a time: loop interchange and strip mining"},
	{Name: "vector", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "width", Low: 4, High: 128, Unit: "iterations", Power: true}},
		Doc:  "so many iterations are one vector"},
	{Name: "batch", On: OnLoop,
		Args: []ArgKind{{Name: "width", Low: 4, High: 64, Unit: "iterations", Power: true}},
		Doc:  "the reductions of some iterations are kept, and what follows them is done in vectors"},
	{Name: "streams", On: OnLoop,
		Args: []ArgKind{{Name: "count", Low: 2, High: 4, Unit: "iterations", Power: true}},
		Doc:  "so many chunks or rows that are reduced go side by side, as far apart as can be: memory streams"},
	{Name: "speculate", Args: []ArgKind{{Name: "vectors", Low: 1, High: 16, Unit: "vectors"}},
		Doc: "rare arms are put off until so many vectors are computed"},
	{Name: "mask", Doc: "what does not fill a vector is one vector under a mask: tail predication"},
	{Name: "ragged", Doc: "each row of a reduction over several axes ends in a vector under a mask"},
	{Name: "remainder", Args: []ArgKind{{Name: "width", Low: 1, High: 1 << 10, Unit: "iterations", Power: true}},
		Doc: "what does not fill a vector goes by shorter ones first"},
	{Name: "stream", On: OnBuffer, Doc: "whole lines are written past the caches: non-temporal stores"},
	{Name: "prefetch", On: OnBuffer,
		Args: []ArgKind{{Name: "ahead", Low: -1 << 20, High: 1 << 20, Unit: "bytes", Optional: true},
			{Name: "row", Low: 0, High: 1 << 10, Unit: "rows", Optional: true},
			{Name: "gathered", Low: 0, High: 1 << 10, Unit: "rows", Optional: true},
			{Name: "level", Low: 1, High: 2, Unit: "the cache"}},
		Doc: "loads ask for what comes so many bytes later, for the next row, or for a row whose number is read"},
	{Name: "steps", On: OnLoop, Args: []ArgKind{{Name: "count", Low: 1, High: 64, Unit: "iterations", Power: true}},
		Doc: "so many iterations of a sequential loop read along rows that are transposed in registers"},
	{Name: "transpose", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "rows", Low: 8, High: 1 << 10, Unit: "iterations", Power: true},
			{Name: "columns", Low: 8, High: 1 << 10, Unit: "iterations", Power: true}},
		Doc: "operands that lie along this axis are transposed tile by tile"},
	{Name: "interleave", On: OnLoop,
		Args: []ArgKind{{Name: "width", Low: 1, High: 1 << 10, Unit: "iterations", Power: true}},
		Doc:  "vectors along this axis, one for each iteration of the next, are interleaved"},
	{Name: "stage", On: OnLoop, Sub: true,
		Args: []ArgKind{{Name: "rows", Low: 8, High: 1 << 10, Unit: "iterations", Power: true}},
		Doc: "operands of chunks of reductions, or rows that this loop counts, are brought in order in memory of the " +
			"kernel, so many rows at a time"},
	{Name: "threads", Args: []ArgKind{{Name: "align", Low: 1, High: 1 << 40, Unit: "iterations", Optional: true},
		{Name: "tasks", Low: 1, High: 1 << 40, Unit: "tasks", Optional: true, Fixed: true}},
		Doc: "how the outermost axis is shared out between threads"},
}

// KindOf is the description of a kind of directives, nil when there is none of that name.
func KindOf(name string) *DirectiveKind {
	for i := range DirectiveKinds {
		if DirectiveKinds[i].Name == name {
			return &DirectiveKinds[i]
		}
	}
	return nil
}

// NewDirective is a directive that speaks of a loop or a condition, with arguments in the order of its kind.
func NewDirective(kind string, on Ref, args ...int64) *Directive {
	d := &Directive{Kind: kind, On: on, Param: -1}
	k := KindOf(kind)
	for i, x := range args {
		d.Args = append(d.Args, Arg{k.Args[min(i, len(k.Args)-1)].Name, x})
	}
	return d
}

// Get is an argument of a directive, 0 when it has none of that name.
func (d *Directive) Get(name string) int64 {
	for _, a := range d.Args {
		if a.Name == name {
			return a.Value
		}
	}
	return 0
}

// Set changes an argument, or adds it.
func (d *Directive) Set(name string, x int64) *Directive {
	for i := range d.Args {
		if d.Args[i].Name == name {
			d.Args[i].Value = x
			return d
		}
	}
	d.Args = append(d.Args, Arg{name, x})
	return d
}

// List is all values of an argument.
func (d *Directive) List(name string) []int64 {
	var out []int64
	for _, a := range d.Args {
		if a.Name == name {
			out = append(out, a.Value)
		}
	}
	return out
}

// Because says why the directive is there.
func (d *Directive) Because(why string) *Directive {
	d.Why = why
	return d
}

// Add puts directives inside of d, those that are nil left out.
func (d *Directive) Add(subs ...*Directive) *Directive {
	for _, s := range subs {
		if s != nil {
			d.Sub = append(d.Sub, s)
		}
	}
	return d
}

// Directives is a list of directives with those inside of them.
type Directives []*Directive

// Find is the first directive of a kind on a loop or condition, nil when there is none; those inside of others are
// not looked at.
func (ds Directives) Find(kind string, on Ref) *Directive {
	for _, d := range ds {
		if d.Kind == kind && d.On == on {
			return d
		}
	}
	return nil
}

// OfKind is the first directive of a kind, nil when there is none.
func (ds Directives) OfKind(kind string) *Directive {
	for _, d := range ds {
		if d.Kind == kind {
			return d
		}
	}
	return nil
}

// OfBuffer is the first directive of a kind on a buffer, nil when there is none.
func (ds Directives) OfBuffer(kind string, param int) *Directive {
	for _, d := range ds {
		if d.Kind == kind && d.Param == param {
			return d
		}
	}
	return nil
}

// Walk calls f with all directives, outer ones first.
func (ds Directives) Walk(f func(*Directive)) {
	for _, d := range ds {
		f(d)
		Directives(d.Sub).Walk(f)
	}
}

// Clone is a copy that shares nothing.
func (s *Schedule) Clone() *Schedule {
	if s == nil {
		return nil
	}
	var clone func(ds []*Directive) []*Directive
	clone = func(ds []*Directive) []*Directive {
		var out []*Directive
		for _, d := range ds {
			c := *d
			c.Args = append([]Arg(nil), d.Args...)
			c.Sub = clone(d.Sub)
			out = append(out, &c)
		}
		return out
	}
	return &Schedule{Directives: clone(s.Directives), Rejected: append([]Rejection(nil), s.Rejected...)}
}

// Same reports that two schedules say the same, for whatever reasons.
func (s *Schedule) Same(o *Schedule) bool {
	var same func(a, b *Directive) bool
	same = func(a, b *Directive) bool {
		return a.Kind == b.Kind && a.On == b.On && a.Param == b.Param && slices.Equal(a.Args, b.Args) &&
			slices.EqualFunc(a.Sub, b.Sub, same)
	}
	return slices.EqualFunc(s.Directives, o.Directives, same)
}

// Text is the directive alone, without those inside of it; name gives the names of values and buffers.
func (d *Directive) Text(value func(Ref) string, buffer func(int) string) string {
	var b strings.Builder
	b.WriteString(d.Kind)
	switch {
	case d.Param >= 0:
		b.WriteString(" " + buffer(d.Param))
	case d.On != scalar.None:
		b.WriteString(" " + value(d.On))
	}
	for _, a := range d.Args {
		fmt.Fprintf(&b, " %s %d", a.Name, a.Value)
	}
	return b.String()
}

// ScheduleLines is the text of the schedule of a kernel, line by line, with the names that its values have in the
// kernel's text; nil when there is none.
func (k *Kernel) ScheduleLines() []string {
	if k.Schedule == nil {
		return nil
	}
	c, s := *k, k.Schedule
	c.Schedule = nil
	p := &printer{w: bufio.NewWriter(io.Discard)}
	p.kernel(&c)
	var b strings.Builder
	p.w = bufio.NewWriter(&b)
	p.schedule(s, "")
	_ = p.w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	lines = lines[1 : len(lines)-1] // without the braces
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return lines
}

// schedule prints the schedule of a kernel, with the names that its values have got.
func (p *printer) schedule(s *Schedule, indent string) {
	p.printf("%sschedule {\n", indent)
	p.directives(s.Directives, indent+"  ")
	for _, r := range s.Rejected {
		p.printf("%s  // no %s: %s\n", indent, r.What, r.Why)
	}
	p.printf("%s}\n", indent)
}

func (p *printer) directives(ds []*Directive, indent string) {
	for _, d := range ds {
		line := indent + d.Text(p.ref, p.param)
		if len(d.Sub) > 0 {
			line += " {"
		}
		if d.Why != "" {
			line += " // " + d.Why
		}
		p.printf("%s\n", line)
		p.notes(d, indent)
		if len(d.Sub) > 0 {
			p.directives(d.Sub, indent+"  ")
			p.printf("%s}\n", indent)
		}
	}
}

// schedule reads a schedule behind its word.
func (p *parser) schedule() *Schedule {
	s := &Schedule{}
	p.Expect("{")
	s.Directives = p.directives()
	return s
}

func (p *parser) directives() []*Directive {
	var out []*Directive
	if p.depth++; p.depth > maxNesting {
		p.Fail("directives are nested more than %d deep", maxNesting)
	}
	for !p.Accept("}") {
		p.Skip()
		at := p.Pos
		word := p.Word("a directive")
		k := KindOf(word)
		if k == nil {
			p.FailAt(at, "there is no directive %q", word)
		}
		d := &Directive{Kind: word, On: scalar.None, Param: -1}
		switch k.On {
		case OnBuffer:
			d.Param = p.param()
		case OnLoop, OnCondition:
			d.On = p.anyRef()
		}
		for k.arg(p.PeekWord()) != nil {
			name := p.Word("an argument")
			d.Args = append(d.Args, Arg{name, p.Integer()})
		}
		if p.Accept("{") {
			d.Sub = p.directives()
		}
		out = append(out, d)
	}
	p.depth--
	return out
}

// anyRef reads a value that is defined anywhere in the kernel.
func (p *parser) anyRef() Ref {
	name, at := p.Value()
	r, ok := p.all[name]
	if !ok {
		p.ErrorAt(at, "%%%s is not defined in the kernel", name)
		return scalar.None
	}
	return r
}

func (k *DirectiveKind) arg(name string) *ArgKind {
	for i := range k.Args {
		if k.Args[i].Name == name {
			return &k.Args[i]
		}
	}
	return nil
}

// schedule checks that directives are of their kinds: what they speak of, their arguments, and what is inside of them.
// That a directive fits the loop which it speaks of is for codegen/schedule to say.
func (v *verifier) schedule(k *Kernel) {
	loops := map[Ref]bool{}
	for _, a := range k.Axes {
		loops[a.Var] = true
	}
	k.Body.Walk(func(s Stmt) {
		switch s := s.(type) {
		case *Loop:
			loops[s.Axis.Var] = true
		case *Iterate:
			loops[s.Var] = true
		case *Reduce:
			for _, a := range s.Axes {
				loops[a.Var] = true
			}
		}
	})
	Directives(k.Schedule.Directives).Walk(func(d *Directive) {
		if what := d.wrong(k, loops); what != "" {
			v.note(d, "%s", what)
		}
	})
}

// wrong says what is wrong with a directive, "" when nothing is.
func (d *Directive) wrong(k *Kernel, loops map[Ref]bool) string {
	kind := KindOf(d.Kind)
	if kind == nil {
		return "there is no directive " + strconv.Quote(d.Kind)
	}
	switch kind.On {
	case OnLoop:
		if !loops[d.On] {
			return d.Kind + " speaks of a loop, and this is the variable of none"
		}
	case OnCondition:
		if d.On < 0 || int(d.On) >= len(k.Types) || k.Types[d.On] != types.Bool {
			return d.Kind + " speaks of a condition, a bool"
		}
	case OnBuffer:
		if d.Param < 0 || d.Param >= len(k.Params) {
			return d.Kind + " speaks of a buffer, and the kernel has none of that number"
		}
	}
	if len(d.Sub) > 0 && !kind.Sub {
		return "nothing stands inside of " + d.Kind
	}
	seen := map[string]int64{}
	for _, a := range d.Args {
		ak := kind.arg(a.Name)
		before, twice := seen[a.Name]
		switch {
		case ak == nil:
			return fmt.Sprintf("%s has no argument %s", d.Kind, a.Name)
		case twice && (!ak.Many || a.Value <= before):
			return fmt.Sprintf("%s %d stands behind %s %d", a.Name, a.Value, a.Name, before)
		case a.Value < ak.Low || a.Value > ak.High:
			return fmt.Sprintf("%s is %d, and has to be from %d to %d %s", a.Name, a.Value, ak.Low, ak.High, ak.Unit)
		case ak.Power && a.Value&(a.Value-1) != 0:
			return fmt.Sprintf("%s is %d, and has to be a power of two", a.Name, a.Value)
		}
		seen[a.Name] = a.Value
	}
	for _, ak := range kind.Args {
		if _, there := seen[ak.Name]; !there && !ak.Optional && !ak.Many {
			return fmt.Sprintf("%s needs %s, %d to %d %s", d.Kind, ak.Name, ak.Low, ak.High, ak.Unit)
		}
	}
	return ""
}
