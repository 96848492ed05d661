package onnx

import "maps"

// entry says how the nodes of an operator are written.
type entry struct {
	since   int64  // the version of the operator set from which on the entry is true of them
	ignored string // attributes that say nothing of values
	write   func(*call)
}

// table has every operator that is imported, by its name.
var table = func() map[string]*entry {
	out := map[string]*entry{}
	parts := []map[string]*entry{elementwiseOps, shapeOps, positionOps, reductionOps, productOps, windowOps,
		scatterOps}
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out
}()

// Operators are the names in the table, and since which version of the operator set each is imported.
func Operators() map[string]int64 {
	out := map[string]int64{}
	for name, e := range table {
		out[name] = e.since
	}
	return out
}
