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
			fmt.Fprintf(&b, "// %s\n", LaunchText(&k.Launches[i]))
		}
		if len(k.Scratch) > 0 {
			fmt.Fprintf(&b, "// %s: scratch memory of %s bytes\n", name, Extents(k.Scratch))
		}
	}
	if d.Stack > 0 {
		fmt.Fprintf(&b, "// A thread needs a stack of %d bytes, of which calls take all but %d.\n", d.Stack, d.Reserve)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// extentNames lists the shape parameters of a plan.
func extentNames(p *abi.Program) string {
	if len(p.Dims) == 0 {
		return "(none)"
	}
	return strings.Join(p.Dims, ", ")
}
