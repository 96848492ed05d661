package driver

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"healc/ir/kernel"
	"healc/runtime/abi"
)

// launches writes, as comments of PTX, how the kernels of a module are launched: what the text itself does not say.
func launches(w io.Writer, km *kernel.Module) error {
	d := km.Plan.Device
	var b strings.Builder
	fmt.Fprintf(&b,
		"// For %s and newer. The parameters of an entry are the addresses of its buffers, the extents %s,\n", d.Arch,
		extentNames(km.Plan))
	b.WriteString("// the address of its scratch memory, and that of the error that a failing check fills in.\n//\n")
	var names []string
	for name := range d.Kernels {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		k := d.Kernels[name]
		for i := range k.Launches {
			fmt.Fprintf(&b, "// %s\n", launchText(&k.Launches[i]))
		}
		if len(k.Scratch) > 0 {
			fmt.Fprintf(&b, "// %s: scratch memory of %s bytes\n", name, extents(k.Scratch))
		}
	}
	if d.Stack > 0 {
		fmt.Fprintf(&b, "// A thread needs a stack of %d bytes.\n", d.Stack)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// launchText says how an entry is launched.
func launchText(l *abi.DeviceLaunch) string {
	text := fmt.Sprintf("%s: %d threads a block, %s a block of %s", l.Entry, l.Threads, Count(int(l.PerBlock), "item"),
		extents(l.Items))
	if l.Shared > 0 {
		text += fmt.Sprintf(", %d bytes of dynamic shared memory", l.Shared)
	}
	return text
}

// extentNames lists the shape parameters of a plan.
func extentNames(p *abi.Program) string {
	if len(p.Dims) == 0 {
		return "(none)"
	}
	return strings.Join(p.Dims, ", ")
}

// extents prints a product of extents.
func extents(es []abi.Extent) string {
	if len(es) == 0 {
		return "1"
	}
	var parts []string
	for _, e := range es {
		s := e.Dim.String()
		if e.Div > 1 {
			s = fmt.Sprintf("ceil(%s / %d)", s, e.Div)
		} else if strings.Contains(s, " ") && len(es) > 1 {
			s = "(" + s + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " * ")
}
