// Package ast is the syntax tree: what the parser makes of a file, before any name is resolved. Every
// node has the span of its source. The tree keeps exactly what was written, so the formatter can print it back.
package ast

import "healc/lang/diag"

// Node is any node of the tree.
type Node interface{ Span() diag.Span }

// At gives a node its span.
type At struct{ Loc diag.Span }

// Span implements Node.
func (a At) Span() diag.Span { return a.Loc }

// Ident is a name where it is written.
type Ident struct {
	At
	Name string
}

// File is one source file.
type File struct {
	At
	Source   *diag.File
	Decls    []Decl
	Comments []*Comment // all of them, in order, for the formatter and for doc comments
}

// Comment is a `# ...` or `/* ... */`, its text with the marks.
type Comment struct {
	At
	Text string
}

// Decl is a declaration.
type Decl interface {
	Node
	decl()
}

// Attr is an attribute `@name` or `@name(args)` before a function.
type Attr struct {
	At
	Name Ident
	Args []Expr
}

// FuncDecl is `@attrs pub fn name[params](params) -> type = expr` or `{ block }`.
type FuncDecl struct {
	At
	Attrs  []*Attr
	Pub    bool
	Name   Ident
	Dims   []*GenericParam
	Params []*Param
	Result TypeExpr // nil when left out, which means unit
	Body   Expr     // a *Block when written with braces
	Equals bool     // written `= expr`
}

// GenericParam is `N`, `N: nat`, `T: num` or `P: tuple[T]`; Bound and Of, the name in the brackets, are nil when left
// out.
type GenericParam struct {
	At
	Name  Ident
	Bound *Ident
	Of    *Ident
}

// Param is `name: type` or `name: &mut type`.
type Param struct {
	At
	Name Ident
	Mut  bool
	Type TypeExpr
}

// ConstDecl is `const N: type = expr`.
type ConstDecl struct {
	At
	Pub   bool
	Name  Ident
	Type  TypeExpr
	Value Expr
}

// ImportDecl is `import name` or `import "./path"`, with `as alias`.
type ImportDecl struct {
	At
	Path   string // without quotes
	Quoted bool
	Alias  *Ident
}

// TestDecl is `test "name" { ... }`.
type TestDecl struct {
	At
	Name string
	Body *Block
}

// BadDecl stands for source that did not parse.
type BadDecl struct{ At }

func (*FuncDecl) decl()   {}
func (*ConstDecl) decl()  {}
func (*ImportDecl) decl() {}
func (*TestDecl) decl()   {}
func (*BadDecl) decl()    {}

// TypeExpr is a type as written.
type TypeExpr interface {
	Node
	typeExpr()
}

// TensorType is `elem[dims] in layout on place sharded(axis)`; Dims is nil for a bare name, empty for `T[]`.
type TensorType struct {
	At
	Elem    Ident
	Dims    []Expr
	Square  bool // brackets were written
	Layout  *Ident
	Place   *Ident
	Sharded *Sharded
}

// Sharded is `sharded(axis)`.
type Sharded struct {
	At
	Axis Expr
}

// TupleType is `(A, B)`; `()` and `unit` (a TensorType with that name) are the empty one.
type TupleType struct {
	At
	Elems []TypeExpr
}

func (*TensorType) typeExpr() {}
func (*TupleType) typeExpr()  {}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// LitKind tells literals apart.
type LitKind uint8

// The kinds of literal.
const (
	IntLit LitKind = iota
	FloatLit
	BoolLit
	CharLit
	StringLit
)

// Lit is a literal as written; Value has char and string escapes resolved, and for numbers the digits without `_` and
// suffix.
type Lit struct {
	At
	Kind LitKind
	Raw  string
	// IntLit: digits, "0x" kept; FloatLit: text for strconv; CharLit: decimal code point; BoolLit: true, false
	Value  string
	Suffix string // "i64", "f32", ... or ""
}

// Name is a name used as a value.
type Name struct {
	At
	Name string
}

// Member is `module.name`.
type Member struct {
	At
	Module Ident
	Name   Ident
}

// Unary is `-x` or `!x`.
type Unary struct {
	At
	Op string
	X  Expr
}

// Binary is `x op y`; Op is the operator as written, dotted or plain: "+", ".+", "==", "&&", "@", ".^".
type Binary struct {
	At
	Op    string
	OpLoc diag.Span
	X, Y  Expr
	Split Expr // of `x @[split = n] y`, else nil
}

// Pipe is `x |> f(args)`, a call with X as its first argument.
type Pipe struct {
	At
	X Expr
	F Expr // a *Call, or a name standing for f()
}

// Range is `lo..hi` or `lo..=hi`. Inside an index either bound may be nil, and Step may be given (`by`).
type Range struct {
	At
	Lo, Hi    Expr
	Inclusive bool
	Step      Expr
}

// Cast is `x as T`.
type Cast struct {
	At
	X    Expr
	Type TypeExpr
}

