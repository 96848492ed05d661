// Package ptx reads PTX text into its syntax tree: a module with its variables and functions, and those with their
// instructions.
//
//	m, err := ptx.Parse("f.ptx", text)
//	for _, in := range m.Functions["f"].Instructions {
//		fmt.Println(in.Line, in.Opcode, in.Modifiers, in.Operands)
//	}
//
// What an instruction means, and whether there is one with that opcode and those modifiers, is for the reader of the
// tree to know, who says with Module.Errorf what is wrong with a line. Variables of parameters and of the stack have
// their place in the frame of a function, as the ABI of PTX lays them out.
//
// Source of the grammar: NVIDIA, PTX ISA, versions 6.0 to 8.4.
package ptx
