package scope

import (
	"healc/lang/ast"
	"healc/lang/diag"
)

// An Importer finds the files that `import` names. The checker itself touches neither disk nor network.
type Importer interface {
	// Import finds what decl, in the file from, names. The error says why there is none, as one clause;
	// an *ImportError has more to say.
	Import(from *diag.File, decl *ast.ImportDecl) (*Imported, error)
	// Modules lists what can be imported by name alone, for suggestions.
	Modules() []string
}

// Imported is a file that an Importer found.
type Imported struct {
	Key     string     // what tells this file from all others: importing it twice gives one module
	Name    string     // what its functions are called in messages: `nn` for `nn.softmax`
	Tree    *ast.File  // its syntax tree, perhaps repaired
	Errors  *diag.List // what the parser reported; nil for nothing
	Library bool       // part of the standard library: tested there, so only what is used is checked
}

// ImportError says why there is nothing to import.
type ImportError struct {
	Code    diag.Code // "" is diag.CodeImport
	Message string    // one lower-case clause
	Help    string    // how to put it right, or ""
}

// Error implements error.
func (e *ImportError) Error() string { return e.Message }
