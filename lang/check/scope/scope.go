package scope

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
)

// Scope is what is known at a place of the source: the declarations of all files, the names that are visible there, the
// declaration that it belongs to, and what was reported so far.
type Scope struct {
	List      *diag.List
	Importer  Importer
	functions Functions           // of the language
	exporters map[string][]string // modules of the library by what they export; nil until a suggestion needs them

	Modules []*Module // all files, the one that is compiled first
	Mod     *Module   // the file that we are in; funcs and consts are its
	Funcs   map[string]*Func
	Consts  map[string]*Const

	Cur     *Owner                 // what is being checked
	Locals  map[string]*tree.Local // the names in scope
	undo    []shadowed             // how to leave scopes again
	Lambda  int                    // how many lambdas we are in
	Derives string                 // the derivative whose function we are in: `grad`; "" outside of all
	// how many of these, from the outside, are functions of loops, whose calls have an order
	ordered int
	Flow    Flow // the variables of what is being checked, and what happens to them
	Idle    int  // how many index spaces without elements we are in: nothing there is evaluated
}

// Functions are the functions of the language, as far as their names are concerned.
type Functions interface {
	Has(name string) bool
	Names() []string
}

// New is the scope of a source in which nothing is declared.
func New(source *diag.File, importer Importer, known Functions) *Scope {
	c := &Scope{List: &diag.List{}, Importer: importer, functions: known, Cur: &Owner{},
		Locals: map[string]*tree.Local{}}
	c.EnterModule(NewModule(&ast.File{Source: source}))
	return c
}
