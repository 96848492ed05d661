package diag

// CodeSharded is for tensors that are cut along an axis where an operation cannot use them.
var CodeSharded = define(Entry{
	Code:  "E0801",
	Title: "tensors are sharded in a way that an operation cannot use",
	Text: "Every operation has a rule for operands that are sharded, and docs/distributed.md lists what each sends. " +
		"Operands of one operation are cut along one axis, reductions of floats begin with the axis that is cut, and " +
		"a function of `tabulate` reads near its own index. `reshard(x, axis)` cuts a tensor along another axis, for " +
		"which every rank sends to every other, and `replicate(x)` gathers it on every rank.",
	Example: "fn f(x: f32[8, 8] sharded(0), y: f32[8, 8] sharded(1)) -> f32[8, 8] sharded(0) = x + y\n",
	Fixed:   "fn f(x: f32[8, 8] sharded(0), y: f32[8, 8] sharded(1)) -> f32[8, 8] sharded(0) = x + reshard(y, 0)\n",
})
