// Package onnx writes Heal programs for models in ONNX files, with their weights as named tensors (`healc import`).
//
// Read takes a file apart (wire.go, model.go, tensor.go). Import goes over the nodes of its graph in order and writes a
// `let` for each (translate.go). What a node becomes says its operator's entry in the one table of operators
// (table.go): which versions of the operator set it is true of, and how it is written. An entry reads operands, shapes
// and attributes from a node, and writes expressions; an attribute that it did not read, and an output that it did not
// write, are errors, so that nothing is left out in silence.
//
// A value has a shape whose extents are polynomials (types.Dim) in the named dimensions of the model (dim.go), which
// become shape parameters of the function. Some values are known while the program is written (known.go): constants,
// and what exporters compute from shapes to say them to Reshape, Slice, Expand and so on. Such a value is written as a
// literal where something else reads it, and as nothing where nothing does.
package onnx