// Call is `f[generics](args)`. Fun is a Name, a Member, a Lambda, which was in parentheses, or any other
// expression, as in `grad(f)(x)`. Generics stand only after a Name or a Member: `a[i](x)` with these on
// the left is always a Call with Generics.
type Call struct {
	At
	Fun      Expr
	Generics []Expr // explicit shape and type arguments: dims as expressions, types as Name
	Args     []Arg
}

// Arg is an argument, `name = value` when Name is set.
type Arg struct {
	Name  *Ident
	Value Expr
}

// Index is `x[indices]`; an index is an expression or a *Range.
type Index struct {
	At
	X       Expr
	Indices []Expr
}

// Reduce is a prefix reduction: `+/(v)`, `+/[axis=1, keep](v)`, `max/v`, `f/[init=0](v)`, `(|a, x| e)/v`.
//
// The parser tells `max/v` from a division: a name that is not bound as a value (parameter, shape
// parameter, let, lambda parameter, match pattern, const of the file) directly before `/` is a Fun.
// A Member before `/` is always a division. See the package comment of lang/parser.
type Reduce struct {
	At
	Op   string // "+", "-", "*", "/", "&&", "||", or "" when Fun is set
	Fun  Expr   // a Name or a Lambda
	Init Expr   // or nil
	Axis Expr   // an integer expression or a Tuple of them, or nil
	Keep bool
	X    Expr
	// Divided says that a fold with a function is divided by something: `f/a / v`.
	Divided bool
}

// Array is `[a, b]`.
type Array struct {
	At
	Elems []Expr
}

// Tuple is `(a, b)`; one element never makes a tuple, `()` is unit.
type Tuple struct {
	At
	Elems []Expr
}

// Paren is `(x)`, kept for the formatter.
type Paren struct {
	At
	X Expr
}

// Lambda is `|a, b| body`; a parameter may be a tuple pattern.
type Lambda struct {
	At
	Params []Pattern
	Body   Expr
}

// Pattern is a name, `_`, or a tuple of patterns on the left of a let or in a lambda.
type Pattern interface {
	Node
	pattern()
}

// NamePattern binds a name; `_` binds nothing.
type NamePattern struct {
	At
	Name string
}

// TuplePattern takes a tuple apart.
type TuplePattern struct {
	At
	Elems []Pattern
}

func (*NamePattern) pattern()  {}
func (*TuplePattern) pattern() {}

// Let is `let pattern: type = value in body`.
type Let struct {
	At
	Pattern Pattern
	Type    TypeExpr
	Value   Expr
	Body    Expr
}

// If is `if c { a } else { b }`; Else is nil, a *Block or another *If.
type If struct {
	At
	Cond Expr
	Then *Block
	Else Expr
}

// Match is `match e { pattern if guard => value, ... }`.
type Match struct {
	At
	X    Expr
	Arms []*Arm
}

// Arm is one arm of a match: a literal (perhaps negated), a name or `_`, and a guard or nil.
type Arm struct {
	At
	Pattern Expr // *Lit, *Unary around a *Lit, or *Name ("_" included)
	Guard   Expr
	Body    Expr
}

// Block is `{ stmts; value }`; Value is nil when the block ends in `;` or is empty.
type Block struct {
	At
	Stmts []Stmt
	Value Expr
}

// BadExpr stands for source that did not parse.
type BadExpr struct{ At }

func (*Lit) expr()     {}
func (*Name) expr()    {}
func (*Member) expr()  {}
func (*Unary) expr()   {}
func (*Binary) expr()  {}
func (*Pipe) expr()    {}
func (*Range) expr()   {}
func (*Cast) expr()    {}
func (*Call) expr()    {}
func (*Index) expr()   {}
func (*Reduce) expr()  {}
func (*Array) expr()   {}
func (*Tuple) expr()   {}
func (*Paren) expr()   {}
func (*Lambda) expr()  {}
func (*Let) expr()     {}
func (*If) expr()      {}
func (*Match) expr()   {}
func (*Block) expr()   {}
func (*BadExpr) expr() {}

// Stmt is a statement of a block.
type Stmt interface {
	Node
	stmt()
}

// LetStmt is `let mut pattern: type = value;`.
type LetStmt struct {
	At
	Mut     bool
	Pattern Pattern
	Type    TypeExpr
	Value   Expr
}

// AssignStmt is `target op value;`; Op is "=", "+=", ".+=" and so on; Target is a Name or an Index.
type AssignStmt struct {
	At
	Target Expr
	Op     string
	Value  Expr
}

// ReturnStmt is `return e;`; Value may be nil.
type ReturnStmt struct {
	At
	Value Expr
}

// ExprStmt is `e;`.
type ExprStmt struct {
	At
	X Expr
}

func (*LetStmt) stmt()    {}
func (*AssignStmt) stmt() {}
func (*ReturnStmt) stmt() {}
func (*ExprStmt) stmt()   {}

// Unparen strips parentheses.
func Unparen(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}
