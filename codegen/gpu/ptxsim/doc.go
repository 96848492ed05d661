// Package ptxsim executes PTX text on the CPU: the text that code generation emits for NVIDIA GPUs, without
// a GPU. It translates PTX for package machine, where grids, blocks, warps that diverge, barriers, shuffles and every
// state space behave as the PTX ISA says; every instruction gives exactly the bits that the hardware gives.
//
//	m, err := ptxsim.Parse("f.ptx", text)
//	d := machine.NewDevice(machine.Options{})
//	x, err := d.Alloc(4 * n)
//	err = d.Write(x, bytes)
//	err = d.Launch(m, "f", [3]int{blocks, 1, 1}, [3]int{128, 1, 1}, 0, params)
//
// Parse reads a module into its syntax tree (package ptx) and translates each function once, into closures over the
// lanes of a warp. A launch runs its blocks one after the other, or several at a time; a block runs its warps in turns;
// a warp runs one instruction for all of its active lanes at once.
//
// An instruction or modifier that is not implemented is an error of Parse that names the line, never a guess.
// Instructions whose result the ISA does not fix to the bit (ex2.approx, div.full, sin.approx) are refused.
//
// Source of all semantics: NVIDIA, PTX ISA, versions 6.0 to 8.4.
package ptxsim
