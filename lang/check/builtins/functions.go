package builtins

import "healc/lang/check/infer"

// Functions are the functions of the language, those of each file.
func Functions() []map[string]*infer.Builtin {
	return []map[string]*infer.Builtin{operationFunctions(), shapeFunctions(), movementFunctions(), assertFunctions(),
		loopFunctions(), placeFunctions(), modularFunctions()}
}
